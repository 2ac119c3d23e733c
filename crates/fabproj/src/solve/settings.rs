//! What a training may be told, and why it may fail.

use fabproj_core::WeightsError;
use serde::{Deserialize, Serialize};

use super::problem::ProblemError;
use crate::set::SetError;

/// The largest number of steps that may be asked for.
const MOST_STEPS: usize = 1000;

/// Settings of [`train`](super::train).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SolveSettings {
    /// Seed of the x that are drawn. 0
    pub seed: u64,
    /// Solved problems to learn from; 0 for four per coordinate of x and 300 more. 0
    pub labels: usize,
    /// The relative gap that no tested answer should exceed. More steps are taken until it is met. 2e-6
    pub goal: f64,
    /// The most steps per answer. 6
    pub max_steps: usize,
}

impl Default for SolveSettings {
    fn default() -> Self {
        Self {
            seed: 0,
            labels: 0,
            goal: 2e-6,
            max_steps: 6,
        }
    }
}

/// Why no solver was trained.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SolveError {
    /// Parts of the problem do not fit together.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Equations that contradict each other.
    #[error(transparent)]
    Equations(#[from] SetError),
    /// As many equations as coordinates.
    #[error(
        "the equations leave nothing to choose: {dim} coordinates and as many independent equations"
    )]
    NothingLeft {
        /// Dimension of y.
        dim: usize,
    },
    /// The objective has no minimum.
    #[error(
        "the objective has no lower bound at x = {x:?}: bound y, or add what is missing to the objective"
    )]
    Unbounded {
        /// Where.
        x: Vec<f64>,
    },
    /// Most x have no feasible point.
    #[error(
        "no feasible point was found at {failed} of {tried} x: check constraints, bounds and the region of x"
    )]
    Infeasible {
        /// How many x.
        failed: usize,
        /// Of how many.
        tried: usize,
    },
    /// The search for optima does not converge.
    #[error(
        "no optimum found at {failed} of {tried} x: objective and constraints must be smooth, with derivatives that are right"
    )]
    NotSmooth {
        /// How many x.
        failed: usize,
        /// Of how many.
        tried: usize,
    },
    /// A setting or a number of samples out of its range.
    #[error("{name} is {found}: choose {expected}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// What it is.
        found: String,
        /// What it may be.
        expected: String,
    },
    /// The result cannot run.
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

/// Numbers that are kept at once, at most: 2 GiB.
const MOST_NUMBERS: usize = 1 << 28;

/// Refuses more rows of so many numbers than memory should hold.
pub(super) fn check_rows(
    name: &'static str,
    rows: usize,
    numbers: usize,
) -> Result<(), SolveError> {
    let most = MOST_NUMBERS / numbers.max(1);
    if rows <= most {
        return Ok(());
    }
    Err(SolveError::Setting {
        name,
        found: rows.to_string(),
        expected: format!("at most {most}, which memory holds for this problem"),
    })
}

impl SolveSettings {
    /// Refuses settings that cannot be trained with.
    pub(super) fn check(&self) -> Result<(), SolveError> {
        let wrong = |name, found: String, expected: &str| {
            let expected = expected.to_owned();
            Err(SolveError::Setting {
                name,
                found,
                expected,
            })
        };
        if self.labels == 1 {
            return wrong(
                "labels",
                self.labels.to_string(),
                "0 for the usual number, or at least 2",
            );
        }
        if !(self.goal.is_finite() && self.goal > 0.0) {
            return wrong(
                "goal",
                self.goal.to_string(),
                "a positive number, such as 2e-6",
            );
        }
        if !(1..=MOST_STEPS).contains(&self.max_steps) {
            return wrong("max_steps", self.max_steps.to_string(), "from 1 to 1000");
        }
        Ok(())
    }
}
