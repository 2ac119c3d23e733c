//! One answer.

use super::active_set::Ending;
use super::{Answer, Functions, SolveOutcome, Solver, SolverWeights, SolverWorkspace};
use crate::vector::{add, affine, largest, times};

/// Steps beyond the trained number, where these end outside the set and far from it.
const MORE_STEPS: usize = 6;
/// How far an answer may be pulled toward the anchor, as a part of the way, before more steps are tried.
const SHORT_PULL: f64 = 1e-3;
/// A pull ends this part of the way before the boundary, so that rounding leaves it inside.
const INSIDE: f64 = 1e-12;
/// Bisections of the way to the anchor, where the chord does not lead inside.
const BISECTIONS: usize = 40;
/// Parts of the margins that a step aims for, in turn, if no point of the linearised set keeps more.
const MARGINS: [f64; 3] = [1.0, 0.25, 0.0];

/// What leads to one local optimum: a start, a metric, and the functions.
#[derive(Clone, Copy)]
pub(super) struct Basin<'a, F> {
    pub(super) weights: &'a SolverWeights,
    pub(super) functions: &'a F,
    /// Along which a search moves y, one after the other.
    pub(super) directions: &'a [f64],
}

impl<F: Functions> Solver<F> {
    pub(super) fn run(&self, x: &[f64], work: &mut SolverWorkspace) -> Answer {
        let within = |(x, (low, high)): (&f64, &(f64, f64))| low <= x && x <= high;
        let x_in_range = x.iter().zip(&self.weights.x_range).all(within);
        let mut searched = false;
        let (outcome, objective) = if x.iter().all(|x| x.is_finite()) {
            match &self.packed {
                Some(packed) => self.run_learned(packed, x, work),
                None => self.answer(x, work, &mut searched),
            }
        } else {
            work.y.copy_from_slice(&self.weights.start.constant);
            (SolveOutcome::NotFinite, f64::NAN)
        };
        Answer {
            outcome,
            objective,
            x_in_range,
            searched,
        }
    }

    /// The basin with this number: 0 is the solver's own.
    pub(super) fn basin(&self, place: usize) -> Basin<'_, F> {
        let others = &self.weights.others;
        Basin {
            weights: place
                .checked_sub(1)
                .map_or(&self.weights, |other| &others[other]),
            functions: &self.functions,
            directions: &self.directions,
        }
    }

    /// The best answer of all basins.
    fn answer(
        &self,
        x: &[f64],
        work: &mut SolverWorkspace,
        searched: &mut bool,
    ) -> (SolveOutcome, f64) {
        work.basin = 0;
        let mut best = self.basin(0).answer(x, work, searched);
        let mut others = core::mem::take(&mut work.others);
        for (place, other) in others.iter_mut().enumerate() {
            // There is only one memory of searches.
            core::mem::swap(&mut work.search, &mut other.search);
            let found = self.basin(place + 1).answer(x, other, searched);
            let lower = found.1 < best.1 || !best.0.is_verified();
            if found.0.is_verified() && lower {
                core::mem::swap(work, other);
                (best, work.basin) = (found, place + 1);
            } else {
                core::mem::swap(&mut work.search, &mut other.search);
            }
        }
        work.others = others;
        best
    }
}

impl<F: Functions> Basin<'_, F> {
    fn answer(
        &self,
        x: &[f64],
        work: &mut SolverWorkspace,
        searched: &mut bool,
    ) -> (SolveOutcome, f64) {
        let weights = self.weights;
        self.begin(x, work);
        let mut objective = self.evaluate(x, work);
        let (mut least, mut settled) = (f64::INFINITY, weights.near.is_none());
        for step in 0..weights.steps + MORE_STEPS {
            let violation = violation(&work.constraints);
            if step >= weights.steps {
                if settled && violation <= 0.0 && objective.is_finite() {
                    return (SolveOutcome::Solved, objective);
                }
                if settled
                    && step == weights.steps
                    && let Some(objective) = self.pull(x, work, SHORT_PULL)
                {
                    return (SolveOutcome::Pulled, objective);
                }
                if violation < least {
                    least = violation;
                    work.least_violating.copy_from_slice(&work.y);
                }
                if step == weights.steps {
                    // The pull may have left another point's state behind.
                    self.verify(x, work);
                }
            }
            let Some(length) = self.measured_step(x, work, weights.exact && step == 0) else {
                objective = self.verify(x, work);
                break;
            };
            settled = weights.near.is_none_or(|near| length <= near);
            objective = if step + 1 < weights.steps {
                self.evaluate(x, work)
            } else {
                self.verify(x, work)
            };
        }
        let inside = violation(&work.constraints) <= 0.0 && objective.is_finite();
        if !(settled && inside) && weights.near.is_some() {
            *searched = true;
            let best = inside.then_some(objective);
            if let Some(objective) = self.search_beside(x, work, best) {
                return (SolveOutcome::Solved, objective);
            }
        } else if inside {
            return (SolveOutcome::Solved, objective);
        }
        if let Some(objective) = self.pull(x, work, 1.0) {
            return (SolveOutcome::Pulled, objective);
        }
        if weights.near.is_some()
            && let Some(objective) = self.search_from_anchor(x, work)
        {
            return (SolveOutcome::Solved, objective);
        }
        let mut objective = self.verify(x, work);
        if least < violation(&work.constraints) {
            work.y.copy_from_slice(&work.least_violating);
            objective = self.verify(x, work);
        }
        (SolveOutcome::MaybeInfeasible, objective)
    }

    /// A step, and its length as a part of y's size; none if there is no step.
    fn measured_step(
        &self,
        x: &[f64],
        work: &mut SolverWorkspace,
        stationary: bool,
    ) -> Option<f64> {
        work.before.copy_from_slice(&work.y);
        if !self.step(x, work, stationary) {
            return None;
        }
        add(&mut work.before, -1.0, &work.y);
        Some(largest(&work.before) / (1.0 + largest(&work.y)))
    }

    /// The objective of what a search finds, or of the point at hand, whose objective is `best` if it is
    /// feasible; none if neither is feasible. Then y is the less violating of both.
    fn search_beside(
        &self,
        x: &[f64],
        work: &mut SolverWorkspace,
        best: Option<f64>,
    ) -> Option<f64> {
        let before = violation(&work.constraints);
        work.before.copy_from_slice(&work.y);
        let found = self.search(x, work);
        let is_better = match best {
            None => found.is_some() || violation(&work.constraints) < before,
            Some(best) => found.is_some_and(|found| found < best),
        };
        if is_better {
            return found;
        }
        work.y.copy_from_slice(&work.before);
        let objective = self.verify(x, work);
        best.map(|_| objective)
    }

    /// The objective of what a search from the anchor finds: it obeys equations where steps have gone astray. On
    /// failure y is where it was.
    fn search_from_anchor(&self, x: &[f64], work: &mut SolverWorkspace) -> Option<f64> {
        work.before.copy_from_slice(&work.y);
        work.y.copy_from_slice(&work.anchor);
        work.program.multipliers.fill(0.0);
        work.guess.clear();
        let found = self.search(x, work);
        if found.is_none() {
            work.y.copy_from_slice(&work.before);
        }
        found
    }

    /// The learned start.
    fn begin(&self, x: &[f64], work: &mut SolverWorkspace) {
        let weights = self.weights;
        affine(&weights.start.constant, &weights.start.by_x, x, &mut work.y);
        // Nothing of the last answer, so that an answer depends on x alone.
        work.memory.fill(0.0);
        work.guess.clear();
        work.guess.extend(&weights.active);
        if weights.linear || weights.multipliers.constant.is_empty() {
            work.carried.fill(0.0);
            return;
        }
        let learned = &weights.multipliers;
        affine(&learned.constant, &learned.by_x, x, &mut work.carried);
        let is_active = |place: &usize| weights.active.binary_search(place).is_ok();
        for (place, value) in work.carried.iter_mut().enumerate() {
            // Rows that are rarely active have multipliers that an affine map cannot know.
            *value = if is_active(&place) {
                value.max(0.0)
            } else {
                0.0
            };
        }
    }

    /// f and c at y as whoever asks for the first time sees them: a simulation that starts where its last one
    /// ended differs by its own tolerance, which may be all that an answer is inside.
    pub(super) fn verify(&self, x: &[f64], work: &mut SolverWorkspace) -> f64 {
        work.memory.fill(0.0);
        self.evaluate(x, work)
    }

    /// f and c at y, bounds included.
    pub(super) fn evaluate(&self, x: &[f64], work: &mut SolverWorkspace) -> f64 {
        let (own, bounds) = work.constraints.split_at_mut(self.weights.rows);
        let objective = self.functions.values(&work.y, x, own, &mut work.memory);
        bound_values(&self.weights.bounds, &work.y, bounds);
        objective
    }

    /// One step from the point of the last evaluation; false where there is none, and y has not moved.
    pub(super) fn step(&self, x: &[f64], work: &mut SolverWorkspace, stationary: bool) -> bool {
        let weights = self.weights;
        if stationary {
            work.direction.fill(0.0);
            for (q, row) in work.q.iter_mut().zip(&weights.watched) {
                *q = work.constraints[*row];
            }
        } else {
            self.descend(x, work);
        }
        for part in MARGINS {
            for (q, margin) in work.q.iter_mut().zip(&weights.margins) {
                *q += part * margin;
            }
            let ending = work.program.solve(&weights.gram, &work.q, &work.guess);
            if ending == Ending::Optimal {
                self.advance(work);
                return true;
            }
            for (q, margin) in work.q.iter_mut().zip(&weights.margins) {
                *q -= part * margin;
            }
        }
        false
    }

    /// The step without constraints, and what they would be after it.
    fn descend(&self, x: &[f64], work: &mut SolverWorkspace) {
        let weights = self.weights;
        work.by_row.fill(0.0);
        for (row, multiplier) in weights.watched.iter().zip(&work.carried) {
            work.by_row[*row] = *multiplier;
        }
        let (own, bounds) = work.by_row.split_at(weights.rows);
        let memory = &mut work.memory;
        self.functions
            .gradient(&work.y, x, own, &mut work.gradient, memory);
        for (gradient, pair) in work.gradient.iter_mut().zip(bounds.chunks_exact(2)) {
            *gradient += pair[0] - pair[1];
        }
        times(&weights.metric, &work.gradient, &mut work.direction);
        work.direction.iter_mut().for_each(|value| *value = -*value);
        // The Jacobian of training stands in for the one at hand: near the optimum the direction is short.
        times(&weights.pulls, &work.gradient, &mut work.q);
        for (q, row) in work.q.iter_mut().zip(&weights.watched) {
            *q = work.constraints[*row] - *q;
        }
        let count = work.q.len();
        for (place, multiplier) in work.carried.iter().enumerate() {
            if *multiplier != 0.0 {
                add(
                    &mut work.q,
                    *multiplier,
                    &weights.gram[place * count..][..count],
                );
            }
        }
    }

    /// y moves by the direction, bent by the multipliers.
    fn advance(&self, work: &mut SolverWorkspace) {
        let dim = self.weights.dim;
        add(&mut work.y, 1.0, &work.direction);
        let multipliers = work.program.multipliers.iter().zip(&mut work.carried);
        for (place, (multiplier, carried)) in multipliers.enumerate() {
            let change = multiplier - *carried;
            if change != 0.0 {
                let pull = &self.weights.pulls[place * dim..][..dim];
                add(&mut work.y, -change, pull);
            }
            // Where rows are linear, multipliers cancel.
            *carried = if self.weights.linear {
                0.0
            } else {
                *multiplier
            };
        }
        work.guess.clear();
        work.guess.extend(&work.program.active);
    }

    /// Moves y toward the anchor until it is feasible, by at most this part of the way. The objective there.
    /// On failure y is where it was.
    fn pull(&self, x: &[f64], work: &mut SolverWorkspace, most: f64) -> Option<f64> {
        let anchor = &self.weights.anchor;
        work.direction.copy_from_slice(&work.y);
        affine(&anchor.constant, &anchor.by_x, x, &mut work.anchor);
        work.anchor_constraints.copy_from_slice(&work.constraints);
        work.y.copy_from_slice(&work.anchor);
        let at_anchor = self.verify(x, work);
        core::mem::swap(&mut work.constraints, &mut work.anchor_constraints);
        let found = if at_anchor.is_finite() && violation(&work.anchor_constraints) <= 0.0 {
            self.pull_to(x, work, most)
        } else {
            None
        };
        if found.is_none() {
            work.y.copy_from_slice(&work.direction);
        }
        found
    }

    /// Between a feasible anchor and `direction`, the point that the steps ended at.
    fn pull_to(&self, x: &[f64], work: &mut SolverWorkspace, most: f64) -> Option<f64> {
        // The chord of a convex function lies above it, so that its root is inside.
        let values = work.constraints.iter().zip(&work.anchor_constraints);
        let chords = values.filter(|(value, _)| **value > 0.0);
        let mut share = chords.fold(1.0_f64, |share, (value, inside)| {
            let root = inside / (inside - value);
            if root < share { root } else { share }
        });
        let (mut feasible, mut outside) = (0.0, 1.0);
        let mut objective = None;
        share *= 1.0 - INSIDE;
        for round in 0..BISECTIONS {
            if 1.0 - share > most {
                return None;
            }
            let ends = work.direction.iter().zip(&work.anchor);
            for (y, (end, anchor)) in work.y.iter_mut().zip(ends) {
                *y = anchor + share * (end - anchor);
            }
            let value = self.verify(x, work);
            let inside = value.is_finite() && violation(&work.constraints) <= 0.0;
            if inside && (round == 0 || outside - share < 1e-3 * (1.0 - share)) {
                return Some(value);
            }
            if inside {
                (feasible, objective) = (share, Some(value));
            } else {
                outside = share;
            }
            share = 0.5 * (feasible + outside);
        }
        // The last point that was inside, evaluated again.
        objective?;
        let ends = work.direction.iter().zip(&work.anchor);
        for (y, (end, anchor)) in work.y.iter_mut().zip(ends) {
            *y = anchor + feasible * (end - anchor);
        }
        let value = self.verify(x, work);
        (violation(&work.constraints) <= 0.0).then_some(value)
    }
}

/// y − high and low − y, coordinate by coordinate.
fn bound_values(bounds: &[(f64, f64)], y: &[f64], values: &mut [f64]) {
    let pairs = values.chunks_exact_mut(2);
    for ((pair, (low, high)), y) in pairs.zip(bounds).zip(y) {
        (pair[0], pair[1]) = (y - high, low - y);
    }
}

/// The largest constraint; infinite if one is NaN.
pub(super) fn violation(constraints: &[f64]) -> f64 {
    let mut most = f64::NEG_INFINITY;
    for value in constraints {
        if value.is_nan() {
            return f64::INFINITY;
        }
        if *value > most {
            most = *value;
        }
    }
    most
}
