//! One call of a guard: the point, the set at its x, and the memory to work in.

use core::ops::Range;

use super::buffers::{GuardBuffers, PointBuffers, Shared};
use super::{Guard, Membership};
use crate::outcome::{Outcome, RawOutcome};
use crate::projector::{Points, Projector};
use crate::real::{Real, all_finite};
use crate::weights::Frame;
use crate::workspace::RunBuffers;

pub(super) struct Call<'a, T, M> {
    pub guard: &'a Guard<M>,
    /// One row.
    pub at: Points<'a, T>,
    pub run: &'a mut RunBuffers,
    pub shared: &'a mut Shared,
    pub points: &'a mut PointBuffers<T>,
}

impl<'a, T: Real, M: Membership> Call<'a, T, M> {
    pub(super) fn new(
        guard: &'a Guard<M>,
        at: Points<'a, T>,
        run: &'a mut RunBuffers,
        buffers: &'a mut GuardBuffers,
    ) -> Self {
        let (points, shared) = T::points(buffers);
        Self {
            guard,
            at,
            run,
            shared,
            points,
        }
    }

    #[inline]
    pub(super) fn projector(&self) -> &'a Projector {
        &self.guard.projector
    }

    /// The whole call.
    #[inline]
    pub(super) fn project(&mut self, out: &mut [T]) -> Outcome {
        let Points { y, x } = self.at;
        if !all_finite(x) {
            self.projector().fall_back(x, out);
            return Outcome::NotFinite;
        }
        if self.guard.keep_feasible && self.passes(y) {
            out.copy_from_slice(y);
            return Outcome::Kept;
        }
        let raw = self.projector().project_one(self.at, out, self.run);
        if raw != RawOutcome::NotFinite && self.passes(out) {
            return Outcome::Projected;
        }
        self.repair(raw, out)
    }

    /// Tests one point.
    #[inline]
    pub(super) fn passes(&mut self, y: &[T]) -> bool {
        let tests = &mut self.shared.tests;
        tests.passes(&self.guard.membership, y, self.at.x)
    }

    /// Remembers a point that has failed if it violates less than those before it.
    pub(super) fn weigh(&mut self, y: &[T]) {
        let tests = &mut self.shared.tests;
        let violation = tests.violation(&self.guard.membership, y, self.at.x);
        self.points.least.keep(violation, y);
    }

    /// Tests some candidates together.
    pub(super) fn test_candidates(&mut self, rows: Range<usize>) {
        let (dim, tests) = (self.guard.projector.dim(), &mut self.shared.tests);
        tests.clear();
        for row in rows.clone() {
            let point = &self.points.candidates[row * dim..][..dim];
            self.shared.usable[row] &= all_finite(point);
            if self.shared.usable[row] {
                tests.push(point, self.at.x);
            }
        }
        let mut answers = tests.ask(&self.guard.membership).iter();
        for row in rows {
            self.shared.passed[row] = self.shared.usable[row] && answers.next() == Some(&true);
        }
    }

    /// [`weigh`](Self::weigh)s a candidate that has failed.
    pub(super) fn weigh_candidate(&mut self, row: usize) {
        if !self.shared.usable[row] {
            return;
        }
        let dim = self.guard.projector.dim();
        let point = &self.points.candidates[row * dim..][..dim];
        let tests = &mut self.shared.tests;
        let violation = tests.violation(&self.guard.membership, point, self.at.x);
        self.points.least.keep(violation, point);
    }

    /// Makes a candidate the point to return.
    pub(super) fn take_candidate(&mut self, row: usize) {
        let dim = self.guard.projector.dim();
        let point = &self.points.candidates[row * dim..][..dim];
        self.points.candidate.copy_from_slice(point);
    }

    /// Writes a stored point, in the networks' coordinates, as a candidate.
    pub(super) fn raise_candidate(&mut self, row: usize, inner: &[f32]) {
        let dim = self.guard.projector.dim();
        let out = &mut self.points.candidates[row * dim..][..dim];
        self.shared.usable[row] = self.guard.projector.raise(inner, self.at.x, out);
    }

    /// The candidate that passed and is nearest; the first of equals.
    pub(super) fn nearest_passed(&self, rows: usize) -> Option<usize> {
        let mut nearest: Option<usize> = None;
        for row in (0..rows).filter(|row| self.shared.passed[*row]) {
            let away = &self.points.away;
            if nearest.is_none_or(|best| away[row] < away[best]) {
                nearest = Some(row);
            }
        }
        nearest
    }

    /// Decodes a latent into a row of the candidates.
    pub(super) fn decode_candidate(&mut self, row: usize, chart: usize, latent: &[f32]) {
        let projector = self.projector();
        let out = &mut self.points.candidates[row * projector.dim()..][..projector.dim()];
        let bad = projector.decode_checked(chart, latent, self.at.x, out, self.run);
        self.shared.usable[row] = bad == 0;
    }
}

/// The networks' coordinates of a point: itself or, with equations, its reduced coordinates in `place`.
pub(super) fn inner<'p, T: Real>(
    projector: &Projector,
    point: &'p [T],
    x: &[T],
    reduced: &mut [f64],
    place: &'p mut [T],
) -> &'p [T] {
    let Some(equations) = projector.equations() else {
        return point;
    };
    equations.lower_point(point, x, reduced);
    for (place, reduced) in place.iter_mut().zip(reduced) {
        *place = T::from_f64(*reduced);
    }
    place
}

/// Squared distance in a frame's units; finite, so that what was taken away is always farther.
pub(super) fn distance<A: Real, T: Real>(frame: &Frame, a: &[A], b: &[T]) -> T {
    let mut square = T::default();
    for ((a, b), scale) in a.iter().zip(b).zip(&frame.scale) {
        let difference = (T::from_f64(a.to_f64()) - *b) / T::from_f32(*scale);
        square = square + difference * difference;
    }
    if square < T::LARGEST {
        square
    } else {
        T::LARGEST
    }
}
