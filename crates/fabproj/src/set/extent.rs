//! How far a direction reaches within bounds and equations.

use super::{Equation, Interval};

/// Rounds of the search; every one of them gives a bound that is valid.
const ROUNDS: usize = 8;
/// Steps nearer to each other than this are one.
const SAME_STEP: f64 = 1e-12;

/// An upper bound of direction · y over all y and x within `bounds` (those of y, then those of x) that
/// obey the equations; the least one where there is one equation.
///
/// Any multiples of the equations may be added to the direction without changing its values where they
/// hold (duality of linear programs): those multiples are sought for which the maximum over the bounds
/// alone is small, one after the other.
pub(super) fn upper(direction: &[f64], equations: &[Equation], bounds: &[Interval]) -> f64 {
    let mut weights = direction.to_vec();
    weights.resize(bounds.len(), 0.0);
    let mut constant = 0.0;
    for _ in 0..ROUNDS {
        for equation in equations {
            let normal: Vec<f64> = equation.coefficients().collect();
            let step = best_step(&weights, &normal, equation.constant, bounds);
            for (weight, normal) in weights.iter_mut().zip(&normal) {
                *weight -= step * normal;
            }
            constant += step * equation.constant;
        }
    }
    constant + reach(&weights, &weights, 0.0, bounds)
}

/// The multiple of a normal whose subtraction makes the bound smallest: a convex function, linear between
/// the multiples at which a weight changes its sign.
fn best_step(weights: &[f64], normal: &[f64], constant: f64, bounds: &[Interval]) -> f64 {
    let value = |step: f64| step * constant + reach(weights, normal, step, bounds);
    let pairs = weights
        .iter()
        .zip(normal)
        .filter(|(_, normal)| **normal != 0.0);
    let mut steps: Vec<f64> = pairs.map(|(weight, normal)| weight / normal).collect();
    steps.retain(|step| step.is_finite());
    steps.sort_by(f64::total_cmp);
    // Between steps that are the same the values say nothing about the way down.
    steps.dedup_by(|next, step| (*next - *step).abs() <= SAME_STEP * (1.0 + step.abs()));
    let (mut low, mut high) = (0, steps.len());
    while high - low > 1 {
        let middle = (low + high) / 2;
        if value(steps[middle]) <= value(steps[middle - 1]) {
            low = middle;
        } else {
            high = middle;
        }
    }
    let found = steps.get(low).copied().unwrap_or(0.0);
    if value(found) < value(0.0) {
        found
    } else {
        0.0
    }
}

/// The largest value of (weights - step · normal) · v over v within the bounds.
fn reach(weights: &[f64], normal: &[f64], step: f64, bounds: &[Interval]) -> f64 {
    let weights = weights.iter().zip(normal);
    let terms = weights.zip(bounds).map(|((weight, normal), (low, high))| {
        let weight = weight - step * normal;
        (weight * low).max(weight * high)
    });
    terms.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corners_of_a_simplex_are_found() {
        // Weights that add up to 1, each between 0 and 1.
        let half = 0.5;
        let equation = Equation {
            normal: vec![half; 4],
            constant: half,
            slopes: Vec::new(),
        };
        let bounds = [(0.0, 1.0); 4];
        let direction = [0.3, -0.7, 0.9, 0.1];
        let bound = upper(&direction, std::slice::from_ref(&equation), &bounds);
        assert!((bound - 0.9).abs() < 1e-12, "{bound}");
        let opposite = direction.map(|weight| -weight);
        assert!((upper(&opposite, &[equation], &bounds) - 0.7).abs() < 1e-12);
    }

    #[test]
    fn parameters_move_the_bound() {
        // y0 = x0 with x0 from 2 to 3, and y0 from 0 to 10.
        let equation = Equation {
            normal: vec![1.0, 0.0],
            constant: 0.0,
            slopes: vec![1.0],
        };
        let bounds = [(0.0, 10.0), (0.0, 1.0), (2.0, 3.0)];
        let bound = upper(&[1.0, 1.0], &[equation], &bounds);
        assert!((bound - 4.0).abs() < 1e-12, "{bound}");
    }
}
