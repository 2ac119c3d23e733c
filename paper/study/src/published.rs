//! The paper's figures.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::problem::Objective;

/// Every figure of the paper's optimization tables, as they were printed.
const FIGURES: &str = include_str!("../../../docs/paper/optimization.csv");

/// One cell of the paper's tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Feasible answers, per cent.
    pub feasible_percent: f64,
    /// Milliseconds per answer.
    pub milliseconds: f64,
    /// Its gap: |f(y) − f(y_PGD)|.
    pub gap: f64,
}

#[derive(Deserialize)]
struct Line {
    set: String,
    method: String,
    objective: Objective,
    feasible_pct: f64,
    time_ms: f64,
    gap: f64,
}

/// The paper's tables by set (our names), row and objective.
pub struct PaperTables {
    cells: BTreeMap<(String, String, Objective), Published>,
}

impl PaperTables {
    /// Reads what is built in. Lines that cannot be read are left out; the tests see that none is.
    pub fn load() -> Self {
        let mut reader = csv::Reader::from_reader(FIGURES.as_bytes());
        let lines = reader.deserialize::<Line>().filter_map(Result::ok);
        let cells = lines.map(|line| {
            let published = Published {
                feasible_percent: line.feasible_pct,
                milliseconds: line.time_ms,
                gap: line.gap,
            };
            let place = (line.set.replace('_', "-"), line.method, line.objective);
            (place, published)
        });
        Self {
            cells: cells.collect(),
        }
    }

    /// A cell, if the paper has it.
    pub fn cell(&self, set: &str, row: &str, objective: Objective) -> Option<Published> {
        let place = (set.to_owned(), row.to_owned(), objective);
        self.cells.get(&place).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::catalogue;

    #[test]
    fn every_figure_is_read_and_belongs_to_a_method() {
        let tables = PaperTables::load();
        // FAB is in two tables of the same set once, with the same figures or newer ones.
        assert!(tables.cells.len() >= 320, "{}", tables.cells.len());
        for (set, row, _) in tables.cells.keys() {
            assert!(crate::SETS.contains(&set.as_str()), "{set}");
            let known = catalogue()
                .iter()
                .any(|entry| entry.paper.as_ref() == Some(row));
            assert!(known, "{row}");
        }
        let cell = tables.cell("blob-with-bite", "FAB", Objective::Distance);
        assert_eq!(cell.map(|cell| cell.gap), Some(2.89));
    }
}
