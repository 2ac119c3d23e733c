//! A fixed set's anchors, tested when a guard is made.

use alloc::vec::Vec;

use super::buffers::GuardBuffers;
use super::call::{Call, distance, inner};
use super::find::SEARCH_ROWS;
use super::{Guard, Membership};
use crate::projector::Points;
use crate::real::Real;
use crate::weights::Anchor;
use crate::workspace::RunBuffers;

/// Why a guard could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// The set has other dimensions than the projector.
    #[error(
        "the model projects {model} numbers {what}, the set has {set}: it is a model for another set"
    )]
    Dimension {
        /// Which of the two, `y` or `x`.
        what: &'static str,
        /// Dimension of the projector.
        model: usize,
        /// Dimension of the set.
        set: usize,
    },
    /// Without one feasible point there is nothing to fall back to.
    #[error(
        "none of {anchors} anchors and {searched} decodes passes the membership test: is it the test \
         of the set that the projector was trained for?"
    )]
    NoFeasiblePoint {
        /// Stored anchors, all tested.
        anchors: usize,
        /// Decodes tested besides.
        searched: usize,
    },
}

/// A point that has passed the test.
#[derive(Clone, Debug)]
pub(super) struct Verified {
    /// Its point is in the networks' coordinates.
    pub anchor: Anchor,
    /// The point as it is returned.
    pub point: Vec<f64>,
    /// Whether it is the decode of the anchor's latent, so that there is a way to it.
    pub decodes: bool,
    /// Whether it may be returned from f32 calls: it passes after rounding.
    pub in_f32: bool,
}

impl<M: Membership> Guard<M> {
    /// Tests the anchors of a fixed set. Points that are exact in f32 serve both number types; with
    /// equations they are not, as rounding to f32 moves them off the equations.
    pub(super) fn verify_anchors(&self) -> Result<Vec<Verified>, GuardError> {
        if self.projector.equations().is_some() {
            self.verify::<f64>()
        } else {
            self.verify::<f32>()
        }
    }

    /// Each anchor's decode on this machine, else its stored point. If all fail, a search.
    fn verify<T: Real>(&self) -> Result<Vec<Verified>, GuardError> {
        let mut run = RunBuffers::new(self.projector.layout());
        let mut buffers = GuardBuffers::new(&self.projector);
        let nowhere = Points { y: &[], x: &[] };
        let mut call = Call::<T, M>::new(self, nowhere, &mut run, &mut buffers);
        let mut verified = Vec::new();
        for anchors in self.projector.anchors().chunks(SEARCH_ROWS) {
            call.verify_some(anchors, &mut verified);
        }
        if !verified.is_empty() {
            return Ok(verified);
        }
        for (near, value) in call.points.near.iter_mut().zip(self.projector.fallback()) {
            *near = T::from_f32(*value);
        }
        let (found, searched) = call.search();
        let Some(chart) = found else {
            let anchors = self.projector.anchors().len();
            return Err(GuardError::NoFeasiblePoint { anchors, searched });
        };
        let latent_dim = self.projector.latent_dim(chart).unwrap_or(0);
        let latent = call.shared.segment.anchor[..latent_dim].to_vec();
        verified.push(call.verified(chart, latent, true));
        Ok(verified)
    }

    /// The verified point of a fixed set nearest to `near`: one with a way to it in `chart` if there is
    /// any, else of any chart.
    pub(super) fn nearest_verified<T: Real>(
        &self,
        near: &[T],
        chart: Option<usize>,
    ) -> Option<&Verified> {
        let frame = self.projector.frame();
        let mut best: Option<((bool, T), &Verified)> = None;
        for verified in &self.verified {
            if !T::DOUBLE && !verified.in_f32 {
                continue;
            }
            let reachable = verified.decodes && Some(verified.anchor.chart) == chart;
            // `false` is less than `true`.
            let rank = (!reachable, distance(frame, &verified.anchor.point, near));
            if best.is_none_or(|(least, _)| rank < least) {
                best = Some((rank, verified));
            }
        }
        best.map(|(_, verified)| verified)
    }
}

impl<T: Real, M: Membership> Call<'_, T, M> {
    /// Tests up to [`SEARCH_ROWS`] anchors.
    fn verify_some(&mut self, anchors: &[Anchor], verified: &mut Vec<Verified>) {
        for (row, anchor) in anchors.iter().enumerate() {
            self.decode_candidate(row, anchor.chart, &anchor.latent);
        }
        self.test_candidates(0..anchors.len());
        let decodes = self.shared.passed;
        let found = verified.len();
        for (row, anchor) in anchors.iter().enumerate() {
            if decodes[row] {
                self.take_candidate(row);
                verified.push(self.verified(anchor.chart, anchor.latent.clone(), true));
            } else {
                self.raise_candidate(row, &anchor.point);
            }
            self.shared.usable[row] &= !decodes[row];
        }
        self.test_candidates(0..anchors.len());
        // In the order of the anchors, whether by decode or by point.
        let mut place = found;
        for (row, anchor) in anchors.iter().enumerate() {
            if self.shared.passed[row] {
                self.take_candidate(row);
                let latent = anchor.latent.clone();
                verified.insert(place, self.verified(anchor.chart, latent, false));
            }
            place += usize::from(decodes[row] || self.shared.passed[row]);
        }
    }

    /// The workspace's candidate, which has passed.
    fn verified(&mut self, chart: usize, latent: Vec<f32>, decodes: bool) -> Verified {
        let candidate = &self.points.candidate;
        let rounded: Vec<f32> = candidate.iter().map(|value| value.to_f32()).collect();
        let point = candidate.iter().map(|value| value.to_f64()).collect();
        let (projector, reduced) = (&self.guard.projector, &mut self.shared.reduced);
        let place = &mut self.points.place;
        let coordinates = inner(projector, candidate, self.at.x, reduced, place);
        let anchor = Anchor {
            chart,
            latent,
            x: Vec::new(),
            point: coordinates.iter().map(|value| value.to_f32()).collect(),
        };
        let test = &self.guard.membership;
        let in_f32 = !T::DOUBLE || self.shared.tests.passes(test, &rounded, &[]);
        Verified {
            anchor,
            point,
            decodes,
            in_f32,
        }
    }
}
