//! FSNet's feasibility-seeking step: L-BFGS on the squared violation, along the equations.
//!
//! Donti and Nguyen's "FSNet: Feasibility-Seeking Neural Network for Constrained Optimization with Guarantees"
//! keeps the equations by penalty; here they hold throughout, which can only help it. The first step is Newton's
//! for one violated row, and rows count a margin more than they are, so that the step ends inside. The step's
//! derivative is that of a projection onto the rows which it ends at.

use super::linear::{add, dot, solve_rows};
use super::map::{Map, Work};

/// Directions that are remembered.
const MEMORY: usize = 10;
/// Halvings of a step at most.
const HALVINGS: usize = 10;
/// Share of the promised decrease that a step must make.
const DECREASE: f64 = 1e-4;
/// Rows nearer to the boundary than this many margins hold the step's end.
const AT_BOUNDARY: f64 = 3.0;

/// The step with its memory.
#[derive(Default)]
pub(super) struct Seeker {
    /// How far the last step went, along z.
    moved: Vec<f64>,
    margin: f64,
    /// Pairs of a step and the gradient's change.
    history: Vec<(Vec<f64>, Vec<f64>)>,
    /// The loss's gradient by z of [`pull_back`](Self::pull_back).
    pub(super) by_z: Vec<f64>,
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
        let free = map.along.directions.len();
        self.moved.clear();
        self.moved.resize(free, 0.0);
        self.margin = margin;
        self.history.clear();
        let mut value = map.violation(x, y, margin, work);
        if !value.is_finite() {
            return;
        }
        let mut gradient = along(map, &work.other);
        let mut trial = y.to_vec();
        for _ in 0..steps {
            let square = dot(&gradient, &gradient);
            let outside = work.constraints.iter().any(|c| *c > 0.0) || out_of_bounds(map, y);
            if !outside || square == 0.0 {
                return;
            }
            let mut direction = self.two_loop(&gradient);
            if self.history.is_empty() {
                direction
                    .iter_mut()
                    .for_each(|d| *d *= 2.0 * value / square);
            }
            let slope = dot(&direction, &gradient);
            let mut share = 1.0;
            let mut next = f64::INFINITY;
            for _ in 0..HALVINGS {
                trial.copy_from_slice(y);
                for (d, basis) in direction.iter().zip(&map.along.directions) {
                    add(&mut trial, share * d, basis);
                }
                next = map.violation(x, &trial, margin, work);
                if next <= value + DECREASE * share * slope {
                    break;
                }
                share *= 0.5;
            }
            if !next.is_finite() {
                return;
            }
            y.copy_from_slice(&trial);
            let new = along(map, &work.other);
            let step: Vec<f64> = direction.iter().map(|d| share * d).collect();
            add(&mut self.moved, 1.0, &step);
            let change: Vec<f64> = new.iter().zip(&gradient).map(|(a, b)| a - b).collect();
            if dot(&step, &change) > 1e-12 * dot(&step, &step).sqrt() * dot(&change, &change).sqrt()
            {
                if self.history.len() == MEMORY {
                    self.history.remove(0);
                }
                self.history.push((step, change));
            }
            (value, gradient) = (next, new);
        }
    }

    /// −H · gradient, with H of the remembered pairs.
    fn two_loop(&self, gradient: &[f64]) -> Vec<f64> {
        let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut shares = Vec::new();
        for (step, change) in self.history.iter().rev() {
            let share = dot(step, &direction) / dot(step, change);
            add(&mut direction, -share, change);
            shares.push(share);
        }
        if let Some((step, change)) = self.history.last() {
            let scale = dot(step, change) / dot(change, change);
            direction.iter_mut().for_each(|d| *d *= scale);
        }
        for ((step, change), share) in self.history.iter().zip(shares.into_iter().rev()) {
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
        distance: f64,
        work: &mut Work,
    ) -> f64 {
        work.weights.fill(0.0);
        let functions = map.instance.functions();
        functions.gradient(y, x, &work.weights, &mut work.gradient, &mut work.memory);
        let way = dot(&self.moved, &self.moved);
        self.by_z = along(map, &work.gradient);
        if way > 0.0 {
            add(&mut self.by_z, 2.0 * distance, &self.moved);
            self.project(map, x, y, work);
            add(&mut self.by_z, -2.0 * distance, &self.moved);
        }
        distance * way
    }

    /// Takes from `by_z` what leads across rows at the boundary.
    fn project(&mut self, map: &Map<'_>, x: &[f64], y: &[f64], work: &mut Work) {
        let near = -AT_BOUNDARY * self.margin;
        let rows = work.constraints.len();
        let own = (0..rows).filter(|row| work.constraints[*row] > near);
        let bounds = map.instance.bounds().iter().zip(y).enumerate();
        let at_bounds = bounds.filter(|(_, ((low, high), y))| (*y - high).max(low - *y) > near);
        let mut held: Vec<usize> = own.chain(at_bounds.map(|(i, _)| rows + i)).collect();
        held.truncate(self.by_z.len() - 1);
        if held.is_empty() {
            return;
        }
        let mut normals = Vec::with_capacity(held.len());
        for row in held {
            map.normal(x, y, row, work);
            normals.push(along(map, &work.other));
        }
        let product = |a: &Vec<f64>| normals.iter().map(|b| dot(a, b)).collect::<Vec<f64>>();
        let mut gram: Vec<Vec<f64>> = normals.iter().map(product).collect();
        for (i, row) in gram.iter_mut().enumerate() {
            row[i] *= 1.0 + 1e-9;
        }
        let side: Vec<f64> = normals.iter().map(|n| dot(n, &self.by_z)).collect();
        let solved = solve_rows(gram, vec![side]);
        for (normal, share) in normals.iter().zip(&solved[0]) {
            if share.is_finite() {
                add(&mut self.by_z, -share, normal);
            }
        }
    }
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
