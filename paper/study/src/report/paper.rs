//! Our figures beside the published ones and those of the released code, and how many agree.

use super::view::{Section, View};
use crate::SETS;
use crate::method::catalogue;
use crate::problem::Objective;
use crate::published::{PaperTables, Published, ReleasedRuns, Spread};
use crate::table::{Cell, Row, Table};

/// Shares of feasible answers that differ by at most so many points agree.
const SAME_POINTS: f64 = 5.0;
/// Paper gaps that differ by at most this share of the published one agree.
const SAME_GAP: f64 = 0.25;

const BESIDE_NOTE: &str = "Published figures, those of the released code run here, and ours: feasible answers in per cent, \
     and the paper gap. ± is the standard deviation over problems, as in the paper.";

/// A section with a table per set.
pub(super) fn beside(tables: &[Table], paper: &PaperTables, runs: &ReleasedRuns) -> Section {
    let mut section = Section::new("Beside the paper", BESIDE_NOTE);
    let header = [
        "method",
        "objective",
        "% published",
        "% released code",
        "% ours",
        "gap published",
        "gap released code",
        "gap ours",
    ];
    for table in tables {
        let mut view = View::new(format!("{}, beside the paper", table.set), &header);
        for row in table.rows.iter().filter(|row| !row.guarded) {
            for (index, objective) in Objective::ALL.into_iter().enumerate() {
                let Some(cell) = &row.cells[index] else {
                    continue;
                };
                let published = published(row, &table.set, objective, paper);
                let released = runs.cell(&table.set, &row.method, objective);
                if published.is_none() && released.is_none() {
                    continue;
                }
                let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
                let text = |spread: Spread, digits: usize| {
                    format!("{:.digits$} ± {:.digits$}", spread.mean, spread.deviation)
                };
                view.push(
                    false,
                    [
                        row.label.clone(),
                        objective.name().to_owned(),
                        or_dash(published.map(|cell| text(cell.feasible_percent, 1))),
                        or_dash(released.map(|run| format!("{:.1}", run.feasible_percent))),
                        text(feasible_percent(cell), 1),
                        or_dash(published.map(|cell| text(cell.gap, 2))),
                        or_dash(
                            released
                                .and_then(|run| run.gap)
                                .map(|gap| format!("{gap:.2}")),
                        ),
                        text(gap(cell), 2),
                    ],
                );
            }
        }
        if !view.rows.is_empty() {
            section.tables.push(view);
        }
    }
    section
}

fn published(row: &Row, set: &str, objective: Objective, paper: &PaperTables) -> Option<Published> {
    paper.cell(set, row.paper.as_deref()?, objective)
}

fn feasible_percent(cell: &Cell) -> Spread {
    Spread {
        mean: 100.0 * cell.feasible.mean,
        deviation: 100.0 * cell.feasible_deviation(),
    }
}

fn gap(cell: &Cell) -> Spread {
    Spread {
        mean: cell.paper_gap.mean,
        deviation: cell.paper_gap_deviation,
    }
}

/// Cells of a method, and how many of them agree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Count {
    cells: usize,
    feasible: usize,
    gap: usize,
}

impl Count {
    fn add(&mut self, ours: &Cell, published: &Published) {
        let points = 100.0 * ours.feasible.mean - published.feasible_percent.mean;
        let gap = ours.paper_gap.mean - published.gap.mean;
        self.cells += 1;
        self.feasible += usize::from(points.abs() <= SAME_POINTS);
        self.gap += usize::from(gap.abs() <= SAME_GAP * published.gap.mean);
    }

    fn texts(&self, label: &str) -> [String; 4] {
        [
            label.to_owned(),
            self.cells.to_string(),
            self.feasible.to_string(),
            self.gap.to_string(),
        ]
    }
}

/// How many of the published cells our figures agree with, method by method and in all.
pub(super) fn agreement(tables: &[Table], paper: &PaperTables) -> Section {
    let mut section = Section::new(
        "Agreement with the paper",
        "How many published cells we agree with: feasibility within 5 points, paper gap within 25 %. Cells that were \
         not run are not counted.",
    );
    let header = ["method", "cells", "feasibility agrees", "paper gap agrees"];
    let mut view = View::new("Agreement", &header);
    let mut total = Count::default();
    for entry in catalogue().iter().filter(|entry| entry.paper.is_some()) {
        let mut count = Count::default();
        for table in tables
            .iter()
            .filter(|table| SETS.contains(&table.set.as_str()))
        {
            let mut rows = table.rows.iter();
            let Some(row) = rows.find(|row| row.method == entry.name && !row.guarded) else {
                continue;
            };
            for (cell, objective) in row.cells.iter().zip(Objective::ALL) {
                let published = published(row, &table.set, objective, paper);
                if let (Some(cell), Some(published)) = (cell, published) {
                    count.add(cell, &published);
                }
            }
        }
        if count.cells > 0 {
            view.push(false, count.texts(&entry.label));
        }
        total.cells += count.cells;
        total.feasible += count.feasible;
        total.gap += count.gap;
    }
    if total.cells > 0 {
        view.push(false, total.texts("all"));
        section.tables.push(view);
    }
    section
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Answers, Moments};

    #[test]
    fn cells_agree_within_five_points_and_a_quarter() {
        let spread = |mean| Spread {
            mean,
            deviation: 1.0,
        };
        let published = Published {
            feasible_percent: spread(90.0),
            milliseconds: spread(1.0),
            gap: spread(2.0),
        };
        let agrees = |feasible: usize, gap: f64| {
            let answers = Answers {
                count: 1000,
                feasible,
                paper_gap: Moments {
                    mean: gap,
                    ..Moments::default()
                },
                ..Answers::default()
            };
            let mut count = Count::default();
            count.add(&Cell::of(&[&answers]).unwrap(), &published);
            (count.feasible, count.gap)
        };
        assert_eq!(agrees(850, 2.4), (1, 1));
        assert_eq!(agrees(940, 1.4), (1, 0));
        assert_eq!(agrees(849, 2.6), (0, 0));
    }
}
