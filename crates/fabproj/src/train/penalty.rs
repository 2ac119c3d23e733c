//! The penalty on decodes that are not feasible by the margin.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::data::Pool;
use crate::data::boundary::Boundary;
use crate::data::restore::Restorer;
use crate::tree::squared_distance;

/// The penalty on decodes that are not inside the set by the margin.
pub(super) struct Penalty<'a> {
    pub(super) pool: &'a Pool<'a>,
    pub(super) restorer: Option<&'a Restorer>,
    pub(super) eroded: &'a [Boundary],
    pub(super) margin: f32,
    pub(super) restorations: usize,
    pub(super) failures: usize,
    /// Gradient of the penalty with respect to the point, unit length where it is active.
    pub(super) pull: Vec<f32>,
    /// The decode, working units.
    pub(super) point: Vec<f32>,
    /// A corner of the margin's cube around it.
    pub(super) shifted: Vec<f32>,
}

/// Violations are clipped to this distance.
const FARTHEST: f32 = 1.0;

impl Penalty<'_> {
    /// The distance by which the point falls short, and in `pull` its gradient. `inside` is whether it is
    /// feasible.
    pub(super) fn evaluate(&mut self, inside: bool, state: u32, rng: &mut ChaCha8Rng) -> f32 {
        self.failures += usize::from(!inside);
        match self.restorer {
            None => self.by_boundary(inside, state),
            Some(_) if self.pool.knows_violation => self.by_violation(state, rng),
            Some(restorer) => self.by_restoration(restorer, state, rng),
        }
    }

    /// The violation of a corner of the margin's cube around the decode, as a distance: how far a step
    /// down its gradient would have to go.
    fn by_violation(&mut self, state: u32, rng: &mut ChaCha8Rng) -> f32 {
        self.shift(rng);
        let x = &self.pool.states[state as usize];
        let violation = self.pool.oracle.violation(&self.shifted, x, &mut self.pull);
        violation.unwrap_or(0.0).min(FARTHEST)
    }

    fn shift(&mut self, rng: &mut ChaCha8Rng) {
        for (shifted, p) in self.shifted.iter_mut().zip(&self.point) {
            *shifted = p + if rng.random::<bool>() {
                self.margin
            } else {
                -self.margin
            };
        }
    }

    fn by_boundary(&mut self, inside: bool, state: u32) -> f32 {
        let boundary = &self.pool.boundaries[state as usize];
        if inside && boundary.clear_by(&self.point, self.margin) {
            return 0.0;
        }
        let distance =
            self.eroded[state as usize].signed_distance(&self.point, false, &mut self.pull);
        self.pull.iter_mut().for_each(|p| *p = -*p);
        if distance.is_finite() {
            (-distance).max(0.0)
        } else {
            0.0
        }
    }

    /// A corner of the margin's cube around the decode is tried instead of the decode; if it is
    /// infeasible the decode is pulled along the way back from there.
    fn by_restoration(&mut self, restorer: &Restorer, state: u32, rng: &mut ChaCha8Rng) -> f32 {
        self.shift(rng);
        if self.restorations == 0 || self.pool.contains(&self.shifted, state) {
            return 0.0;
        }
        self.restorations -= 1;
        let shifted = &self.shifted;
        let mut target = vec![0.0; shifted.len()];
        let x = &self.pool.states[state as usize];
        if !restorer.restore(&self.pool.oracle, x, state, shifted, &mut target, rng) {
            return 0.0;
        }
        let distance = squared_distance(shifted, &target).sqrt().max(1e-9);
        for (pull, (from, to)) in self.pull.iter_mut().zip(shifted.iter().zip(&target)) {
            *pull = (from - to) / distance;
        }
        distance
    }
}
