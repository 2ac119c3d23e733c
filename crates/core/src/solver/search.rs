//! A local optimum near a point: sequential quadratic programming with Jacobian and Hessian at hand.
//!
//! Steps in the metric of training converge where the problem is like the one that was learned. Elsewhere the
//! metric has to be that of the point itself, which takes a gradient for each free direction.

use alloc::vec;
use alloc::vec::Vec;

use super::active_set::{ActiveSet, Ending};
use super::run::{Basin, violation};
use super::{Functions, SolverWeights, SolverWorkspace};
use crate::vector::{add, dot, largest};

/// Rounds before a search is given up.
const ROUNDS: usize = 40;
/// A step this short, as a part of y's size, ends a search.
const SHORT: f64 = 1e-8;
/// The same once half of the rounds are gone: differences of gradients are not accurate everywhere.
const LONG: f64 = 1e-6;
/// A round with Jacobian and Hessian of an earlier point is the last one of these if its step is longer than this
/// part of the one before.
const SLOW: f64 = 0.3;
/// Rounds that aim further inside, where rounding or curvature left the end of a search outside.
const CORRECTIONS: usize = 8;
/// How much further each of them aims.
const FURTHER: f64 = 8.0;
/// The penalty of the line search, as a multiple of the largest multiplier.
const PENALTY: f64 = 1.5;
/// Halvings of a step.
const HALVINGS: usize = 30;
/// How soft constraints become that no point of the linearised set can obey, as a part of the Gram matrix.
const SOFT: f64 = 1e-4;
/// Step of central differences, as a part of y's size: the cube root of the rounding error.
const DIFFERENCE: f64 = 6e-6;
/// The least shift of a Hessian that is not positive definite, as a part of its largest entry.
const SHIFT: f64 = 1e-6;
/// A pivot below this part of its diagonal entry is rounding.
const PIVOT: f64 = 1e-14;
/// Directions of the metric whose square is below this part of the largest are rounding.
const THIN: f64 = 1e-12;

/// What a search needs beside a workspace.
#[derive(Clone, Debug)]
pub(super) struct SearchMemory {
    program: ActiveSet,
    /// For constraints that contradict each other once they are linearised.
    soft: ActiveSet,
    /// `[watched][direction]`
    jacobian: Vec<f64>,
    gram: Vec<f64>,
    /// Its lower triangle becomes the factor's.
    hessian: Vec<f64>,
    shifted: Vec<f64>,
    /// The gradient along the directions, whitened.
    gradient: Vec<f64>,
    /// The step in the same coordinates.
    whitened: Vec<f64>,
    /// The step along the directions.
    along: Vec<f64>,
    multipliers: Vec<f64>,
    /// Those that the gradient holds already.
    carried: Vec<f64>,
    /// How far inside each watched constraint a round aims.
    further: Vec<f64>,
    slopes: Vec<f64>,
    /// The point of the last round.
    from: Vec<f64>,
    step: Vec<f64>,
    /// Step and multipliers before a correction.
    rejected: Vec<f64>,
    linear: Vec<f64>,
}

impl SearchMemory {
    pub(super) fn new(weights: &SolverWeights, free: usize) -> Self {
        let (dim, watched) = (weights.dim, weights.watched.len());
        Self {
            program: ActiveSet::new(watched, free),
            soft: ActiveSet::new(watched, watched),
            jacobian: vec![0.0; watched * free],
            gram: vec![0.0; watched * watched],
            hessian: vec![0.0; free * free],
            shifted: vec![0.0; free * free],
            gradient: vec![0.0; free],
            whitened: vec![0.0; free],
            along: vec![0.0; free],
            multipliers: vec![0.0; watched],
            carried: vec![0.0; watched],
            further: vec![0.0; watched],
            slopes: vec![0.0; weights.rows],
            from: vec![0.0; dim],
            step: vec![0.0; dim],
            rejected: vec![0.0; dim],
            linear: vec![0.0; watched],
        }
    }
}

/// Directions along which y may move, one after the other: Σ dᵀ d is the metric.
pub(super) fn directions(weights: &SolverWeights) -> Vec<f64> {
    let dim = weights.dim;
    let mut rest = weights.metric.clone();
    let mut directions = Vec::new();
    let diagonal = |rest: &[f64], i: usize| rest[i * dim + i];
    let first = (0..dim).fold(0.0_f64, |most, i| most.max(diagonal(&rest, i)));
    for _ in 0..dim {
        let most = |a: &usize, b: &usize| diagonal(&rest, *a).total_cmp(&diagonal(&rest, *b));
        let pivot = (0..dim).max_by(most).unwrap_or(0);
        let square = diagonal(&rest, pivot);
        if square.partial_cmp(&(THIN * first)) != Some(core::cmp::Ordering::Greater) {
            break;
        }
        let length = libm::sqrt(square);
        let direction: Vec<f64> = (0..dim).map(|i| rest[i * dim + pivot] / length).collect();
        for (row, value) in rest.chunks_exact_mut(dim).zip(&direction) {
            add(row, -value, &direction);
        }
        directions.extend(direction);
    }
    directions
}

impl<F: Functions> Basin<'_, F> {
    /// Searches from the workspace's evaluated point. On success the point is a local optimum, feasible and
    /// evaluated, and its objective is returned. Without success it is the last point that was better than the
    /// one before, and its objective is returned if it is feasible.
    pub(super) fn search(&self, x: &[f64], work: &mut SolverWorkspace) -> Option<f64> {
        let mut memory = work.search.take()?;
        let found = self.search_with(x, work, &mut memory);
        work.search = Some(memory);
        found
    }

    fn search_with(
        &self,
        x: &[f64],
        work: &mut SolverWorkspace,
        memory: &mut SearchMemory,
    ) -> Option<f64> {
        memory
            .multipliers
            .copy_from_slice(&work.program.multipliers);
        memory.further.copy_from_slice(&self.weights.margins);
        self.evaluate(x, work);
        let (mut penalty, mut corrections) = (0.0, 0);
        let (mut at_hand, mut last) = (true, f64::INFINITY);
        for round in 0..ROUNDS {
            if !self.aim(x, work, memory, at_hand) {
                break;
            }
            let length = largest(&memory.step) / (1.0 + largest(&memory.from));
            if length <= if round < ROUNDS / 2 { SHORT } else { LONG } {
                work.y.copy_from_slice(&memory.from);
                add(&mut work.y, 1.0, &memory.step);
                let objective = self.verify(x, work);
                let outside = violation(&work.constraints);
                if outside <= 0.0 && objective.is_finite() {
                    return Some(objective);
                }
                corrections += 1;
                if corrections > CORRECTIONS {
                    break;
                }
                let rows = memory.further.iter_mut().zip(&self.weights.watched);
                rows.for_each(|(further, row)| {
                    *further = FURTHER * (*further + work.constraints[*row].max(0.0));
                });
                continue;
            }
            // It may fall again: far from the optimum multipliers are larger than they are there.
            let least = PENALTY * largest(&memory.multipliers);
            penalty = f64::max(least, 0.5 * (penalty + least));
            let walked = self.walk(x, work, memory, penalty).is_some();
            if !walked && at_hand {
                break;
            }
            if !walked {
                work.y.copy_from_slice(&memory.from);
                self.evaluate(x, work);
            }
            at_hand = !walked || (!at_hand && length > SLOW * last);
            last = length;
        }
        // What is left may be good enough.
        work.y.copy_from_slice(&memory.from);
        let objective = self.verify(x, work);
        (violation(&work.constraints) <= 0.0 && objective.is_finite()).then_some(objective)
    }

    /// The step of the quadratic program at the evaluated point, and its multipliers. The point is kept in
    /// `from`. Jacobian and Hessian are those of the point, or of an earlier one, which the multipliers make up
    /// for. Whether there is a step.
    fn aim(
        &self,
        x: &[f64],
        work: &mut SolverWorkspace,
        memory: &mut SearchMemory,
        at_hand: bool,
    ) -> bool {
        memory.from.copy_from_slice(&work.y);
        work.by_row.fill(0.0);
        memory.carried.fill(0.0);
        if at_hand {
            self.jacobian(x, work, memory);
        } else {
            memory.carried.copy_from_slice(&memory.multipliers);
            let watched = self.weights.watched.iter().zip(&memory.carried);
            watched.for_each(|(row, multiplier)| work.by_row[*row] = *multiplier);
        }
        self.lagrangian(x, work);
        let directions = self.directions.chunks_exact(self.weights.dim);
        for (slope, direction) in memory.gradient.iter_mut().zip(directions) {
            *slope = dot(direction, &work.gradient);
        }
        let rows = self.weights.watched.iter().zip(&memory.further);
        for (q, (row, further)) in work.q.iter_mut().zip(rows) {
            *q = (work.constraints[*row] + further).max(f64::MIN);
        }
        if at_hand {
            self.hessian(x, work, memory);
            if !memory.factorise() {
                return false;
            }
            memory.whiten();
        }
        forward(&memory.shifted, &mut memory.gradient);
        memory.shift(&mut work.q);
        memory.program(&work.q, &mut work.guess) && self.step_along(memory)
    }

    /// The step of the program's multipliers, along y. Whether it is finite.
    fn step_along(&self, memory: &mut SearchMemory) -> bool {
        memory.bend();
        backward(&memory.shifted, &mut memory.along);
        memory.step.fill(0.0);
        let directions = self.directions.chunks_exact(self.weights.dim);
        for (value, direction) in memory.along.iter().zip(directions) {
            add(&mut memory.step, *value, direction);
        }
        largest(&memory.step).is_finite()
    }

    /// The second-order correction of a rejected step: the same program with the constraints of its end.
    /// Near a curved boundary no step that only sees its slope is accepted.
    fn correct(&self, work: &mut SolverWorkspace, memory: &mut SearchMemory) -> bool {
        let free = memory.whitened.len();
        let rows = self.weights.watched.iter().zip(&memory.further);
        let slopes = memory.jacobian.chunks_exact(free);
        for (q, ((row, further), slope)) in work.q.iter_mut().zip(rows.zip(slopes)) {
            *q = (work.constraints[*row] + further - dot(slope, &memory.whitened)).max(f64::MIN);
        }
        memory.shift(&mut work.q);
        memory.program(&work.q, &mut work.guess) && self.step_along(memory)
    }

    /// Slopes of the watched constraints along the directions, at the evaluated point.
    fn jacobian(&self, x: &[f64], work: &mut SolverWorkspace, memory: &mut SearchMemory) {
        let (rows, free) = (self.weights.rows, memory.whitened.len());
        let directions = self.directions.chunks_exact(self.weights.dim);
        for (column, direction) in directions.enumerate() {
            let slopes = &mut memory.slopes;
            self.functions
                .slopes(&work.y, x, direction, slopes, &mut work.memory);
            for (place, row) in self.weights.watched.iter().enumerate() {
                memory.jacobian[place * free + column] = match row.checked_sub(rows) {
                    None => slopes[*row],
                    Some(bound) if bound.is_multiple_of(2) => direction[bound / 2],
                    Some(bound) => -direction[bound / 2],
                };
            }
        }
    }

    /// The Hessian of the Lagrangian along the directions, by differences of its gradient. Moves y.
    fn hessian(&self, x: &[f64], work: &mut SolverWorkspace, memory: &mut SearchMemory) {
        let (dim, free) = (self.weights.dim, memory.whitened.len());
        let watched = self.weights.watched.iter().zip(&memory.multipliers);
        watched.for_each(|(row, multiplier)| work.by_row[*row] = *multiplier);
        let size = largest(&memory.from).max(1.0);
        memory.hessian.fill(0.0);
        for (row, direction) in self.directions.chunks_exact(dim).enumerate() {
            let step = DIFFERENCE * size / largest(direction);
            for share in [step, -step] {
                work.y.copy_from_slice(&memory.from);
                add(&mut work.y, share, direction);
                self.evaluate(x, work);
                self.lagrangian(x, work);
                for (column, other) in self.directions.chunks_exact(dim).enumerate() {
                    let second = 0.25 * dot(other, &work.gradient) / share;
                    memory.hessian[row * free + column] += second;
                    memory.hessian[column * free + row] += second;
                }
            }
        }
        work.y.copy_from_slice(&memory.from);
    }

    /// ∇f + Σ `by_row`_i ∇c_i at the evaluated point.
    fn lagrangian(&self, x: &[f64], work: &mut SolverWorkspace) {
        let (own, bounds) = work.by_row.split_at(self.weights.rows);
        let memory = &mut work.memory;
        self.functions
            .gradient(&work.y, x, own, &mut work.gradient, memory);
        for (gradient, pair) in work.gradient.iter_mut().zip(bounds.chunks_exact(2)) {
            *gradient += pair[0] - pair[1];
        }
    }

    /// Goes along the step until f + penalty · Σ max(c, 0) falls. The objective there.
    fn walk(
        &self,
        x: &[f64],
        work: &mut SolverWorkspace,
        memory: &mut SearchMemory,
        penalty: f64,
    ) -> Option<f64> {
        // Differences have moved the evaluation away from the point.
        let (_, before) = self.merit(x, 0.0, penalty, work, memory);
        // Near the optimum the merit changes by less than it is rounded.
        let most = before + 1e-13 * (1.0 + before.abs());
        let accepted = |merit: f64| merit.is_finite() && (merit < most || !before.is_finite());
        let (objective, merit) = self.merit(x, 1.0, penalty, work, memory);
        if accepted(merit) {
            return Some(objective);
        }
        memory.rejected.copy_from_slice(&memory.step);
        memory.linear.copy_from_slice(&memory.multipliers);
        if self.correct(work, memory) {
            let (objective, merit) = self.merit(x, 1.0, penalty, work, memory);
            if accepted(merit) {
                return Some(objective);
            }
        }
        memory.step.copy_from_slice(&memory.rejected);
        memory.multipliers.copy_from_slice(&memory.linear);
        let mut share = 0.5;
        for _ in 0..HALVINGS {
            let (objective, merit) = self.merit(x, share, penalty, work, memory);
            if accepted(merit) {
                return Some(objective);
            }
            share *= 0.5;
        }
        None
    }

    /// Moves y to a part of the step. The objective there, and with the penalty of the watched constraints.
    fn merit(
        &self,
        x: &[f64],
        share: f64,
        penalty: f64,
        work: &mut SolverWorkspace,
        memory: &SearchMemory,
    ) -> (f64, f64) {
        work.y.copy_from_slice(&memory.from);
        add(&mut work.y, share, &memory.step);
        let objective = self.evaluate(x, work);
        let rows = self.weights.watched.iter().zip(&memory.further);
        let outside = rows.map(|(row, further)| (work.constraints[*row] + further).max(0.0));
        (objective, objective + penalty * outside.sum::<f64>())
    }
}

impl SearchMemory {
    /// The Cholesky factor of the Hessian in `shifted`, with as much added to the diagonal as it takes.
    fn factorise(&mut self) -> bool {
        let free = self.whitened.len();
        let most = (0..free).map(|i| self.hessian[i * free + i].abs());
        let most = most.fold(0.0, f64::max);
        let mut shift = 0.0;
        while f64::is_finite(shift) && most.is_finite() {
            self.shifted.copy_from_slice(&self.hessian);
            (0..free).for_each(|i| self.shifted[i * free + i] += shift);
            if cholesky(&mut self.shifted, free) {
                return true;
            }
            shift = if shift == 0.0 {
                SHIFT * if most > 0.0 { most } else { 1.0 }
            } else {
                4.0 * shift
            };
        }
        false
    }

    /// The Jacobian in coordinates in which the Hessian is the identity, and the Gram matrix.
    fn whiten(&mut self) {
        let (free, rows) = (self.whitened.len(), self.multipliers.len());
        for row in self.jacobian.chunks_exact_mut(free) {
            forward(&self.shifted, row);
        }
        for (i, a) in self.jacobian.chunks_exact(free).enumerate() {
            for (j, b) in self.jacobian.chunks_exact(free).enumerate().take(i + 1) {
                let product = dot(a, b);
                self.gram[i * rows + j] = product;
                self.gram[j * rows + i] = product;
            }
        }
    }

    /// From constraints here to those after the step without constraints.
    fn shift(&self, q: &mut [f64]) {
        for (q, row) in q
            .iter_mut()
            .zip(self.jacobian.chunks_exact(self.whitened.len()))
        {
            *q -= dot(row, &self.gradient);
        }
        let rows = q.len();
        for (place, multiplier) in self.carried.iter().enumerate() {
            if *multiplier != 0.0 {
                add(q, *multiplier, &self.gram[place * rows..][..rows]);
            }
        }
    }

    /// The step of the multipliers.
    fn bend(&mut self) {
        let free = self.whitened.len();
        let pairs = self.whitened.iter_mut().zip(&self.gradient);
        pairs.for_each(|(step, gradient)| *step = -gradient);
        let changes = self.multipliers.iter().zip(&self.carried);
        for (row, (multiplier, carried)) in self.jacobian.chunks_exact(free).zip(changes) {
            if multiplier != carried {
                add(&mut self.whitened, carried - multiplier, row);
            }
        }
        self.along.copy_from_slice(&self.whitened);
    }

    /// Multipliers of the quadratic program. Rows that contradict each other are softened.
    fn program(&mut self, q: &[f64], guess: &mut Vec<usize>) -> bool {
        let rows = q.len();
        if self.program.solve(&self.gram, q, guess) == Ending::Optimal {
            self.multipliers.copy_from_slice(&self.program.multipliers);
            guess.clear();
            guess.extend(&self.program.active);
            return true;
        }
        let hard: f64 = (0..rows)
            .map(|i| self.gram[i * rows + i])
            .fold(0.0, f64::max);
        (0..rows).for_each(|i| self.gram[i * rows + i] += SOFT * hard);
        let ending = self.soft.solve(&self.gram, q, &[]);
        (0..rows).for_each(|i| self.gram[i * rows + i] -= SOFT * hard);
        if ending == Ending::Optimal {
            self.multipliers.copy_from_slice(&self.soft.multipliers);
        }
        ending == Ending::Optimal
    }
}

/// The lower triangle of `matrix` becomes its factor. Whether the matrix is positive definite beyond rounding.
fn cholesky(matrix: &mut [f64], size: usize) -> bool {
    for row in 0..size {
        let (above, own) = matrix.split_at_mut(row * size);
        let diagonal = own[row].abs();
        for column in 0..row {
            let other = &above[column * size..][..column + 1];
            let known = dot(&own[..column], &other[..column]);
            own[column] = (own[column] - known) / other[column];
        }
        let square = own[row] - dot(&own[..row], &own[..row]);
        if square.partial_cmp(&(PIVOT * diagonal)) != Some(core::cmp::Ordering::Greater) {
            return false;
        }
        own[row] = libm::sqrt(square);
    }
    true
}

/// values = L⁻¹ values
fn forward(factor: &[f64], values: &mut [f64]) {
    let size = values.len();
    for row in 0..size {
        let factor = &factor[row * size..][..row + 1];
        let known = dot(&factor[..row], &values[..row]);
        values[row] = (values[row] - known) / factor[row];
    }
}

/// values = L⁻ᵀ values
fn backward(factor: &[f64], values: &mut [f64]) {
    let size = values.len();
    for row in (0..size).rev() {
        let factor = &factor[row * size..][..row + 1];
        let value = values[row] / factor[row];
        values[row] = value;
        add(&mut values[..row], -value, &factor[..row]);
    }
}
