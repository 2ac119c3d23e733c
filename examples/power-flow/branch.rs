//! Limits of branches: the apparent power at either end, |S|² = P² + Q².
//!
//! At the end of bus i of a branch to bus k, with admittances y = g + jb of its pi model,
//!
//! ```text
//! P = g_ii V_i² + V_i V_k (g_ik cos θ_ik + b_ik sin θ_ik)
//! Q = −b_ii V_i² + V_i V_k (g_ik sin θ_ik − b_ik cos θ_ik)
//! ```
//!
//! The constraint is (|S|² − rate²) / (2 rate) ≤ 0: as large as |S| − rate near the limit, and smooth at 0.

/// One end of a branch that has a limit.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) own: usize,
    pub(super) other: usize,
    /// g_ii, b_ii
    pub(super) own_admittance: (f64, f64),
    /// g_ik, b_ik
    pub(super) mutual: (f64, f64),
    pub(super) rate: f64,
}

/// P and Q at an end, and their derivatives by θ_i (those by θ_k are the opposite), V_i and V_k.
struct Power {
    p: [f64; 4],
    q: [f64; 4],
}

impl End {
    fn power(&self, state: &[f64], buses: usize) -> Power {
        let (sin, cos) = (state[self.own] - state[self.other]).sin_cos();
        let (own, other) = (state[buses + self.own], state[buses + self.other]);
        let ((g, b), (g_ik, b_ik)) = (self.own_admittance, self.mutual);
        let (even, odd) = (g_ik * cos + b_ik * sin, g_ik * sin - b_ik * cos);
        let both = own * other;
        Power {
            p: [
                g * own * own + both * even,
                -both * odd,
                2.0 * g * own + other * even,
                own * even,
            ],
            q: [
                -b * own * own + both * odd,
                both * even,
                -2.0 * b * own + other * odd,
                own * odd,
            ],
        }
    }

    pub(super) fn value(&self, state: &[f64], buses: usize) -> f64 {
        let Power { p, q } = self.power(state, buses);
        (p[0] * p[0] + q[0] * q[0] - self.rate * self.rate) / (2.0 * self.rate)
    }

    /// Derivatives by θ_i, V_i and V_k.
    fn slopes(&self, state: &[f64], buses: usize) -> [f64; 3] {
        let Power { p, q } = self.power(state, buses);
        [1, 2, 3].map(|i| (p[0] * p[i] + q[0] * q[i]) / self.rate)
    }

    /// out += weight · gradient over θ and V of all buses
    pub(super) fn add_gradient(&self, state: &[f64], weight: f64, out: &mut [f64]) {
        let buses = out.len() / 2;
        let [angle, own, other] = self.slopes(state, buses);
        out[self.own] += weight * angle;
        out[self.other] -= weight * angle;
        out[buses + self.own] += weight * own;
        out[buses + self.other] += weight * other;
    }

    /// The change along a direction of θ and V.
    pub(super) fn along(&self, state: &[f64], direction: &[f64]) -> f64 {
        let buses = direction.len() / 2;
        let [angle, own, other] = self.slopes(state, buses);
        angle * (direction[self.own] - direction[self.other])
            + own * direction[buses + self.own]
            + other * direction[buses + self.other]
    }
}
