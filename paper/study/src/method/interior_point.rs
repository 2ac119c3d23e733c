//! The interior point method of the paper: f − μ·log(max(τ − s, 1e-6)), μ shrinking.
//!
//! The paper starts it inside the set. Its released code does not, and where s ≥ τ the barrier's gradient is
//! zero: from an infeasible start that is plain gradient descent on f. (Fiacco and McCormick, 1968; Nocedal and Wright, *Numerical
//! Optimization*, chapter 19.)

use serde_json::{Value, json};

use super::score::{Penalised, Score, Weighing};
use super::{Method, Task, Trained};
use crate::StudyError;

const ITERATIONS: usize = 100;
const RATE: f64 = 0.01;
const SCATTER: f64 = 0.1;
/// τ, the score that the barrier keeps below.
const THRESHOLD: f64 = 0.1;
const LEAST: f64 = 1e-6;

/// The interior point method.
pub struct InteriorPoint {
    /// Whether it starts inside the set, as printed, or anywhere, as released.
    pub starts_inside: bool,
}

/// μ = 0.5, halved after iterations 20, 40, 60 and 80.
struct Barrier(f64);

impl Default for Barrier {
    fn default() -> Self {
        Self(0.5)
    }
}

impl Weighing for Barrier {
    fn factor(&mut self, _iteration: usize, score: f64) -> f64 {
        let room = THRESHOLD - score;
        if room > LEAST { self.0 / room } else { 0.0 }
    }

    fn after(&mut self, iteration: usize, _measure: impl FnOnce() -> f64) {
        if iteration > 0 && iteration.is_multiple_of(20) {
            self.0 *= 0.5;
        }
    }
}

impl Method for InteriorPoint {
    fn settings(&self) -> Value {
        let mut settings = json!({
            "iterations": ITERATIONS, "rate": RATE, "scatter": SCATTER, "threshold": THRESHOLD
        });
        if self.starts_inside {
            settings["start"] = json!("inside");
        }
        settings
    }

    fn train(&self, task: &Task<'_>) -> Result<Trained, StudyError> {
        let score = Score::new(task, SCATTER);
        let solver: Penalised<Barrier> = Penalised::new(score, RATE, ITERATIONS);
        Ok(Trained::new(solver.starting_inside(self.starts_inside)))
    }
}
