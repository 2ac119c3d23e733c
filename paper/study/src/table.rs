//! Results as the rows of tables: runs of one cell put together over their trainings.

use std::collections::BTreeMap;

use crate::method::{Entry, Group, catalogue};
use crate::problem::Objective;
use crate::protocol::Answers;
use crate::store::RunRecord;
use crate::{PRINTED_SHELLS, SETS, StudyError};

/// A mean over independent trainings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the 95 % interval of the mean, where there are several trainings.
    pub half_width: Option<f64>,
    /// The smallest value of a training.
    pub least: f64,
    /// The largest value of a training.
    pub most: f64,
}

/// Student's t for 95 % two-sided, by degrees of freedom from 1.
const STUDENT: [f64; 10] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
];

impl Estimate {
    /// Of one value per training.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect();
        let count = values.len();
        if count == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let half_width = (count > 1).then(|| {
            let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
            let deviation = (square / (count - 1) as f64).sqrt();
            let t = STUDENT.get(count - 2).copied().unwrap_or(1.96);
            t * deviation / (count as f64).sqrt()
        });
        Some(Self {
            mean,
            half_width,
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

/// One method's results for one set and one objective.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Trainings.
    pub trainings: usize,
    /// Share of feasible answers.
    pub feasible: Estimate,
    /// f(y) − f* over feasible answers; none if there was no such answer.
    pub true_gap: Option<Estimate>,
    /// The largest of them in any training.
    pub largest_gap: Option<f64>,
    /// [`QUANTILES`](crate::protocol::QUANTILES) of them, means over trainings; empty where they were not kept.
    pub gap_quantiles: Vec<f64>,
    /// |f(y) − f(y_PGD)| over all answers.
    pub paper_gap: Estimate,
    /// Its standard deviation over problems, as the paper's tables have it.
    pub paper_gap_deviation: f64,
    /// The violation of infeasible answers; none if there was no such answer.
    pub violation: Option<Estimate>,
    /// The median time of an answer, microseconds.
    pub p50_us: f64,
    /// The time that 99 of 100 answers take at most, microseconds.
    pub p99_us: f64,
    /// The mean time, microseconds.
    pub mean_us: f64,
    /// Its standard deviation over problems.
    pub deviation_us: f64,
}

impl Cell {
    pub(crate) fn of(answers: &[&Answers]) -> Option<Self> {
        let each = |measure: &dyn Fn(&Answers) -> f64| {
            Estimate::of(answers.iter().map(|answers| measure(answers)))
        };
        let among = |keep: &dyn Fn(&Answers) -> bool, measure: &dyn Fn(&Answers) -> f64| {
            let kept = answers.iter().filter(|answers| keep(answers));
            Estimate::of(kept.map(|answers| measure(answers)))
        };
        Some(Self {
            trainings: answers.len(),
            feasible: each(&Answers::feasible_share)?,
            true_gap: among(&|a| a.feasible > 0, &|a| a.true_gap.mean),
            largest_gap: among(&|a| a.feasible > 0, &|a| a.true_gap.most).map(|gap| gap.most),
            gap_quantiles: mean_quantiles(answers),
            paper_gap: each(&|a| a.paper_gap.mean)?,
            paper_gap_deviation: each(&|a| a.paper_gap.deviation)?.mean,
            violation: among(&|a| a.feasible < a.count, &|a| a.violation.mean),
            p50_us: each(&|a| a.p50_us)?.mean,
            p99_us: each(&|a| a.p99_us)?.mean,
            mean_us: each(&|a| a.mean_us)?.mean,
            deviation_us: each(&|a| a.deviation_us)?.mean,
        })
    }

    /// With the times of some of the runs, where there are such: those that were taken with nothing else running.
    fn with_times_of(self, timed: Option<Self>) -> Self {
        match timed {
            Some(timed) => Self {
                p50_us: timed.p50_us,
                p99_us: timed.p99_us,
                mean_us: timed.mean_us,
                deviation_us: timed.deviation_us,
                ..self
            },
            None => self,
        }
    }

    /// The standard deviation of feasibility over problems, as the paper's tables have it.
    pub fn feasible_deviation(&self) -> f64 {
        (self.feasible.mean * (1.0 - self.feasible.mean))
            .max(0.0)
            .sqrt()
    }
}

/// Means over trainings of the quantiles that they kept.
fn mean_quantiles(answers: &[&Answers]) -> Vec<f64> {
    let kept: Vec<&Vec<f64>> = answers
        .iter()
        .map(|answers| &answers.gap_quantiles)
        .filter(|quantiles| !quantiles.is_empty())
        .collect();
    let mean = |index: usize| {
        let sum: f64 = kept.iter().map(|quantiles| quantiles[index]).sum();
        sum / kept.len() as f64
    };
    let count = kept.iter().map(|quantiles| quantiles.len()).min();
    (0..count.unwrap_or(0)).map(mean).collect()
}

/// One line of a table: a method, with or without the guard, and its cells by objective.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The method's name.
    pub method: String,
    /// What the table calls it.
    pub label: String,
    /// The paper's row, if it has one.
    pub paper: Option<String>,
    /// Whether answers are guarded.
    pub guarded: bool,
    /// In the order of [`Objective::ALL`].
    pub cells: [Option<Cell>; 3],
}

/// All methods of a group on one set.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The set.
    pub set: String,
    /// The group.
    pub group: Group,
    /// The paper gap of an exact solver, by objective.
    pub floors: [Option<f64>; 3],
    /// The rows, in the order of the catalogue.
    pub rows: Vec<Row>,
}

/// Puts finished runs into tables. Runs of the same cell must differ in their seeds only; where a store
/// holds runs of several efforts, give those of one.
///
/// # Errors
/// [`StudyError::Unknown`] for a record of a method that does not exist.
pub fn tables(records: &[RunRecord]) -> Result<Vec<Table>, StudyError> {
    let mut cells: BTreeMap<(&str, &str, Objective), Vec<&RunRecord>> = BTreeMap::new();
    for record in records {
        crate::method::find(&record.key.method)?;
        let place = (
            record.key.set.as_str(),
            record.key.method.as_str(),
            record.key.objective,
        );
        cells.entry(place).or_default().push(record);
    }
    let mut tables = Vec::new();
    for group in Group::ALL {
        for set in SETS.into_iter().chain(PRINTED_SHELLS) {
            let entries = catalogue().iter().filter(|entry| entry.group == group);
            let rows: Vec<Row> = entries.flat_map(|entry| rows(entry, set, &cells)).collect();
            if !rows.is_empty() {
                tables.push(Table {
                    set: set.to_owned(),
                    group,
                    floors: Objective::ALL.map(|objective| floor(records, set, objective)),
                    rows,
                });
            }
        }
    }
    Ok(tables)
}

fn floor(records: &[RunRecord], set: &str, objective: Objective) -> Option<f64> {
    let mut of_cell = records
        .iter()
        .filter(|record| record.key.set == set && record.key.objective == objective);
    of_cell.next().map(|record| record.paper_gap_floor)
}

/// A method's row, and that under the guard where there is one.
fn rows(
    entry: &Entry,
    set: &str,
    cells: &BTreeMap<(&str, &str, Objective), Vec<&RunRecord>>,
) -> Vec<Row> {
    let row = |guarded: bool| {
        let cells = Objective::ALL.map(|objective| {
            let records = cells.get(&(set, entry.name.as_str(), objective))?;
            let answers = |kept: &dyn Fn(&RunRecord) -> bool| -> Vec<&Answers> {
                let kept = records.iter().filter(|record| kept(record));
                kept.filter_map(|record| match guarded {
                    true => record.guarded.as_ref(),
                    false => Some(&record.answers),
                })
                .collect()
            };
            let timed = Cell::of(&answers(&|record| record.timed_alone));
            Cell::of(&answers(&|_| true)).map(|cell| cell.with_times_of(timed))
        });
        Row {
            method: entry.name.clone(),
            label: match guarded {
                true => format!("{}, guarded", entry.label),
                false => entry.label.clone(),
            },
            paper: entry.paper.clone().filter(|_| !guarded),
            guarded,
            cells,
        }
    };
    [false, true]
        .map(row)
        .into_iter()
        .filter(|row| row.cells.iter().any(Option::is_some))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_student() {
        assert_eq!(Estimate::of([]), None);
        let one = Estimate::of([0.5]).unwrap();
        assert_eq!((one.mean, one.half_width), (0.5, None));
        // Mean 3, deviation √2.5, five values: 2.776 · √2.5 / √5.
        let five = Estimate::of([1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((five.half_width.unwrap() - 1.963).abs() < 1e-3);
        assert_eq!((five.mean, five.least, five.most), (3.0, 1.0, 5.0));
    }

    #[test]
    fn a_cell_without_feasible_answers_has_no_true_gap() {
        let none = Answers {
            count: 10,
            ..Answers::default()
        };
        let cell = Cell::of(&[&none]).unwrap();
        assert_eq!((cell.feasible.mean, cell.true_gap), (0.0, None));
        assert!(cell.violation.is_some());
        assert!(Cell::of(&[]).is_none());
    }
}
