//! The comparison as a table for people and as JSON for programs.

use std::fs;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

use super::compare::Row;

/// The table, one line per comparison.
pub fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header([
        "what",
        "ours",
        "against",
        "theirs",
        "ratio (quartiles)",
        "required",
        "",
    ]);
    for row in rows {
        let theirs = row
            .theirs
            .map_or(String::new(), |spread| time(spread.median));
        let ratio = row.ratio;
        table.add_row([
            row.what.to_owned(),
            time(row.ours.median),
            row.against.clone(),
            theirs,
            format!(
                "{} ({} – {})",
                short(ratio.median),
                short(ratio.lower_quartile),
                short(ratio.upper_quartile)
            ),
            row.required
                .map_or(String::new(), |required| format!("≥ {}", short(required))),
            match row.met {
                Some(true) => "✓".to_owned(),
                Some(false) => "✗ missed".to_owned(),
                None => String::new(),
            },
        ]);
    }
    for column in [1, 3, 4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The same figures, unrounded.
pub fn json(rows: &[Row], cpu_time: bool) -> Value {
    json!({
        "clock": if cpu_time { "process" } else { "wall" },
        "machine": { "processor": processor(), "load": load() },
        "comparisons": rows,
    })
}

/// Other programs on the machine widen the quartiles.
pub fn warn_if_busy() {
    if let Some(load) = load().filter(|load| *load > 0.7) {
        eprintln!(
            "note: the machine is busy (load {load}), which widens the quartiles; --cpu-time helps"
        );
    }
}

fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg")
        .ok()?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{} ns", short(s * 1e9)),
        s if s < 1e-3 => format!("{} µs", short(s * 1e6)),
        s => format!("{} ms", short(s * 1e3)),
    }
}

/// Three significant digits.
fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::statistics::Spread;
    use super::*;

    #[test]
    fn times_have_units_that_fit() {
        assert_eq!(time(3.51e-7), "351 ns");
        assert_eq!(time(1.1e-6), "1.10 µs");
        assert_eq!(time(0.0335), "33.5 ms");
    }

    #[test]
    fn a_row_shows_its_ratio_and_its_mark() {
        let spread = |median| Spread {
            median,
            lower_quartile: median,
            upper_quartile: median,
        };
        let row = Row {
            group: "point",
            what: "one point",
            against: "PyTorch".to_owned(),
            ours: spread(1.1e-6),
            theirs: Some(spread(1e-4)),
            ratio: spread(90.9),
            required: Some(80.0),
            met: Some(true),
        };
        let missed = Row {
            met: Some(false),
            theirs: None,
            against: "the peak".to_owned(),
            ..row_like(&row)
        };
        let text = table(&[row, missed]).to_string();
        assert!(
            text.contains("90.9 (90.9 – 90.9)") && text.contains("≥ 80.0"),
            "{text}"
        );
        assert!(text.contains('✓') && text.contains("✗ missed"), "{text}");
    }

    fn row_like(row: &Row) -> Row {
        Row {
            against: row.against.clone(),
            ..*row
        }
    }

    #[test]
    fn json_keeps_every_figure() {
        let value = json(&[], true);
        assert_eq!(value["clock"], "process");
        assert!(value["comparisons"].as_array().is_some_and(Vec::is_empty));
    }
}
