//! The penalty method, as the paper's code does it: f + μ·s with a growing μ.
//!
//! (Courant, 1943; Nocedal and Wright, *Numerical Optimization*, chapter 17.)

use serde_json::{Value, json};

use super::score::{Penalised, Score, Weighing};
use super::{Method, Task, Trained};
use crate::StudyError;

const ITERATIONS: usize = 100;
const RATE: f64 = 0.05;
const SCATTER: f64 = 0.05;

/// The penalty method.
pub struct Penalty;

/// μ = 10, doubled after iterations 20, 40, 60 and 80.
struct Growing(f64);

impl Default for Growing {
    fn default() -> Self {
        Self(10.0)
    }
}

impl Weighing for Growing {
    fn factor(&mut self, _iteration: usize, _score: f64) -> f64 {
        self.0
    }

    fn after(&mut self, iteration: usize, _measure: impl FnOnce() -> f64) {
        if iteration > 0 && iteration.is_multiple_of(20) {
            self.0 *= 2.0;
        }
    }
}

impl Method for Penalty {
    fn settings(&self) -> Value {
        json!({ "iterations": ITERATIONS, "rate": RATE, "scatter": SCATTER })
    }

    fn train(&self, task: &Task<'_>) -> Result<Trained, StudyError> {
        let score = Score::new(task, SCATTER);
        let solver: Penalised<Growing> = Penalised::new(score, RATE, ITERATIONS);
        Ok(Trained::new(solver))
    }
}
