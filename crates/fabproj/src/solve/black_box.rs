//! Sets with a membership test only, as functions of a problem; and problems as sets, for a projector's training.

use std::sync::Arc;

use fabproj_core::{Functions, Membership};

use super::problem::Problem;
use crate::set::{Description, Equation, Interval, Result, Set, bounded, length};

/// An objective, and a membership test as the only constraint: −1 inside and 1 outside, without a gradient.
pub(super) struct BlackBox {
    pub(super) set: Arc<dyn Set>,
    pub(super) objective: Arc<dyn Functions + Send + Sync>,
}

impl Functions for BlackBox {
    fn dim(&self) -> usize {
        self.objective.dim()
    }

    fn x_dim(&self) -> usize {
        self.objective.x_dim()
    }

    fn rows(&self) -> usize {
        1
    }

    fn memory(&self) -> usize {
        self.objective.memory()
    }

    fn values(&self, y: &[f64], x: &[f64], constraints: &mut [f64], memory: &mut [f64]) -> f64 {
        // Sets are never asked about NaN.
        let finite = y.iter().chain(x).all(|value| value.is_finite());
        let inside = finite && self.set.contains(y, x);
        constraints[0] = if inside { -1.0 } else { 1.0 };
        self.objective.values(y, x, &mut [], memory)
    }

    fn objective(&self, y: &[f64], x: &[f64], memory: &mut [f64]) -> Option<f64> {
        Some(self.objective.values(y, x, &mut [], memory))
    }

    fn gradient(&self, y: &[f64], x: &[f64], _: &[f64], gradient: &mut [f64], memory: &mut [f64]) {
        self.objective.gradient(y, x, &[], gradient, memory);
    }

    fn slopes(&self, _: &[f64], _: &[f64], _: &[f64], slopes: &mut [f64], _: &mut [f64]) {
        slopes.fill(0.0);
    }
}

/// The feasible points of a problem as a set, whose x are those of the problem.
pub(super) struct Feasible<'a> {
    problem: &'a Problem,
    bounds: &'a [Interval],
}

impl<'a> Feasible<'a> {
    /// # Errors
    /// [`SetError`](crate::set::SetError) where y has no finite bounds.
    pub(super) fn of(problem: &'a Problem) -> Result<Self> {
        let bounds = problem.bounds().unwrap_or(&[]);
        length("bounds of y", problem.dim(), bounds.len())?;
        bounded("bounds of y", bounds)?;
        Ok(Self { problem, bounds })
    }
}

impl Membership for Feasible<'_> {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        let within = |(y, (low, high)): (&f64, &Interval)| low <= y && y <= high;
        if !y.iter().zip(self.bounds).all(within) {
            return false;
        }
        if let Some(black_box) = self.problem.black_box() {
            return black_box.set.contains(y, x);
        }
        let functions = self.problem.functions();
        let mut constraints = vec![0.0; functions.rows()];
        let mut memory = vec![0.0; functions.memory()];
        let objective = functions.values(y, x, &mut constraints, &mut memory);
        objective.is_finite() && constraints.iter().all(|value| *value <= 0.0)
    }

    fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        if let Some(black_box) = self.problem.black_box() {
            return black_box.set.violation(y, x, gradient);
        }
        let functions = self.problem.functions();
        let mut constraints = vec![0.0; functions.rows()];
        let mut memory = vec![0.0; functions.memory()];
        functions.values(y, x, &mut constraints, &mut memory);
        let violated = constraints.iter().map(|value| f64::from(*value > 0.0));
        let violated: Vec<f64> = violated.collect();
        let mut objective = vec![0.0; y.len()];
        functions.gradient(y, x, &violated, gradient, &mut memory);
        let none = vec![0.0; violated.len()];
        functions.gradient(y, x, &none, &mut objective, &mut memory);
        for (gradient, objective) in gradient.iter_mut().zip(objective) {
            *gradient -= objective;
        }
        Some(constraints.iter().map(|value| value.max(0.0)).sum())
    }
}

impl Set for Feasible<'_> {
    fn dim(&self) -> usize {
        self.problem.dim()
    }

    fn x_dim(&self) -> usize {
        self.problem.x_dim()
    }

    fn bounds(&self) -> Vec<Interval> {
        self.bounds.to_vec()
    }

    fn x_bounds(&self) -> Vec<Interval> {
        self.problem.distribution().region(self.x_dim())
    }

    fn draw_input(&self, x: &[f64], uniform: &mut dyn FnMut() -> f64, y: &mut [f64]) {
        match self.problem.black_box() {
            Some(black_box) => black_box.set.draw_input(x, uniform, y),
            None => {
                for (y, (low, high)) in y.iter_mut().zip(self.bounds) {
                    *y = low + (high - low) * uniform();
                }
            }
        }
    }

    fn equations(&self) -> Vec<Equation> {
        self.problem.equations().to_vec()
    }

    fn description(&self) -> Description {
        self.problem.description().clone()
    }
}
