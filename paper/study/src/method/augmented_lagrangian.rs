//! The augmented Lagrangian method, as the paper's code does it: f + λs + ½ρs², λ += ρs.
//!
//! (Hestenes, 1969; Powell, 1969; Nocedal and Wright, *Numerical Optimization*, chapter 17.)

use serde_json::{Value, json};

use super::score::{Penalised, Score, Weighing};
use super::{Method, Task, Trained};
use crate::StudyError;

/// Ten outer iterations of ten inner ones.
const ITERATIONS: usize = 100;
const INNER: usize = 10;
const RATE: f64 = 0.05;
const SCATTER: f64 = 0.05;
/// ρ
const PENALTY: f64 = 10.0;

/// The augmented Lagrangian method.
pub struct AugmentedLagrangian;

/// λ, which begins at zero.
#[derive(Default)]
struct Multiplier(f64);

impl Weighing for Multiplier {
    fn factor(&mut self, _iteration: usize, score: f64) -> f64 {
        self.0 + PENALTY * score
    }

    fn after(&mut self, iteration: usize, measure: impl FnOnce() -> f64) {
        if (iteration + 1).is_multiple_of(INNER) {
            self.0 += PENALTY * measure();
        }
    }
}

impl Method for AugmentedLagrangian {
    fn settings(&self) -> Value {
        json!({ "iterations": ITERATIONS, "inner": INNER, "rate": RATE, "scatter": SCATTER,
                "penalty": PENALTY })
    }

    fn train(&self, task: &Task<'_>) -> Result<Trained, StudyError> {
        let score = Score::new(task, SCATTER);
        let solver: Penalised<Multiplier> = Penalised::new(score, RATE, ITERATIONS);
        Ok(Trained::new(solver))
    }
}
