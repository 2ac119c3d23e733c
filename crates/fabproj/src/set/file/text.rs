//! From bytes of a text to lines and columns.

use crate::set::expression::Fault;
use crate::set::problem::{Excerpt, SetFileError};

/// Characters of a line that a message shows.
const SHOWN: usize = 100;

/// The error for a fault in a text.
pub(super) fn located(text: &str, fault: Fault) -> SetFileError {
    let mut at = fault.at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let begin = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let before = text[begin..at].chars().count();
    let line = text[begin..].lines().next().unwrap_or_default();
    SetFileError {
        file: None,
        line: text[..begin].matches('\n').count() + 1,
        column: before + 1,
        excerpt: excerpt(line, before),
        problem: fault.problem,
    }
}

/// The part of a line around the character number `before`. Tabs become spaces, so that the mark
/// stands where it should.
fn excerpt(line: &str, before: usize) -> Excerpt {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    let skipped = before.saturating_sub(SHOWN / 2);
    let text: String = line.chars().map(plain).skip(skipped).take(SHOWN).collect();
    Excerpt {
        text,
        before: before - skipped,
    }
}
