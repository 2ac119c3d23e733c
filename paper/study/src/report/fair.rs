//! The baselines with our budget beside fabproj: who wins.

use crate::method::Group;
use crate::table::{Row, Table};

/// Adds fabproj's guarded line to the tables of the baselines that have our budget, and says in a sentence
/// who beats whom.
pub(super) fn compare(tables: &[Table]) -> (Vec<Table>, String) {
    let ours = |set: &str| {
        let main = tables
            .iter()
            .find(|table| table.group == Group::Main && table.set == set)?;
        let mut rows = main.rows.iter();
        rows.find(|row| row.method == "fabproj" && row.guarded)
            .cloned()
    };
    let mut fair: Vec<Table> = Vec::new();
    let mut counts: Vec<(String, usize, usize)> = Vec::new();
    for table in tables.iter().filter(|table| table.group == Group::Fair) {
        let mut table = table.clone();
        if let Some(ours) = ours(&table.set) {
            for row in table.rows.iter().filter(|row| row.guarded) {
                count(row, &ours, &mut counts);
            }
            table.rows.push(ours);
        }
        fair.push(table);
    }
    let sentences = counts.iter().map(|(label, wins, cells)| {
        format!(" {label}, has a smaller true gap than fabproj in {wins} of {cells} cells.")
    });
    (fair, sentences.collect())
}

/// Counts the cells that both have, and those in which the other's gap is smaller.
fn count(other: &Row, ours: &Row, counts: &mut Vec<(String, usize, usize)>) {
    let index = counts
        .iter()
        .position(|(label, ..)| *label == other.label)
        .unwrap_or_else(|| {
            counts.push((other.label.clone(), 0, 0));
            counts.len() - 1
        });
    for (theirs, ours) in other.cells.iter().zip(&ours.cells) {
        let gap = |cell: &Option<crate::table::Cell>| cell.as_ref()?.true_gap.map(|gap| gap.mean);
        if let (Some(theirs), Some(ours)) = (gap(theirs), gap(ours)) {
            counts[index].1 += usize::from(theirs < ours);
            counts[index].2 += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Cell, Estimate};

    fn row(method: &str, gaps: [f64; 3]) -> Row {
        let estimate = |mean| Estimate::of([mean]).unwrap();
        Row {
            method: method.to_owned(),
            label: format!("{method}, guarded"),
            paper: None,
            guarded: true,
            cells: gaps.map(|gap| {
                Some(Cell {
                    trainings: 1,
                    feasible: estimate(1.0),
                    true_gap: Some(estimate(gap)),
                    largest_gap: Some(gap),
                    gap_quantiles: Vec::new(),
                    paper_gap: estimate(1.0),
                    paper_gap_deviation: 1.0,
                    violation: None,
                    p50_us: 1.0,
                    p99_us: 1.0,
                    mean_us: 1.0,
                    deviation_us: 0.0,
                })
            }),
        }
    }

    #[test]
    fn wins_are_counted_over_all_sets_and_our_line_stands_below() {
        let table = |set: &str, group, rows| Table {
            set: set.to_owned(),
            group,
            floors: [None; 3],
            rows,
        };
        let tables = ["a", "b"].map(|set| {
            [
                table(set, Group::Main, vec![row("fabproj", [0.1, 0.2, 0.3])]),
                table(set, Group::Fair, vec![row("other", [0.2, 0.1, 0.1])]),
            ]
        });
        let (fair, sentence) = compare(&tables.concat());
        assert_eq!(
            sentence,
            " other, guarded, has a smaller true gap than fabproj in 4 of 6 cells."
        );
        assert!(fair.iter().all(|table| table.rows[1].method == "fabproj"));
    }
}
