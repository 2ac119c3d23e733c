//! From bytes of a text to lines and columns.

use crate::set::SetError;
use crate::set::expression::Fault;

/// Characters of a line that a message shows.
const SHOWN: usize = 100;

/// The error for a fault in a text.
pub(super) fn located(text: &str, fault: Fault) -> SetError {
    let mut at = fault.at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let begin = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let before = text[begin..at].chars().count();
    let line = text[..begin].matches('\n').count() + 1;
    let shown = text[begin..].lines().next().unwrap_or_default();
    SetError::File {
        file: None,
        line,
        column: before + 1,
        message: format!("{}{}", fault.problem, excerpt(shown, line, before)),
    }
}

/// The part of a line around the character number `before`, with a mark below. Tabs become spaces, so that the
/// mark stands where it should.
fn excerpt(line: &str, number: usize, before: usize) -> String {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    let skipped = before.saturating_sub(SHOWN / 2);
    let text: String = line.chars().map(plain).skip(skipped).take(SHOWN).collect();
    if text.is_empty() {
        return text;
    }
    let number = number.to_string();
    let (margin, before) = (" ".repeat(number.len()), " ".repeat(before - skipped));
    format!("\n  {number} | {text}\n  {margin} | {before}^")
}
