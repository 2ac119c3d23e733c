//! What stands between a network's output and the answer while the network is trained.

use std::sync::Arc;

use fabproj::Projector;
use fabproj::core::{RawOutcome, Tape};

/// A map from proposed points to answers, with its gradient. Rows follow each other.
pub trait Correction {
    /// Writes the answers.
    fn correct(&mut self, points: &[f32], answers: &mut [f32]);

    /// Writes the gradient of a loss with respect to the points from that with respect to the answers
    /// (`cotangent`) of the latest [`correct`](Self::correct), whose points are given again.
    fn pull_back(&mut self, points: &[f32], cotangent: &[f32], gradient: &mut [f32]);

    /// Adds a loss of the points themselves to `losses` (one per row), and writes its gradient.
    fn penalise(&mut self, points: &[f32], losses: &mut [f32], gradient: &mut [f32]) {
        let _ = (points, losses);
        gradient.fill(0.0);
    }
}

/// A trained projector that does not change any more.
pub struct FrozenProjector {
    projector: Arc<Projector>,
    tape: Tape,
    outcomes: Vec<RawOutcome>,
}

impl FrozenProjector {
    /// Through this projector.
    pub fn new(projector: Arc<Projector>) -> Self {
        Self {
            tape: projector.tape(0),
            projector,
            outcomes: Vec::new(),
        }
    }
}

impl Correction for FrozenProjector {
    fn correct(&mut self, points: &[f32], answers: &mut [f32]) {
        let rows = points.len() / self.projector.dim();
        self.outcomes.resize(rows, RawOutcome::Inside);
        let (outcomes, tape) = (&mut self.outcomes, &mut self.tape);
        let done = self.projector.forward(points, &[], answers, outcomes, tape);
        // Lengths and tape fit by construction.
        debug_assert!(done.is_ok());
    }

    fn pull_back(&mut self, _points: &[f32], cotangent: &[f32], gradient: &mut [f32]) {
        let tape = &mut self.tape;
        let done = self.projector.pullback(cotangent, gradient, &mut [], tape);
        debug_assert!(done.is_ok());
    }
}

/// The points are the answers.
pub struct Uncorrected;

impl Correction for Uncorrected {
    fn correct(&mut self, points: &[f32], answers: &mut [f32]) {
        answers.copy_from_slice(points);
    }

    fn pull_back(&mut self, _points: &[f32], cotangent: &[f32], gradient: &mut [f32]) {
        gradient.copy_from_slice(cotangent);
    }
}
