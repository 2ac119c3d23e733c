//! From a projection that failed the test to a point that passed it.

use core::borrow::Borrow;

use super::find::Found;
use super::{Guard, GuardWorkspace, Membership};
use crate::projector::{Points, Projector, all_finite};
use crate::status::Status;

/// Halvings of the latent segment between an anchor and the failed projection.
pub(super) const BISECTION_STEPS: usize = 8;

impl<P: Borrow<Projector>, M: Membership> Guard<P, M> {
    /// Replaces the failed projection in `out` by a feasible point near it.
    pub(super) fn repair(
        &self,
        y: &[f32],
        x: &[f32],
        status: Status,
        out: &mut [f32],
        workspace: &mut GuardWorkspace,
    ) -> Status {
        let usable = all_finite(y);
        let near = nearest_known(y, status, out);
        let own_chart = usable.then(|| {
            self.projector()
                .choose_one(Points { y, x }, &mut workspace.inner)
        });
        let found = if x.is_empty() {
            self.nearest(near, own_chart, workspace)
        } else {
            workspace.least.forget();
            self.find(near, x, workspace)
        };
        let Some(found) = found else {
            return self.last_resort(y, x, status, out, workspace);
        };
        out.copy_from_slice(&workspace.candidate);
        match found {
            Found::Decode { chart } if usable => self.bisect(
                chart,
                own_chart == Some(chart),
                Points { y, x },
                out,
                workspace,
            ),
            _ => Status::Anchored,
        }
    }

    /// When no anchor and no decode is feasible: points at hand that nobody has tested yet, then a
    /// search around them. If all fail, the least violating of all points tested is written.
    fn last_resort(
        &self,
        y: &[f32],
        x: &[f32],
        status: Status,
        out: &mut [f32],
        workspace: &mut GuardWorkspace,
    ) -> Status {
        if !self.keep_feasible && self.passes(y, x, workspace) {
            out.copy_from_slice(y);
            return Status::Kept;
        }
        // Only then `out` holds the fallback, not a projection that has failed.
        if status == Status::NotFinite && self.passes(out, x, workspace) {
            return Status::Anchored;
        }
        let (wide, least) = (&mut workspace.wide, &mut workspace.least);
        wide.weigh(least, &self.membership, out, x);
        wide.weigh(least, &self.membership, y, x);
        let near = nearest_known(y, status, out);
        if self.explore(near, x, workspace) {
            self.approach(near, x, workspace);
            out.copy_from_slice(&workspace.candidate);
            return Status::Anchored;
        }
        if let Some(point) = workspace.least.point() {
            out.copy_from_slice(point);
        }
        Status::MaybeEmpty
    }

    /// The verified point of a fixed set to go back to; there always is one.
    fn nearest(
        &self,
        near: &[f32],
        chart: Option<usize>,
        workspace: &mut GuardWorkspace,
    ) -> Option<Found> {
        let verified = self.nearest_verified(near, chart)?;
        let anchor = &verified.anchor;
        workspace.candidate.copy_from_slice(&anchor.point);
        workspace.segment.anchor[..anchor.latent.len()].copy_from_slice(&anchor.latent);
        Some(if verified.decodes {
            Found::Decode {
                chart: anchor.chart,
            }
        } else {
            Found::Point
        })
    }

    /// Walks from the feasible anchor, already in `out`, toward the projection in latent space. Only
    /// decodes that pass the test are ever written, so that whatever the decoder does in between
    /// costs distance, never feasibility.
    fn bisect(
        &self,
        chart: usize,
        far_end_failed: bool,
        points: Points<'_>,
        out: &mut [f32],
        workspace: &mut GuardWorkspace,
    ) -> Status {
        if !self.encode_target(chart, points, workspace) {
            return Status::Anchored;
        }
        let (mut feasible, mut failed) = (0.0, 1.0);
        let mut status = Status::Anchored;
        for step in 0..BISECTION_STEPS {
            // In another chart than the projection's own the far end has not been tested yet.
            let untested = step == 0 && !far_end_failed;
            let middle = if untested {
                failed
            } else {
                0.5 * (feasible + failed)
            };
            if self.test_segment(chart, middle, points.x, workspace) {
                out.copy_from_slice(&workspace.candidate);
                status = Status::Repaired;
                feasible = middle;
                if untested {
                    break;
                }
            } else {
                failed = middle;
            }
        }
        status
    }

    /// Writes the clamped latent of y in `chart` into the segment's far end.
    fn encode_target(
        &self,
        chart: usize,
        points: Points<'_>,
        workspace: &mut GuardWorkspace,
    ) -> bool {
        let projector = self.projector();
        let (Some(set), Some(dim)) = (projector.latent_set(chart), projector.latent_dim(chart))
        else {
            return false;
        };
        let target = &mut workspace.segment.target[..dim];
        let inner = &mut workspace.inner;
        let encoded = projector.encode(chart, points.y, points.x, target, inner);
        set.clamp(target);
        encoded == Ok(true) && all_finite(target)
    }

    /// Tests the decode of the point at `share` of the way from the anchor.
    fn test_segment(
        &self,
        chart: usize,
        share: f32,
        x: &[f32],
        workspace: &mut GuardWorkspace,
    ) -> bool {
        let projector = self.projector();
        let (Some(set), Some(dim)) = (projector.latent_set(chart), projector.latent_dim(chart))
        else {
            return false;
        };
        let segment = &mut workspace.segment;
        let ends = segment.anchor.iter().zip(&segment.target);
        for (middle, (anchor, target)) in segment.middle[..dim].iter_mut().zip(ends) {
            *middle = anchor + share * (target - anchor);
        }
        // A shell is not convex: the chord is pushed back onto it.
        set.restrict(&mut segment.middle[..dim]);
        let latent = &segment.middle[..dim];
        let out = &mut workspace.candidate;
        let decoded = projector.decode(chart, latent, x, out, &mut workspace.inner);
        decoded == Ok(true)
            && workspace
                .wide
                .test(&self.membership, &workspace.candidate, x)
    }
}

/// What a feasible point should be near to: the projection, or the input where there is none.
fn nearest_known<'a>(y: &'a [f32], status: Status, out: &'a [f32]) -> &'a [f32] {
    if status == Status::NotFinite && all_finite(y) {
        y
    } else {
        out
    }
}
