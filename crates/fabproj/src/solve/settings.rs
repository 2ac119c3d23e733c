//! Settings of a solver's training, what it measures, and how it fails.

use fabproj_core::WeightsError;
use serde::{Deserialize, Serialize};

use super::problem::ProblemError;
use crate::set::SetError;

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
    /// Of the learned tool: whether its projector is trained in seconds, less exactly. false
    pub quick: bool,
    /// Of the learned tool: points that the network proposes. 4
    pub heads: usize,
    /// Of the learned tool: width of the network's hidden layers. 128
    pub width: usize,
    /// Of the learned tool: number of the network's hidden layers. 3
    pub depth: usize,
    /// Of the learned tool: steps of the network's training. 3000
    pub network_steps: u64,
    /// Of the learned tool: membership tests that improve the best point of an answer. 24
    pub tests: usize,
}

/// How a solver finds its answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    /// Steps of quadratic programming from an affine start: where constraints and objective have slopes.
    #[default]
    Structured,
    /// A projector of the set with a network in front: where the set can only be asked.
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
            heads: 4,
            width: 128,
            depth: 3,
            network_steps: 3_000,
            tests: 24,
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
    /// The learned tool draws points from the bounds.
    #[error("y needs finite bounds for the learned tool: it draws points from them")]
    NoBounds,
    /// The structured tool needs slopes.
    #[error(
        "the set can only be asked whether a point is in it, so that the structured tool has no slopes: leave \
         `tool` out, or choose the learned one"
    )]
    NoSlopes,
    /// Most x have no feasible point.
    #[error("no feasible point at {failed} of {tried} x: check constraints and the region of x")]
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
    /// The result cannot run.
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

/// What training measured of one candidate, on x that it had not learned from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Measured {
    /// The tool.
    pub tool: Tool,
    /// Membership tests that improve an answer, of the learned tool.
    pub tests: usize,
    /// Steps per answer.
    pub steps: usize,
    /// The margin of the steps, as a part of the spread of the optima in the metric.
    pub margin: f64,
    /// Tested x.
    pub tested: usize,
    /// Answers that were pulled toward the anchor.
    pub pulled: usize,
    /// Answers that were not verified.
    pub failed: usize,
    /// Mean of the relative gap.
    pub mean_gap: f64,
    /// The largest relative gap.
    pub worst_gap: f64,
}

impl Measured {
    /// Figures for observers.
    pub(super) fn figures(&self) -> [(&'static str, f64); 4] {
        [
            ("mean gap", self.mean_gap),
            ("worst gap", self.worst_gap),
            ("pulled", self.pulled as f64),
            ("failed", self.failed as f64),
        ]
    }
}

/// What training did, for the model file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SolveSummary {
    /// Optima that were learned from.
    pub labels: usize,
    /// x whose optimum was not found.
    pub without_label: usize,
    /// Different active sets among the labels.
    pub active_sets: usize,
    /// How the optima were found; of the learned tool, what its answers were compared with.
    pub reference: String,
    /// The candidate that was chosen.
    pub chosen: Measured,
    /// All candidates.
    pub candidates: Vec<Measured>,
}
