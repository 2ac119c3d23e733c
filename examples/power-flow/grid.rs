//! AC optimal power flow: the least costly set-points of a network's generators, by a power flow.
//!
//! y = (real power of all generators but the slack's, voltage at all generators), per unit. x = the real, then
//! the reactive load of each bus that has one, as a multiple of its nominal load. Bus i has the voltage
//! V_i ∠ θ_i; with the admittances G + jB of the network,
//!
//! ```text
//! P_i = V_i Σ_k V_k (G_ik cos θ_ik + B_ik sin θ_ik)
//! Q_i = V_i Σ_k V_k (G_ik sin θ_ik − B_ik cos θ_ik)
//! ```
//!
//! must equal generation less load. The state s (angles of all buses but the slack, voltages of buses without
//! generator) is found by Newton's method with one inverse Jacobian, computed once: a few more rounds, each a
//! product with a matrix. Derivatives go through the state by the implicit function theorem, with the same
//! inverse and as many rounds as the error asks for.

use fabproj::set::Interval;
use fabproj::solve::{Functions, Problem};
use serde::Deserialize;

/// Mismatch of power, per unit, at which a power flow is solved.
const SOLVED: f64 = 1e-10;
/// Rounds before a power flow counts as failed.
const ROUNDS: usize = 60;
/// Error of derivatives, relative to the largest entry.
const ACCURATE: f64 = 1e-9;

/// A case as MATPOWER writes it: MW, MVAr, degrees; impedances and voltages per unit.
#[derive(Clone, Debug, Deserialize)]
struct Case {
    base_mva: f64,
    bus: Vec<Bus>,
    #[serde(rename = "gen")]
    generators: Vec<Generator>,
    branch: Vec<Branch>,
    cost: Vec<Cost>,
}

#[derive(Clone, Debug, Deserialize)]
struct Bus {
    #[serde(rename = "type")]
    kind: f64,
    load_mw: f64,
    load_mvar: f64,
    shunt_mw: f64,
    shunt_mvar: f64,
    vm_max: f64,
    vm_min: f64,
}

#[derive(Clone, Debug, Deserialize)]
struct Generator {
    bus: f64,
    mvar_max: f64,
    mvar_min: f64,
    mw_max: f64,
    mw_min: f64,
}

#[derive(Clone, Debug, Deserialize)]
struct Branch {
    from: f64,
    to: f64,
    r: f64,
    x: f64,
    b: f64,
    tap: f64,
}

#[derive(Clone, Debug, Deserialize)]
struct Cost {
    quadratic: f64,
    linear: f64,
    constant: f64,
}

/// A network with its generators, loads and limits, per unit.
#[derive(Clone, Debug)]
pub struct Grid {
    buses: usize,
    slack: usize,
    /// Row i of the admittances: (k, G_ik, B_ik).
    admittances: Vec<Vec<(usize, f64, f64)>>,
    /// Nominal loads.
    loads: Vec<(f64, f64)>,
    /// Buses with a real load, buses with a reactive load: the order of x.
    p_loads: Vec<usize>,
    q_loads: Vec<usize>,
    generators: Vec<usize>,
    p_limits: Vec<Interval>,
    q_limits: Vec<Interval>,
    v_limits: Vec<Interval>,
    /// $/h = quadratic P² + linear P + constant, with P per unit.
    costs: Vec<[f64; 3]>,
    /// Buses without generator.
    plain: Vec<usize>,
    /// Buses but for the slack.
    moving: Vec<usize>,
    /// The state that power flows start from: θ, then V, of all buses.
    centre: Vec<f64>,
    /// The inverse of the Jacobian there.
    inverse: Vec<f64>,
}

impl Grid {
    /// Reads a case file.
    pub fn from_json(text: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let case: Case = serde_json::from_str(text)?;
        let buses = case.bus.len();
        let base = case.base_mva;
        let place = |number: f64| number as usize - 1;
        let slack = case
            .bus
            .iter()
            .position(|bus| bus.kind == 3.0)
            .ok_or("no slack bus")?;
        let generators: Vec<usize> = case.generators.iter().map(|one| place(one.bus)).collect();
        let mut dense = vec![(0.0, 0.0); buses * buses];
        let mut add = |i: usize, k: usize, g: f64, b: f64| {
            dense[i * buses + k].0 += g;
            dense[i * buses + k].1 += b;
        };
        for (i, bus) in case.bus.iter().enumerate() {
            add(i, i, bus.shunt_mw / base, bus.shunt_mvar / base);
        }
        for branch in &case.branch {
            let (i, k) = (place(branch.from), place(branch.to));
            let square = branch.r * branch.r + branch.x * branch.x;
            let (g, b) = (branch.r / square, -branch.x / square);
            let tap = if branch.tap == 0.0 { 1.0 } else { branch.tap };
            add(i, i, g / (tap * tap), (b + 0.5 * branch.b) / (tap * tap));
            add(k, k, g, b + 0.5 * branch.b);
            add(i, k, -g / tap, -b / tap);
            add(k, i, -g / tap, -b / tap);
        }
        let row = |i: usize| {
            let entries = (0..buses).map(|k| (k, dense[i * buses + k].0, dense[i * buses + k].1));
            entries.filter(|(_, g, b)| *g != 0.0 || *b != 0.0).collect()
        };
        let loads = case
            .bus
            .iter()
            .map(|bus| (bus.load_mw / base, bus.load_mvar / base));
        let loads: Vec<(f64, f64)> = loads.collect();
        let costs = case.cost.iter().map(|cost| {
            [
                cost.quadratic * base * base,
                cost.linear * base,
                cost.constant,
            ]
        });
        let mut grid = Self {
            buses,
            slack,
            admittances: (0..buses).map(row).collect(),
            p_loads: (0..buses).filter(|i| loads[*i].0 != 0.0).collect(),
            q_loads: (0..buses).filter(|i| loads[*i].1 != 0.0).collect(),
            loads,
            p_limits: case
                .generators
                .iter()
                .map(|g| (g.mw_min / base, g.mw_max / base))
                .collect(),
            q_limits: case
                .generators
                .iter()
                .map(|g| (g.mvar_min / base, g.mvar_max / base))
                .collect(),
            v_limits: case
                .bus
                .iter()
                .map(|bus| (bus.vm_min, bus.vm_max))
                .collect(),
            costs: costs.collect(),
            plain: (0..buses).filter(|i| !generators.contains(i)).collect(),
            moving: (0..buses).filter(|i| *i != slack).collect(),
            generators,
            centre: [vec![0.0; buses], vec![1.0; buses]].concat(),
            inverse: Vec::new(),
        };
        let middle = grid
            .bounds()
            .iter()
            .map(|(low, high)| 0.5 * (low + high))
            .collect::<Vec<_>>();
        // Loads are shared by all generators according to their size, so that the slack has its part.
        let mut y = middle;
        let all: f64 = grid.loads.iter().map(|load| load.0).sum();
        let size: f64 = grid.p_limits.iter().map(|limit| limit.1).sum();
        let others = (0..grid.generators.len()).filter(|g| grid.generators[*g] != slack);
        for (y, g) in y.iter_mut().zip(others.collect::<Vec<_>>()) {
            *y = grid.p_limits[g].1 * all / size;
        }
        let x = vec![1.0; grid.x_dim()];
        for _ in 0..12 {
            grid.recentre(&y, &x)?;
        }
        Ok(grid)
    }

    /// One step of Newton's method from the centre; the new state is the centre.
    fn recentre(&mut self, y: &[f64], x: &[f64]) -> Result<(), String> {
        let mut state = self.centre.clone();
        self.set_voltages(y, &mut state);
        let size = self.moving.len() + self.plain.len();
        let mut jacobian = vec![0.0; size * size];
        for column in 0..size {
            let mut direction = vec![0.0; 2 * self.buses];
            direction[self.entry(column)] = 1.0;
            let (dp, dq) = self.injections_along(&state, &direction);
            for row in 0..size {
                jacobian[row * size + column] = self.mismatch_entry(row, &dp, &dq);
            }
        }
        self.inverse = invert(jacobian, size).ok_or("the power flow is singular")?;
        let (p, q) = self.injections(&state);
        let wanted = self.wanted(y, x);
        let error = self.mismatch(&p, &q, &wanted);
        for (row, inverse) in self.inverse.chunks_exact(size).enumerate() {
            let at = self.entry(row);
            state[at] -= dot(inverse, &error);
        }
        if !state.iter().all(|value| value.is_finite()) {
            return Err("the power flow diverges".into());
        }
        self.centre = state;
        Ok(())
    }

    /// The network with power flows that start at the solution of this one.
    pub fn centred_at(&self, y: &[f64], x: &[f64]) -> Result<Self, String> {
        let mut grid = self.clone();
        for _ in 0..8 {
            grid.recentre(y, x)?;
        }
        Ok(grid)
    }

    /// Bounds of y.
    pub fn bounds(&self) -> Vec<Interval> {
        let others = self.others().map(|g| self.p_limits[g]);
        let voltages = self.generators.iter().map(|bus| self.v_limits[*bus]);
        others.chain(voltages).collect()
    }

    /// The problem for loads within this part of their nominal value.
    pub fn problem(&self, name: &str, part: f64) -> Problem {
        let x = vec![(1.0 - part, 1.0 + part); self.x_dim()];
        Problem::new(name, self.clone())
            .with_bounds(self.bounds())
            .with_x(x)
    }

    /// x of loads given by bus as multiples of the nominal ones.
    pub fn x_of(&self, scale_p: &[f64], scale_q: &[f64]) -> Vec<f64> {
        let p = self.p_loads.iter().map(|bus| scale_p[*bus]);
        p.chain(self.q_loads.iter().map(|bus| scale_q[*bus]))
            .collect()
    }

    /// Generators but for the slack's.
    fn others(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.generators.len()).filter(|g| self.generators[*g] != self.slack)
    }

    /// Where an entry of the state is among θ and V of all buses.
    fn entry(&self, place: usize) -> usize {
        match self.moving.get(place) {
            Some(bus) => *bus,
            None => self.buses + self.plain[place - self.moving.len()],
        }
    }

    /// An entry of the mismatch, which has as many as the state.
    fn mismatch_entry(&self, place: usize, p: &[f64], q: &[f64]) -> f64 {
        match self.moving.get(place) {
            Some(bus) => p[*bus],
            None => q[self.plain[place - self.moving.len()]],
        }
    }

    fn set_voltages(&self, y: &[f64], state: &mut [f64]) {
        let voltages = &y[self.generators.len() - 1..];
        for (bus, voltage) in self.generators.iter().zip(voltages) {
            state[self.buses + bus] = *voltage;
        }
    }

    /// What the injections must be: generation less load, P then Q of all buses.
    fn wanted(&self, y: &[f64], x: &[f64]) -> Vec<f64> {
        let mut wanted = vec![0.0; 2 * self.buses];
        self.want(y, x, &mut wanted);
        wanted
    }

    fn want(&self, y: &[f64], x: &[f64], wanted: &mut [f64]) {
        wanted.fill(0.0);
        for (bus, x) in self.p_loads.iter().zip(x) {
            wanted[*bus] -= x * self.loads[*bus].0;
        }
        for (bus, x) in self.q_loads.iter().zip(&x[self.p_loads.len()..]) {
            wanted[self.buses + bus] -= x * self.loads[*bus].1;
        }
        for (g, y) in self.others().zip(y) {
            wanted[self.generators[g]] += y;
        }
    }

    fn mismatch(&self, p: &[f64], q: &[f64], wanted: &[f64]) -> Vec<f64> {
        let size = self.moving.len() + self.plain.len();
        let (wanted_p, wanted_q) = wanted.split_at(self.buses);
        let entry = |place: usize| {
            self.mismatch_entry(place, p, q) - self.mismatch_entry(place, wanted_p, wanted_q)
        };
        (0..size).map(entry).collect()
    }

    fn injections(&self, state: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut p, mut q) = (vec![0.0; self.buses], vec![0.0; self.buses]);
        self.inject(state, &mut p, &mut q);
        (p, q)
    }

    /// P and Q of all buses. One sine and cosine per bus: e^{jθ_ik} = e^{jθ_i} e^{−jθ_k}.
    fn inject(&self, state: &[f64], p: &mut [f64], q: &mut [f64]) {
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
    fn injections_along(&self, state: &[f64], direction: &[f64]) -> (Vec<f64>, Vec<f64>) {
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

    /// Σ α_i ∇P_i + β_i ∇Q_i over θ and V of all buses.
    fn injections_back(&self, state: &[f64], alpha: &[f64], beta: &[f64], out: &mut [f64]) {
        let (angles, voltages) = state.split_at(self.buses);
        out.fill(0.0);
        let mut turned = [(0.0, 0.0); MAX_BUSES];
        for (turned, angle) in turned.iter_mut().zip(angles) {
            *turned = angle.sin_cos();
        }
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
    fn flow(&self, y: &[f64], x: &[f64], memory: &mut [f64]) -> bool {
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
            for (place, inverse) in self.inverse.chunks_exact(size).enumerate() {
                state[self.entry(place)] -= dot(inverse, error);
            }
        }
        state[self.buses] = 0.0;
        false
    }

    /// Real power of the slack's generator, and reactive power of all generators.
    fn load_at(&self, wanted: &[f64], bus: usize) -> (f64, f64) {
        // What the injections must be holds the loads, and no generation at the slack.
        (wanted[bus], wanted[self.buses + bus])
    }

    fn slack_generator(&self) -> usize {
        let found = self.generators.iter().position(|bus| *bus == self.slack);
        found.expect("a generator at the slack")
    }
}

/// The largest network, so that a call needs no allocation.
const MAX_BUSES: usize = 128;

impl Functions for Grid {
    fn dim(&self) -> usize {
        2 * self.generators.len() - 1
    }

    fn x_dim(&self) -> usize {
        self.p_loads.len() + self.q_loads.len()
    }

    /// Voltages without generator, power of the slack, reactive power of generators: two limits each.
    fn rows(&self) -> usize {
        2 * (self.plain.len() + 1 + self.generators.len())
    }

    /// θ, V, P, Q, what P and Q must be, and a place for errors.
    fn memory(&self) -> usize {
        8 * self.buses
    }

    fn values(&self, y: &[f64], x: &[f64], constraints: &mut [f64], memory: &mut [f64]) -> f64 {
        if !self.flow(y, x, memory) {
            constraints.fill(f64::NAN);
            return f64::NAN;
        }
        let (state, rest) = memory.split_at(2 * self.buses);
        let (p, rest) = rest.split_at(self.buses);
        let (q, wanted) = rest.split_at(self.buses);
        let mut pairs = constraints.chunks_exact_mut(2);
        let mut limit = |value: f64, (low, high): Interval| {
            if let Some(pair) = pairs.next() {
                (pair[0], pair[1]) = (value - high, low - value);
            }
        };
        for bus in &self.plain {
            limit(state[self.buses + bus], self.v_limits[*bus]);
        }
        let slack = self.slack_generator();
        let slack_power = p[self.slack] - self.load_at(wanted, self.slack).0;
        limit(slack_power, self.p_limits[slack]);
        for (bus, limits) in self.generators.iter().zip(&self.q_limits) {
            limit(q[*bus] - self.load_at(wanted, *bus).1, *limits);
        }
        let cost = |g: usize, power: f64| {
            let [quadratic, linear, constant] = self.costs[g];
            (quadratic * power + linear) * power + constant
        };
        let others = self.others().zip(y).map(|(g, power)| cost(g, *power));
        others.sum::<f64>() + cost(slack, slack_power)
    }

    fn gradient(
        &self,
        y: &[f64],
        _: &[f64],
        weights: &[f64],
        gradient: &mut [f64],
        memory: &mut [f64],
    ) {
        let (state, rest) = memory.split_at(2 * self.buses);
        let (p, wanted) = (&rest[..self.buses], &rest[2 * self.buses..]);
        let pair = |place: usize| weights[2 * place] - weights[2 * place + 1];
        let slack = self.slack_generator();
        let slack_power = p[self.slack] - self.load_at(wanted, self.slack).0;
        let slope = |g: usize, power: f64| 2.0 * self.costs[g][0] * power + self.costs[g][1];
        let (mut alpha, mut beta) = ([0.0; MAX_BUSES], [0.0; MAX_BUSES]);
        alpha[self.slack] = slope(slack, slack_power) + pair(self.plain.len());
        for (g, bus) in self.generators.iter().enumerate() {
            beta[*bus] = pair(self.plain.len() + 1 + g);
        }
        let mut by_state = [0.0; 2 * MAX_BUSES];
        let by_state = &mut by_state[..2 * self.buses];
        self.injections_back(state, &alpha, &beta, by_state);
        for (place, bus) in self.plain.iter().enumerate() {
            by_state[self.buses + bus] += pair(place);
        }
        // Jᵀ a = what the state adds; a goes into the entries of α and β that belong to mismatches.
        let size = self.moving.len() + self.plain.len();
        let mut error = [0.0; 2 * MAX_BUSES];
        let mut solution = [0.0; 2 * MAX_BUSES];
        let scale = by_state
            .iter()
            .fold(0.0_f64, |most, value| most.max(value.abs()));
        let mut total = [0.0; 2 * MAX_BUSES];
        for round in 0..ROUNDS {
            // With −a in place, α and β give the whole derivative: zero for the state in the end.
            let source = if round == 0 {
                &*by_state
            } else {
                self.injections_back(state, &alpha, &beta, &mut total[..2 * self.buses]);
                for (place, bus) in self.plain.iter().enumerate() {
                    total[self.buses + bus] += pair(place);
                }
                &total[..2 * self.buses]
            };
            let mut most = 0.0_f64;
            for (place, error) in error[..size].iter_mut().enumerate() {
                *error = source[self.entry(place)];
                most = most.max(error.abs());
            }
            if most <= ACCURATE * scale {
                break;
            }
            solution[..size].fill(0.0);
            for (row, error) in self.inverse.chunks_exact(size).zip(&error[..size]) {
                let pairs = solution[..size].iter_mut().zip(row);
                pairs.for_each(|(solution, inverse)| *solution += error * inverse);
            }
            for (place, change) in solution[..size].iter().enumerate() {
                match self.moving.get(place) {
                    Some(bus) => alpha[*bus] -= change,
                    None => beta[self.plain[place - self.moving.len()]] -= change,
                }
            }
        }
        self.injections_back(state, &alpha, &beta, &mut total[..2 * self.buses]);
        let (powers, voltages) = gradient.split_at_mut(self.generators.len() - 1);
        for ((gradient, g), y) in powers.iter_mut().zip(self.others()).zip(y) {
            *gradient = slope(g, *y) - alpha[self.generators[g]];
        }
        for (gradient, bus) in voltages.iter_mut().zip(&self.generators) {
            *gradient = total[self.buses + bus];
        }
    }

    fn slopes(
        &self,
        _: &[f64],
        _: &[f64],
        direction: &[f64],
        slopes: &mut [f64],
        memory: &mut [f64],
    ) {
        let state = &memory[..2 * self.buses];
        let size = self.moving.len() + self.plain.len();
        let mut moved = vec![0.0; 2 * self.buses];
        self.set_voltages(direction, &mut moved);
        let mut wanted = vec![0.0; 2 * self.buses];
        for (g, d) in self.others().zip(direction) {
            wanted[self.generators[g]] = *d;
        }
        let mut changes = self.injections_along(state, &moved);
        for _ in 0..ROUNDS {
            let error = self.mismatch(&changes.0, &changes.1, &wanted);
            let scale = direction.iter().fold(0.0_f64, |most, d| most.max(d.abs()));
            if error.iter().all(|error| error.abs() <= ACCURATE * scale) {
                break;
            }
            for (place, inverse) in self.inverse.chunks_exact(size).enumerate() {
                moved[self.entry(place)] -= dot(inverse, &error);
            }
            changes = self.injections_along(state, &moved);
        }
        let (dp, dq) = changes;
        let mut pairs = slopes.chunks_exact_mut(2);
        let mut limit = |change: f64| {
            if let Some(pair) = pairs.next() {
                (pair[0], pair[1]) = (change, -change);
            }
        };
        self.plain
            .iter()
            .for_each(|bus| limit(moved[self.buses + bus]));
        limit(dp[self.slack]);
        self.generators.iter().for_each(|bus| limit(dq[*bus]));
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// The inverse by elimination with pivots; `None` for a singular matrix.
fn invert(mut matrix: Vec<f64>, size: usize) -> Option<Vec<f64>> {
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
