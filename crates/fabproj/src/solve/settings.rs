//! What a training may be told.

use serde::{Deserialize, Serialize};

use crate::train::TrainError;
use crate::train::settings::check;

/// The largest number of steps that may be asked for.
const MOST_STEPS: f64 = 1000.0;
/// The smallest gap that may be asked for.
const LEAST_GOAL: f64 = 1e-16;

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

/// Numbers that are kept at once, at most: 2 GiB.
pub(super) const MOST_NUMBERS: usize = 1 << 28;

impl SolveSettings {
    /// Refuses settings that cannot be trained with; every label takes so many numbers.
    pub(super) fn check(&self, per_label: usize) -> Result<(), TrainError> {
        let most_labels = MOST_NUMBERS / per_label;
        if self.labels > 0 {
            check("labels", self.labels as f64, 2.0, most_labels as f64)?;
        }
        check("goal", self.goal, LEAST_GOAL, 1.0 / LEAST_GOAL)?;
        check("max_steps", self.max_steps as f64, 1.0, MOST_STEPS)
    }
}
