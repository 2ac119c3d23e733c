//! Optima between two spheres: `concentric-circles` and the shells.

use super::sphere::Quadric;
use super::{Optimum, PULL};
use crate::problem::{Objective, Problem, norm};

/// The radius of the hole, pulled into the shell.
const INNER: f64 = 1.0 + PULL;

/// The set 1 ≤ ‖y‖ ≤ r in any dimension.
#[derive(Clone, Copy, Debug)]
pub struct Shell {
    /// r, pulled into the shell.
    outer: f64,
}

impl Shell {
    /// 1 ≤ ‖y‖ ≤ 2.
    pub const RELEASED: Self = Self {
        outer: 2.0 - 2.0 * PULL,
    };

    /// 1 ≤ ‖y‖² ≤ 2.
    pub const PRINTED: Self = Self {
        outer: std::f64::consts::SQRT_2 * (1.0 - PULL),
    };
}

impl Optimum for Shell {
    fn solve(&self, problem: &Problem, y: &mut [f64]) {
        match problem.objective() {
            Objective::Linear => {
                y.copy_from_slice(problem.vector());
                to_radius(y, -self.outer);
            }
            Objective::Distance => {
                y.copy_from_slice(problem.vector());
                let radius = norm(y).clamp(INNER, self.outer);
                to_radius(y, radius);
            }
            Objective::Quadratic => quadratic(problem, self.outer, y),
        }
    }
}

/// A convex function that is smallest inside the hole takes its minimum on the inner sphere, since the
/// way from there to any point of the shell crosses that sphere; likewise for the outer one.
fn quadratic(problem: &Problem, outer: f64, y: &mut [f64]) {
    let quadric = Quadric::new(problem.matrix(), problem.dim());
    quadric.unconstrained(problem.vector(), y);
    let length = norm(y);
    if !(INNER..=outer).contains(&length) {
        let radius = length.clamp(INNER, outer);
        quadric.on_sphere(problem.vector(), radius, y);
    }
}

/// Scales y to the given length (negative: the other way); the first axis where y has no direction.
fn to_radius(y: &mut [f64], radius: f64) {
    let length = norm(y);
    if length > 0.0 {
        y.iter_mut().for_each(|y| *y *= radius / length);
    } else {
        y[0] = radius;
    }
}
