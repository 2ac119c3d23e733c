//! Projected gradient whose projection follows the set's violation.
//!
//! The sets of the study know their violation, which is nearly the distance, and its gradient: a step back
//! along it is a projection. The start is the unconstrained minimiser, or a far point downhill.

use std::sync::Arc;

use serde_json::{Value, json};

use super::settle::{restore, settle};
use super::{Method, Solver, Task, Trained};
use crate::problem::{MOST, Objective, Problem};
use crate::solver_net::far_downhill;
use crate::{StudyError, StudySet};

/// Gradient steps at most.
const STEPS: usize = 100;
/// Steps back to the set after each of them at most.
const RESTORES: usize = 8;
/// Length of a step of linear problems, about the size of the sets.
const STRIDE: f64 = 2.0;
/// A step that moves less is the last.
const STILL: f64 = 1e-7;

/// Projected gradient along the violation.
pub struct ViolationDescent;

impl Method for ViolationDescent {
    fn settings(&self) -> Value {
        json!({ "steps": STEPS, "restores": RESTORES, "stride": STRIDE })
    }

    fn train(&self, task: &Task<'_>) -> Result<Trained, StudyError> {
        Ok(Trained::new(Descent(Arc::clone(&task.set))))
    }
}

struct Descent(Arc<StudySet>);

impl Descent {
    /// Brings a point to the set, or near it.
    fn project(&self, y: &mut [f64]) {
        let mut slope = [0.0; MOST];
        let slope = &mut slope[..y.len()];
        for _ in 0..RESTORES {
            if self.0.set().contains(y, &[]) || !restore(&self.0, y, slope, 1e-9) {
                return;
            }
        }
    }
}

/// The inverse of a bound of the curvature.
fn rate(problem: &Problem) -> f64 {
    match problem.objective() {
        Objective::Linear => {
            let square: f64 = problem.vector().iter().map(|c| c * c).sum();
            STRIDE / square.sqrt().max(f64::MIN_POSITIVE)
        }
        Objective::Distance => 0.5,
        Objective::Quadratic => {
            let diagonal = problem.matrix().iter().step_by(problem.dim() + 1);
            1.0 / diagonal.sum::<f64>()
        }
    }
}

impl Solver for Descent {
    fn answer(&mut self, problem: &Problem, y: &mut [f32]) -> bool {
        let dim = y.len();
        let (mut at, mut next, mut gradient) = ([0.0; MOST], [0.0; MOST], [0.0; MOST]);
        let (at, next, gradient) = (&mut at[..dim], &mut next[..dim], &mut gradient[..dim]);
        far_downhill(problem, y);
        for (at, y) in at.iter_mut().zip(&*y) {
            *at = f64::from(*y);
        }
        self.project(at);
        let rate = rate(problem);
        for _ in 0..STEPS {
            problem.gradient(at, gradient);
            for ((next, at), gradient) in next.iter_mut().zip(&*at).zip(&*gradient) {
                *next = at - rate * gradient;
            }
            self.project(next);
            let moved: f64 = next.iter().zip(&*at).map(|(a, b)| (a - b) * (a - b)).sum();
            if problem.value(next) >= problem.value(at) && self.0.set().contains(at, &[]) {
                break;
            }
            at.copy_from_slice(next);
            if moved < STILL * STILL {
                break;
            }
        }
        settle(&self.0, at, y)
    }
}
