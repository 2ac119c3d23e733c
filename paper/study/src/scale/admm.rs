//! What a user of OSQP would call: the alternating direction method of multipliers with its factor kept from
//! x to x and each solve started at the last one's end.
//!
//! "OSQP: an operator splitting solver for quadratic programs", Stellato and others, 2020, in its dense form:
//! the system (P + σI + Aᵀ R A) is inverted once, R holds ρ for inequalities and 1000 ρ for equations.

use super::family::{Family, Rows};
use super::linear::{add, dot, solve_rows};

const SIGMA: f64 = 1e-6;
/// Over-relaxation.
const RELAXED: f64 = 1.6;
/// Equations count this much more.
const STIFF: f64 = 1e3;
/// Iterations between looks at the residuals.
const CHECK: usize = 5;
const ITERATIONS: usize = 20_000;
/// Residuals at which a solve ends.
pub(super) const TOLERANCE: f64 = 1e-6;
/// Values of ρ that are tried once, on the first x.
const PENALTIES: [f64; 7] = [1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 10.0];

/// A quadratic family with its factor.
pub(super) struct Admm<'a> {
    family: &'a Family,
    /// Normals of equations, then of inequalities.
    rows: Vec<f64>,
    limits: Vec<f64>,
    penalty: f64,
    inverse: Vec<f64>,
    y: Vec<f64>,
    multipliers: Vec<f64>,
    split: Vec<f64>,
}

impl<'a> Admm<'a> {
    /// None for a family with other than linear rows. ρ is the one that answers `x` in the fewest iterations.
    pub(super) fn new(family: &'a Family, x: &[&[f64]]) -> Option<Self> {
        let Rows::Linear { g, h } = &family.rows else {
            return None;
        };
        let mut admm = Self {
            family,
            rows: [family.a.as_slice(), g].concat(),
            limits: h.clone(),
            penalty: 1.0,
            inverse: Vec::new(),
            y: Vec::new(),
            multipliers: Vec::new(),
            split: Vec::new(),
        };
        let mut best = (usize::MAX, PENALTIES[0]);
        let mut y = vec![0.0; family.q.len()];
        for penalty in PENALTIES {
            admm.factorise(penalty);
            let count: usize = x.iter().map(|x| admm.solve(x, &mut y)).sum();
            if count < best.0 {
                best = (count, penalty);
            }
        }
        admm.factorise(best.1);
        Some(admm)
    }

    fn factorise(&mut self, penalty: f64) {
        let (dim, rows) = (self.family.q.len(), self.rows.len() / self.family.q.len());
        self.penalty = penalty;
        (self.y, self.multipliers) = (vec![0.0; dim], vec![0.0; rows]);
        self.split = vec![0.0; rows];
        let mut matrix = vec![vec![0.0; dim]; dim];
        for (i, q) in self.family.q.iter().enumerate() {
            matrix[i][i] = q + SIGMA;
        }
        for (i, row) in self.rows.chunks_exact(dim).enumerate() {
            let weight = self.weight(i);
            for (target, a) in matrix.iter_mut().zip(row) {
                add(target, weight * a, row);
            }
        }
        let unit = |i: usize| (0..dim).map(|j| f64::from(u8::from(i == j))).collect();
        self.inverse = solve_rows(matrix, (0..dim).map(unit).collect()).concat();
    }

    fn weight(&self, row: usize) -> f64 {
        if row < self.family.equations() {
            STIFF * self.penalty
        } else {
            self.penalty
        }
    }

    /// Writes the answer; the number of iterations.
    pub(super) fn solve(&mut self, x: &[f64], y: &mut [f64]) -> usize {
        let (dim, equations) = (self.y.len(), self.family.equations());
        let cost = self.family.cost(x);
        let mut iterations = 0;
        while iterations < ITERATIONS {
            iterations += 1;
            let mut right: Vec<f64> = self
                .y
                .iter()
                .zip(cost)
                .map(|(y, p)| SIGMA * y - p)
                .collect();
            for (i, row) in self.rows.chunks_exact(dim).enumerate() {
                let weight = self.weight(i);
                let factor = weight * self.split[i] - self.multipliers[i];
                add(&mut right, factor, row);
            }
            let moved: Vec<f64> = self
                .inverse
                .chunks_exact(dim)
                .map(|row| dot(row, &right))
                .collect();
            let checks = iterations % CHECK == 0;
            let mut apart = 0.0_f64;
            for (i, row) in self.rows.chunks_exact(dim).enumerate() {
                let weight = self.weight(i);
                let image = dot(row, &moved);
                let relaxed = RELAXED * image + (1.0 - RELAXED) * self.split[i];
                let free = relaxed + self.multipliers[i] / weight;
                let held = if i < equations {
                    x[i]
                } else {
                    free.min(self.limits[i - equations])
                };
                self.multipliers[i] += weight * (relaxed - held);
                self.split[i] = held;
                apart = apart.max((image - held).abs());
            }
            for (y, moved) in self.y.iter_mut().zip(&moved) {
                *y = RELAXED * moved + (1.0 - RELAXED) * *y;
            }
            if checks && apart <= TOLERANCE && self.slope(cost) <= TOLERANCE {
                break;
            }
        }
        y.copy_from_slice(&self.y);
        iterations
    }

    /// The largest entry of the Lagrangian's gradient.
    fn slope(&self, cost: &[f64]) -> f64 {
        let own = self.family.q.iter().zip(&self.y).zip(cost);
        let mut gradient: Vec<f64> = own.map(|((q, y), p)| q * y + p).collect();
        let rows = self.rows.chunks_exact(self.y.len());
        for (row, multiplier) in rows.zip(&self.multipliers) {
            if *multiplier != 0.0 {
                add(&mut gradient, *multiplier, row);
            }
        }
        gradient
            .iter()
            .fold(0.0, |most, value| most.max(value.abs()))
    }
}
