//! The speed of answers beside PyTorch's, from the figures of `cargo xtask bench --json`.

use std::path::Path;

use serde::Deserialize;

use super::view::{Line, Section, View};
use crate::StudyError;
use crate::table::{Row, Table};

const NOTE: &str = "One problem at a time, on one core. The first lines are from one run in which both sides take \
     turns (cargo xtask bench): the same networks, the paper's, in our code and in PyTorch. The last lines set \
     the whole answers of the main tables (all heads, tests and guard included; the median over sets of the \
     median time) against the released style's time in that run.";

/// The groups of the bench that belong here.
const GROUPS: [&str; 2] = ["answer", "point"];
/// How the bench names the peer that does as the paper's code.
const RELEASED: &str = "released style";

/// The file, as far as it is read here.
#[derive(Deserialize)]
struct File {
    comparisons: Vec<Comparison>,
}

#[derive(Deserialize)]
struct Comparison {
    group: String,
    what: String,
    against: String,
    ours: Spread,
    theirs: Option<Spread>,
    ratio: Spread,
}

/// Seconds, or a ratio.
#[derive(Deserialize)]
struct Spread {
    median: f64,
    lower_quartile: f64,
    upper_quartile: f64,
}

/// The section of a report for the bench's file.
///
/// # Errors
/// [`StudyError`] when the file cannot be read or holds something else.
pub(super) fn section(path: &Path, main: &[Table]) -> Result<Section, StudyError> {
    let text = std::fs::read_to_string(path).map_err(|source| StudyError::Disk {
        action: "read",
        path: path.to_owned(),
        source,
    })?;
    let wrong = |reason: String| StudyError::Bench {
        path: path.to_owned(),
        reason,
    };
    let file: File = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let known = |comparison: &&Comparison| GROUPS.contains(&comparison.group.as_str());
    let comparisons: Vec<&Comparison> = file.comparisons.iter().filter(known).collect();
    let released = comparisons
        .iter()
        .find(|comparison| comparison.group == "answer" && comparison.against.contains(RELEASED));
    let Some(released) = released.and_then(|comparison| comparison.theirs.as_ref()) else {
        return Err(wrong("the group `answer` is missing".to_owned()));
    };
    let mut rows: Vec<Line> = comparisons.iter().copied().map(compared).collect();
    rows.extend(whole_answers(main, released.median));
    let mut section = Section::new("Speed beside PyTorch", NOTE);
    section.tables.push(View {
        title: "Times of one answer".to_owned(),
        header: ["what", "ours µs", "PyTorch µs", "times faster"]
            .map(str::to_owned)
            .to_vec(),
        rows,
    });
    Ok(section)
}

fn line(label: String, ours: bool, texts: [String; 3]) -> Line {
    Line {
        ours,
        entries: std::iter::once(label).chain(texts).collect(),
    }
}

fn compared(comparison: &Comparison) -> Line {
    let Comparison {
        what,
        against,
        ours,
        theirs,
        ratio,
        ..
    } = comparison;
    let theirs = theirs.as_ref().map_or(f64::NAN, |theirs| theirs.median);
    let (low, high) = (ratio.lower_quartile, ratio.upper_quartile);
    line(
        format!("{what}; {against}"),
        false,
        [
            format!("{:.2}", 1e6 * ours.median),
            format!("{:.1}", 1e6 * theirs),
            format!("{:.0} ({low:.0} to {high:.0})", ratio.median),
        ],
    )
}

/// The guarded answers of our methods.
fn whole_answers(main: &[Table], released: f64) -> Vec<Line> {
    let guarded = |row: &&Row| row.guarded && row.method.starts_with("fabproj");
    let rows = main.iter().flat_map(|table| table.rows.iter());
    let mut labels: Vec<&str> = rows
        .clone()
        .filter(guarded)
        .map(|row| row.label.as_str())
        .collect();
    labels.sort_unstable();
    labels.dedup();
    let whole = |label: &str| {
        let same = rows.clone().filter(|row| row.label == label);
        let mut times: Vec<f64> = same
            .flat_map(|row| row.cells.iter().flatten())
            .map(|cell| cell.p50_us)
            .collect();
        times.sort_unstable_by(f64::total_cmp);
        let median = times[times.len() / 2];
        line(
            format!("whole answer, {label}; {RELEASED}"),
            true,
            [
                format!("{median:.2}"),
                format!("{:.1}", 1e6 * released),
                format!("{:.0}", 1e6 * released / median),
            ],
        )
    };
    labels.into_iter().map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bench.json");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn ratios_are_shown_with_their_quartiles() {
        let spread = |median: f64| {
            format!(r#"{{"median":{median},"lower_quartile":{median},"upper_quartile":{median}}}"#)
        };
        let comparison = |group: &str, against: &str| {
            format!(
                r#"{{"group":"{group}","what":"an {group}","against":"{against}","ours":{},"theirs":{},
                   "ratio":{},"required":null,"met":null}}"#,
                spread(2e-6),
                spread(3e-4),
                spread(150.0)
            )
        };
        let text = [
            comparison("answer", "released style: arrays to array"),
            comparison("phase-one", "x"),
        ];
        let (_folder, path) = file(&format!(r#"{{"comparisons":[{}]}}"#, text.join(",")));
        let section = section(&path, &[]).unwrap();
        let rows = &section.tables[0].rows;
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].entries[1..], ["2.00", "300.0", "150 (150 to 150)"]);
    }

    #[test]
    fn files_of_something_else_are_named() {
        for (text, reason) in [
            ("{", "EOF"),
            (r#"{"comparisons":[]}"#, "`answer` is missing"),
        ] {
            let (_folder, path) = file(text);
            let error = section(&path, &[]).err().unwrap().to_string();
            assert!(
                error.contains("bench.json") && error.contains(reason),
                "{error}"
            );
        }
    }
}
