//! Feasible and infeasible rows, drawn through the oracle in raw units.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::descent::descend;
use super::oracle::Oracle;
use super::pool::{PoolError, PoolSizes, direction};

/// Where uniform draws give a smaller share of the rows that are wanted, a violation's gradient is
/// followed to more of them.
const ENOUGH: f64 = 0.1;
/// Draws that are asked about together, at most.
const AT_ONCE: usize = 4096;
/// Descents at one state, at most.
const DESCENTS: usize = 4_000;
/// Halvings of a step that would leave the set.
const HALVINGS: usize = 12;

/// Rows in raw units, by state.
pub(super) struct Draw {
    /// The values of x at which something feasible was found.
    pub(super) states: Vec<Vec<f64>>,
    pub(super) feasible: Vec<Vec<f64>>,
    pub(super) infeasible: Vec<Vec<f64>>,
    empty: usize,
    found: usize,
    drawn: u64,
}

impl Draw {
    pub(super) fn collect(
        oracle: &Oracle,
        states: Vec<Vec<f64>>,
        sizes: &PoolSizes,
        rng: &mut ChaCha8Rng,
    ) -> Result<Self, PoolError> {
        let mut draw = Self {
            states: Vec::new(),
            feasible: Vec::new(),
            infeasible: Vec::new(),
            empty: 0,
            found: 0,
            drawn: 0,
        };
        let count = states.len();
        let wanted = sizes.feasible.div_ceil(count);
        let quota = Quota {
            feasible: wanted,
            infeasible: sizes.infeasible.div_ceil(count),
            draws: (sizes.draws / count).max(wanted),
        };
        for x in states {
            draw.add_state(oracle, x, quota, rng);
        }
        if draw.states.is_empty() {
            return Err(PoolError::TooFewFeasible {
                found: draw.found,
                drawn: draw.drawn,
            });
        }
        Ok(draw)
    }

    fn add_state(&mut self, oracle: &Oracle, x: Vec<f64>, quota: Quota, rng: &mut ChaCha8Rng) {
        let dim = oracle.bounds().len();
        let (mut feasible, mut infeasible) = (Vec::new(), Vec::new());
        let mut left = quota.draws;
        while feasible.len() < quota.feasible * dim && left > 0 {
            // So many are needed at least.
            let drawn = left.min(quota.feasible - feasible.len() / dim).min(AT_ONCE);
            left -= drawn;
            self.drawn += drawn as u64;
            let points: Vec<f64> = (0..drawn)
                .flat_map(|_| oracle.draw_input(&x, rng))
                .collect();
            let inside = oracle.contains_rows_raw(&points, |_| &x);
            for (point, inside) in points.chunks_exact(dim).zip(inside) {
                if inside {
                    self.found += 1;
                    feasible.extend_from_slice(point);
                } else if infeasible.len() < quota.infeasible * dim {
                    infeasible.extend_from_slice(point);
                }
            }
        }
        if ((feasible.len() / dim) as f64) < ENOUGH * quota.feasible as f64 {
            descend_all(oracle, &x, &infeasible, quota.feasible, &mut feasible);
        }
        if feasible.is_empty() {
            self.empty += 1;
            return;
        }
        walk(oracle, &x, quota.feasible, &mut feasible, rng);
        self.states.push(x);
        self.feasible.push(feasible);
        self.infeasible.push(infeasible);
    }

    pub(super) fn feasible_flat(&self) -> Vec<f64> {
        self.feasible.concat()
    }

    /// The share of uniform draws that were feasible.
    pub(super) fn fraction(&self) -> f64 {
        self.found as f64 / self.drawn.max(1) as f64
    }

    /// The share of states without a feasible point.
    pub(super) fn empty_fraction(&self) -> f64 {
        self.empty as f64 / (self.empty + self.states.len()).max(1) as f64
    }
}

/// Rows wanted at one state, and the uniform draws that they may cost.
#[derive(Clone, Copy)]
struct Quota {
    feasible: usize,
    infeasible: usize,
    draws: usize,
}

/// Follows the violation's gradient, if the set knows one, from infeasible points down to the set.
fn descend_all(oracle: &Oracle, x: &[f64], from: &[f64], wanted: usize, feasible: &mut Vec<f64>) {
    let dim = oracle.bounds().len();
    let even = vec![1.0; dim];
    for start in from.chunks_exact(dim).take(wanted.min(DESCENTS)) {
        let mut point = start.to_vec();
        if descend(oracle, x, &even, &mut point) {
            feasible.extend(point);
        }
    }
}

/// Multiplies too few feasible rows by steps that start from them: in random directions, and along
/// differences of rows, which have the set's own proportions and lead from piece to piece. Steps that
/// would leave the set are halved.
fn walk(oracle: &Oracle, x: &[f64], wanted: usize, feasible: &mut Vec<f64>, rng: &mut ChaCha8Rng) {
    let dim = oracle.bounds().len();
    let widths: Vec<f64> = oracle
        .bounds()
        .iter()
        .map(|(low, high)| high - low)
        .collect();
    let mut step = vec![0.0; dim];
    for count in feasible.len() / dim..wanted {
        let mut row = || feasible[rng.random_range(0..count) * dim..][..dim].to_vec();
        let (from, one, other) = (row(), row(), row());
        let reach = rng.random_range(-0.5..0.5);
        let along = direction(dim, rng);
        for j in 0..dim {
            step[j] = if count % 2 == 0 {
                reach * widths[j] * f64::from(along[j])
            } else {
                2.0 * reach * (one[j] - other[j])
            };
        }
        let mut point = from.clone();
        for _ in 0..HALVINGS {
            for j in 0..dim {
                point[j] = from[j] + step[j];
            }
            if oracle.contains_raw(&point, x) {
                break;
            }
            step.iter_mut().for_each(|s| *s *= 0.5);
            point.copy_from_slice(&from);
        }
        feasible.extend_from_slice(&point);
    }
}
