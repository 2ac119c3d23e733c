//! A network of five buses: what flows where, given what the generators are told to do.
//!
//! Bus 0 is the slack: its voltage is given, and it delivers whatever power is missing. Buses 1 and 2
//! have generators that hold their voltage and deliver the real power they are told. Buses 3 and 4 have
//! loads only. All numbers are per unit of 100 MVA.
//!
//! With voltages V∠θ and the admittances G + jB between buses, the powers injected at bus i are
//!
//! ```text
//! P_i = Σ_k V_i V_k (G_ik cos θ_ik + B_ik sin θ_ik)
//! Q_i = Σ_k V_i V_k (G_ik sin θ_ik − B_ik cos θ_ik)        θ_ik = θ_i − θ_k
//! ```
//!
//! P is known at buses 1 to 4 and Q at buses 3 and 4: six equations for four angles and two voltages,
//! solved by Newton's method from the flat start.

/// Buses.
const BUSES: usize = 5;
/// Unknowns: the angles of buses 1 to 4, then the voltages of buses 3 and 4.
const UNKNOWNS: usize = 6;
/// Newton's method converges quadratically or not at all.
const ITERATIONS: usize = 12;
/// What is left of the six equations at a solution.
const SMALL: f64 = 1e-10;

/// A line between two buses.
struct Line {
    ends: (usize, usize),
    resistance: f64,
    reactance: f64,
    /// Half of the line's charging susceptance, at each end.
    charging: f64,
    /// The largest apparent power at either end.
    limit: f64,
}

const fn line(ends: (usize, usize), impedance: (f64, f64), charging: f64, limit: f64) -> Line {
    Line {
        ends,
        resistance: impedance.0,
        reactance: impedance.1,
        charging,
        limit,
    }
}

const LINES: [Line; 7] = [
    line((0, 1), (0.02, 0.06), 0.030, 0.60),
    line((0, 2), (0.08, 0.24), 0.025, 0.35),
    line((1, 2), (0.06, 0.18), 0.020, 0.35),
    line((1, 3), (0.06, 0.18), 0.020, 0.40),
    line((1, 4), (0.04, 0.12), 0.015, 0.60),
    line((2, 3), (0.01, 0.03), 0.010, 0.50),
    line((3, 4), (0.08, 0.24), 0.025, 0.25),
];

/// Real and reactive power drawn at each bus.
const LOADS: [(f64, f64); BUSES] = [
    (0.0, 0.0),
    (0.20, 0.10),
    (0.45, 0.15),
    (0.40, 0.05),
    (0.60, 0.10),
];

/// Voltages that the slack and the generator of bus 2 hold.
const SLACK_VOLTAGE: f64 = 1.04;
const VOLTAGE_OF_TWO: f64 = 1.01;

/// What must not be exceeded, besides the lines' limits.
const SLACK_POWER: (f64, f64) = (0.0, 0.9);
const REACTIVE_POWER: (f64, f64) = (-0.4, 0.5);
const LOAD_VOLTAGE: (f64, f64) = (0.97, 1.03);

/// What the generators are told: the set-points y.
pub const NAMES: [&str; 3] = ["p1", "p2", "v1"];
/// The range of each set-point.
pub const BOUNDS: [(f64, f64); 3] = [(0.0, 1.6), (0.0, 1.2), (1.0, 1.06)];

/// Voltages and angles of all buses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    pub voltage: [f64; BUSES],
    pub angle: [f64; BUSES],
}

/// The network's admittances.
pub struct Network {
    conductance: [[f64; BUSES]; BUSES],
    susceptance: [[f64; BUSES]; BUSES],
}

impl Network {
    pub fn new() -> Self {
        let mut network = Self {
            conductance: [[0.0; BUSES]; BUSES],
            susceptance: [[0.0; BUSES]; BUSES],
        };
        for line in &LINES {
            let (g, b) = line.admittance();
            let (i, k) = line.ends;
            for (row, column, sign) in [(i, i, 1.0), (k, k, 1.0), (i, k, -1.0), (k, i, -1.0)] {
                network.conductance[row][column] += sign * g;
                network.susceptance[row][column] += sign * b;
            }
            network.susceptance[i][i] += line.charging;
            network.susceptance[k][k] += line.charging;
        }
        network
    }

    /// Whether the set-points can be held: the power flow has a solution from the flat start, and no
    /// limit is exceeded.
    pub fn is_feasible(&self, set_points: &[f64]) -> bool {
        self.solve(set_points)
            .is_some_and(|state| self.within_limits(&state))
    }

    /// The state of the network, if Newton's method finds one.
    pub fn solve(&self, set_points: &[f64]) -> Option<State> {
        let mut state = State {
            voltage: [SLACK_VOLTAGE, set_points[2], VOLTAGE_OF_TWO, 1.0, 1.0],
            angle: [0.0; BUSES],
        };
        for _ in 0..ITERATIONS {
            let mismatch = self.mismatch(&state, set_points);
            if mismatch.iter().all(|left| left.abs() < SMALL) {
                return Some(state);
            }
            let step = solve_linear(self.jacobian(&state), mismatch)?;
            for (bus, change) in (1..BUSES).zip(&step) {
                state.angle[bus] -= change;
            }
            for (bus, change) in (3..BUSES).zip(&step[4..]) {
                state.voltage[bus] -= change;
            }
        }
        None
    }

    /// Injected minus wanted power: P at buses 1 to 4, then Q at buses 3 and 4.
    pub fn mismatch(&self, state: &State, set_points: &[f64]) -> [f64; UNKNOWNS] {
        let generated = [0.0, set_points[0], set_points[1], 0.0, 0.0];
        let mut left = [0.0; UNKNOWNS];
        for bus in 1..BUSES {
            let (p, q) = self.injected(state, bus);
            left[bus - 1] = p - (generated[bus] - LOADS[bus].0);
            if bus >= 3 {
                left[bus + 1] = q + LOADS[bus].1;
            }
        }
        left
    }

    /// P and Q that flow from a bus into the network.
    pub fn injected(&self, state: &State, bus: usize) -> (f64, f64) {
        let (mut p, mut q) = (0.0, 0.0);
        for other in 0..BUSES {
            let (along, across) = self.coupling(state, bus, other);
            p += along;
            q += across;
        }
        (p, q)
    }

    /// V_i V_k (G cos θ + B sin θ) and V_i V_k (G sin θ − B cos θ).
    fn coupling(&self, state: &State, i: usize, k: usize) -> (f64, f64) {
        let (sin, cos) = (state.angle[i] - state.angle[k]).sin_cos();
        let (g, b) = (self.conductance[i][k], self.susceptance[i][k]);
        let product = state.voltage[i] * state.voltage[k];
        (product * (g * cos + b * sin), product * (g * sin - b * cos))
    }

    /// Derivatives of the mismatch with respect to the unknowns.
    pub fn jacobian(&self, state: &State) -> [[f64; UNKNOWNS]; UNKNOWNS] {
        // The bus of an equation or unknown, and whether it is about Q, or V.
        let meaning = |index: usize| {
            if index < 4 {
                (index + 1, false)
            } else {
                (index - 1, true)
            }
        };
        std::array::from_fn(|row| {
            std::array::from_fn(|column| self.derivative(state, meaning(row), meaning(column)))
        })
    }

    /// The derivative of P (or Q) of a bus with respect to the angle (or voltage) of a bus.
    fn derivative(
        &self,
        state: &State,
        (bus, reactive): (usize, bool),
        (other, voltage): (usize, bool),
    ) -> f64 {
        let (along, across) = self.coupling(state, bus, other);
        if bus != other {
            return match (reactive, voltage) {
                (false, false) => across,
                (false, true) => along / state.voltage[other],
                (true, false) => -along,
                (true, true) => across / state.voltage[other],
            };
        }
        let (p, q) = self.injected(state, bus);
        let v = state.voltage[bus];
        let (g, b) = (self.conductance[bus][bus], self.susceptance[bus][bus]);
        match (reactive, voltage) {
            (false, false) => -q - b * v * v,
            (false, true) => p / v + g * v,
            (true, false) => p - g * v * v,
            (true, true) => q / v - b * v,
        }
    }

    fn within_limits(&self, state: &State) -> bool {
        let within = |value: f64, (low, high): (f64, f64)| value >= low && value <= high;
        let slack = within(self.injected(state, 0).0, SLACK_POWER);
        let reactive =
            (0..3).all(|bus| within(self.injected(state, bus).1 + LOADS[bus].1, REACTIVE_POWER));
        let voltages = (3..BUSES).all(|bus| within(state.voltage[bus], LOAD_VOLTAGE));
        let lines = LINES
            .iter()
            .all(|line| line.largest_flow(state) <= line.limit);
        slack && reactive && voltages && lines
    }
}

impl Line {
    fn admittance(&self) -> (f64, f64) {
        let square = self.resistance * self.resistance + self.reactance * self.reactance;
        (self.resistance / square, -self.reactance / square)
    }

    /// The larger of the apparent powers at the two ends.
    fn largest_flow(&self, state: &State) -> f64 {
        let (i, k) = self.ends;
        self.flow(state, i, k).max(self.flow(state, k, i))
    }

    /// |S| from bus i into the line to bus k.
    fn flow(&self, state: &State, i: usize, k: usize) -> f64 {
        let (g, b) = self.admittance();
        let (sin, cos) = (state.angle[i] - state.angle[k]).sin_cos();
        let (v, product) = (state.voltage[i], state.voltage[i] * state.voltage[k]);
        let p = v * v * g - product * (g * cos + b * sin);
        let q = -v * v * (b + self.charging) - product * (g * sin - b * cos);
        p.hypot(q)
    }
}

/// Gaussian elimination with pivoting; `None` if the matrix is singular.
fn solve_linear(
    mut matrix: [[f64; UNKNOWNS]; UNKNOWNS],
    mut right: [f64; UNKNOWNS],
) -> Option<[f64; UNKNOWNS]> {
    for column in 0..UNKNOWNS {
        let pivot = (column..UNKNOWNS).max_by(|a, b| {
            matrix[*a][column]
                .abs()
                .total_cmp(&matrix[*b][column].abs())
        })?;
        if matrix[pivot][column].abs() < 1e-12 || !matrix[pivot][column].is_finite() {
            return None;
        }
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        for row in column + 1..UNKNOWNS {
            let factor = matrix[row][column] / matrix[column][column];
            let above = matrix[column];
            for (value, above) in matrix[row].iter_mut().zip(above) {
                *value -= factor * above;
            }
            right[row] -= factor * right[column];
        }
    }
    for row in (0..UNKNOWNS).rev() {
        let known: f64 = (row + 1..UNKNOWNS).map(|k| matrix[row][k] * right[k]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    Some(right)
}
