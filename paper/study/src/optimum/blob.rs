//! Optima over ‖y‖ ≤ 2 and ‖y − (1, 0)‖ ≥ 1: `blob-with-bite`.

use super::sphere::Quadric;
use super::{Optimum, PULL};
use crate::problem::{Objective, Problem, dot};

const OUTER: f64 = 2.0 - 2.0 * PULL;
const BITE: f64 = 1.0 + PULL;
const CENTRE: [f64; 2] = [1.0, 0.0];

/// The disc of radius 2 without the open disc of radius 1 around (1, 0), which touches its rim.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blob;

impl Optimum for Blob {
    fn solve(&self, problem: &Problem, y: &mut [f64]) {
        match problem.objective() {
            // The whole rim is feasible.
            Objective::Linear => {
                let c = problem.vector();
                let length = c[0].hypot(c[1]).max(f64::MIN_POSITIVE);
                y[0] = -OUTER * c[0] / length;
                y[1] = -OUTER * c[1] / length;
            }
            Objective::Distance => {
                y.copy_from_slice(problem.vector());
                restore(y);
            }
            Objective::Quadratic => quadratic(problem, y),
        }
        // Beside (2, 0) the two circles are nearer to each other than the pull.
        if (y[0] - CENTRE[0]).hypot(y[1]) < 1.0 {
            y.copy_from_slice(&[2.0, 0.0]);
        }
    }
}

fn restore(y: &mut [f64]) {
    let (length, from_bite) = (y[0].hypot(y[1]), (y[0] - CENTRE[0]).hypot(y[1]));
    if length > OUTER {
        y.iter_mut().for_each(|y| *y *= OUTER / length);
    } else if from_bite < BITE {
        // At the very centre of the bite every direction is as near; this one is feasible.
        let (x, z) = match from_bite {
            0.0 => (-1.0, 0.0),
            _ => ((y[0] - CENTRE[0]) / from_bite, y[1] / from_bite),
        };
        y[0] = CENTRE[0] + BITE * x;
        y[1] = BITE * z;
    }
}

fn quadratic(problem: &Problem, y: &mut [f64]) {
    let (matrix, p) = (problem.matrix(), problem.vector());
    let quadric = Quadric::new(matrix, 2);
    quadric.unconstrained(p, y);
    if y[0].hypot(y[1]) > OUTER {
        quadric.on_sphere(p, OUTER, y);
    } else if (y[0] - CENTRE[0]).hypot(y[1]) < BITE {
        // The same function with the bite's centre as origin.
        let shifted = [
            p[0] + dot(&matrix[..2], &CENTRE),
            p[1] + dot(&matrix[2..], &CENTRE),
        ];
        quadric.on_sphere(&shifted, BITE, y);
        y[0] += CENTRE[0];
    }
}
