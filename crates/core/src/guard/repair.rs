//! From a projection that failed the test to a point that passed it.

use super::Membership;
use super::call::{Call, inner};
use super::find::Found;
use crate::outcome::{Outcome, RawOutcome};
use crate::real::{Real, all_finite};

/// Halvings of the latent segment between an anchor and the failed projection.
pub(super) const BISECTION_STEPS: usize = 8;

impl<T: Real, M: Membership> Call<'_, T, M> {
    /// Replaces the failed projection in `out` by a feasible point near it.
    #[cold]
    pub(super) fn repair(&mut self, raw: RawOutcome, out: &mut [T]) -> Outcome {
        let usable = all_finite(self.at.y);
        let near = match raw {
            RawOutcome::NotFinite if usable => self.at.y,
            _ => &*out,
        };
        let (projector, points) = (self.projector(), &mut *self.points);
        let (reduced, place) = (&mut self.shared.reduced, &mut points.place);
        let coordinates = inner(projector, near, self.at.x, reduced, place);
        points.near.copy_from_slice(coordinates);
        points.least.forget();
        let own_chart = usable.then(|| projector.choose_one(self.at, self.run));
        let found = if self.at.x.is_empty() {
            self.nearest(own_chart)
        } else {
            self.find()
        };
        let Some(found) = found else {
            return self.last_resort(raw, out);
        };
        out.copy_from_slice(&self.points.candidate);
        match found {
            Found::Decode { chart } if usable => self.bisect(chart, own_chart == Some(chart), out),
            _ => Outcome::Anchored,
        }
    }

    /// When no anchor and no decode is feasible: points at hand that have not been tested yet, then a
    /// search around them. If all fail, the least violating of all points tested is written.
    fn last_resort(&mut self, raw: RawOutcome, out: &mut [T]) -> Outcome {
        let y = self.at.y;
        if !self.guard.keep_feasible && self.passes(y) {
            out.copy_from_slice(y);
            return Outcome::Kept;
        }
        // Only then `out` holds the fallback, not a projection that has failed.
        if raw == RawOutcome::NotFinite && self.passes(out) {
            return Outcome::Anchored;
        }
        self.weigh(out);
        self.weigh(y);
        if self.explore() {
            self.approach();
            out.copy_from_slice(&self.points.candidate);
            return Outcome::Anchored;
        }
        if let Some(point) = self.points.least.point() {
            out.copy_from_slice(point);
        }
        Outcome::MaybeEmpty
    }

    /// The verified point of a fixed set to go back to.
    fn nearest(&mut self, chart: Option<usize>) -> Option<Found> {
        let verified = self.guard.nearest_verified(&self.points.near, chart)?;
        let candidate = self.points.candidate.iter_mut().zip(&verified.point);
        candidate.for_each(|(candidate, value)| *candidate = T::from_f64(*value));
        let anchor = &verified.anchor;
        self.shared.segment.anchor[..anchor.latent.len()].copy_from_slice(&anchor.latent);
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
    fn bisect(&mut self, chart: usize, far_end_failed: bool, out: &mut [T]) -> Outcome {
        if !self.encode_target(chart) {
            return Outcome::Anchored;
        }
        let (mut feasible, mut failed) = (0.0, 1.0);
        let mut outcome = Outcome::Anchored;
        for step in 0..BISECTION_STEPS {
            // In another chart than the projection's own the far end has not been tested yet.
            let untested = step == 0 && !far_end_failed;
            let middle = if untested {
                failed
            } else {
                0.5 * (feasible + failed)
            };
            if self.test_segment(chart, middle) {
                out.copy_from_slice(&self.points.candidate);
                outcome = Outcome::Repaired;
                feasible = middle;
                if untested {
                    break;
                }
            } else {
                failed = middle;
            }
        }
        outcome
    }

    /// Writes the clamped latent of y in `chart` into the segment's far end.
    fn encode_target(&mut self, chart: usize) -> bool {
        let projector = self.projector();
        let (Some(set), Some(dim)) = (projector.latent_set(chart), projector.latent_dim(chart))
        else {
            return false;
        };
        let target = &mut self.shared.segment.target[..dim];
        let encoded = projector.encode_one(chart, self.at, target, self.run);
        set.clamp(target);
        encoded && all_finite(target)
    }

    /// Tests the decode of the point at `share` of the way from the anchor.
    fn test_segment(&mut self, chart: usize, share: f32) -> bool {
        let projector = self.projector();
        let (Some(set), Some(dim)) = (projector.latent_set(chart), projector.latent_dim(chart))
        else {
            return false;
        };
        let segment = &mut self.shared.segment;
        let ends = segment.anchor.iter().zip(&segment.target);
        for (middle, (anchor, target)) in segment.middle[..dim].iter_mut().zip(ends) {
            *middle = anchor + share * (target - anchor);
        }
        // A shell is not convex: the chord is pushed back onto it.
        set.restrict(&mut segment.middle[..dim]);
        let (latent, x) = (&segment.middle[..dim], self.at.x);
        let candidate = &mut self.points.candidate;
        let (test, tests) = (&self.guard.membership, &mut self.shared.tests);
        projector.decode_checked(chart, latent, x, candidate, self.run) == 0
            && tests.passes(test, candidate, x)
    }
}
