//! The first optimum: what all other searches start from.

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::checkpoint::Found;
use super::label::{self, Label, NoLabel};
use super::linear::Cholesky;
use super::plan::mean;
use super::reduced::Reduced;
use crate::train::{Session, TrainError};

/// x that are tried before giving up.
const TRIED: usize = 8;
/// More starts, where the objective may have several local optima.
const STARTS: usize = 4;
/// An objective lower by this part is another optimum.
const LOWER: f64 = 1e-6;
/// Curvature below zero by this part of the largest is more than rounding.
const CURVED: f64 = 1e-7;

/// An optimum that other searches start from, and the Hessian there.
#[derive(Clone, Debug)]
pub(super) struct Pilot {
    pub(super) label: Label,
    pub(super) hessian: Vec<f64>,
}

impl Pilot {
    pub(super) fn at(reduced: &Reduced<'_>, label: Label) -> Self {
        let hessian = reduced.hessian(&label.y, &label.x, &label.multipliers);
        Self { label, hessian }
    }

    /// The optima that searches from here lead to.
    pub(super) fn follow(
        &self,
        reduced: &Reduced<'_>,
        x: &[Vec<f64>],
        session: &Session,
    ) -> Result<Vec<Found>, TrainError> {
        let Self { label, hessian } = self;
        let search = |x: &Vec<f64>| match session.stopped() {
            true => Err(NoLabel::Slow),
            false => label::solve(reduced, x, &label.y, &label.multipliers, Some(hessian)),
        };
        let found = x.par_iter().map(search).collect();
        match session.stopped() {
            true => Err(TrainError::Stopped),
            false => Ok(found),
        }
    }
}

/// The first optimum.
pub(super) fn pilot(reduced: &Reduced<'_>, x: &[Vec<f64>], seed: u64) -> Result<Pilot, TrainError> {
    let mean = mean(x.iter().map(Vec::as_slice), reduced.x_dim);
    let mut starts = Starts::new(reduced, seed);
    let mut tried = 0;
    let mut last = NoLabel::Slow;
    for x in std::iter::once(&mean).chain(x).take(TRIED) {
        // A start may be a bad one, as well as an x.
        let start = if tried == 0 {
            starts.middle(x)
        } else {
            starts.next()
        };
        match optimum(reduced, x, &start, &mut starts) {
            Err(NoLabel::Unbounded) => return Err(TrainError::Unbounded { x: x.clone() }),
            Err(reason) => last = reason,
            found => return found.map_err(|_| TrainError::Unbounded { x: x.clone() }),
        }
        tried += 1;
    }
    let failed = tried;
    Err(match last {
        NoLabel::Infeasible => TrainError::Infeasible { failed, tried },
        _ => TrainError::NotSmooth { failed, tried },
    })
}

/// An optimum. Where the Hessian is not that of a convex problem, the best from
/// several starts: the first may end at a maximum, where no gradient shows the way down.
fn optimum(
    reduced: &Reduced<'_>,
    x: &[f64],
    start: &[f64],
    starts: &mut Starts<'_, '_>,
) -> Result<Pilot, NoLabel> {
    let zeros = vec![0.0; reduced.rows()];
    let mut best = Pilot::at(reduced, label::solve(reduced, x, start, &zeros, None)?);
    if is_convex(&best.hessian, reduced.free()) {
        return Ok(best);
    }
    for _ in 0..STARTS {
        let least = best.label.objective;
        match label::solve(reduced, x, &starts.next(), &zeros, None) {
            Err(NoLabel::Unbounded) => return Err(NoLabel::Unbounded),
            Ok(other) if other.objective < least - LOWER * least.abs() => {
                best = Pilot::at(reduced, other);
            }
            _ => {}
        }
    }
    Ok(best)
}

fn is_convex(hessian: &[f64], free: usize) -> bool {
    let largest = hessian.iter().fold(0.0_f64, |most, h| most.max(h.abs()));
    let mut shifted = hessian.to_vec();
    (0..free).for_each(|i| shifted[i * free + i] += CURVED * largest);
    largest == 0.0 || Cholesky::of(&shifted, free).is_some()
}

/// Points to search from.
pub(super) struct Starts<'a, 'b> {
    reduced: &'a Reduced<'b>,
    random: ChaCha8Rng,
}

impl<'a, 'b> Starts<'a, 'b> {
    pub(super) fn new(reduced: &'a Reduced<'b>, seed: u64) -> Self {
        // Another stream than that of x.
        let random = ChaCha8Rng::seed_from_u64(seed ^ 0x57A7_0000_0000_0002);
        Self { reduced, random }
    }

    /// The middle of the bounds; without bounds the foot of the equations.
    fn middle(&self, x: &[f64]) -> Vec<f64> {
        let middle = |(low, high): &(f64, f64)| {
            let middle = 0.5 * low + 0.5 * high;
            if middle.is_finite() {
                middle
            } else {
                0.0_f64.clamp(*low, *high)
            }
        };
        if self.reduced.bounds.is_empty() {
            return self.reduced.foot(x);
        }
        self.reduced.bounds.iter().map(middle).collect()
    }

    /// A point drawn between the bounds; a bound that is infinite is two units from the other one, or from
    /// zero.
    pub(super) fn next(&mut self) -> Vec<f64> {
        let free = (f64::NEG_INFINITY, f64::INFINITY);
        let bounds = self.reduced.bounds;
        let drawn = (0..self.reduced.dim).map(|i| {
            let (low, high) = *bounds.get(i).unwrap_or(&free);
            let (low, high) = match (low.is_finite(), high.is_finite()) {
                (true, true) => (low, high),
                (true, false) => (low, low + 2.0),
                (false, true) => (high - 2.0, high),
                (false, false) => (-2.0, 2.0),
            };
            let part: f64 = self.random.random();
            (1.0 - part) * low + part * high
        });
        drawn.collect()
    }
}
