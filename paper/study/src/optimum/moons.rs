//! Optima over a union of equal discs: the paper's `two-moons`.

use fab_method::data::{MOON_RADIUS, moon_cloud};

use super::sphere::Quadric;
use super::{Optimum, PULL};
use crate::problem::{Objective, Problem, norm};

/// Radius of the discs, pulled inward.
const RADIUS: f64 = MOON_RADIUS * (1.0 - PULL);

/// All points within 0.15 of the paper's cloud of 60 000.
#[derive(Clone, Debug)]
pub struct Moons {
    centres: Vec<[f64; 2]>,
}

impl Default for Moons {
    fn default() -> Self {
        Self::new()
    }
}

impl Moons {
    /// Draws the cloud.
    pub fn new() -> Self {
        Self {
            centres: moon_cloud(),
        }
    }

    /// The centre at which `measure` is smallest.
    fn least(&self, measure: impl Fn(&[f64; 2]) -> f64) -> [f64; 2] {
        let mut best = (f64::INFINITY, [0.0; 2]);
        for centre in &self.centres {
            let value = measure(centre);
            if value < best.0 {
                best = (value, *centre);
            }
        }
        best.1
    }

    /// Writes y moved to within the radius of its nearest centre, and says whether it was there before.
    fn restore(&self, y: &mut [f64]) -> bool {
        let squared = |centre: &[f64; 2]| {
            let (dx, dy) = (y[0] - centre[0], y[1] - centre[1]);
            dx * dx + dy * dy
        };
        let centre = self.least(squared);
        let length = squared(&centre).sqrt();
        if length <= RADIUS {
            return true;
        }
        for (y, centre) in y.iter_mut().zip(centre) {
            *y = centre + RADIUS * (*y - centre) / length;
        }
        false
    }

    /// On a disc a convex function is at least f(p) − r‖∇f(p)‖: discs whose bound is above the best
    /// point found so far need no solution.
    fn quadratic(&self, problem: &Problem, y: &mut [f64]) {
        let quadric = Quadric::new(problem.matrix(), 2);
        quadric.unconstrained(problem.vector(), y);
        let mut nearest = [y[0], y[1]];
        if self.restore(&mut nearest) {
            return;
        }
        y.copy_from_slice(&nearest);
        let mut best = problem.value(y);
        let mut gradient = [0.0; 2];
        let mut open: Vec<(f64, [f64; 2], [f64; 2])> = Vec::new();
        for centre in &self.centres {
            problem.gradient(centre, &mut gradient);
            let bound = problem.value(centre) - RADIUS * norm(&gradient);
            if bound < best {
                open.push((bound, *centre, gradient));
            }
        }
        open.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut offset = [0.0; 2];
        for (bound, centre, gradient) in open {
            if bound >= best {
                break;
            }
            // The unconstrained minimiser is in no disc, so that each disc's minimum is on its rim.
            quadric.on_sphere(&gradient, RADIUS, &mut offset);
            let point = [centre[0] + offset[0], centre[1] + offset[1]];
            let value = problem.value(&point);
            if value < best {
                best = value;
                y.copy_from_slice(&point);
            }
        }
    }
}

impl Optimum for Moons {
    fn solve(&self, problem: &Problem, y: &mut [f64]) {
        match problem.objective() {
            Objective::Linear => {
                let c = problem.vector();
                let centre = self.least(|centre| c[0] * centre[0] + c[1] * centre[1]);
                let length = norm(c).max(f64::MIN_POSITIVE);
                y[0] = centre[0] - RADIUS * c[0] / length;
                y[1] = centre[1] - RADIUS * c[1] / length;
            }
            Objective::Distance => {
                y.copy_from_slice(problem.vector());
                self.restore(y);
            }
            Objective::Quadratic => self.quadratic(problem, y),
        }
    }
}
