//! The paper's figures, and those of its released code.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::problem::Objective;

/// Every figure of the paper's optimization tables, as they were printed.
const FIGURES: &str = include_str!("../../../docs/paper/optimization.csv");

/// The released code itself, run on a CPU.
const RELEASED_RUNS: &str = include_str!("../../../docs/paper/released-runs.csv");

/// A mean and a standard deviation over problems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

/// One cell of the paper's tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Feasible answers, per cent.
    pub feasible_percent: Spread,
    /// Milliseconds per answer.
    pub milliseconds: Spread,
    /// Its gap: |f(y) − f(y_PGD)|.
    pub gap: Spread,
}

#[derive(Deserialize)]
struct Line {
    set: String,
    method: String,
    objective: Objective,
    feasible_pct: f64,
    feasible_sd: f64,
    time_ms: f64,
    time_sd: f64,
    gap: f64,
    gap_sd: f64,
}

/// One cell of a run of the released code.
#[derive(Clone, Debug, PartialEq)]
pub struct ReleasedRun {
    /// What it was run with.
    pub setting: String,
    /// Feasible answers, per cent.
    pub feasible_percent: f64,
    /// Its gap, where it was written down.
    pub gap: Option<f64>,
}

#[derive(Deserialize)]
struct RunLine {
    set: String,
    method: String,
    setting: String,
    objective: Objective,
    feasible_percent: f64,
    paper_gap: Option<f64>,
}

impl RunLine {
    /// The method of the catalogue that does the same; none for repetitions with other seeds and evaluations.
    fn method(&self) -> Option<String> {
        let starts = |words: &[&str]| words.iter().any(|word| self.setting.starts_with(word));
        if self.setting.contains("seed 43") || self.setting.contains("released evaluation") {
            return None;
        }
        let instead = |name: &str| self.method.replacen("fab", name, 1);
        Some(match self.method.as_str() {
            "interior-point" => "interior-point-released".to_owned(),
            _ if starts(&["first entry", "hinge 0.5", "latent dimension 10"]) => {
                instead("fab-first")
            }
            _ if starts(&["latent dimension 3"]) => instead("fab-latent-3"),
            method => method.to_owned(),
        })
    }
}

/// Runs of the released code by set, method of the catalogue and objective.
pub struct ReleasedRuns {
    cells: BTreeMap<(String, String, Objective), ReleasedRun>,
}

impl ReleasedRuns {
    /// Reads what is built in. Lines that cannot be read are left out; the tests see that none is.
    pub fn load() -> Self {
        let mut reader = csv::Reader::from_reader(RELEASED_RUNS.as_bytes());
        let lines = reader.deserialize::<RunLine>().filter_map(Result::ok);
        let cells = lines.filter_map(|line| {
            let place = (line.set.clone(), line.method()?, line.objective);
            let run = ReleasedRun {
                setting: line.setting,
                feasible_percent: line.feasible_percent,
                gap: line.paper_gap,
            };
            Some((place, run))
        });
        Self {
            cells: cells.collect(),
        }
    }

    /// A cell, if the released code was run for it.
    pub fn cell(&self, set: &str, method: &str, objective: Objective) -> Option<&ReleasedRun> {
        let place = (set.to_owned(), method.to_owned(), objective);
        self.cells.get(&place)
    }
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
            let spread = |mean, deviation| Spread { mean, deviation };
            let published = Published {
                feasible_percent: spread(line.feasible_pct, line.feasible_sd),
                milliseconds: spread(line.time_ms, line.time_sd),
                gap: spread(line.gap, line.gap_sd),
            };
            let place = (line.set.replace('_', "-"), line.method, line.objective);
            (place, published)
        });
        Self {
            cells: cells.collect(),
        }
    }

    /// A cell, if the paper has it. Its shells stand beside both kinds.
    pub fn cell(&self, set: &str, row: &str, objective: Objective) -> Option<Published> {
        let place = (
            set.replace("shell-sq-", "shell-"),
            row.to_owned(),
            objective,
        );
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
        assert_eq!(cell.map(|cell| cell.gap.mean), Some(2.89));
    }

    #[test]
    fn every_run_of_the_released_code_is_read_and_belongs_to_a_method() {
        let runs = ReleasedRuns::load();
        let lines = RELEASED_RUNS.lines().count() - 1;
        let further = RELEASED_RUNS
            .lines()
            .filter(|line| line.contains("seed 43") || line.contains("released evaluation"));
        assert_eq!(runs.cells.len(), lines - further.count());
        for (set, method, _) in runs.cells.keys() {
            assert!(crate::SETS.contains(&set.as_str()), "{set}");
            assert!(
                catalogue().iter().any(|entry| entry.name == *method),
                "{method}"
            );
        }
        let feasible = |method: &str| {
            let cell = runs.cell("shell-3d", method, Objective::Quadratic);
            cell.map(|cell| cell.feasible_percent)
        };
        assert_eq!(feasible("fab"), Some(98.7));
        assert_eq!(feasible("fab-first"), Some(0.3));
        assert_eq!(feasible("fab-first-post-hoc"), Some(0.0));
    }
}
