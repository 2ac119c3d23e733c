//! The sets of the study, each with its exact optima.

use std::sync::Arc;

use fabproj::set::{Set, built_in};
use fabproj::support::near_names;

use crate::StudyError;
use crate::optimum::{Blob, Moons, Optimum, Shell, Star};
use crate::problem::{MOST, Problem, widen};

/// The paper's sets, by the names that `fabproj sets` lists.
pub const SETS: [&str; 7] = [
    "blob-with-bite",
    "concentric-circles",
    "star-shaped",
    "two-moons",
    "shell-3d",
    "shell-5d",
    "shell-10d",
];

/// A set whose problems can be solved exactly.
pub struct StudySet {
    name: String,
    set: Arc<dyn Set>,
    optimum: Box<dyn Optimum>,
}

impl StudySet {
    /// One of [`SETS`].
    ///
    /// # Errors
    /// [`StudyError::Unknown`] with the names most like it.
    pub fn open(name: &str) -> Result<Arc<Self>, StudyError> {
        if !SETS.contains(&name) {
            return Err(StudyError::Unknown {
                what: "set of the study",
                name: name.to_owned(),
                near: near_names(name, SETS),
            });
        }
        let optimum: Box<dyn Optimum> = match name {
            "blob-with-bite" => Box::new(Blob),
            "star-shaped" => Box::new(Star),
            "two-moons" => Box::new(Moons::new()),
            _ => Box::new(Shell),
        };
        Ok(Arc::new(Self {
            name: name.to_owned(),
            set: built_in(name)?,
            optimum,
        }))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The set itself.
    pub fn set(&self) -> &dyn Set {
        self.set.as_ref()
    }

    /// The set itself, shared.
    pub fn shared(&self) -> Arc<dyn Set> {
        Arc::clone(&self.set)
    }

    /// The dimension of y.
    pub fn dim(&self) -> usize {
        self.set.dim()
    }

    /// Whether the exact values of y are in the set.
    #[inline]
    pub fn contains(&self, y: &[f32]) -> bool {
        let mut wide = [0.0; MOST];
        let wide = &mut wide[..y.len()];
        widen(y, wide);
        self.set.contains(wide, &[])
    }

    /// The smallest value that the problem's objective has on the set.
    pub fn best_value(&self, problem: &Problem) -> f64 {
        problem.value(&self.best_point(problem))
    }

    /// A point of the set where it has that value.
    pub fn best_point(&self, problem: &Problem) -> Vec<f64> {
        let mut y = vec![0.0; self.dim()];
        self.optimum.solve(problem, &mut y);
        y
    }
}
