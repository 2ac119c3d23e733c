//! FSNet's feasibility-seeking step: L-BFGS on the squared violation, along the equations.
//!
//! Nguyen and Donti's "FSNet: Feasibility-Seeking Neural Network for Constrained Optimization with Guarantees"
//! keeps the equations by penalty; here they hold throughout, which can only help it. As released, each row has
//! a line search of its own, at most 50 iterations of which the first 30 are differentiated, and the loss is
//! f + 5 ‖answer − point‖². Differently, the first step is Newton's for one violated row, rows count a margin
//! more than they are, so that the step ends inside, and a search that finds no decrease begins anew with the
//! gradient. The derivative goes back through the iterations with H of each one held fixed.

use super::linear::{add, dot};
use super::map::{Map, Work};

/// Pairs that a direction is made of.
const MEMORY: usize = 30;
/// Halvings of a step at most.
const HALVINGS: usize = 20;
/// Share of the promised decrease that a step must make.
const DECREASE: f64 = 1e-4;
/// Iterations that are differentiated.
const UNROLLED: usize = 30;
/// Length of the differences for products with the violation's Hessian.
const DIFFERENCE: f64 = 1e-6;
/// A projection has slopes of at most 1. Where a step of few iterations is steeper than this, its slope is
/// shortened.
const STEEPEST: f64 = 3.0;

/// The step with its memory.
#[derive(Default)]
pub(super) struct Seeker {
    /// How far the last step went, along z.
    moved: Vec<f64>,
    /// Pairs of a step and the gradient's change; the latest of them make H.
    pairs: Vec<(Vec<f64>, Vec<f64>)>,
    iterations: Vec<Iteration>,
    /// The loss's gradient by z of [`pull_back`](Self::pull_back).
    pub(super) by_z: Vec<f64>,
}

/// An iteration that can be differentiated: y + share · direction.
struct Iteration {
    y: Vec<f64>,
    share: f64,
    inverse: Inverse,
}

/// The inverse of the Hessian that a direction uses.
#[derive(Clone, Copy)]
enum Inverse {
    /// Of these pairs.
    Pairs { first: usize, end: usize },
    /// A multiple of the identity.
    Scale(f64),
}

impl Seeker {
    /// Moves y until nothing is violated, or as near as it gets.
    pub(super) fn seek(
        &mut self,
        map: &Map<'_>,
        x: &[f64],
        y: &mut [f64],
        work: &mut Work,
        steps: usize,
        margin: f64,
    ) {
        self.moved.clear();
        self.moved.resize(map.along.directions.len(), 0.0);
        self.pairs.clear();
        self.iterations.clear();
        let mut value = map.violation(x, y, margin, work);
        if !value.is_finite() {
            return;
        }
        let mut gradient = along(map, &work.other);
        let mut trial = y.to_vec();
        // Pairs before this one are forgotten.
        let mut first = 0;
        for _ in 0..steps {
            let square = dot(&gradient, &gradient);
            let outside = work.constraints.iter().any(|c| *c > 0.0) || out_of_bounds(map, y);
            if !outside || square == 0.0 {
                return;
            }
            let end = self.pairs.len();
            first = first.max(end.saturating_sub(MEMORY));
            let inverse = if first == end {
                Inverse::Scale(2.0 * value / square)
            } else {
                Inverse::Pairs { first, end }
            };
            let mut step = self.newton(inverse, &gradient);
            let slope = dot(&step, &gradient);
            let Some((share, next)) = search(map, y, &mut trial, &step, [value, slope], |y| {
                map.violation(x, y, margin, work)
            }) else {
                if first == end {
                    return;
                }
                // The pairs mislead: from the gradient again.
                first = end;
                map.violation(x, y, margin, work);
                continue;
            };
            let before = Iteration {
                y: y.to_vec(),
                share,
                inverse,
            };
            self.iterations.push(before);
            y.copy_from_slice(&trial);
            let new = along(map, &work.other);
            step.iter_mut().for_each(|step| *step *= share);
            add(&mut self.moved, 1.0, &step);
            let change: Vec<f64> = new.iter().zip(&gradient).map(|(a, b)| a - b).collect();
            let curved = dot(&step, &change);
            if curved > 1e-12 * (dot(&step, &step) * dot(&change, &change)).sqrt() {
                self.pairs.push((step, change));
            }
            (value, gradient) = (next, new);
        }
    }

    /// −H · gradient, by the two loops (Nocedal and Wright, algorithm 7.4).
    fn newton(&self, inverse: Inverse, gradient: &[f64]) -> Vec<f64> {
        let (first, end) = match inverse {
            Inverse::Scale(scale) => return gradient.iter().map(|g| -scale * g).collect(),
            Inverse::Pairs { first, end } => (first, end),
        };
        let pairs = &self.pairs[first..end];
        let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut shares = Vec::new();
        for (step, change) in pairs.iter().rev() {
            let share = dot(step, &direction) / dot(step, change);
            add(&mut direction, -share, change);
            shares.push(share);
        }
        if let Some((step, change)) = pairs.last() {
            let scale = dot(step, change) / dot(change, change);
            direction.iter_mut().for_each(|d| *d *= scale);
        }
        for ((step, change), share) in pairs.iter().zip(shares.into_iter().rev()) {
            let back = dot(change, &direction) / dot(step, change);
            add(&mut direction, share - back, step);
        }
        direction
    }

    /// Adds the way's part of the loss; the whole gradient is in `by_z`.
    pub(super) fn pull_back(
        &mut self,
        map: &Map<'_>,
        x: &[f64],
        y: &[f64],
        [margin, distance]: [f64; 2],
        work: &mut Work,
    ) -> f64 {
        work.weights.fill(0.0);
        let functions = map.instance.functions();
        functions.gradient(y, x, &work.weights, &mut work.gradient, &mut work.memory);
        self.by_z = along(map, &work.gradient);
        add(&mut self.by_z, 2.0 * distance, &self.moved);
        let steepest = STEEPEST * dot(&self.by_z, &self.by_z).sqrt();
        for iteration in self.iterations.iter().take(UNROLLED).rev() {
            self.by_z = self.before(map, x, iteration, margin, work);
            let length = dot(&self.by_z, &self.by_z).sqrt();
            if !length.is_finite() {
                self.by_z.fill(0.0);
            } else if length > steepest {
                let share = steepest / length;
                self.by_z.iter_mut().for_each(|value| *value *= share);
            }
        }
        add(&mut self.by_z, -2.0 * distance, &self.moved);
        distance * dot(&self.moved, &self.moved)
    }

    /// (I − share · Hessian · H) · by_z
    fn before(
        &self,
        map: &Map<'_>,
        x: &[f64],
        iteration: &Iteration,
        margin: f64,
        work: &mut Work,
    ) -> Vec<f64> {
        let mut by_z = self.by_z.clone();
        let step = self.newton(iteration.inverse, &by_z);
        let mut direction = vec![0.0; iteration.y.len()];
        for (value, basis) in step.iter().zip(&map.along.directions) {
            add(&mut direction, *value, basis);
        }
        let length = dot(&direction, &direction).sqrt();
        if length == 0.0 || !length.is_finite() {
            return by_z;
        }
        for side in [1.0, -1.0] {
            let mut y = iteration.y.clone();
            add(&mut y, side * DIFFERENCE / length, &direction);
            map.violation(x, &y, margin, work);
            let share = side * iteration.share * length / (2.0 * DIFFERENCE);
            add(&mut by_z, share, &along(map, &work.other));
        }
        by_z
    }
}

/// The first of ever shorter steps that decreases the value enough, written to `trial`, with its share and its
/// value; `None` if there is none.
fn search(
    map: &Map<'_>,
    y: &[f64],
    trial: &mut [f64],
    step: &[f64],
    [value, slope]: [f64; 2],
    mut violation: impl FnMut(&[f64]) -> f64,
) -> Option<(f64, f64)> {
    let mut share = 1.0;
    for _ in 0..HALVINGS {
        trial.copy_from_slice(y);
        for (part, basis) in step.iter().zip(&map.along.directions) {
            add(trial, share * part, basis);
        }
        let next = violation(trial);
        if next <= value + DECREASE * share * slope {
            return Some((share, next));
        }
        share *= 0.5;
    }
    None
}

fn along(map: &Map<'_>, gradient: &[f64]) -> Vec<f64> {
    let directions = map.along.directions.iter();
    directions
        .map(|direction| dot(direction, gradient))
        .collect()
}

fn out_of_bounds(map: &Map<'_>, y: &[f64]) -> bool {
    let bounds = map.instance.bounds().iter().zip(y);
    bounds
        .into_iter()
        .any(|((low, high), y)| y < low || y > high)
}
