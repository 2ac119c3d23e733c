//! Figures as a person reads them: tables, shares, counts, times.

use std::io::{self, Write};

use anyhow::Result;
use comfy_table::{CellAlignment, Table};
pub use fabproj::support::{confidence, percent};
use serde::Serialize;

/// Writes text to standard output, and reports what `println!` would panic about.
pub fn print(text: impl std::fmt::Display) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// Writes one JSON value to standard output.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    print(serde_json::to_string_pretty(value)?)
}

/// A table without lines; columns other than the first are right-aligned if `numbers`.
pub fn table(header: &[&str], rows: &[Vec<String>], numbers: bool) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(header.to_vec());
    table.add_rows(rows.to_vec());
    let last = header.len().saturating_sub(1);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if index == last { 0 } else { 3 }));
        if numbers && index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// Names and what they are, aligned.
pub fn pairs(rows: &[(String, String)]) -> String {
    let width = rows
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    let lines = rows.iter().map(|(name, value)| {
        let gap = " ".repeat(width - name.chars().count());
        let indent = format!("\n{}", " ".repeat(width + 3));
        format!("{name}{gap}   {}", value.replace('\n', &indent))
            .trim_end()
            .to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A count with its thousands apart.
pub fn count(count: usize) -> String {
    let digits = count.to_string();
    let mut spaced = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            spaced.push(' ');
        }
        spaced.push(digit);
    }
    spaced
}

/// A length or a loss, to four significant digits.
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-4..6).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    format!("{value:.*}", (3 - magnitude).clamp(0, 7) as usize)
}

/// A number where there is one.
pub fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "unknown".to_owned(), number)
}

/// A time in the unit that suits it.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s if s < 120.0 => format!("{s:.1} s"),
        s => format!("{:.0} min {:.0} s", (s / 60.0).floor(), s % 60.0),
    }
}

/// A size in bytes in the unit that suits it.
pub fn bytes(size: u64) -> String {
    match size as f64 {
        b if b < 1e3 => format!("{size} B"),
        b if b < 1e6 => format!("{:.1} kB", b / 1e3),
        b => format!("{:.1} MB", b / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits() {
        assert_eq!(number(0.012_345), "0.01235");
        assert_eq!(number(12.345_6), "12.35");
        assert_eq!(number(123_456.0), "123456");
        assert_eq!(number(1e-9), "1.000e-9");
        assert_eq!(number(0.0), "0");
        assert_eq!(count(1_234_567), "1 234 567");
        assert_eq!(count(12), "12");
    }

    #[test]
    fn times_have_their_unit() {
        assert_eq!(time(1.1e-6), "1.10 µs");
        assert_eq!(time(4.2e-8), "42 ns");
        assert_eq!(time(75.0), "75.0 s");
        assert_eq!(time(150.0), "2 min 30 s");
    }

    #[test]
    fn later_lines_of_a_value_stay_in_its_column() {
        let text = pairs(&[("a".into(), "1\n2".into()), ("long".into(), "3".into())]);
        assert_eq!(text, "a      1\n       2\nlong   3");
    }
}
