//! Optima over the star whose radius is linear in the angle: `star-shaped`.

use std::f64::consts::PI;

use super::sphere::Quadric;
use super::{Optimum, PULL};
use crate::problem::{Objective, Problem};

/// The angle from a valley to the next tip.
const ARC: f64 = PI / 5.0;
/// Points at which each of the ten arcs is looked at before the search narrows.
const SCAN: usize = 64;
/// Steps of the golden section: the bracket becomes smaller than rounding.
const GOLDEN_STEPS: usize = 60;

/// ‖y‖ ≤ ρ(θ): tips of radius 2 at 36°, 108°, …, valleys of radius 1 at 0°, 72°, ….
#[derive(Clone, Copy, Debug, Default)]
pub struct Star;

impl Optimum for Star {
    fn solve(&self, problem: &Problem, y: &mut [f64]) {
        let inside = match problem.objective() {
            Objective::Linear => false,
            Objective::Distance => {
                y.copy_from_slice(problem.vector());
                contains(y)
            }
            Objective::Quadratic => {
                Quadric::new(problem.matrix(), 2).unconstrained(problem.vector(), y);
                contains(y)
            }
        };
        if !inside {
            on_boundary(problem, y);
        }
    }
}

fn contains(y: &[f64]) -> bool {
    let turn = y[1].atan2(y[0]).rem_euclid(2.0 * ARC);
    let offset = turn.min(2.0 * ARC - turn);
    y[0].hypot(y[1]) <= 1.0 + offset / ARC
}

/// The point at angle `offset` from valley `arc / 2`, on the side that `arc` says.
fn at(arc: usize, offset: f64) -> [f64; 2] {
    let valley = (arc / 2) as f64 * 2.0 * ARC;
    let angle = if arc.is_multiple_of(2) {
        valley + offset
    } else {
        valley - offset
    };
    let radius = (1.0 + offset / ARC) * (1.0 - PULL);
    [radius * angle.cos(), radius * angle.sin()]
}

/// A convex function without a minimum inside takes it on the boundary: ten smooth arcs, on each a scan
/// and a golden section around its best point. Tips and valleys are ends of arcs.
fn on_boundary(problem: &Problem, y: &mut [f64]) {
    let step = ARC / (SCAN - 1) as f64;
    let mut best = f64::INFINITY;
    for arc in 0..10 {
        let value = |offset: f64| problem.value(&at(arc, offset));
        let offset = (0..SCAN)
            .map(|index| index as f64 * step)
            .min_by(|a, b| value(*a).total_cmp(&value(*b)))
            .unwrap_or(0.0);
        let refined = golden((offset - step).max(0.0), (offset + step).min(ARC), &value);
        for candidate in [offset, refined] {
            if value(candidate) < best {
                best = value(candidate);
                y.copy_from_slice(&at(arc, candidate));
            }
        }
    }
}

/// A minimum of `value` between `low` and `high`.
fn golden(mut low: f64, mut high: f64, value: &impl Fn(f64) -> f64) -> f64 {
    let share = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut left, mut right) = (high - share * (high - low), low + share * (high - low));
    let (mut at_left, mut at_right) = (value(left), value(right));
    for _ in 0..GOLDEN_STEPS {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - share * (high - low);
            at_left = value(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + share * (high - low);
            at_right = value(right);
        }
    }
    0.5 * (low + high)
}
