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

use fabproj::core::vector::{add_transposed_times, dot};
use fabproj::solve::{Functions, Problem};

mod branch;
mod case;
mod flow;

use branch::End;
use case::{Branch, Case};
use flow::{ROUNDS, invert};

/// Error of derivatives, relative to the largest entry.
const ACCURATE: f64 = 1e-9;

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
    p_limits: Vec<(f64, f64)>,
    q_limits: Vec<(f64, f64)>,
    v_limits: Vec<(f64, f64)>,
    /// $/h = quadratic P² + linear P + constant, with P per unit.
    costs: Vec<[f64; 3]>,
    /// Ends of branches that have a limit.
    ends: Vec<End>,
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
        let mut ends = Vec::new();
        for branch in &case.branch {
            for end in pi_model(branch, base) {
                let (i, k) = (end.own, end.other);
                add(i, i, end.own_admittance.0, end.own_admittance.1);
                add(i, k, end.mutual.0, end.mutual.1);
                if end.rate < NO_LIMIT {
                    ends.push(end);
                }
            }
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
            ends,
            plain: (0..buses).filter(|i| !generators.contains(i)).collect(),
            moving: (0..buses).filter(|i| *i != slack).collect(),
            generators,
            centre: [vec![0.0; buses], vec![1.0; buses]].concat(),
            inverse: Vec::new(),
        };
        let y = grid.set_point();
        let x = vec![1.0; grid.x_dim()];
        for _ in 0..12 {
            grid.recentre(&y, &x)?;
        }
        Ok(grid)
    }

    /// A set-point to start from: loads are shared by all generators according to their size, so that the slack
    /// has its part.
    fn set_point(&self) -> Vec<f64> {
        let bounds = self.bounds();
        let mut y: Vec<f64> = bounds
            .iter()
            .map(|(low, high)| 0.5 * (low + high))
            .collect();
        let all: f64 = self.loads.iter().map(|load| load.0).sum();
        let size: f64 = self.p_limits.iter().map(|limit| limit.1).sum();
        for (y, g) in y.iter_mut().zip(self.others()) {
            *y = self.p_limits[g].1 * all / size;
        }
        y
    }

    /// The network with power flows that start at the optimum for nominal loads, and that optimum.
    pub fn at_optimum(&self) -> Result<(Self, Vec<f64>), Box<dyn std::error::Error>> {
        let nominal = vec![1.0; self.x_dim()];
        let problem = self.problem("nominal", 0.1);
        let best = problem.local_optimum(&nominal, &self.set_point());
        let (y, _) = best.ok_or("no optimum found at nominal loads")?;
        Ok((self.centred_at(&y, &nominal)?, y))
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
    pub fn bounds(&self) -> Vec<(f64, f64)> {
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

    /// Real power of the slack's generator, and reactive power of all generators.
    fn load_at(&self, wanted: &[f64], bus: usize) -> (f64, f64) {
        // What the injections must be holds the loads, and no generation at the slack.
        (wanted[bus], wanted[self.buses + bus])
    }

    /// Rows of limits in pairs.
    fn two_sided(&self) -> usize {
        2 * (self.plain.len() + 1 + self.generators.len())
    }

    /// What limits of voltages and branches add to the gradient over θ and V.
    fn add_limits(&self, state: &[f64], weights: &[f64], out: &mut [f64]) {
        for (bus, pair) in self.plain.iter().zip(weights.chunks_exact(2)) {
            out[self.buses + bus] += pair[0] - pair[1];
        }
        let at_ends = &weights[self.two_sided()..];
        for (end, weight) in self.ends.iter().zip(at_ends) {
            if *weight != 0.0 {
                end.add_gradient(state, *weight, out);
            }
        }
    }

    fn slack_generator(&self) -> usize {
        let found = self.generators.iter().position(|bus| *bus == self.slack);
        found.expect("a generator at the slack")
    }
}

/// A rate from here on, per unit, says that there is none.
const NO_LIMIT: f64 = 90.0;

/// Buses are numbered from 1.
fn place(number: f64) -> usize {
    number as usize - 1
}

/// Both ends of a branch.
fn pi_model(branch: &Branch, base: f64) -> [End; 2] {
    let square = branch.r * branch.r + branch.x * branch.x;
    let (g, b) = (branch.r / square, -branch.x / square);
    let tap = if branch.tap == 0.0 { 1.0 } else { branch.tap };
    let (own, other) = (place(branch.from), place(branch.to));
    let rate = branch.rate_a_mva / base;
    let mutual = (-g / tap, -b / tap);
    let charged = b + 0.5 * branch.b;
    let at_tap = (g / (tap * tap), charged / (tap * tap));
    [(own, other, at_tap), (other, own, (g, charged))].map(|(own, other, own_admittance)| End {
        own,
        other,
        own_admittance,
        mutual,
        rate,
    })
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

    /// Voltages without generator, power of the slack, reactive power of generators: two limits each. Then the
    /// ends of branches.
    fn rows(&self) -> usize {
        self.two_sided() + self.ends.len()
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
        let (two_sided, at_ends) = constraints.split_at_mut(self.two_sided());
        for (value, end) in at_ends.iter_mut().zip(&self.ends) {
            *value = end.value(state, self.buses);
        }
        let mut pairs = two_sided.chunks_exact_mut(2);
        let mut limit = |value: f64, (low, high): (f64, f64)| {
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
        let turned = self.turned(state);
        self.injections_back(state, &turned, [&alpha, &beta], by_state);
        self.add_limits(state, weights, by_state);
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
                self.injections_back(
                    state,
                    &turned,
                    [&alpha, &beta],
                    &mut total[..2 * self.buses],
                );
                self.add_limits(state, weights, &mut total[..2 * self.buses]);
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
            add_transposed_times(&self.inverse, &error[..size], &mut solution[..size]);
            for (place, change) in solution[..size].iter().enumerate() {
                match self.moving.get(place) {
                    Some(bus) => alpha[*bus] -= change,
                    None => beta[self.plain[place - self.moving.len()]] -= change,
                }
            }
        }
        self.injections_back(
            state,
            &turned,
            [&alpha, &beta],
            &mut total[..2 * self.buses],
        );
        self.add_limits(state, weights, &mut total[..2 * self.buses]);
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
        let (two_sided, at_ends) = slopes.split_at_mut(self.two_sided());
        for (slope, end) in at_ends.iter_mut().zip(&self.ends) {
            *slope = end.along(state, &moved);
        }
        let mut pairs = two_sided.chunks_exact_mut(2);
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
