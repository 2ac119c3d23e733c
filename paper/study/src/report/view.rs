//! What the report says, before it is HTML, Markdown or LaTeX.

use std::collections::BTreeSet;

use serde::Serialize;

use super::figures::Figure;
use super::{Part, Results};
use crate::method::Group;
use crate::problem::Objective;
use crate::table::{Cell, Estimate, Row, Table};

/// The methods of the overview.
const OVERVIEW: [(&str, &str); 5] = [
    ("exact", "exact solver"),
    ("lookup", "table of 1000 points"),
    ("violation-descent", "gradient along the violation"),
    ("fabproj", "fabproj, guarded"),
    ("fab", "FAB, end to end"),
];

pub(super) const OVERVIEW_NOTE: &str = "Mean true gap, the share of feasible answers where it is not 100 %, and median \
     time. In the plane a table of boundary points is hard to beat, on shells projected gradient along the violation.";

/// The whole report.
#[derive(Serialize)]
pub(super) struct Page {
    /// What was run, where, with what.
    pub(super) facts: Vec<(String, String)>,
    pub(super) sections: Vec<Section>,
}

#[derive(Serialize)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) note: String,
    pub(super) tables: Vec<View>,
    pub(super) figures: Vec<Drawn>,
    /// Every method on every problem: a Markdown file of its own.
    pub(super) long: bool,
}

#[derive(Serialize)]
pub(super) struct Drawn {
    pub(super) caption: String,
    pub(super) svg: String,
}

/// A table as text, at most eight columns wide.
#[derive(Serialize)]
pub(super) struct View {
    pub(super) title: String,
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Line>,
}

#[derive(Serialize)]
pub(super) struct Line {
    pub(super) ours: bool,
    pub(super) entries: Vec<String>,
}

impl View {
    pub(super) fn new(title: impl Into<String>, header: &[&str]) -> Self {
        Self {
            title: title.into(),
            header: header.iter().map(|&column| column.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, ours: bool, entries: impl IntoIterator<Item = String>) {
        self.rows.push(Line {
            ours,
            entries: entries.into_iter().collect(),
        });
    }
}

impl Section {
    pub(super) fn new(title: &str, note: &str) -> Self {
        Self {
            title: title.to_owned(),
            note: note.to_owned(),
            tables: Vec::new(),
            figures: Vec::new(),
            long: false,
        }
    }

    pub(super) fn add(&mut self, figure: Option<Figure>) {
        self.figures.extend(figure.map(|figure| Drawn {
            caption: figure.caption,
            svg: figure.svg,
        }));
    }
}

/// Title and explanation of a group's tables.
pub(super) fn heading(group: Group) -> (&'static str, &'static str) {
    match group {
        Group::Main => (
            "Main tables",
            "Every method of the paper's main tables, simple competitors, and ours. The weights of FAB's losses are \
             searched as released, for every set and training; rows with first weights, with fewer or more decoders \
             and without a part use the first entry of the grid.",
        ),
        Group::Fair => (
            "The same budget for all",
            "The network baselines, and FAB's projector, with our solver network, loss, number of steps, polish and \
             guard. An infeasible answer is a miss, not a gap.",
        ),
        Group::Parts => (
            "fabproj without one of its parts",
            "What the network, the polish and the heads are worth; and what a base point is worth that is the \
             optimum of linear problems on five of the seven sets.",
        ),
        Group::Ablations => (
            "Ablations",
            "The paper's method with a part of the feasible data, and with decoders of other sizes; the first entry \
             of the grid of weights.",
        ),
    }
}

/// What was run, and where.
pub(super) fn facts(results: &Results) -> Vec<(String, String)> {
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let machines: BTreeSet<&str> = results
        .records()
        .map(|record| record.machine.as_str())
        .filter(|machine| !machine.is_empty())
        .collect();
    let machines: Vec<&str> = machines.into_iter().collect();
    let commands = results.parts.iter().flat_map(Part::commands);
    let mut facts: Vec<_> = commands.map(|command| fact("command", command)).collect();
    let (count, others) = (results.records().count(), results.left_out);
    facts.extend([
        fact(
            "runs",
            format!("{count} ({others} others in the store are left out)"),
        ),
        fact("times", times(results)),
        fact("machine", machines.join("; ")),
        fact("fabproj", env!("CARGO_PKG_VERSION").to_owned()),
    ]);
    facts
}

/// How the times were taken.
fn times(results: &Results) -> String {
    let count = results.records().count();
    let alone = results.records().filter(|record| record.timed_alone);
    let alone = alone.count();
    let rest = "during the runs, so that other work on the machine shows in them";
    match count - alone {
        0 => "all taken by `study time`, one run after the other".to_owned(),
        left if left < count => {
            format!("of {alone} runs by `study time`, one after the other; the others {rest}")
        }
        _ => format!("taken {rest}; `study time` takes them again"),
    }
}

/// A set's table as text, objective by objective.
pub(super) fn tables(table: &Table) -> Vec<View> {
    let header = [
        "method",
        "trainings",
        "feasible %",
        "true gap",
        "largest gap",
        "paper gap",
        "p50 µs",
        "p99 µs",
    ];
    let mut views = Vec::new();
    for (index, objective) in Objective::ALL.into_iter().enumerate() {
        let mut view = View::new(format!("{}, {objective}", table.set), &header);
        for row in &table.rows {
            if let Some(cell) = &row.cells[index] {
                view.push(is_ours(row), line(row, cell));
            }
        }
        let has_exact = table.rows.iter().any(|row| row.method == "exact");
        if let (Some(floor), false) = (table.floors[index], has_exact) {
            let floor = format!("{floor:.0$}", digits(floor));
            let cells = ["exact solver", "", "100", "0", "0", &floor, "", ""];
            view.push(false, cells.map(str::to_owned));
        }
        if !view.rows.is_empty() {
            views.push(view);
        }
    }
    views
}

fn is_ours(row: &Row) -> bool {
    row.method.starts_with("fabproj")
}

fn line(row: &Row, cell: &Cell) -> [String; 8] {
    let none = || "–".to_owned();
    [
        row.label.clone(),
        cell.trainings.to_string(),
        share(&cell.feasible),
        cell.true_gap.as_ref().map_or_else(none, estimate),
        cell.largest_gap.map_or_else(none, number),
        estimate(&cell.paper_gap),
        format!("{:.1}", cell.p50_us),
        format!("{:.1}", cell.p99_us),
    ]
}

/// Simple competitors, fabproj and FAB, a line per set and objective.
pub(super) fn overview(tables: &[Table]) -> View {
    let mut header = vec!["set", "objective"];
    header.extend(OVERVIEW.map(|(_, label)| label));
    let mut view = View::new("Gaps and times", &header);
    for table in tables {
        for (index, objective) in Objective::ALL.into_iter().enumerate() {
            let entries = OVERVIEW.map(|(method, _)| {
                let mut rows = table.rows.iter();
                let wanted =
                    |row: &&Row| row.method == method && row.guarded == (method == "fabproj");
                let cell = rows.find(wanted).and_then(|row| row.cells[index].as_ref());
                cell.map_or_else(|| "–".to_owned(), brief)
            });
            if entries.iter().any(|entry| entry != "–") {
                let place = [table.set.clone(), objective.name().to_owned()];
                view.push(false, place.into_iter().chain(entries));
            }
        }
    }
    view
}

/// A cell in a few words.
fn brief(cell: &Cell) -> String {
    let gap = cell
        .true_gap
        .map_or_else(|| "–".to_owned(), |gap| number(gap.mean));
    let feasible = match cell.feasible.mean < 1.0 {
        true => format!(", {} %", percent(cell.feasible.mean)),
        false => String::new(),
    };
    format!("{gap}{feasible}, {:.1} µs", cell.p50_us)
}

/// A mean with its interval; the smaller it is, the more digits.
pub(super) fn estimate(value: &Estimate) -> String {
    let digits = digits(value.mean);
    match value.half_width {
        Some(half) if number(value.mean) != TINY => {
            format!("{:.digits$} ± {half:.digits$}", value.mean)
        }
        _ => number(value.mean),
    }
}

/// What rounding alone makes.
const TINY: &str = "< 0.0001";

/// A number with as many digits as it needs.
pub(super) fn number(value: f64) -> String {
    match value {
        value if value > 0.0 && value < 5e-5 => TINY.to_owned(),
        _ => format!("{value:.0$}", digits(value)),
    }
}

fn digits(value: f64) -> usize {
    match value.abs() {
        value if value < 0.01 => 4,
        value if value < 1.0 => 3,
        _ => 2,
    }
}

/// A share in per cent, with the least and the most of the trainings where they differ by half a point: shares
/// are often all or nothing, and an interval of their mean would reach beyond both ends.
pub(super) fn share(share: &Estimate) -> String {
    let [mean, least, most] = [share.mean, share.least, share.most].map(percent);
    match share.most - share.least > 0.005 {
        true => format!("{mean} [{least}, {most}]"),
        false => mean,
    }
}

/// Never rounded up to 100.
pub(super) fn percent(share: f64) -> String {
    match 100.0 * share {
        value if value >= 100.0 => "100".to_owned(),
        value if value > 99.0 => format!("{:.2}", (100.0 * value).floor() / 100.0),
        value => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_never_rounded_up_to_all() {
        let share = |values: &[f64]| share(&Estimate::of(values.iter().copied()).unwrap());
        assert_eq!(share(&[1.0]), "100");
        assert_eq!(share(&[0.99999]), "99.99");
        assert_eq!(share(&[0.5]), "50.0");
        assert_eq!(share(&[1.0, 0.999]), "99.95");
        assert_eq!(share(&[1.0, 0.02, 0.9999]), "67.3 [2.0, 100]");
    }

    #[test]
    fn small_gaps_have_more_digits() {
        let gap = |values: &[f64]| estimate(&Estimate::of(values.iter().copied()).unwrap());
        assert_eq!(gap(&[0.000_24]), "0.0002");
        assert_eq!(gap(&[0.000_02]), "< 0.0001");
        assert_eq!(gap(&[0.000_02, 0.000_03]), "< 0.0001");
        assert_eq!(gap(&[0.0]), "0.0000");
        assert_eq!(gap(&[0.051, 0.053]), "0.052 ± 0.013");
        assert_eq!(gap(&[3.456]), "3.46");
    }
}
