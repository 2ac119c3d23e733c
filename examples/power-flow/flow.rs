//! Power flow: injections, their derivatives, and the state that gives the wanted ones.

use fabproj::core::vector::times;

use super::{Grid, MAX_BUSES};

/// Mismatch of power, per unit, at which a power flow is solved.
const SOLVED: f64 = 1e-10;
/// Rounds before a power flow with one inverse counts as failed.
pub(super) const ROUNDS: usize = 60;

impl Grid {
    pub(super) fn injections(&self, state: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut p, mut q) = (vec![0.0; self.buses], vec![0.0; self.buses]);
        self.inject(state, &mut p, &mut q);
        (p, q)
    }

    /// P and Q of all buses. One sine and cosine per bus: e^{jθ_ik} = e^{jθ_i} e^{−jθ_k}.
    pub(super) fn inject(&self, state: &[f64], p: &mut [f64], q: &mut [f64]) {
        let (angles, voltages) = state.split_at(self.buses);
        // Real and imaginary parts of the voltages, for the time being.
        for i in 0..self.buses {
            let (sin, cos) = angles[i].sin_cos();
            (p[i], q[i]) = (voltages[i] * cos, voltages[i] * sin);
        }
        // The power of bus i needs the voltages of the others: currents first would take a buffer, so the
        // products are kept by bus instead.
        let mut powers = [(0.0, 0.0); MAX_BUSES];
        for (i, row) in self.admittances.iter().enumerate() {
            let (mut re, mut im) = (0.0, 0.0);
            for (k, g, b) in row {
                re += g * p[*k] - b * q[*k];
                im += g * q[*k] + b * p[*k];
            }
            powers[i] = (p[i] * re + q[i] * im, q[i] * re - p[i] * im);
        }
        for (i, (real, reactive)) in powers.iter().enumerate().take(self.buses) {
            (p[i], q[i]) = (*real, *reactive);
        }
    }

    /// Change of P and Q of all buses along a direction of θ and V.
    pub(super) fn injections_along(
        &self,
        state: &[f64],
        direction: &[f64],
    ) -> (Vec<f64>, Vec<f64>) {
        let (angles, voltages) = state.split_at(self.buses);
        let (mut dp, mut dq) = (vec![0.0; self.buses], vec![0.0; self.buses]);
        for (i, row) in self.admittances.iter().enumerate() {
            for (k, g, b) in row {
                let (sin, cos) = (angles[i] - angles[*k]).sin_cos();
                let (even, odd) = (g * cos + b * sin, g * sin - b * cos);
                let turned = direction[i] - direction[*k];
                let moved = direction[self.buses + i] * voltages[*k]
                    + voltages[i] * direction[self.buses + k];
                let both = voltages[i] * voltages[*k];
                dp[i] += moved * even - both * odd * turned;
                dq[i] += moved * odd + both * even * turned;
            }
        }
        (dp, dq)
    }

    /// Sines and cosines of the angles.
    pub(super) fn turned(&self, state: &[f64]) -> [(f64, f64); MAX_BUSES] {
        let mut turned = [(0.0, 0.0); MAX_BUSES];
        for (turned, angle) in turned.iter_mut().zip(&state[..self.buses]) {
            *turned = angle.sin_cos();
        }
        turned
    }

    /// Σ α_i ∇P_i + β_i ∇Q_i over θ and V of all buses.
    pub(super) fn injections_back(
        &self,
        state: &[f64],
        turned: &[(f64, f64)],
        [alpha, beta]: [&[f64]; 2],
        out: &mut [f64],
    ) {
        let voltages = &state[self.buses..];
        out.fill(0.0);
        for (i, row) in self.admittances.iter().enumerate() {
            let (a, c) = (alpha[i], beta[i]);
            if a == 0.0 && c == 0.0 {
                continue;
            }
            let (sin_i, cos_i) = turned[i];
            for (k, g, b) in row {
                let (sin_k, cos_k) = turned[*k];
                let (sin, cos) = (sin_i * cos_k - cos_i * sin_k, cos_i * cos_k + sin_i * sin_k);
                let (even, odd) = (g * cos + b * sin, g * sin - b * cos);
                let weight = a * even + c * odd;
                let angle = voltages[i] * voltages[*k] * (c * even - a * odd);
                out[i] += angle;
                out[*k] -= angle;
                out[self.buses + i] += weight * voltages[*k];
                out[self.buses + k] += weight * voltages[i];
            }
        }
    }

    /// Solves the power flow in `memory`. Whether it converged.
    pub(super) fn flow(&self, y: &[f64], x: &[f64], memory: &mut [f64]) -> bool {
        let (state, rest) = memory.split_at_mut(2 * self.buses);
        let (p, rest) = rest.split_at_mut(self.buses);
        let (q, rest) = rest.split_at_mut(self.buses);
        let (wanted, error) = rest.split_at_mut(2 * self.buses);
        // A voltage of zero: the first call for this x.
        if state[self.buses] == 0.0 {
            state.copy_from_slice(&self.centre);
        }
        self.set_voltages(y, state);
        self.want(y, x, wanted);
        let (wanted_p, wanted_q) = wanted.split_at(self.buses);
        let size = self.moving.len() + self.plain.len();
        let error = &mut error[..size];
        for _ in 0..ROUNDS {
            self.inject(state, p, q);
            let mut most = 0.0_f64;
            for (place, error) in error.iter_mut().enumerate() {
                *error = self.mismatch_entry(place, p, q)
                    - self.mismatch_entry(place, wanted_p, wanted_q);
                most = most.max(error.abs());
            }
            if most <= SOLVED {
                return true;
            }
            if most.is_nan() || most > 1e3 {
                break;
            }
            let mut change = [0.0; 2 * MAX_BUSES];
            let change = &mut change[..size];
            times(&self.inverse, error, change);
            for (place, change) in change.iter().enumerate() {
                state[self.entry(place)] -= change;
            }
        }
        state[self.buses] = 0.0;
        false
    }
}

/// The inverse by elimination with pivots; `None` for a singular matrix.
pub(super) fn invert(mut matrix: Vec<f64>, size: usize) -> Option<Vec<f64>> {
    let mut inverse = vec![0.0; size * size];
    (0..size).for_each(|i| inverse[i * size + i] = 1.0);
    for column in 0..size {
        let magnitude = |row: usize| matrix[row * size + column].abs();
        let best = (column..size).max_by(|a, b| magnitude(*a).total_cmp(&magnitude(*b)))?;
        for k in 0..size {
            matrix.swap(column * size + k, best * size + k);
            inverse.swap(column * size + k, best * size + k);
        }
        let pivot = matrix[column * size + column];
        if pivot == 0.0 || !pivot.is_finite() {
            return None;
        }
        for k in 0..size {
            matrix[column * size + k] /= pivot;
            inverse[column * size + k] /= pivot;
        }
        for row in (0..size).filter(|row| *row != column) {
            let factor = matrix[row * size + column];
            if factor != 0.0 {
                for k in 0..size {
                    matrix[row * size + k] -= factor * matrix[column * size + k];
                    inverse[row * size + k] -= factor * inverse[column * size + k];
                }
            }
        }
    }
    Some(inverse)
}
