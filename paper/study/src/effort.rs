//! How much work a study makes of each training.

use fabproj::Settings;
use serde::{Deserialize, Serialize};

/// How much each training gets. Part of the key of every run that trains something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Effort {
    /// Share of the paper's epochs that its method makes; 1 is as released.
    pub paper_epochs: f64,
    /// The recipe of our projectors.
    pub projector: Settings,
    /// The recipe of our small projectors.
    pub small_projector: Settings,
    /// Steps of our solver networks, and of the baselines that get our budget.
    pub solver_steps: u64,
    /// Steps of the invertible networks of Homeomorphic Projection; 10 000 is as released.
    pub mapping_steps: u64,
}

impl Effort {
    /// Everything as it should be compared.
    pub fn full() -> Self {
        Self {
            paper_epochs: 1.0,
            projector: Settings::default(),
            small_projector: Settings::small(),
            solver_steps: 6_000,
            mapping_steps: 10_000,
        }
    }

    /// The main table in minutes: a twentieth of the paper's epochs, half of our solver's steps, a fifth
    /// of the invertible networks'. Our projectors train in seconds anyway, and are the same.
    pub fn quick() -> Self {
        Self {
            paper_epochs: 0.05,
            solver_steps: 3_000,
            mapping_steps: 2_000,
            ..Self::full()
        }
    }
}
