//! What the report says, before it is HTML, Markdown or LaTeX.

use std::collections::BTreeSet;

use serde::Serialize;

use super::figures::Figure;
use super::{Part, Results};
use crate::method::Group;
use crate::problem::Objective;
use crate::published::{PaperTables, Published};
use crate::table::{Cell, Estimate, Row, Table};

pub(super) const OVERVIEW_NOTE: &str = "The guarded answers of fabproj beside the paper's FAB: share of feasible \
     answers, mean true gap, median time.";

/// Differences in feasibility below this many points are none, whatever the number of problems.
const SAME_PERCENT: f64 = 0.5;
/// Problems behind each of the paper's figures.
const PAPER_PROBLEMS: f64 = 1500.0;
/// Gaps that differ by less than this share of the larger are the same.
const SAME_GAP: f64 = 0.15;

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
}

#[derive(Serialize)]
pub(super) struct Drawn {
    pub(super) caption: String,
    pub(super) svg: String,
}

/// A table as text.
#[derive(Serialize)]
pub(super) struct View {
    pub(super) title: String,
    /// Groups of columns above the header: (name, columns).
    pub(super) groups: Vec<(String, usize)>,
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Line>,
}

#[derive(Serialize)]
pub(super) struct Line {
    pub(super) label: String,
    pub(super) ours: bool,
    pub(super) entries: Vec<Entry>,
}

/// One figure of ours, with the published one.
#[derive(Clone, Default, Serialize)]
pub(super) struct Entry {
    pub(super) text: String,
    pub(super) published: String,
    pub(super) verdict: &'static str,
}

impl Section {
    pub(super) fn new(title: &str, note: &str) -> Self {
        Self {
            title: title.to_owned(),
            note: note.to_owned(),
            tables: Vec::new(),
            figures: Vec::new(),
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
            "Every method of the paper's main tables, its projector ablations, and ours. Small grey figures are \
             the published ones; ours without a row in the paper stand beside its FAB.",
        ),
        Group::Fair => (
            "The same budget for all",
            "The network baselines with our solver network, loss, number of steps, polish and guard. An infeasible answer \
             is a miss, not a gap.",
        ),
        Group::Ablations => (
            "Ablations",
            "The paper's method with a part of the feasible data, and with decoders of other sizes.",
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
        fact("machine", machines.join("; ")),
        fact("fabproj", env!("CARGO_PKG_VERSION").to_owned()),
    ]);
    facts
}

/// A method's table as text.
pub(super) fn table(table: &Table, paper: &PaperTables) -> View {
    let columns = [
        "feasible %",
        "true gap",
        "paper gap",
        "violation",
        "p50 µs",
        "p99 µs",
    ];
    let header = Objective::ALL
        .iter()
        .flat_map(|_| columns.map(str::to_owned));
    let groups = Objective::ALL.map(|objective| (objective.name().to_owned(), columns.len()));
    let mut rows: Vec<Line> = table
        .rows
        .iter()
        .map(|row| line(row, table, paper))
        .collect();
    rows.push(exact(table));
    View {
        title: table.set.clone(),
        groups: groups.to_vec(),
        header: header.collect(),
        rows,
    }
}

fn line(row: &Row, table: &Table, paper: &PaperTables) -> Line {
    let ours = row.method.starts_with("fabproj");
    let beside = row.paper.as_deref().or(ours.then_some("FAB"));
    let mut entries = Vec::new();
    for (index, objective) in Objective::ALL.into_iter().enumerate() {
        let published = beside.and_then(|beside| paper.cell(&table.set, beside, objective));
        entries.extend(match &row.cells[index] {
            Some(cell) => cell_entries(cell, published, table.floors[index]),
            None => vec![
                Entry {
                    text: "–".to_owned(),
                    ..Entry::default()
                };
                6
            ],
        });
    }
    Line {
        label: row.label.clone(),
        ours,
        entries,
    }
}

fn cell_entries(cell: &Cell, published: Option<Published>, floor: Option<f64>) -> Vec<Entry> {
    let entry = |text: String| Entry {
        text,
        ..Entry::default()
    };
    let mut feasible = entry(share(&cell.feasible));
    let mut paper_gap = entry(estimate(&cell.paper_gap));
    let mut time = entry(format!("{:.1}", cell.p50_us));
    if let Some(published) = published {
        feasible.published = format!("{:.1}", published.feasible_percent);
        feasible.verdict =
            feasibility_verdict(100.0 * cell.feasible.mean, published.feasible_percent);
        paper_gap.published = format!("{:.2}", published.gap);
        if let Some(floor) = floor {
            paper_gap.verdict = gap_verdict(cell.paper_gap.mean, published.gap, floor);
        }
        time.published = format!("{:.0}", 1000.0 * published.milliseconds);
        time.verdict = match cell.p50_us / (1000.0 * published.milliseconds) {
            ratio if ratio < 0.85 => "better",
            ratio if ratio > 1.18 => "worse",
            _ => "same",
        };
    }
    let optional =
        |value: &Option<Estimate>| entry(value.as_ref().map_or_else(|| "–".to_owned(), estimate));
    vec![
        feasible,
        optional(&cell.true_gap),
        paper_gap,
        optional(&cell.violation),
        time,
        entry(format!("{:.1}", cell.p99_us)),
    ]
}

/// The line of a solver that finds every optimum: what the paper's gap says about it.
fn exact(table: &Table) -> Line {
    let entries = table.floors.iter().flat_map(|floor| {
        let floor = floor.map_or_else(
            || "–".to_owned(),
            |floor| format!("{floor:.0$}", digits(floor)),
        );
        [
            "100".to_owned(),
            "0".to_owned(),
            floor,
            "–".to_owned(),
            String::new(),
            String::new(),
        ]
        .map(|text| Entry {
            text,
            ..Entry::default()
        })
    });
    Line {
        label: "exact solver".to_owned(),
        ours: false,
        entries: entries.collect(),
    }
}

/// Guarded fabproj beside the paper's FAB, a line per set.
pub(super) fn overview(tables: &[Table]) -> View {
    let paper = PaperTables::load();
    let columns = ["feasible %", "true gap", "p50 µs"];
    let mut rows = Vec::new();
    for table in tables {
        for row in table
            .rows
            .iter()
            .filter(|row| row.method.starts_with("fabproj") && row.guarded)
        {
            let mut entries = Vec::new();
            for (index, objective) in Objective::ALL.into_iter().enumerate() {
                let published = paper.cell(&table.set, "FAB", objective);
                let Some(cell) = &row.cells[index] else {
                    entries.extend(vec![Entry::default(); columns.len()]);
                    continue;
                };
                let all = cell_entries(cell, published, table.floors[index]);
                entries.extend([all[0].clone(), all[1].clone(), all[4].clone()]);
            }
            rows.push(Line {
                label: format!("{}: {}", table.set, row.label),
                ours: row.method == "fabproj",
                entries,
            });
        }
    }
    View {
        title: "fabproj under its guard".to_owned(),
        groups: Objective::ALL
            .map(|objective| (objective.name().to_owned(), columns.len()))
            .to_vec(),
        header: Objective::ALL
            .iter()
            .flat_map(|_| columns.map(str::to_owned))
            .collect(),
        rows,
    }
}

/// Whether two shares differ by more than chance would make them.
fn feasibility_verdict(ours: f64, published: f64) -> &'static str {
    let share = published / 100.0;
    let chance = 2.8 * 100.0 * (share * (1.0 - share) / PAPER_PROBLEMS).sqrt();
    let margin = chance.max(SAME_PERCENT);
    match ours - published {
        difference if difference > margin => "better",
        difference if difference < -margin => "worse",
        _ => "same",
    }
}

/// Which gap is nearer to that of an exact solver: below it, less is not better.
fn gap_verdict(ours: f64, published: f64, floor: f64) -> &'static str {
    if (ours - published).abs() <= SAME_GAP * ours.max(published) {
        return "same";
    }
    match (ours - floor).abs() < (published - floor).abs() {
        true => "better",
        false => "worse",
    }
}

/// A mean with its interval; the smaller it is, the more digits.
fn estimate(value: &Estimate) -> String {
    let digits = digits(value.mean);
    // Violations by rounding alone.
    if value.mean > 0.0 && value.mean < 5e-5 {
        return "< 0.0001".to_owned();
    }
    match value.half_width {
        Some(half) => format!("{:.digits$} ± {half:.digits$}", value.mean),
        None => format!("{:.digits$}", value.mean),
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
fn share(share: &Estimate) -> String {
    let [mean, least, most] = [share.mean, share.least, share.most].map(percent);
    match share.most - share.least > 0.005 {
        true => format!("{mean} [{least}, {most}]"),
        false => mean,
    }
}

/// Never rounded up to 100.
fn percent(share: f64) -> String {
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
    fn verdicts_know_chance_and_the_floor() {
        assert_eq!(feasibility_verdict(100.0, 99.9), "same");
        assert_eq!(feasibility_verdict(100.0, 96.8), "better");
        assert_eq!(feasibility_verdict(80.0, 96.8), "worse");
        // An exact solver scores 1.1: a published 0.7 is farther from the truth than 1.05.
        assert_eq!(gap_verdict(1.05, 0.7, 1.1), "better");
        assert_eq!(gap_verdict(5.0, 2.0, 1.1), "worse");
        assert_eq!(gap_verdict(1.0, 1.1, 1.1), "same");
    }

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
        assert_eq!(gap(&[0.0]), "0.0000");
        assert_eq!(gap(&[0.051, 0.053]), "0.052 ± 0.013");
        assert_eq!(gap(&[3.456]), "3.46");
    }
}
