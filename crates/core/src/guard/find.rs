//! Finding a feasible point to fall back to.

use super::Membership;
use super::call::{Call, distance, inner};
use crate::latent::spread_step;
use crate::real::Real;

/// Points that are tested together in a search.
pub(super) const SEARCH_ROWS: usize = 32;
/// Decodes tested in a search, over all charts; one per chart if there are more charts.
pub(super) const SEARCH_TESTS: usize = 256;
/// Stored anchors that are tried at one x.
pub(super) const ANCHOR_TRIES: usize = 16;

/// All but the first are tested together, by decode and by point.
const _: () = assert!(2 * (ANCHOR_TRIES - 1) <= SEARCH_ROWS);

/// A feasible point that was found for a call: its latent is in the segment's anchor, its decode in
/// the candidate.
pub(super) enum Found {
    /// The decode of a latent point of this chart.
    Decode { chart: usize },
    /// A stored point without a latent that leads to it.
    Point,
}

impl<T: Real, M: Membership> Call<'_, T, M> {
    /// A feasible point at x: stored anchors, those of the nearest x first and among these the nearest
    /// to `near`, then a search.
    pub(super) fn find(&mut self) -> Option<Found> {
        let projector = self.projector();
        let anchors = projector.anchors();
        for (distances, anchor) in self.points.distances.iter_mut().zip(anchors) {
            let in_x = distance(projector.x_frame(), &anchor.x, self.at.x);
            let in_y = distance(projector.frame(), &anchor.point, &self.points.near);
            *distances = (in_x, in_y);
        }
        let tries = ANCHOR_TRIES.min(anchors.len());
        let first = tries.min(1);
        let mut stored = None;
        // The nearest alone, which nearly always passes, then the others together.
        for count in [first, tries - first] {
            if let Some(chart) = self.try_anchors(count, &mut stored) {
                return Some(Found::Decode { chart });
            }
        }
        if let (Some(chart), _) = self.search() {
            return Some(Found::Decode { chart });
        }
        self.raise_candidate(0, &anchors[stored?].point);
        self.take_candidate(0);
        Some(Found::Point)
    }

    /// Tests the decodes of the nearest anchors that are left, and returns the chart of the first that
    /// passes. If none does, notes the first whose stored point passes.
    fn try_anchors(&mut self, count: usize, stored: &mut Option<usize>) -> Option<usize> {
        let anchors = self.projector().anchors();
        let mut tried = [0; ANCHOR_TRIES];
        for (row, index) in tried[..count].iter_mut().enumerate() {
            *index = take_nearest(&mut self.points.distances);
            let anchor = &anchors[*index];
            self.decode_candidate(row, anchor.chart, &anchor.latent);
        }
        self.test_candidates(0..count);
        if let Some(row) = (0..count).find(|row| self.shared.passed[*row]) {
            let anchor = &anchors[tried[row]];
            let latent = &mut self.shared.segment.anchor[..anchor.latent.len()];
            latent.copy_from_slice(&anchor.latent);
            self.take_candidate(row);
            return Some(anchor.chart);
        }
        if stored.is_some() {
            return None;
        }
        for (row, index) in tried[..count].iter().enumerate() {
            self.raise_candidate(count + row, &anchors[*index].point);
        }
        self.test_candidates(count..2 * count);
        let passed = (0..count).find(|row| self.shared.passed[count + row]);
        *stored = passed.map(|row| tried[row]);
        if stored.is_none() {
            for row in 0..count {
                self.weigh_candidate(row);
                self.weigh_candidate(count + row);
            }
        }
        None
    }

    /// Decodes a fixed sequence of latent points of every chart, and takes the feasible one nearest to
    /// `near` from the first rows of a chart that hold any. Returns its chart, and how many decodes
    /// were tested.
    pub(super) fn search(&mut self) -> (Option<usize>, usize) {
        let charts = self.projector().charts();
        let rows = (SEARCH_TESTS / charts).clamp(1, SEARCH_ROWS);
        let rounds = (SEARCH_TESTS / (rows * charts)).max(1);
        let mut tested = 0;
        for round in 0..rounds {
            for chart in 0..charts {
                tested += rows;
                if self.search_rows(chart, round * rows, rows) {
                    return (Some(chart), tested);
                }
            }
        }
        (None, tested)
    }

    fn search_rows(&mut self, chart: usize, first: usize, rows: usize) -> bool {
        let (projector, x) = (self.projector(), self.at.x);
        let (Some(set), Some(latent_dim)) =
            (projector.latent_set(chart), projector.latent_dim(chart))
        else {
            return false;
        };
        let latents = &mut self.shared.latents[..rows * latent_dim];
        let step = spread_step(latent_dim);
        for (row, latent) in latents.chunks_exact_mut(latent_dim).enumerate() {
            set.spread_by(step, (first + row) as u32, latent);
            self.points.x[row * x.len()..][..x.len()].copy_from_slice(x);
        }
        let decodes = &mut self.points.candidates[..rows * projector.dim()];
        let repeated = &self.points.x[..rows * x.len()];
        projector.decode_checked(chart, latents, repeated, decodes, self.run);
        for (row, decode) in decodes.chunks_exact(projector.dim()).enumerate() {
            let (reduced, place) = (&mut self.shared.reduced, &mut self.points.place);
            let coordinates = inner(projector, decode, x, reduced, place);
            self.points.away[row] = distance(projector.frame(), coordinates, &self.points.near);
        }
        self.shared.usable[..rows].fill(true);
        self.test_candidates(0..rows);
        let Some(row) = self.nearest_passed(rows) else {
            (0..rows).for_each(|row| self.weigh_candidate(row));
            return false;
        };
        self.take_candidate(row);
        let latent = &self.shared.latents[row * latent_dim..][..latent_dim];
        self.shared.segment.anchor[..latent_dim].copy_from_slice(latent);
        true
    }
}

/// Index of the nearest that is left, which is then taken away.
fn take_nearest<T: Real>(distances: &mut [(T, T)]) -> usize {
    let mut best = 0;
    for (index, distance) in distances.iter().enumerate() {
        if *distance < distances[best] {
            best = index;
        }
    }
    let infinite = T::from_f64(f64::INFINITY);
    distances[best] = (infinite, infinite);
    best
}
