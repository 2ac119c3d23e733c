//! What the paper's penalty methods know of a set: a random estimate of how infeasible a place is.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::{Solver, Task};
use crate::StudySet;
use crate::problem::{MOST, Problem};

/// Random offsets per estimate.
const OFFSETS: usize = 32;
/// Draws before a start inside the set is given up. No set of the study has so small a share of the draws.
const STARTS: usize = 1000;

/// The share s of 32 normally scattered neighbours that are infeasible, with the gradient estimate
/// ĝ = mean(bᵢεᵢ)/σ. Nothing is subtracted from bᵢ, as released, so that its variance is large.
pub(super) struct Score {
    set: Arc<StudySet>,
    random: ChaCha8Rng,
    /// σ, the size of the neighbourhood.
    scatter: f64,
}

impl Score {
    pub(super) fn new(task: &Task<'_>, scatter: f64) -> Self {
        Self {
            set: Arc::clone(&task.set),
            random: ChaCha8Rng::seed_from_u64(task.seed),
            scatter,
        }
    }

    /// Returns s and writes ĝ.
    pub(super) fn estimate(&mut self, y: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        let (mut offset, mut moved) = ([0.0; MOST], [0.0; MOST]);
        let (offset, moved) = (&mut offset[..y.len()], &mut moved[..y.len()]);
        let mut infeasible = 0;
        for _ in 0..OFFSETS {
            for ((offset, moved), y) in offset.iter_mut().zip(&mut *moved).zip(y) {
                *offset = self.random.sample(StandardNormal);
                *moved = y + self.scatter * *offset;
            }
            if !self.set.set().contains(moved, &[]) {
                infeasible += 1;
                for (gradient, offset) in gradient.iter_mut().zip(&*offset) {
                    *gradient += offset / (OFFSETS as f64 * self.scatter);
                }
            }
        }
        f64::from(infeasible) / OFFSETS as f64
    }

    /// A normal start; where it must be `inside` the set, the first of a thousand that is.
    pub(super) fn start(&mut self, inside: bool, y: &mut [f64]) {
        for _ in 0..STARTS {
            y.fill_with(|| self.random.sample(StandardNormal));
            if !inside || self.set.set().contains(y, &[]) {
                return;
            }
        }
    }
}

/// Adam on one point, in f64: the rule of the networks' optimizer.
pub(super) struct PointAdam {
    rate: f64,
    first: [f64; MOST],
    second: [f64; MOST],
    step: i32,
}

impl PointAdam {
    pub(super) fn new(rate: f64) -> Self {
        Self {
            rate,
            first: [0.0; MOST],
            second: [0.0; MOST],
            step: 0,
        }
    }

    pub(super) fn update(&mut self, y: &mut [f64], gradient: &[f64]) {
        self.step += 1;
        let corrections = (
            1.0 - 0.9_f64.powi(self.step),
            1.0 - 0.999_f64.powi(self.step),
        );
        let averages = self.first.iter_mut().zip(&mut self.second);
        for ((y, gradient), (first, second)) in y.iter_mut().zip(gradient).zip(averages) {
            *first += 0.1 * (gradient - *first);
            *second += 0.001 * (gradient * gradient - *second);
            let root = (*second / corrections.1).sqrt() + 1e-8;
            *y -= self.rate * (*first / corrections.0) / root;
        }
    }
}

/// How a penalty method weighs the score as it goes on.
pub(super) trait Weighing: Send + Default {
    /// The factor of ĝ in the gradient at iteration `iteration`, given s. Zero: the score is ignored.
    fn factor(&mut self, iteration: usize, score: f64) -> f64;

    /// After the step of an iteration; `measure` gives a fresh s at the new point.
    fn after(&mut self, iteration: usize, measure: impl FnOnce() -> f64);
}

/// Adam steps along ∇f + factor·ĝ.
pub(super) struct Penalised<W> {
    score: Score,
    rate: f64,
    iterations: usize,
    starts_inside: bool,
    weighing: std::marker::PhantomData<fn() -> W>,
}

impl<W> Penalised<W> {
    pub(super) fn new(score: Score, rate: f64, iterations: usize) -> Self {
        Self {
            score,
            rate,
            iterations,
            starts_inside: false,
            weighing: std::marker::PhantomData,
        }
    }

    pub(super) fn starting_inside(self, starts_inside: bool) -> Self {
        Self {
            starts_inside,
            ..self
        }
    }
}

impl<W: Weighing> Solver for Penalised<W> {
    fn answer(&mut self, problem: &Problem, y: &mut [f32]) -> bool {
        let dim = y.len();
        let (mut at, mut gradient, mut estimate) = ([0.0; MOST], [0.0; MOST], [0.0; MOST]);
        let (at, gradient) = (&mut at[..dim], &mut gradient[..dim]);
        let estimate = &mut estimate[..dim];
        let mut weighing = W::default();
        let mut adam = PointAdam::new(self.rate);
        self.score.start(self.starts_inside, at);
        for iteration in 0..self.iterations {
            problem.gradient(at, gradient);
            let score = self.score.estimate(at, estimate);
            let factor = weighing.factor(iteration, score);
            for (gradient, estimate) in gradient.iter_mut().zip(&*estimate) {
                *gradient += factor * estimate;
            }
            adam.update(at, gradient);
            weighing.after(iteration, || self.score.estimate(at, estimate));
        }
        for (y, at) in y.iter_mut().zip(&*at) {
            *y = *at as f32;
        }
        false
    }
}
