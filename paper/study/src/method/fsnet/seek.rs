//! FSNet's feasibility-seeking step: L-BFGS on the squared violation, for one point.

use std::sync::Arc;

use serde::Serialize;

use crate::StudySet;
use crate::method::Repair;
use crate::problem::{MOST, dot, norm, widen};

/// Directions that are remembered.
const MEMORY: usize = 30;
/// Iterations at most.
const ITERATIONS: usize = 50;
/// Halvings of a step at most.
const HALVINGS: usize = 10;
/// Share of the promised decrease that a step must make (Armijo).
const DECREASE: f64 = 1e-4;
/// Squared violations below this count as none.
const ENOUGH: f64 = 1e-9;
/// Gradients shorter than this lead nowhere.
const FLAT: f64 = 1e-6;
/// Keeps divisions finite, as released.
const TINY: f64 = 1e-10;
/// Where the violation has no gradient (the middle of a hole), the point is moved by this.
const JITTER: f64 = 1e-6;

/// How the step is made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// Objective 1000·v², divided by the rows of a batch; the first direction is −0.1 times its
    /// gradient. One row's violation of 0.005 moves it by up to 1, and since all of the inside has
    /// the value 0, the line search accepts.
    Released,
    /// The first direction is Newton's for v², so that it ends at the boundary; violations count
    /// `margin` more than they are, so that it ends inside. Stops in the set, and remembers only
    /// directions with positive curvature.
    Tuned {
        /// How far inside the boundary the step aims.
        margin: f64,
    },
}

/// The step with its memory; makes no allocation.
pub struct Seeker {
    set: Arc<StudySet>,
    style: Style,
    /// The released objective is a mean over rows: 1000 divided by their number.
    scale: f64,
    history: History,
    /// The latest value of the objective's gradient.
    gradient: [f64; MOST],
}

impl Seeker {
    /// A step for batches of `rows`.
    pub fn new(set: Arc<StudySet>, style: Style, rows: usize) -> Self {
        let scale = match style {
            Style::Released => 1000.0 / rows as f64,
            Style::Tuned { .. } => 1.0,
        };
        Self {
            history: History::new(set.dim()),
            set,
            style,
            scale,
            gradient: [0.0; MOST],
        }
    }

    /// The objective at a point; its gradient is written.
    fn evaluate(&mut self, y: &[f64]) -> f64 {
        let gradient = &mut self.gradient[..y.len()];
        // Every set of the study knows its violation.
        let violation = self.set.set().violation(y, &[], gradient).unwrap_or(0.0);
        let margin = match self.style {
            Style::Tuned { margin } if !self.set.set().contains(y, &[]) => margin,
            _ => 0.0,
        };
        let residual = violation + margin;
        for slope in gradient {
            *slope *= 2.0 * self.scale * residual;
        }
        self.scale * residual * residual
    }

    fn first_direction(&self, value: f64, direction: &mut [f64]) {
        let gradient = &self.gradient[..direction.len()];
        let factor = match self.style {
            Style::Released => -0.1,
            // The residual r has the gradient g/(2r); Newton's step to r = 0 is −r·∇r/‖∇r‖².
            Style::Tuned { .. } => -2.0 * value / dot(gradient, gradient),
        };
        for (direction, slope) in direction.iter_mut().zip(gradient) {
            *direction = factor * slope;
        }
    }

    fn is_done(&self, y: &[f64], value: f64) -> bool {
        match self.style {
            Style::Released => {
                value / self.scale < ENOUGH || norm(&self.gradient[..y.len()]) < FLAT
            }
            Style::Tuned { .. } => value == 0.0,
        }
    }

    /// How the step is made.
    pub fn style(&self) -> Style {
        self.style
    }

    /// Moves a point toward the set. Gives the first direction's unit normal, if it moved.
    pub fn seek(&mut self, y: &mut [f64]) -> Option<[f64; MOST]> {
        let dim = y.len();
        self.history.clear();
        let mut value = self.evaluate(y);
        if value > 0.0 && norm(&self.gradient[..dim]) == 0.0 {
            y[0] += JITTER;
            value = self.evaluate(y);
        }
        let mut normal = None;
        let (mut direction, mut trial) = ([0.0; MOST], [0.0; MOST]);
        let (direction, trial) = (&mut direction[..dim], &mut trial[..dim]);
        for iteration in 0..ITERATIONS {
            if self.is_done(y, value) {
                break;
            }
            let before = self.gradient;
            if iteration == 0 {
                self.first_direction(value, direction);
                let length = norm(&before[..dim]);
                normal = Some(before.map(|slope| slope / length));
            } else {
                self.history.direction(&before[..dim], direction);
            }
            value = self.search(y, value, direction, trial);
            let guarded = self.style != Style::Released;
            self.history
                .push(trial, y, &self.gradient[..dim], &before[..dim], guarded);
            y.copy_from_slice(trial);
        }
        normal
    }

    /// Writes the first of ever shorter steps that decreases the objective enough, or the last of all,
    /// as released; gives the objective there.
    fn search(&mut self, y: &[f64], value: f64, direction: &[f64], trial: &mut [f64]) -> f64 {
        let promised = DECREASE * dot(&self.gradient[..y.len()], direction);
        let mut step = 1.0;
        for halvings in 0.. {
            for ((trial, y), direction) in trial.iter_mut().zip(y).zip(direction) {
                *trial = y + step * direction;
            }
            let tried = self.evaluate(trial);
            if tried <= value + step * promised || halvings == HALVINGS {
                return tried;
            }
            step *= 0.5;
        }
        value
    }
}

impl Repair for Seeker {
    fn repair(&mut self, point: &mut [f32]) {
        let mut y = [0.0; MOST];
        let y = &mut y[..point.len()];
        widen(point, y);
        if self.seek(y).is_some() {
            for (value, y) in point.iter_mut().zip(&*y) {
                *value = *y as f32;
            }
        }
    }
}

/// Pairs of steps and changes of the gradient, the newest ones.
struct History {
    dim: usize,
    steps: Vec<f64>,
    changes: Vec<f64>,
    count: usize,
}

impl History {
    fn new(dim: usize) -> Self {
        Self {
            dim,
            steps: vec![0.0; MEMORY * dim],
            changes: vec![0.0; MEMORY * dim],
            count: 0,
        }
    }

    fn clear(&mut self) {
        self.count = 0;
    }

    fn pair(&self, index: usize) -> (&[f64], &[f64]) {
        let place = (index % MEMORY) * self.dim..(index % MEMORY + 1) * self.dim;
        (&self.steps[place.clone()], &self.changes[place])
    }

    fn push(&mut self, to: &[f64], from: &[f64], after: &[f64], before: &[f64], guarded: bool) {
        let place = (self.count % MEMORY) * self.dim;
        for index in 0..self.dim {
            self.steps[place + index] = to[index] - from[index];
            self.changes[place + index] = after[index] - before[index];
        }
        let (step, change) = self.pair(self.count);
        if !guarded || dot(step, change) > 1e-12 * norm(step) * norm(change) {
            self.count += 1;
        }
    }

    /// Writes −H·gradient by the two loops (Nocedal and Wright, algorithm 7.4).
    fn direction(&self, gradient: &[f64], direction: &mut [f64]) {
        let known = self.count.saturating_sub(MEMORY)..self.count;
        let mut factors = [0.0; MEMORY];
        for (direction, slope) in direction.iter_mut().zip(gradient) {
            *direction = -slope;
        }
        for index in known.clone().rev() {
            let (step, change) = self.pair(index);
            let factor = dot(step, direction) / (dot(step, change) + TINY);
            factors[index % MEMORY] = factor;
            for (direction, change) in direction.iter_mut().zip(change) {
                *direction -= factor * change;
            }
        }
        if let Some(newest) = known.clone().last() {
            let (step, change) = self.pair(newest);
            let scale = dot(step, change) / (dot(change, change) + TINY);
            for direction in &mut *direction {
                *direction *= scale;
            }
        }
        for index in known {
            let (step, change) = self.pair(index);
            let factor = dot(change, direction) / (dot(step, change) + TINY);
            for (direction, step) in direction.iter_mut().zip(step) {
                *direction += (factors[index % MEMORY] - factor) * step;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> impl Iterator<Item = [f32; 2]> {
        (0..41 * 41).map(|i| [(i % 41) as f32 * 0.2 - 4.0, (i / 41) as f32 * 0.2 - 4.0])
    }

    fn share_feasible(set: &str, style: Style) -> f64 {
        let set = StudySet::open(set).unwrap();
        let mut seeker = Seeker::new(Arc::clone(&set), style, 1);
        let inside = grid().filter(|point| {
            let mut point = *point;
            seeker.repair(&mut point);
            set.contains(&point)
        });
        inside.count() as f64 / grid().count() as f64
    }

    #[test]
    fn tuned_steps_end_in_the_set() {
        for set in [
            "blob-with-bite",
            "star-shaped",
            "concentric-circles",
            "two-moons",
        ] {
            let share = share_feasible(set, Style::Tuned { margin: 1e-3 });
            assert!(share > 0.995, "{set}: {share}");
        }
    }

    #[test]
    fn released_steps_end_in_the_set_mostly() {
        for set in ["blob-with-bite", "star-shaped"] {
            let share = share_feasible(set, Style::Released);
            assert!(share > 0.9, "{set}: {share}");
        }
    }

    #[test]
    fn feasible_points_stay() {
        let set = StudySet::open("star-shaped").unwrap();
        for style in [Style::Released, Style::Tuned { margin: 1e-3 }] {
            let mut seeker = Seeker::new(Arc::clone(&set), style, 1);
            for point in grid().filter(|point| set.contains(point)) {
                let mut moved = point;
                seeker.repair(&mut moved);
                assert_eq!(moved, point);
            }
        }
    }

    #[test]
    fn a_tuned_step_is_short_and_a_released_one_is_not() {
        let set = StudySet::open("concentric-circles").unwrap();
        let moved = |style| {
            let mut point = [2.004, 0.0];
            Seeker::new(Arc::clone(&set), style, 1).repair(&mut point);
            2.004 - point[0]
        };
        let tuned = moved(Style::Tuned { margin: 1e-3 });
        assert!((tuned - 0.005).abs() < 1e-5, "{tuned}");
        assert!(moved(Style::Released) > 0.1);
    }

    #[test]
    fn the_two_loops_invert_a_quadratic_function() {
        // Along the pairs of a quadratic function, H·change = step for the newest of them.
        let mut history = History::new(2);
        for (step, change) in [([1.0, 0.0], [4.0, 1.0]), ([0.0, 1.0], [1.0, 3.0])] {
            history.push(&step, &[0.0; 2], &change, &[0.0; 2], true);
        }
        let mut direction = [0.0; 2];
        history.direction(&[1.0, 3.0], &mut direction);
        assert!(direction[0].abs() < 1e-8 && (direction[1] + 1.0).abs() < 1e-8);
    }
}
