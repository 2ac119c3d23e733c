//! What a training may be told.

use fabproj_core::Weights;
use serde::{Deserialize, Serialize};

use crate::train::TrainError;
use crate::train::settings::check;

/// The largest number of steps that may be asked for.
const MOST_STEPS: f64 = 1000.0;
/// The most points that a network may propose, and the most tests of an answer.
const MOST_HEADS: f64 = 64.0;
const MOST_TESTS: f64 = 1e6;
/// The most answers that are kept to start from.
const MOST_KNOWN: f64 = 65_536.0;
/// How many are kept where nothing is said. A search for each is ten million membership tests in all, and a plain
/// scan of them a few microseconds. With a quarter mean gaps are 7.1 instead of 5.4 % (the study's `stability`), 5.3
/// instead of 4.4 % (`dispatch-levels`), 0.34 instead of 0.16 % (`arm`).
const KNOWN: usize = 4_096;
const KNOWN_QUICK: usize = 512;
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
    /// The tool; left out: chosen by measurement.
    pub tool: Option<Tool>,
    /// Learned tool: whether its projector is trained by the preset `quick`. false
    pub quick: bool,
    /// Learned tool: points that the network proposes. 16
    pub heads: usize,
    /// Learned tool: width of the network's hidden layers. 128
    pub width: usize,
    /// Learned tool: steps of the network's training. 3000
    pub network_steps: u64,
    /// Learned tool: membership tests of an answer beside one for each point of the network. 24
    pub tests: usize,
    /// Learned tool: answers at drawn x that are kept to start from; left out: 4096, and 512 with `quick`.
    pub known: Option<usize>,
}

/// How a solver finds its answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    /// Steps of quadratic programming from an affine start: for smooth constraints.
    #[default]
    Structured,
    /// A network in front of a projector onto the set: for membership tests, and for several basins.
    Learned,
}

impl Tool {
    /// A word for tables and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Structured => "structured",
            Self::Learned => "learned",
        }
    }
}

impl Default for SolveSettings {
    fn default() -> Self {
        Self {
            seed: 0,
            labels: 0,
            goal: 2e-6,
            max_steps: 6,
            tool: None,
            quick: false,
            heads: 16,
            width: 128,
            network_steps: 3_000,
            tests: 24,
            known: None,
        }
    }
}

/// Numbers that are kept at once, at most: 2 GiB.
pub(super) const MOST_NUMBERS: usize = 1 << 28;

impl SolveSettings {
    /// Refuses settings that the learned tool cannot be trained with.
    pub(super) fn check_learned(&self) -> Result<(), TrainError> {
        check("heads", self.heads as f64, 1.0, MOST_HEADS)?;
        check("width", self.width as f64, 1.0, Weights::MAX_WIDTH as f64)?;
        check("network_steps", self.network_steps as f64, 1.0, 1e9)?;
        check("tests", self.tests as f64, 0.0, MOST_TESTS)?;
        check("known", self.known_answers() as f64, 0.0, MOST_KNOWN)
    }

    /// How many answers are kept to start from.
    pub(super) fn known_answers(&self) -> usize {
        let usual = if self.quick { KNOWN_QUICK } else { KNOWN };
        self.known.unwrap_or(usual)
    }

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
