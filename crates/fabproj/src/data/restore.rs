//! A nearly nearest feasible point by membership queries alone, for more than three dimensions.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::descent::descend;
use super::oracle::Oracle;
use super::pool::Rows;
use crate::tree::squared_distance;

/// Starts tried for one point; the closest result is kept. With a single start, points in a hole go
/// to random sides of it and the targets contradict each other.
const STARTS: usize = 6;
/// Random feasible rows among which a start is the nearest.
const CANDIDATES: usize = 128;
/// Bisection steps along a segment or one coordinate.
const BISECTIONS: usize = 8;
/// Random local moves at the end of a restoration.
const MOVES: usize = 12;

/// Finds feasible points close to infeasible ones, starting from known feasible rows.
pub(crate) struct Restorer {
    dim: usize,
    /// Feasible rows by state.
    feasible: Vec<Vec<f32>>,
}

impl Restorer {
    /// Starts from the given feasible rows.
    pub(crate) fn new(feasible: &Rows, states: usize, dim: usize) -> Self {
        let mut grouped = vec![Vec::new(); states];
        for (point, state) in feasible.y.chunks_exact(dim).zip(&feasible.state) {
            grouped[*state as usize].extend_from_slice(point);
        }
        Self {
            dim,
            feasible: grouped,
        }
    }

    /// Writes a feasible point close to y into `target`; returns false when no feasible row is known
    /// at the state.
    pub(crate) fn restore(
        &self,
        oracle: &Oracle,
        x: &[f64],
        state: u32,
        y: &[f32],
        target: &mut [f32],
        rng: &mut ChaCha8Rng,
    ) -> bool {
        let rows = &self.feasible[state as usize];
        let count = rows.len() / self.dim;
        if count == 0 {
            return false;
        }
        let mut best = f32::INFINITY;
        let mut point = vec![0.0; self.dim];
        // Down the violation is the nearest way of all, where the set knows one; from random starts alone,
        // targets differ from the nearest point by a random angle, and their mean lies deep inside.
        let mut raw = vec![0.0; self.dim];
        oracle.units().raw(y, &mut raw);
        if descend(oracle, x, &oracle.units().scale, &mut raw) {
            point.clear();
            oracle.units().push(&raw, &mut point);
            if oracle.contains(&point, x) {
                approach(oracle, x, y, &mut point, rng);
                best = squared_distance(&point, y);
                target.copy_from_slice(&point);
            }
        }
        for _ in 0..STARTS {
            let start = (0..CANDIDATES.div_ceil(STARTS))
                .map(|_| &rows[rng.random_range(0..count) * self.dim..][..self.dim])
                .min_by(|a, b| squared_distance(a, y).total_cmp(&squared_distance(b, y)));
            let Some(start) = start else { continue };
            point.copy_from_slice(start);
            approach(oracle, x, y, &mut point, rng);
            let distance = squared_distance(&point, y);
            if distance < best {
                best = distance;
                target.copy_from_slice(&point);
            }
        }
        true
    }
}

/// Moves the feasible `point` toward y without leaving the set: along the segment, coordinate by
/// coordinate, then by random local moves.
pub(crate) fn approach(
    oracle: &Oracle,
    x: &[f64],
    y: &[f32],
    point: &mut [f32],
    rng: &mut ChaCha8Rng,
) {
    let dim = y.len();
    segment(oracle, x, y, point);
    let mut order: Vec<usize> = (0..dim).collect();
    order.shuffle(rng);
    for &j in &order {
        let kept = point[j];
        point[j] = y[j];
        if !oracle.contains(point, x) {
            point[j] = kept;
        }
    }
    for &j in &order {
        if point[j] != y[j] {
            coordinate(oracle, x, y[j], j, point);
        }
    }
    let mut trial = vec![0.0; dim];
    let mut step = 0.5;
    for _ in 0..MOVES {
        let distance = squared_distance(point, y);
        let reach = step * distance.sqrt() / (dim as f32).sqrt();
        for j in 0..dim {
            let noise: f32 = rng.sample(StandardNormal);
            trial[j] = point[j] + 0.3 * (y[j] - point[j]) + reach * noise;
        }
        if squared_distance(&trial, y) < distance && oracle.contains(&trial, x) {
            point.copy_from_slice(&trial);
        } else {
            step *= 0.85;
        }
    }
    segment(oracle, x, y, point);
}

/// Bisects from the feasible point toward y.
fn segment(oracle: &Oracle, x: &[f64], y: &[f32], point: &mut [f32]) {
    let from = point.to_vec();
    let (mut low, mut high) = (0.0f32, 1.0f32);
    let mut trial = vec![0.0; y.len()];
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        for j in 0..y.len() {
            trial[j] = from[j] + middle * (y[j] - from[j]);
        }
        if oracle.contains(&trial, x) {
            low = middle;
            point.copy_from_slice(&trial);
        } else {
            high = middle;
        }
    }
}

/// Bisects one coordinate of the feasible point toward `goal`.
fn coordinate(oracle: &Oracle, x: &[f64], goal: f32, j: usize, point: &mut [f32]) {
    let from = point[j];
    let (mut low, mut high) = (0.0f32, 1.0f32);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        point[j] = from + middle * (goal - from);
        if oracle.contains(point, x) {
            low = middle;
        } else {
            high = middle;
        }
    }
    point[j] = from + low * (goal - from);
}
