//! The quadratic program of a step, in its multipliers.
//!
//! min ½ ‖d‖² with J d + q ≤ 0 has the answer d = −Jᵀ l, where l ≥ 0, r = q − M l ≤ 0 and l · r = 0, with
//! the Gram matrix M = J Jᵀ. The primal-dual active set method guesses the whole set at once and is done
//! in one or two rounds from a good guess, but may cycle where rows outnumber dimensions. Then the dual method
//! of Goldfarb and Idnani, which adds one row at a time, finds the answer in finitely many rounds or proves
//! that there is none.

use alloc::vec;
use alloc::vec::Vec;

use crate::vector::{add, dot, largest};

/// Rounds of the primal-dual method before the finite one takes over. From a cold start it needed at most 8
/// in 6,500 programs of 10 to 90 rows; where it cycles, more rounds do not help.
const ROUNDS: usize = 12;
/// A sign is trusted beyond this part of the largest number beside it.
const ROUNDING: f64 = 1e-13;
/// A row is a combination of the active ones if less than this part of its square is new.
const DEPENDENT: f64 = 1e-10;

/// How a quadratic program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The multipliers satisfy all conditions of optimality.
    Optimal,
    /// No point obeys all rows.
    Infeasible,
    /// Rounding stood in the way. The multipliers are of no use.
    Stalled,
}

/// The memory of quadratic programs of one size.
#[derive(Clone, Debug)]
pub struct ActiveSet {
    /// Rows that are held at equality, in the order of the factor.
    pub active: Vec<usize>,
    /// l, one for each row.
    pub multipliers: Vec<f64>,
    /// r = q − M l
    residual: Vec<f64>,
    /// Cholesky factor of the active part of M, row by row.
    factor: Vec<f64>,
    /// Most rows that can be active.
    capacity: usize,
    /// A number for each active row.
    values: Vec<f64>,
    is_active: Vec<bool>,
}

impl ActiveSet {
    /// Memory for programs with so many rows in so many dimensions.
    pub fn new(rows: usize, dim: usize) -> Self {
        let capacity = rows.min(dim);
        Self {
            active: Vec::with_capacity(capacity + 1),
            multipliers: vec![0.0; rows],
            residual: vec![0.0; rows],
            factor: vec![0.0; capacity * capacity],
            capacity,
            values: vec![0.0; capacity],
            is_active: vec![false; rows],
        }
    }

    /// Solves the program for `gram` = M, starting from the active set of `guess`.
    pub fn solve(&mut self, gram: &[f64], q: &[f64], guess: &[usize]) -> Ending {
        if !q.iter().all(|value| value.is_finite()) {
            return Ending::Stalled;
        }
        self.active.clear();
        let fits = guess.iter().take(self.capacity);
        self.active.extend(fits);
        if self.primal_dual(gram, q) {
            return Ending::Optimal;
        }
        self.dual(gram, q)
    }

    /// The primal-dual active set method. Whether it found the answer.
    pub(super) fn primal_dual(&mut self, gram: &[f64], q: &[f64]) -> bool {
        let mut kept = 0;
        for _ in 0..ROUNDS {
            if !self.factorise(kept, gram) {
                return false;
            }
            self.multiply(gram, q);
            let scale = largest(q).max(f64::MIN_POSITIVE);
            let lowest = -ROUNDING * largest(&self.values[..self.active.len()]);
            let mut held = self.values[..self.active.len()].iter();
            let held = held.all(|value| *value >= lowest);
            if held && self.residual.iter().all(|r| *r <= ROUNDING * scale) {
                self.multipliers.iter_mut().for_each(|l| *l = l.max(0.0));
                return true;
            }
            // Rows before the first that leaves keep their part of the factor.
            let multipliers = &self.multipliers;
            let leaves = |row: &usize| multipliers[*row] <= 0.0;
            let first = self.active.iter().position(leaves);
            kept = first.unwrap_or(self.active.len());
            self.is_active.fill(false);
            self.active
                .iter()
                .for_each(|row| self.is_active[*row] = true);
            self.active.retain(|row| multipliers[*row] > 0.0);
            for row in 0..q.len() {
                if !self.is_active[row] && self.residual[row] > 0.0 {
                    if self.active.len() == self.capacity {
                        return false;
                    }
                    self.active.push(row);
                }
            }
        }
        false
    }

    /// The dual method of Goldfarb and Idnani.
    fn dual(&mut self, gram: &[f64], q: &[f64]) -> Ending {
        let rows = q.len();
        let tolerance = ROUNDING * largest(q);
        self.active.clear();
        self.multipliers.fill(0.0);
        self.residual.copy_from_slice(q);
        // Each round adds a row for good or drops one; no active set comes twice.
        for _ in 0..10 * (rows + self.capacity) {
            let Some(entering) = self.most_violated(gram, tolerance) else {
                return Ending::Optimal;
            };
            match self.enter(entering, gram) {
                Ending::Optimal => self.multiply(gram, q),
                other => return other,
            }
        }
        Ending::Stalled
    }

    /// The row that is violated by the greatest distance.
    fn most_violated(&self, gram: &[f64], tolerance: f64) -> Option<usize> {
        let rows = self.residual.len();
        let mut most = (0.0, None);
        for (row, residual) in self.residual.iter().enumerate() {
            if *residual > tolerance && !self.active.contains(&row) {
                // A row that no step can move is violated infinitely.
                let distance = residual * residual / gram[row * rows + row];
                if distance > most.0 {
                    most = (distance, Some(row));
                }
            }
        }
        most.1
    }

    /// Raises the multiplier of a row until it holds, dropping rows whose multipliers reach zero.
    fn enter(&mut self, entering: usize, gram: &[f64]) -> Ending {
        let rows = self.multipliers.len();
        let mut residual = self.residual[entering];
        loop {
            let count = self.active.len();
            let square = gram[entering * rows + entering];
            let new = self.reduce(entering, gram);
            let independent = new > DEPENDENT * square && count < self.capacity;
            let full = if independent {
                residual / new
            } else {
                f64::INFINITY
            };
            // What the other multipliers lose while this one rises by 1.
            self.substitute_back(count);
            let mut blocking = (f64::INFINITY, count);
            for (place, (row, loss)) in self.active.iter().zip(&self.values).enumerate() {
                let step = (self.multipliers[*row] / loss).max(0.0);
                if *loss > 0.0 && step < blocking.0 {
                    blocking = (step, place);
                }
            }
            let step = full.min(blocking.0);
            if !step.is_finite() {
                return Ending::Infeasible;
            }
            for (row, loss) in self.active.iter().zip(&self.values) {
                self.multipliers[*row] -= step * loss;
            }
            self.multipliers[entering] += step;
            if full <= blocking.0 {
                self.active.push(entering);
                let whole = self.factorise(count, gram);
                return if whole {
                    Ending::Optimal
                } else {
                    Ending::Stalled
                };
            }
            residual -= step * new;
            let dropped = self.active.remove(blocking.1);
            self.multipliers[dropped] = 0.0;
            if !self.factorise(blocking.1, gram) {
                return Ending::Stalled;
            }
        }
    }

    /// l of the active rows from M l = q, then r = q − M l.
    fn multiply(&mut self, gram: &[f64], q: &[f64]) {
        let (rows, count) = (q.len(), self.active.len());
        for place in 0..count {
            let row = &self.factor[place * self.capacity..][..place + 1];
            let known = dot(&row[..place], &self.values[..place]);
            self.values[place] = (q[self.active[place]] - known) / row[place];
        }
        self.substitute_back(count);
        self.multipliers.fill(0.0);
        self.residual.copy_from_slice(q);
        for (row, value) in self.active.iter().zip(&self.values) {
            self.multipliers[*row] = *value;
            add(&mut self.residual, -value, &gram[row * rows..][..rows]);
        }
        // Exactly, not up to rounding.
        self.active.iter().for_each(|row| self.residual[*row] = 0.0);
    }

    /// The factor's rows from place `from` on. Whether the active rows are independent.
    fn factorise(&mut self, from: usize, gram: &[f64]) -> bool {
        let rows = self.multipliers.len();
        let all = core::mem::take(&mut self.active);
        let whole = (from..all.len()).all(|place| {
            let row = all[place];
            let square = gram[row * rows + row];
            let new = self.reduce_by(&all[..place], row, gram);
            if new.partial_cmp(&(DEPENDENT * square)) != Some(core::cmp::Ordering::Greater) {
                return false;
            }
            let target = &mut self.factor[place * self.capacity..][..place + 1];
            target[..place].copy_from_slice(&self.values[..place]);
            target[place] = libm::sqrt(new);
            true
        });
        self.active = all;
        whole
    }

    /// The part of a row's square that is new beside the active ones; `values` hold the factor's row.
    fn reduce(&mut self, row: usize, gram: &[f64]) -> f64 {
        let active = core::mem::take(&mut self.active);
        let new = self.reduce_by(&active, row, gram);
        self.active = active;
        new
    }

    fn reduce_by(&mut self, active: &[usize], row: usize, gram: &[f64]) -> f64 {
        let gram = &gram[row * self.multipliers.len()..];
        for (place, other) in active.iter().enumerate() {
            let factor = &self.factor[place * self.capacity..][..place + 1];
            let known = dot(&factor[..place], &self.values[..place]);
            self.values[place] = (gram[*other] - known) / factor[place];
        }
        let known = &self.values[..active.len()];
        gram[row] - dot(known, known)
    }

    /// `values` = L⁻ᵀ `values`
    fn substitute_back(&mut self, count: usize) {
        for place in (0..count).rev() {
            let row = &self.factor[place * self.capacity..][..place + 1];
            let value = self.values[place] / row[place];
            self.values[place] = value;
            add(&mut self.values[..place], -value, &row[..place]);
        }
    }
}
