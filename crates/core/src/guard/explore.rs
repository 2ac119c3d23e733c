//! The last search for a feasible point of a set that depends on x: not among decodes, but in the space
//! of y itself.

use super::Membership;
use super::call::{Call, distance, inner};
use super::find::SEARCH_ROWS;
use super::repair::BISECTION_STEPS;
use crate::latent::{LatentSet, spread_step};
use crate::real::Real;

/// Points tested in an exploration, and on the way back from the one that it found.
pub(super) const EXPLORATION_TESTS: usize = ROUNDS.len() * SEARCH_ROWS + BISECTION_STEPS;

/// Around what a round's box lies.
#[derive(Clone, Copy)]
enum Around {
    /// The least violating point so far; while there is none, the point to be near to.
    Best,
    /// The centre of the frame, and so of the feasible points of all x.
    Frame,
}

/// The boxes: growing ones around the best point, then all of the frame, then finer ones around the best
/// of all these. Half sides are in the frame's scale.
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

impl<T: Real, M: Membership> Call<'_, T, M> {
    /// Tests a fixed sequence of points in each round's box. Makes the feasible one nearest to `near`,
    /// of the first round that has any, the candidate.
    pub(super) fn explore(&mut self) -> bool {
        for (round, (around, half)) in ROUNDS.into_iter().enumerate() {
            self.centre(around);
            self.spread(round * SEARCH_ROWS, half);
            self.test_candidates(0..SEARCH_ROWS);
            if let Some(row) = self.nearest_passed(SEARCH_ROWS) {
                self.take_candidate(row);
                return true;
            }
            (0..SEARCH_ROWS).for_each(|row| self.weigh_candidate(row));
        }
        false
    }

    /// Writes a round's centre.
    fn centre(&mut self, around: Around) {
        let (projector, points) = (self.projector(), &mut *self.points);
        match around {
            Around::Best => {
                let (reduced, place) = (&mut self.shared.reduced, &mut points.place);
                let best = match points.least.point() {
                    Some(point) => inner(projector, point, self.at.x, reduced, place),
                    None => &points.near,
                };
                points.centre.copy_from_slice(best);
            }
            Around::Frame => {
                let values = points.centre.iter_mut().zip(&projector.frame().centre);
                values.for_each(|(centre, value)| *centre = T::from_f32(*value));
            }
        }
    }

    /// Writes a round's candidates, and how far away they are.
    fn spread(&mut self, first: usize, half: f32) {
        let (projector, points) = (self.projector(), &mut *self.points);
        let (frame, dim) = (projector.frame(), projector.dim());
        let (spread, half) = (&mut self.shared.spread, T::from_f32(half));
        let step = spread_step(spread.len());
        for row in 0..SEARCH_ROWS {
            UNIT_BOX.spread_by(step, (first + row) as u32, spread);
            let units = points.centre.iter().zip(&frame.scale).zip(spread.iter());
            for (place, ((centre, scale), spread)) in points.place.iter_mut().zip(units) {
                *place = *centre + half * T::from_f32(*scale) * T::from_f32(*spread);
            }
            let out = &mut points.candidates[row * dim..][..dim];
            self.shared.usable[row] = projector.raise(&points.place, self.at.x, out);
            points.away[row] = distance(frame, &points.place, &points.near);
        }
    }

    /// Walks from the feasible candidate straight toward `near`, which has failed, as far as points
    /// pass the test. The last of them becomes the candidate.
    pub(super) fn approach(&mut self) {
        let (projector, points, x) = (self.projector(), &mut *self.points, self.at.x);
        let (reduced, place) = (&mut self.shared.reduced, &mut points.place);
        let start = inner(projector, &points.candidate, x, reduced, place);
        points.centre.copy_from_slice(start);
        let (mut feasible, mut failed) = (0.0, 1.0);
        for _ in 0..BISECTION_STEPS {
            let middle = 0.5 * (feasible + failed);
            let ends = points.centre.iter().zip(&points.near);
            for (place, (start, near)) in points.place.iter_mut().zip(ends) {
                *place = *start + T::from_f32(middle) * (*near - *start);
            }
            let out = &mut points.candidates[..projector.dim()];
            projector.raise(&points.place, x, out);
            if self.shared.tests.passes(&self.guard.membership, out, x) {
                points.candidate.copy_from_slice(out);
                feasible = middle;
            } else {
                failed = middle;
            }
        }
    }
}
