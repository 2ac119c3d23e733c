//! The declared distributions, in tasks that do not depend on the number of threads.

use fabproj_nn::random;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::CertifyError;
use crate::set::{Interval, Set};

/// Rows of one task.
pub(super) const ROWS: usize = 1024;

/// Keeps the draws apart from those of a training with the same seed: they must be fresh.
const APART: u64 = 0x6365_7274_6966_7921;

/// What a stream of random numbers is for: no two draws of a certificate share one.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Inputs,
    FurtherInputs,
    Inside(usize),
    Surface(usize),
    Coverage(usize),
    /// The x at which coverage is measured.
    CoverageAt,
    /// Is C(x) empty, for the draws of another purpose.
    EmptyAtInputs,
    EmptyInside(usize),
    EmptyAtSurface(usize),
    /// Inputs from bounded pieces of the complement.
    Enclosed,
}

/// The random numbers of one task.
pub(super) fn stream(seed: u64, purpose: Purpose, task: u64) -> ChaCha8Rng {
    let (kind, chart) = match purpose {
        Purpose::Inputs => (1, 0),
        Purpose::FurtherInputs => (2, 0),
        Purpose::Inside(chart) => (3, chart),
        Purpose::Surface(chart) => (4, chart),
        Purpose::Coverage(chart) => (5, chart),
        Purpose::EmptyAtInputs => (6, 0),
        Purpose::EmptyInside(chart) => (7, chart),
        Purpose::EmptyAtSurface(chart) => (8, chart),
        Purpose::CoverageAt => (9, 0),
        Purpose::Enclosed => (10, 0),
    };
    random::stream(seed ^ APART, kind << 56 | (chart as u64) << 40 | task)
}

/// The bounds of y and of x.
pub(super) struct Region {
    y: Vec<Interval>,
    x: Vec<Interval>,
}

impl Region {
    pub(super) fn of(set: &dyn Set) -> Self {
        Self {
            y: set.bounds(),
            x: set.x_bounds(),
        }
    }

    /// The same y at one x.
    pub(super) fn at(&self, x: &[f64]) -> Self {
        Self {
            y: self.y.clone(),
            x: x.iter().map(|value| (*value, *value)).collect(),
        }
    }

    /// The intervals of x.
    pub(super) fn x_bounds(&self) -> &[Interval] {
        &self.x
    }

    /// The middle of the bounds of y.
    pub(super) fn middle(&self) -> Vec<f64> {
        self.y
            .iter()
            .map(|(low, high)| 0.5 * (low + high))
            .collect()
    }

    /// Uniform rows of y.
    pub(super) fn points(&self, rows: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        uniform(&self.y, rows, rng)
    }

    /// Uniform rows of x.
    pub(super) fn x_rows(&self, rows: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        uniform(&self.x, rows, rng)
    }
}

fn uniform(bounds: &[Interval], rows: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut values = Vec::with_capacity(rows * bounds.len());
    for _ in 0..rows {
        let row = bounds
            .iter()
            .map(|(low, high)| low + (high - low) * rng.random::<f64>());
        values.extend(row);
    }
    values
}

/// Whether each row is in the set.
pub(super) fn inside(set: &dyn Set, y: &[f64], x: &[f64], rows: usize) -> Vec<bool> {
    let mut inside = vec![false; rows];
    set.contains_rows(y, x, &mut inside);
    inside
}

/// Runs tasks of [`ROWS`] rows (the last may have fewer) in parallel; their results in order.
pub(super) fn tasks<T: Send>(
    samples: usize,
    run: impl Fn(usize, usize) -> Result<T, CertifyError> + Sync,
) -> Result<Vec<T>, CertifyError> {
    (0..samples.div_ceil(ROWS))
        .into_par_iter()
        .map(|task| run(task, ROWS.min(samples - task * ROWS)))
        .collect()
}
