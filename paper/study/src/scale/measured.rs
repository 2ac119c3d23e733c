//! Feasibility, gaps, and the reference that they are measured against.

use std::time::Instant;

use rayon::prelude::*;

use super::answers::Answers;
use super::instance::Instance;
use super::reference::{Clarabel, best_known};

/// |A y − x| up to here is rounding.
const ROUNDING: f64 = 1e-9;
/// The tolerance that papers use.
const TOLERANCE: f64 = 1e-6;
/// x at which the solver that a user would call is timed.
const TIMED: usize = 7;

/// The median time of what a user would call otherwise; none for a set with a membership test only.
pub(super) fn peer_time(instance: &Instance, x: &[&[f64]]) -> Option<f64> {
    if instance.is_black_box() {
        return None;
    }
    let mut clarabel = Clarabel::of(instance);
    let mut y = vec![0.0; instance.dim()];
    let mut times: Vec<f64> = Vec::new();
    for x in x.iter().take(TIMED) {
        let start = Instant::now();
        match &mut clarabel {
            Some(clarabel) => {
                clarabel.solve(x, 1e-8, &mut y);
            }
            None => {
                instance.problem().local_optimum(x, &instance.middle);
            }
        }
        times.push(1e6 * start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

/// f* at every x: clarabel's where the family is convex, else the best of several searches.
pub(super) fn optima(instance: &Instance, x: &[&[f64]]) -> Vec<Option<f64>> {
    let search = |x: &&[f64]| match Clarabel::of(instance) {
        Some(mut clarabel) => clarabel.solve(x, 1e-10, &mut vec![0.0; instance.dim()]),
        None => best_known(instance, x),
    };
    x.par_iter().map(search).collect()
}

/// How many of fresh x have a feasible point as far as a search can tell, and how many answers are feasible.
pub(super) fn feasible_of_fresh(
    instance: &Instance,
    answers: &mut Answers<'_>,
    count: usize,
    seed: u64,
) -> (usize, usize) {
    let mut y = vec![0.0; instance.dim()];
    let (mut solvable, mut feasible) = (0, 0);
    for x in instance.fresh_x(count, seed) {
        answers.answer(&x, &mut y);
        let (_, outside, error) = instance.measure(&y, &x);
        let inside = outside <= 0.0 && error <= ROUNDING;
        feasible += usize::from(inside);
        // Only power networks may have loads that they cannot serve.
        let surely = inside || instance.family.is_some() || instance.is_black_box();
        let possible = surely || best_known(instance, &x).is_some();
        solvable += usize::from(possible);
    }
    (solvable, feasible)
}

/// Counts and gaps of answers.
pub(super) struct Measured {
    /// x that have a feasible point as far as is known.
    pub(super) solvable: usize,
    pub(super) feasible: usize,
    pub(super) nearly_feasible: usize,
    /// Sorted.
    pub(super) gaps: Vec<f64>,
}

impl Measured {
    pub(super) fn of(
        instance: &Instance,
        x: &[&[f64]],
        y: &[Vec<f64>],
        optima: &[Option<f64>],
    ) -> Self {
        let mut measured = Self {
            solvable: 0,
            feasible: 0,
            nearly_feasible: 0,
            gaps: Vec::new(),
        };
        for ((x, y), optimum) in x.iter().zip(y).zip(optima) {
            let (objective, outside, error) = instance.measure(y, x);
            let nearly = outside <= TOLERANCE && error <= TOLERANCE;
            measured.solvable += usize::from(nearly || optimum.is_some());
            measured.feasible += usize::from(outside <= 0.0 && error <= ROUNDING);
            measured.nearly_feasible += usize::from(nearly);
            if let (true, Some(optimum)) = (nearly, optimum) {
                measured.gaps.push((objective - optimum) / optimum.abs());
            }
        }
        measured.gaps.sort_by(f64::total_cmp);
        measured
    }

    /// The gap that this share of answers does not exceed.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let last = self.gaps.len().checked_sub(1)?;
        Some(self.gaps[(share * last as f64).ceil() as usize])
    }

    pub(super) fn mean_gap(&self) -> Option<f64> {
        let count = self.gaps.len();
        (count > 0).then(|| self.gaps.iter().sum::<f64>() / count as f64)
    }
}
