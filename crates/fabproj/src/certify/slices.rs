//! Where in x is a projector right, and where is it not?

use super::{Plan, Share, Slice};
use crate::set::{Interval, Set};

/// Slices of each coordinate of x.
const SLICES: usize = 8;
/// Cells along each of two coordinates.
const CELLS: usize = 4;

/// Counts of one slice.
#[derive(Clone, Copy, Default)]
pub(super) struct Count {
    /// Inputs where C(x) is not empty.
    samples: usize,
    /// Their projections that are infeasible.
    failures: usize,
    /// Inputs where C(x) looks empty.
    empty: usize,
    /// Inputs that were infeasible, and how far they were from their projections in sum.
    infeasible: usize,
    distance: f64,
}

/// Counts of all slices: of the first coordinate, of the second and so on, then of the cells.
#[derive(Clone, Default)]
pub(super) struct Slices {
    counts: Vec<Count>,
}

/// What became of one input.
#[derive(Clone, Copy)]
pub(super) enum Fate {
    /// C(x) looks empty.
    Empty,
    /// The input was feasible; whether its projection was not.
    Feasible { failed: bool },
    /// The input was not; its distance from its projection.
    Infeasible { failed: bool, distance: f64 },
}

impl Slices {
    pub(super) fn new(x_dim: usize) -> Self {
        let cells = if x_dim == 2 { CELLS * CELLS } else { 0 };
        Self {
            counts: vec![Count::default(); SLICES * x_dim + cells],
        }
    }

    /// Counts an input at x in every slice that x lies in.
    pub(super) fn count(&mut self, bounds: &[Interval], x: &[f64], outcome: Fate) {
        for (coordinate, (value, bounds)) in x.iter().zip(bounds).enumerate() {
            self.counts[coordinate * SLICES + part(*bounds, *value, SLICES)].add(outcome);
        }
        if let ([first, second], [x0, x1]) = (bounds, x) {
            let cell = CELLS * part(*first, *x0, CELLS) + part(*second, *x1, CELLS);
            self.counts[2 * SLICES + cell].add(outcome);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            count.samples += more.samples;
            count.failures += more.failures;
            count.empty += more.empty;
            count.infeasible += more.infeasible;
            count.distance += more.distance;
        }
    }

    /// The shares. Their bounds hold together: the chance of an error is divided among them.
    pub(super) fn shares(&self, set: &dyn Set, plan: &Plan) -> Vec<Slice> {
        let confidence = 1.0 - (1.0 - plan.confidence) / self.counts.len().max(1) as f64;
        let (bounds, names) = (set.x_bounds(), set.x_names());
        let interval = |coordinate: usize, index: usize, parts: usize| {
            let (low, high) = bounds[coordinate];
            let at = |part: usize| low + (high - low) * part as f64 / parts as f64;
            let name = names.get(coordinate).cloned().unwrap_or_default();
            (name, (at(index), at(index + 1)))
        };
        let slices = self.counts.iter().enumerate().map(|(index, count)| {
            let intervals = match index.checked_sub(SLICES * bounds.len()) {
                None => vec![interval(index / SLICES, index % SLICES, SLICES)],
                Some(cell) => vec![
                    interval(0, cell / CELLS, CELLS),
                    interval(1, cell % CELLS, CELLS),
                ],
            };
            let mean = |sum: f64| (count.infeasible > 0).then(|| sum / count.infeasible as f64);
            Slice {
                name: intervals.iter().map(words).collect::<Vec<_>>().join(", "),
                intervals: intervals.into_iter().collect(),
                share: Share::counted(count.samples, count.failures, confidence),
                empty: count.empty,
                mean_distance: mean(count.distance),
            }
        });
        slices.collect()
    }
}

impl Count {
    fn add(&mut self, outcome: Fate) {
        let failed = match outcome {
            Fate::Empty => {
                self.empty += 1;
                return;
            }
            Fate::Feasible { failed } => failed,
            Fate::Infeasible { failed, distance } => {
                self.infeasible += 1;
                self.distance += distance;
                failed
            }
        };
        self.samples += 1;
        self.failures += usize::from(failed);
    }
}

/// The first slice with the smallest share, of those with inputs.
pub(super) fn worst(slices: &[Slice]) -> Option<Slice> {
    let counted = slices.iter().filter(|slice| slice.share.samples > 0);
    counted
        .min_by(|a, b| a.share.feasible.total_cmp(&b.share.feasible))
        .cloned()
}

/// Which of equal parts of an interval holds a value.
fn part((low, high): Interval, value: f64, parts: usize) -> usize {
    let share = (value - low) / (high - low).max(f64::MIN_POSITIVE);
    ((share * parts as f64) as usize).min(parts - 1)
}

/// With as many digits as tell the ends apart, and one more.
fn words((name, (low, high)): &(String, Interval)) -> String {
    let width = (high - low).max(f64::MIN_POSITIVE);
    let digits = (1.0 - width.log10().floor()).clamp(0.0, 12.0) as usize;
    format!("{name} in [{low:.digits$}, {high:.digits$}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_digits_that_matter() {
        let named = |low: f64, high: f64| words(&("load".to_owned(), (low, high)));
        assert_eq!(named(0.75, 1.126), "load in [0.75, 1.13]");
        assert_eq!(named(-1500.0, -1100.0), "load in [-1500, -1100]");
        assert_eq!(named(0.002, 0.0025), "load in [0.00200, 0.00250]");
        assert_eq!(named(3.0, 3.0), "load in [3.000000000000, 3.000000000000]");
    }

    #[test]
    fn every_value_has_its_part() {
        for (value, expected) in [(-1.0, 0), (-0.76, 0), (-0.74, 1), (0.99, 7), (1.0, 7)] {
            assert_eq!(part((-1.0, 1.0), value, 8), expected, "{value}");
        }
        assert_eq!(part((2.0, 2.0), 2.0, 8), 0);
    }
}
