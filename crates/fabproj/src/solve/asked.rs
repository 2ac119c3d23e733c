//! Sets that can only be asked, as functions of a problem; and problems as sets, for a projector's training.

use std::sync::Arc;

use fabproj_core::{Functions, Membership};

use super::problem::Problem;
use crate::set::{Description, Equation, Interval, Set};

/// An objective, and a membership test as one more constraint: −1 inside and 1 outside.
pub(super) struct Asked {
    pub(super) set: Arc<dyn Set>,
    pub(super) objective: Arc<dyn Functions + Send + Sync>,
}

impl Functions for Asked {
    fn dim(&self) -> usize {
        self.objective.dim()
    }

    fn x_dim(&self) -> usize {
        self.objective.x_dim()
    }

    fn rows(&self) -> usize {
        self.objective.rows() + 1
    }

    fn memory(&self) -> usize {
        self.objective.memory()
    }

    fn values(&self, y: &[f64], x: &[f64], constraints: &mut [f64], memory: &mut [f64]) -> f64 {
        let (own, test) = constraints.split_at_mut(self.objective.rows());
        let objective = self.objective.values(y, x, own, memory);
        // Sets are never asked about NaN.
        let finite = y.iter().chain(x).all(|value| value.is_finite());
        let inside = finite && self.set.contains(y, x);
        test[0] = if inside { -1.0 } else { 1.0 };
        objective
    }

    fn gradient(
        &self,
        y: &[f64],
        x: &[f64],
        weights: &[f64],
        gradient: &mut [f64],
        memory: &mut [f64],
    ) {
        let own = &weights[..self.objective.rows()];
        self.objective.gradient(y, x, own, gradient, memory);
    }

    fn slopes(
        &self,
        y: &[f64],
        x: &[f64],
        direction: &[f64],
        slopes: &mut [f64],
        memory: &mut [f64],
    ) {
        let (own, test) = slopes.split_at_mut(self.objective.rows());
        self.objective.slopes(y, x, direction, own, memory);
        test.fill(0.0);
    }
}

/// The feasible points of a problem as a set.
pub(super) struct Feasible<'a> {
    problem: &'a Problem,
    bounds: Vec<Interval>,
    x_bounds: Vec<Interval>,
}

impl<'a> Feasible<'a> {
    /// `None` where y has no finite bounds.
    pub(super) fn of(problem: &'a Problem) -> Option<Self> {
        let bounds = problem.bounds()?.to_vec();
        let ends = bounds.iter().flat_map(|(low, high)| [*low, *high]);
        ends.clone().all(f64::is_finite).then_some(())?;
        let mut x_bounds = problem.distribution().range(problem.x_dim());
        for (low, high) in &mut x_bounds {
            // A region has a width, whatever the data.
            let least = 1e-3 * (low.abs() + high.abs()).max(1e-3);
            if *high - *low < least {
                (*low, *high) = (*low - least, *high + least);
            }
        }
        Some(Self {
            problem,
            bounds,
            x_bounds,
        })
    }

    fn is_within(&self, y: &[f64]) -> bool {
        let within = |(y, (low, high)): (&f64, &Interval)| low <= y && y <= high;
        y.iter().zip(&self.bounds).all(within)
    }
}

impl Membership for Feasible<'_> {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        if !self.is_within(y) {
            return false;
        }
        if let Some(set) = self.problem.asked() {
            return set.contains(y, x);
        }
        let functions = self.problem.functions();
        let mut constraints = vec![0.0; functions.rows()];
        let mut memory = vec![0.0; functions.memory()];
        let objective = functions.values(y, x, &mut constraints, &mut memory);
        objective.is_finite() && constraints.iter().all(|value| *value <= 0.0)
    }

    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        let dim = self.dim();
        let rows = y.chunks_exact(dim);
        if let Some(set) = self.problem.asked() {
            set.contains_rows(y, x, inside);
            let pairs = inside.iter_mut().zip(rows);
            return pairs.for_each(|(inside, y)| *inside &= self.is_within(y));
        }
        for (row, (inside, y)) in inside.iter_mut().zip(rows).enumerate() {
            *inside = self.contains(y, &x[row * self.x_dim()..][..self.x_dim()]);
        }
    }

    fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        if let Some(set) = self.problem.asked() {
            return set.violation(y, x, gradient);
        }
        let functions = self.problem.functions();
        let mut constraints = vec![0.0; functions.rows()];
        let mut memory = vec![0.0; functions.memory()];
        functions.values(y, x, &mut constraints, &mut memory);
        let violated = constraints.iter().map(|value| f64::from(*value > 0.0));
        let weights: Vec<f64> = violated.collect();
        let mut with_objective = vec![0.0; y.len()];
        functions.gradient(y, x, &weights, &mut with_objective, &mut memory);
        let none = vec![0.0; weights.len()];
        functions.gradient(y, x, &none, gradient, &mut memory);
        for (gradient, both) in gradient.iter_mut().zip(with_objective) {
            *gradient = both - *gradient;
        }
        let violation = constraints.iter().map(|value| value.max(0.0)).sum();
        Some(violation)
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
        self.bounds.clone()
    }

    fn x_bounds(&self) -> Vec<Interval> {
        self.x_bounds.clone()
    }

    fn draw_input(&self, x: &[f64], uniform: &mut dyn FnMut() -> f64, y: &mut [f64]) {
        if let Some(set) = self.problem.asked() {
            return set.draw_input(x, uniform, y);
        }
        for (y, (low, high)) in y.iter_mut().zip(&self.bounds) {
            *y = low + (high - low) * uniform();
        }
    }

    fn names(&self) -> Vec<String> {
        self.problem.names().to_vec()
    }

    fn x_names(&self) -> Vec<String> {
        self.problem.x_names().to_vec()
    }

    fn equations(&self) -> Vec<Equation> {
        self.problem.equations().to_vec()
    }

    fn description(&self) -> Description {
        self.problem.description().clone()
    }
}
