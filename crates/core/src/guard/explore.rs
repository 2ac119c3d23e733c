//! The last search for a feasible point of an input-dependent set: not among decodes, but in the space
//! of y itself.

use core::borrow::Borrow;

use super::find::distance;
use super::repair::BISECTION_STEPS;
use super::workspace::{Exploration, GuardWorkspace};
use super::{Guard, Membership};
use crate::latent::{LatentSet, spread_step};
use crate::projector::Projector;

/// Points tested in one round.
const ROUND_TESTS: usize = 32;
/// Points tested in an exploration, and on the way back from the one that it found.
pub(super) const EXPLORATION_TESTS: usize = ROUNDS.len() * ROUND_TESTS + BISECTION_STEPS;

/// Around what a round's box lies.
#[derive(Clone, Copy)]
enum Around {
    /// The least violating point so far; while there is none, the point to be near to.
    Best,
    /// The centre of the model's frame, and so of the feasible points of all x.
    Frame,
}

/// The boxes: growing ones around the best point, then all of the model's frame, then finer ones around
/// the best of all these. Half sides are in the frame's scale.
const ROUNDS: [(Around, f32); 8] = [
    (Around::Best, 0.125),
    (Around::Best, 0.25),
    (Around::Best, 0.5),
    (Around::Best, 1.0),
    (Around::Frame, 2.0),
    (Around::Frame, 4.0),
    (Around::Best, 0.125),
    (Around::Best, 0.03),
];

/// The box that a fixed sequence of points is spread over.
const UNIT_BOX: LatentSet = LatentSet::Box {
    half: 1.0,
    smooth: None,
};

impl<P: Borrow<Projector>, M: Membership> Guard<P, M> {
    /// Tests a fixed sequence of points in each round's box. Writes the feasible one nearest to `near`,
    /// of the first round that has any, into the workspace's candidate.
    pub(super) fn explore(&self, near: &[f32], x: &[f32], workspace: &mut GuardWorkspace) -> bool {
        let frame = self.projector().frame();
        let step = spread_step(near.len());
        for (round, (around, half)) in ROUNDS.into_iter().enumerate() {
            let centre = match around {
                Around::Best => workspace.least.point().unwrap_or(near),
                Around::Frame => &frame.centre,
            };
            let Exploration {
                centre: kept,
                point,
            } = &mut workspace.exploration;
            kept.copy_from_slice(centre);
            let mut nearest = f32::INFINITY;
            for row in 0..ROUND_TESTS {
                UNIT_BOX.spread_by(step, (round * ROUND_TESTS + row) as u32, point);
                let places = point.iter_mut().zip(kept.iter().zip(&frame.scale));
                places.for_each(|(place, (centre, scale))| *place = centre + half * scale * *place);
                let away = distance(frame, point, near);
                let (wide, least) = (&mut workspace.wide, &mut workspace.least);
                if away < nearest && wide.test_for(least, &self.membership, point, x) {
                    nearest = away;
                    workspace.candidate.copy_from_slice(point);
                }
            }
            if nearest < f32::INFINITY {
                return true;
            }
        }
        false
    }

    /// Walks from the feasible candidate straight toward `near`, which has failed, as far as points
    /// pass the test. The last of them becomes the candidate.
    pub(super) fn approach(&self, near: &[f32], x: &[f32], workspace: &mut GuardWorkspace) {
        let Exploration {
            centre: start,
            point,
        } = &mut workspace.exploration;
        start.copy_from_slice(&workspace.candidate);
        let (mut feasible, mut failed) = (0.0, 1.0);
        for _ in 0..BISECTION_STEPS {
            let middle = 0.5 * (feasible + failed);
            let ends = start.iter().zip(near);
            for (place, (start, near)) in point.iter_mut().zip(ends) {
                *place = start + middle * (near - start);
            }
            if workspace.wide.test(&self.membership, point, x) {
                workspace.candidate.copy_from_slice(point);
                feasible = middle;
            } else {
                failed = middle;
            }
        }
    }
}
