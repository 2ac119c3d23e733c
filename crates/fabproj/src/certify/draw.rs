//! The declared distributions, in tasks that do not depend on the number of threads.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::CertifyError;
use crate::set::{Interval, Set};

/// Rows of one task.
pub const ROWS: usize = 1024;

/// Keeps the draws apart from those of a training with the same seed: they must be fresh.
const APART: u64 = 0x6365_7274_6966_7921;

/// What a stream of random numbers is for: no two draws of a certificate share one.
#[derive(Clone, Copy)]
pub enum Purpose {
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
}

/// The random numbers of one task.
pub fn stream(seed: u64, purpose: Purpose, task: usize) -> ChaCha8Rng {
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
    };
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ APART);
    rng.set_stream(kind << 56 | (chart as u64) << 40 | task as u64);
    rng
}

/// Rows drawn uniformly from the bounds of y and of x, in single precision: exactly the numbers that
/// the projector and then, widened, the set are asked about.
pub struct Region {
    y: Vec<Interval>,
    x: Vec<Interval>,
}

impl Region {
    pub fn of(set: &dyn Set) -> Self {
        Self {
            y: set.bounds(),
            x: set.x_bounds(),
        }
    }

    /// The same y at one x.
    pub fn at(&self, x: &[f32]) -> Self {
        let x = x.iter().copied().map(f64::from);
        Self {
            y: self.y.clone(),
            x: x.map(|value| (value, value)).collect(),
        }
    }

    /// The intervals of x.
    pub fn x_bounds(&self) -> &[Interval] {
        &self.x
    }

    /// The middle of the bounds of y.
    pub fn middle(&self) -> Vec<f32> {
        let middles = self.y.iter().map(|(low, high)| 0.5 * (low + high));
        middles.map(|middle| middle as f32).collect()
    }

    pub fn points(&self, rows: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
        uniform(&self.y, rows, rng)
    }

    /// Inputs of interest for the rows of x.
    pub fn inputs(&self, set: &dyn Set, x: &[f32], rng: &mut ChaCha8Rng, rows: usize) -> Vec<f32> {
        let mut values = Vec::with_capacity(rows * self.y.len());
        let mut y = vec![0.0; self.y.len()];
        for row in 0..rows {
            let x = widened(&x[row * self.x.len()..][..self.x.len()]);
            set.draw_input(&x, &mut || rng.random::<f64>(), &mut y);
            values.extend(y.iter().map(|value| *value as f32));
        }
        values
    }

    pub fn parameters(&self, rows: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
        uniform(&self.x, rows, rng)
    }
}

fn uniform(bounds: &[Interval], rows: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
    let mut values = Vec::with_capacity(rows * bounds.len());
    for _ in 0..rows {
        let row = bounds
            .iter()
            .map(|(low, high)| low + (high - low) * rng.random::<f64>());
        values.extend(row.map(|value| value as f32));
    }
    values
}

/// Runs tasks of [`ROWS`] rows (the last may have fewer) in parallel; their results in order.
pub fn tasks<T: Send>(
    samples: usize,
    run: impl Fn(usize, usize) -> Result<T, CertifyError> + Sync,
) -> Result<Vec<T>, CertifyError> {
    (0..samples.div_ceil(ROWS))
        .into_par_iter()
        .map(|task| run(task, ROWS.min(samples - task * ROWS)))
        .collect()
}

/// Row by row, in f64.
pub fn widened(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}
