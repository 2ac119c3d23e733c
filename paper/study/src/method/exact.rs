//! The study's own exact solver, as a method: closed forms that know the set.
//!
//! It is what gaps are measured against, and the fastest way to answer where a set has such forms.

use std::sync::Arc;

use serde_json::{Value, json};

use super::settle::settle;
use super::{Method, Solver, Task, Trained};
use crate::problem::{MOST, Problem};
use crate::{StudyError, StudySet};

/// The exact solver.
pub struct Exact;

impl Method for Exact {
    fn settings(&self) -> Value {
        json!({})
    }

    fn train(&self, task: &Task<'_>) -> Result<Trained, StudyError> {
        Ok(Trained::new(ExactSolver(Arc::clone(&task.set))))
    }
}

struct ExactSolver(Arc<StudySet>);

impl Solver for ExactSolver {
    fn answer(&mut self, problem: &Problem, y: &mut [f32]) -> bool {
        let mut exact = [0.0; MOST];
        let exact = &mut exact[..y.len()];
        self.0.solve(problem, exact);
        settle(&self.0, exact, y)
    }
}
