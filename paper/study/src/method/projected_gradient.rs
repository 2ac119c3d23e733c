//! Projected gradient descent, as the paper's code does it.
//!
//! The projection of a point that has left the set is the nearest feasible point among 1000 random
//! ones, drawn anew at each use (for `two-moons` and the shells the same ones every time). The paper
//! takes 50 iterations of this for the targets of its solver networks and 100 for its "ground truth";
//! neither converges, which is why gaps to it say little (Boyd and Vandenberghe, *Convex
//! Optimization*, give the method its convergence theory, for exact projections onto convex sets).

use std::sync::Arc;

use fab_method::data::PaperData;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use serde_json::{Value, json};

use super::{Method, Solver, Task, Trained};
use crate::problem::{MOST, Problem};
use crate::{StudyError, StudySet};

/// Length of a step, as a factor of the gradient.
const RATE: f64 = 0.01;
/// Points that a projection chooses from, feasible ones and others.
const SAMPLES: usize = 1000;
/// Iterations of the method in the tables, and of the paper's "ground truth".
pub const ITERATIONS: usize = 100;
/// The seed of the samples that the released code fixes.
const FIXED_SEED: u64 = 42;

/// Where the feasible points come from that stand in for projections.
pub struct Samples {
    set: Arc<StudySet>,
    source: Source,
}

enum Source {
    /// The same feasible points for every projection, row by row.
    Fixed(Vec<f64>),
    /// Fresh points of a box of the plane.
    Fresh([(f64, f64); 2]),
}

impl Samples {
    /// As the released code samples the set.
    ///
    /// # Errors
    /// When the set cannot be sampled.
    pub fn new(set: &Arc<StudySet>) -> Result<Self, StudyError> {
        let source = match set.name() {
            "blob-with-bite" => Source::Fresh([(-4.0, 4.0), (-3.0, 3.0)]),
            "concentric-circles" | "star-shaped" => Source::Fresh([(-2.0, 2.0); 2]),
            _ => Source::Fixed(fixed_points(set)?),
        };
        Ok(Self {
            set: Arc::clone(set),
            source,
        })
    }

    /// Replaces y by the nearest feasible sample.
    pub fn project(&self, y: &mut [f64], random: &mut ChaCha8Rng) {
        match &self.source {
            Source::Fixed(points) => {
                let rows = points.chunks_exact(y.len());
                let nearest = rows.min_by(|a, b| squared(a, y).total_cmp(&squared(b, y)));
                if let Some(nearest) = nearest {
                    y.copy_from_slice(nearest);
                }
            }
            Source::Fresh(bounds) => {
                let mut best = (f64::INFINITY, [0.0; 2]);
                for _ in 0..SAMPLES {
                    let point =
                        bounds.map(|(low, high)| low + (high - low) * random.random::<f64>());
                    let distance = squared(&point, y);
                    if distance < best.0 && self.set.set().contains(&point, &[]) {
                        best = (distance, point);
                    }
                }
                if best.0.is_finite() {
                    y.copy_from_slice(&best.1);
                }
            }
        }
    }
}

/// The feasible rows of the set's paper data, by their labels.
fn fixed_points(set: &StudySet) -> Result<Vec<f64>, StudyError> {
    let data = PaperData::sample_rows(set.set(), SAMPLES, FIXED_SEED)?;
    let rows = data.y.chunks_exact(data.dim).zip(&data.labels);
    Ok(rows
        .filter(|(_, feasible)| **feasible)
        .flat_map(|(row, _)| row.iter().copied().map(f64::from))
        .collect())
}

fn squared(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Writes where `iterations` steps lead to from a normal start.
pub fn descend(
    problem: &Problem,
    samples: &Samples,
    iterations: usize,
    random: &mut ChaCha8Rng,
    y: &mut [f64],
) {
    let mut gradient = [0.0; MOST];
    let gradient = &mut gradient[..y.len()];
    y.fill_with(|| random.sample(StandardNormal));
    for _ in 0..iterations {
        problem.gradient(y, gradient);
        for (y, gradient) in y.iter_mut().zip(&*gradient) {
            *y -= RATE * gradient;
        }
        if !samples.set.set().contains(y, &[]) {
            samples.project(y, random);
        }
    }
}

/// The method of the paper's tables: 100 iterations.
pub struct ProjectedGradient;

struct Descent {
    samples: Samples,
    random: ChaCha8Rng,
    y: Vec<f64>,
}

impl Method for ProjectedGradient {
    fn settings(&self) -> Value {
        json!({ "iterations": ITERATIONS, "rate": RATE, "samples": SAMPLES })
    }

    fn train(&self, task: &Task<'_>) -> Result<Trained, StudyError> {
        Ok(Trained::new(Descent {
            samples: Samples::new(&task.set)?,
            random: ChaCha8Rng::seed_from_u64(task.seed),
            y: vec![0.0; task.set.dim()],
        }))
    }
}

impl Solver for Descent {
    fn answer(&mut self, problem: &Problem, y: &mut [f32]) -> bool {
        descend(
            problem,
            &self.samples,
            ITERATIONS,
            &mut self.random,
            &mut self.y,
        );
        for (y, wide) in y.iter_mut().zip(&self.y) {
            *y = *wide as f32;
        }
        false
    }
}
