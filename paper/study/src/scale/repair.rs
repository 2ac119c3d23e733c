//! What brings the point of a network into the set.

use serde::Serialize;

/// What brings a point into the set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Repair {
    /// The ray map.
    Ray,
    /// DC3's correction.
    Correction {
        /// In training.
        steps: usize,
        answer_steps: usize,
        /// The length of a step; in settings the share of the longest stable one.
        rate: f64,
        momentum: f64,
        /// Weight of ‖max(c, 0)‖ in the loss.
        penalty: f64,
    },
    /// None before Homeomorphic Projection's bisection, which no training goes back through.
    Later {
        /// Weight of ‖max(c, 0)‖ in the loss.
        penalty: f64,
    },
    /// FSNet's feasibility-seeking step.
    Seek {
        /// Iterations of L-BFGS at most.
        steps: usize,
        /// How far inside it aims.
        margin: f64,
        /// Weight of the way's square in the loss.
        distance: f64,
    },
}

impl Repair {
    /// What brings the point of a trained network into the set.
    pub(super) fn of_answers(mut self) -> Self {
        if let Self::Correction {
            ref mut steps,
            answer_steps,
            ..
        } = self
        {
            *steps = answer_steps;
        }
        self
    }
}
