//! Networks as peers: a plain one with the ray map, and DC3.
//!
//! Both answer y = base(x) + Σ z_i directions_i, so that the equations hold, with z from a network that is
//! trained on the objective at fresh x. The *ray map* shortens the way from a feasible base to the boundary.
//! *DC3* takes the coordinates that the equations leave as z ("completion") and then descends the squared
//! violation for a few steps ("correction").

use fabproj::solve::Functions;
use fabproj_nn::{Adam, AdamConfig, Cosine, Mlp, MlpSpec, Tape};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::family::{Family, Rows};
use super::linear::{Along, dot, dot3, solve_rows};
use crate::{Context, StudyError};

/// How a peer is trained.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct NetSettings {
    hidden: Vec<usize>,
    steps: u64,
    rows: usize,
    rate: f32,
    repair: Repair,
}

/// What brings a point into the set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Repair {
    Ray,
    Correction {
        steps: usize,
        rate: f64,
        momentum: f64,
        /// Weight of ‖max(c, 0)‖ in the loss.
        penalty: f64,
    },
}

impl NetSettings {
    pub(super) fn ray(steps: u64) -> Self {
        Self {
            hidden: vec![64, 64],
            steps,
            rows: 128,
            rate: 1e-3,
            repair: Repair::Ray,
        }
    }

    /// DC3's network and correction. Its published rate of 1e-7 corrects next to nothing here.
    pub(super) fn dc3(steps: u64) -> Self {
        Self {
            hidden: vec![200, 200],
            steps,
            rows: 128,
            rate: 1e-3,
            repair: Repair::Correction {
                steps: 10,
                rate: 1e-5,
                momentum: 0.5,
                penalty: 50.0,
            },
        }
    }
}

/// A trained network with its map into the set.
pub(super) struct Net<'a> {
    family: &'a Family,
    settings: NetSettings,
    network: Mlp,
    along: Along,
    tape: Tape,
    inputs: Vec<f32>,
    work: Work,
}

/// Memory of one answer.
struct Work {
    constraints: Vec<f64>,
    memory: Vec<f64>,
    weights: Vec<f64>,
    base: Vec<f64>,
    direction: Vec<f64>,
    gradient: Vec<f64>,
    other: Vec<f64>,
    step: Vec<f64>,
    /// How far along the ray the answer is, and the row that ends it.
    reached: (f64, Option<usize>),
}

impl<'a> Net<'a> {
    pub(super) fn train(
        family: &'a Family,
        settings: &NetSettings,
        seed: u64,
        context: &Context<'_>,
    ) -> Result<Self, StudyError> {
        let along = match settings.repair {
            Repair::Ray => Along::new(&family.a, &family.q),
            Repair::Correction { .. } => completion(&family.a, family.dim()),
        };
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (x_dim, free) = (family.x_dim(), along.directions.len());
        let spec = MlpSpec::new(x_dim, &settings.hidden, free).with_skip(x_dim);
        let mut net = Self {
            family,
            settings: settings.clone(),
            network: Mlp::new(spec, &mut random)?,
            along,
            tape: Tape::new(),
            inputs: vec![0.0; x_dim],
            work: Work::new(family),
        };
        net.learn(&mut random, context)?;
        Ok(net)
    }

    fn learn(&mut self, random: &mut ChaCha8Rng, context: &Context<'_>) -> Result<(), StudyError> {
        let (dim, x_dim, rows) = (self.family.dim(), self.family.x_dim(), self.settings.rows);
        let free = self.along.directions.len();
        let mut adam = Adam::new(AdamConfig::default(), self.network.parameters().len());
        let mut gradient = vec![0.0; self.network.parameters().len()];
        let (mut tape, mut delta) = (Tape::new(), vec![0.0; rows * free]);
        let (mut x, mut inputs) = (vec![0.0; rows * x_dim], vec![0.0; rows * x_dim]);
        let mut y = vec![0.0; dim];
        let schedule = Cosine {
            peak: self.settings.rate,
            end_fraction: 0.001,
            warm_up: self.settings.steps / 50,
            total: self.settings.steps,
        };
        for step in 0..self.settings.steps {
            context.check_stop()?;
            for x in x.chunks_exact_mut(x_dim) {
                for (x, (low, high)) in x.iter_mut().zip(self.family.x_bounds()) {
                    *x = random.random_range(*low..*high);
                }
            }
            let pairs = inputs.iter_mut().zip(&x);
            pairs.for_each(|(input, x)| *input = *x as f32);
            let outputs = self.network.forward(&inputs, rows, &mut tape);
            let each = x.chunks_exact(x_dim).zip(outputs.chunks_exact(free));
            let mut loss = 0.0;
            for ((x, output), delta) in each.zip(delta.chunks_exact_mut(free)) {
                let map = Map {
                    family: self.family,
                    along: &self.along,
                    repair: self.settings.repair,
                };
                map.answer(x, output, &mut y, &mut self.work);
                loss += map.pull_back(x, &y, delta, &mut self.work);
                delta.iter_mut().for_each(|delta| *delta /= rows as f32);
            }
            if !loss.is_finite() {
                let what = "a peer's network".to_owned();
                return Err(StudyError::Diverged { what, step });
            }
            gradient.fill(0.0);
            self.network
                .backward(&mut tape, &delta, Some(&mut gradient), None);
            adam.update(self.network.parameters_mut(), &gradient, schedule.at(step));
        }
        Ok(())
    }

    pub(super) fn answer(&mut self, x: &[f64], y: &mut [f64]) {
        let pairs = self.inputs.iter_mut().zip(x);
        pairs.for_each(|(input, x)| *input = *x as f32);
        let output = self.network.forward(&self.inputs, 1, &mut self.tape);
        let map = Map {
            family: self.family,
            along: &self.along,
            repair: self.settings.repair,
        };
        map.answer(x, output, y, &mut self.work);
    }
}

impl Work {
    fn new(family: &Family) -> Self {
        let dim = family.dim();
        Self {
            constraints: vec![0.0; family.rows()],
            memory: vec![0.0; family.memory()],
            weights: vec![0.0; family.rows()],
            base: vec![0.0; dim],
            direction: vec![0.0; dim],
            gradient: vec![0.0; dim],
            other: vec![0.0; dim],
            step: vec![0.0; dim],
            reached: (1.0, None),
        }
    }
}

/// From z to y, and back.
struct Map<'a> {
    family: &'a Family,
    along: &'a Along,
    repair: Repair,
}

impl Map<'_> {
    fn answer(&self, x: &[f64], z: &[f32], y: &mut [f64], work: &mut Work) {
        let equations = self.family.equations();
        let rows = self.along.anchor.chunks_exact(equations);
        for (base, row) in work.base.iter_mut().zip(rows) {
            *base = dot(row, &x[..equations]);
        }
        work.direction.fill(0.0);
        for (z, direction) in z.iter().zip(&self.along.directions) {
            add(&mut work.direction, f64::from(*z), direction);
        }
        match self.repair {
            Repair::Ray => {
                work.reached = self.reach(x, work);
                let (share, _) = work.reached;
                let ends = work.base.iter().zip(&work.direction);
                let pairs = y.iter_mut().zip(ends);
                pairs.for_each(|(y, (base, direction))| *y = base + share * direction);
            }
            Repair::Correction {
                steps,
                rate,
                momentum,
                ..
            } => {
                let ends = work.base.iter().zip(&work.direction);
                let pairs = y.iter_mut().zip(ends);
                pairs.for_each(|(y, (base, direction))| *y = base + direction);
                work.step.fill(0.0);
                for _ in 0..steps {
                    if self.violation(x, y, work) == 0.0 {
                        break;
                    }
                    work.step.iter_mut().for_each(|step| *step *= momentum);
                    for direction in &self.along.directions {
                        let along = dot(direction, &work.other);
                        add(&mut work.step, rate * along, direction);
                    }
                    add(y, -1.0, &work.step);
                }
            }
        }
    }

    /// How far from the base the set reaches in the direction, at most 1, and the row that ends it.
    fn reach(&self, x: &[f64], work: &mut Work) -> (f64, Option<usize>) {
        /// Rounding must not put the end outside.
        const INSIDE: f64 = 1.0 - 1e-12;
        let (base, direction) = (&work.base, &work.direction);
        let dim = base.len();
        let mut best = (1.0 / INSIDE, None);
        let mut end = |share: f64, row: usize| {
            if share < best.0 {
                best = (share, Some(row));
            }
        };
        match &self.family.rows {
            Rows::Linear { g, h } => {
                for (i, (row, limit)) in g.chunks_exact(dim).zip(h).enumerate() {
                    let along = dot(row, direction);
                    if along > 0.0 {
                        end((limit - dot(row, base)) / along, i);
                    }
                }
            }
            Rows::Quadratic { g, h, curvature } => {
                let rows = g.chunks_exact(dim).zip(curvature.chunks_exact(dim));
                for (i, ((row, bent), limit)) in rows.zip(h).enumerate() {
                    let square = 0.5 * dot3(bent, direction, direction);
                    let linear = dot(row, direction) + dot3(bent, base, direction);
                    let room = limit - dot(row, base) - 0.5 * dot3(bent, base, base);
                    end(root(square, linear, room), i);
                }
            }
            Rows::Cones { g, h, c, d } => {
                let height = h.len() / d.len();
                for i in 0..d.len() {
                    let normal = &c[i * dim..][..dim];
                    let (length, slope) = (dot(normal, base) + d[i], dot(normal, direction));
                    let matrix = g[i * height * dim..].chunks_exact(dim);
                    let (mut square, mut linear, mut room) =
                        (-slope * slope, -2.0 * length * slope, length * length);
                    for (row, offset) in matrix.zip(&h[i * height..][..height]) {
                        let (image, moved) = (dot(row, base) + offset, dot(row, direction));
                        square += moved * moved;
                        linear += 2.0 * image * moved;
                        room -= image * image;
                    }
                    end(root(square, linear, room), i);
                }
            }
            Rows::Sine { .. } => return self.reach_by_bisection(x, work),
        }
        if let Some(limit) = self.family.limit {
            for (i, (base, direction)) in base.iter().zip(direction).enumerate() {
                let room = limit - base * direction.signum();
                end(
                    room / direction.abs().max(f64::MIN_POSITIVE),
                    self.family.rows() + i,
                );
            }
        }
        ((best.0 * INSIDE).clamp(0.0, 1.0), best.1)
    }

    /// For rows without a closed form. The base need not be feasible; then the share is 0.
    fn reach_by_bisection(&self, x: &[f64], work: &mut Work) -> (f64, Option<usize>) {
        let mut y = work.base.clone();
        let (mut low, mut high, mut share, mut row) = (0.0, 1.0, 1.0, None);
        for _ in 0..30 {
            let ends = work.base.iter().zip(&work.direction);
            let pairs = y.iter_mut().zip(ends);
            pairs.for_each(|(y, (base, direction))| *y = base + share * direction);
            match self.worst_row(x, &y, work) {
                None => low = share,
                found => (high, row) = (share, found),
            }
            if low == 1.0 {
                return (1.0, None);
            }
            share = 0.5 * (low + high);
        }
        (low, row)
    }

    /// The row that is violated most, bounds after rows.
    fn worst_row(&self, x: &[f64], y: &[f64], work: &mut Work) -> Option<usize> {
        let (constraints, memory) = (&mut work.constraints, &mut work.memory);
        self.family.values(y, x, constraints, memory);
        let limit = self.family.limit.unwrap_or(f64::INFINITY);
        let values = constraints.iter().copied();
        let values = values.chain(y.iter().map(|y| y.abs() - limit));
        let outside = values.enumerate().filter(|(_, value)| *value > 0.0);
        outside
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(row, _)| row)
    }

    /// Σ max(c, 0)²; its gradient in `other`, ∇f in `gradient`.
    fn violation(&self, x: &[f64], y: &[f64], work: &mut Work) -> f64 {
        let family = self.family;
        family.values(y, x, &mut work.constraints, &mut work.memory);
        let mut sum = 0.0;
        for (weight, value) in work.weights.iter_mut().zip(&work.constraints) {
            let outside = value.max(0.0);
            sum += outside * outside;
            *weight = 2.0 * outside;
        }
        let memory = &mut work.memory;
        family.gradient(y, x, &work.weights, &mut work.other, memory);
        work.weights.fill(0.0);
        family.gradient(y, x, &work.weights, &mut work.gradient, memory);
        add(&mut work.other, -1.0, &work.gradient);
        if let Some(limit) = family.limit {
            for (other, y) in work.other.iter_mut().zip(y) {
                let outside = (y.abs() - limit).max(0.0);
                sum += outside * outside;
                *other += 2.0 * outside * y.signum();
            }
        }
        sum
    }

    /// The loss, and its gradient with respect to z.
    fn pull_back(&self, x: &[f64], y: &[f64], delta: &mut [f32], work: &mut Work) -> f64 {
        let family = self.family;
        let mut loss = family.values(y, x, &mut work.constraints, &mut work.memory);
        let mut scale = 1.0;
        if let Repair::Correction { penalty, .. } = self.repair {
            // The correction moves points by little: its derivative is taken to be the identity.
            let length = self.violation(x, y, work).sqrt();
            loss += penalty * length;
            if length > 0.0 {
                let (gradient, other) = (&mut work.gradient, &work.other);
                add(gradient, 0.5 * penalty / length, other);
            }
        } else {
            work.weights.fill(0.0);
            let memory = &mut work.memory;
            family.gradient(y, x, &work.weights, &mut work.gradient, memory);
            let (share, row) = work.reached;
            scale = share;
            if let Some(row) = row {
                self.normal(x, y, row, work);
                // The end of the ray moves along the row: c(base + t d) = 0.
                let steep = dot(&work.other, &work.direction);
                if steep > 0.0 {
                    let along = dot(&work.gradient, &work.direction) / steep;
                    add(&mut work.gradient, -along, &work.other);
                }
            }
        }
        for (delta, direction) in delta.iter_mut().zip(&self.along.directions) {
            *delta = (scale * dot(direction, &work.gradient)) as f32;
        }
        loss
    }

    /// ∇c_row in `other`.
    fn normal(&self, x: &[f64], y: &[f64], row: usize, work: &mut Work) {
        let family = self.family;
        if row >= family.rows() {
            work.other.fill(0.0);
            let place = row - family.rows();
            work.other[place] = y[place].signum();
            return;
        }
        work.weights[row] = 1.0;
        let memory = &mut work.memory;
        family.gradient(y, x, &work.weights, &mut work.other, memory);
        work.weights[row] = 0.0;
        add(&mut work.other, -1.0, &work.gradient);
    }
}

/// The least positive t with a t² + b t = c, for c > 0.
fn root(a: f64, b: f64, c: f64) -> f64 {
    if c <= 0.0 {
        return 0.0;
    }
    let square = b * b + 4.0 * a * c;
    let below = b + square.max(0.0).sqrt();
    if square < 0.0 || below <= 0.0 {
        return f64::INFINITY;
    }
    2.0 * c / below
}

/// DC3's coordinates: the free ones themselves; the others follow from the equations.
fn completion(a: &[f64], dim: usize) -> Along {
    let equations = a.len() / dim;
    let others = pivots(a, dim);
    let free: Vec<usize> = (0..dim).filter(|i| !others.contains(i)).collect();
    let part = |i: usize| others.iter().map(|&j| a[i * dim + j]).collect();
    let matrix: Vec<Vec<f64>> = (0..equations).map(part).collect();
    let mut sides: Vec<Vec<f64>> = (0..equations)
        .map(|i| {
            (0..equations)
                .map(|j| f64::from(u8::from(i == j)))
                .collect()
        })
        .collect();
    sides.extend(
        free.iter()
            .map(|&j| (0..equations).map(|i| -a[i * dim + j]).collect()),
    );
    let solved = solve_rows(matrix, sides);
    let (by_x, by_z) = solved.split_at(equations);
    let mut anchor = vec![0.0; dim * equations];
    for (equation, column) in by_x.iter().enumerate() {
        for (value, &other) in column.iter().zip(&others) {
            anchor[other * equations + equation] = *value;
        }
    }
    let directions = free.iter().zip(by_z).map(|(&own, column)| {
        let mut direction = vec![0.0; dim];
        direction[own] = 1.0;
        for (value, &other) in column.iter().zip(&others) {
            direction[other] = *value;
        }
        direction
    });
    Along {
        directions: directions.collect(),
        anchor,
    }
}

/// Coordinates that the equations determine well: the largest pivots of an elimination.
fn pivots(a: &[f64], dim: usize) -> Vec<usize> {
    let mut rows: Vec<Vec<f64>> = a.chunks_exact(dim).map(<[f64]>::to_vec).collect();
    let mut chosen = Vec::new();
    for place in 0..rows.len() {
        let mut best = 0;
        for column in 0..dim {
            if rows[place][column].abs() > rows[place][best].abs() {
                best = column;
            }
        }
        chosen.push(best);
        let pivot = rows[place].clone();
        for row in &mut rows[place + 1..] {
            let factor = row[best] / pivot[best];
            add(row, -factor, &pivot);
            row[best] = 0.0;
        }
    }
    chosen
}

/// a += factor · b
fn add(a: &mut [f64], factor: f64, b: &[f64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += factor * b;
    }
}

#[cfg(test)]
mod tests {
    use super::super::family::FAMILIES;
    use super::*;

    /// The loss at z, and its gradient.
    fn loss(map: &Map<'_>, x: &[f64], z: &[f32], work: &mut Work) -> (f64, Vec<f32>) {
        let (mut y, mut delta) = (vec![0.0; map.family.dim()], vec![0.0; z.len()]);
        map.answer(x, z, &mut y, work);
        let loss = map.pull_back(x, &y, &mut delta, work);
        (loss, delta)
    }

    #[test]
    fn rays_end_inside_and_gradients_agree_with_differences() {
        for entry in FAMILIES {
            let family = entry.instance_of([12, 4, 6], 1);
            let along = Along::new(&family.a, &family.q);
            let repair = Repair::Ray;
            let map = Map {
                family: &family,
                along: &along,
                repair,
            };
            let mut work = Work::new(&family);
            for (round, x) in family.test_x().take(20).enumerate() {
                let z: Vec<f32> = (0..8).map(|i| (1.3 * (i + round) as f32).sin()).collect();
                let z: Vec<f32> = z.iter().map(|z| 8.0 * z).collect();
                let mut y = vec![0.0; family.dim()];
                map.answer(x, &z, &mut y, &mut work);
                if work.reached.0 == 0.0 {
                    continue;
                }
                let (outside, off) = family.violation(&y, x);
                assert!(outside <= 1e-9 && off < 1e-12, "{}: {outside}", entry.name);
                let (_, delta) = loss(&map, x, &z, &mut work);
                let row = work.reached.1;
                for i in 0..z.len() {
                    let moved = |by: f32, work: &mut Work| {
                        let mut z = z.clone();
                        z[i] += by;
                        let value = loss(&map, x, &z, work).0;
                        (value, work.reached.1)
                    };
                    let (above, below) = (moved(1e-2, &mut work), moved(-1e-2, &mut work));
                    if (above.1, below.1) == (row, row) {
                        let slope = (above.0 - below.0) / 2e-2;
                        let found = f64::from(delta[i]);
                        let close = (slope - found).abs() < 2e-2 * (0.1 + slope.abs());
                        assert!(close, "{} {slope} {found}", entry.name);
                    }
                }
            }
        }
    }

    #[test]
    fn completion_obeys_the_equations_and_correction_lowers_the_violation() {
        let family = FAMILIES[0].instance_of([12, 4, 6], 1);
        let along = completion(&family.a, 12);
        let mut work = Work::new(&family);
        for x in family.test_x().take(20) {
            let z: Vec<f32> = (0..8).map(|i| 5.0 * (1.3 * i as f32).sin()).collect();
            let after = |steps: usize, work: &mut Work| {
                let repair = Repair::Correction {
                    steps,
                    rate: 1e-3,
                    momentum: 0.5,
                    penalty: 1.0,
                };
                let map = Map {
                    family: &family,
                    along: &along,
                    repair,
                };
                let mut y = vec![0.0; 12];
                map.answer(x, &z, &mut y, work);
                assert!(family.violation(&y, x).1 < 1e-9);
                map.violation(x, &y, work)
            };
            assert!(after(50, &mut work) <= after(0, &mut work));
        }
    }
}
