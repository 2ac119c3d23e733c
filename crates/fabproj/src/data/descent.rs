//! Down a set's violation to the set.

use super::oracle::Oracle;

/// Steps of one descent.
const STEPS: usize = 60;
/// Steps go beyond the boundary by this share, so that they end inside.
const OVERSHOOT: f64 = 1.05;

/// Moves a point, raw units, along the gradient of the set's violation until it is feasible, by steps that are
/// shortest in units of the given scale. False where the set knows no violation or no end is reached.
pub(super) fn descend(oracle: &Oracle, x: &[f64], scale: &[f64], point: &mut [f64]) -> bool {
    let mut gradient = vec![0.0; point.len()];
    for _ in 0..STEPS {
        let Some(violation) = oracle.set().violation(point, x, &mut gradient) else {
            return false;
        };
        let square: f64 = gradient
            .iter()
            .zip(scale)
            .map(|(g, scale)| (g * scale).powi(2))
            .sum();
        if violation == 0.0 || square == 0.0 {
            // Feasible but for the bounds, or nowhere to go.
            let mut moved = false;
            for (value, (low, high)) in point.iter_mut().zip(oracle.bounds()) {
                let inside = value.clamp(*low, *high);
                moved |= inside != *value;
                *value = inside;
            }
            if !moved {
                break;
            }
            continue;
        }
        for ((p, g), scale) in point.iter_mut().zip(&gradient).zip(scale) {
            *p -= OVERSHOOT * violation * g * scale * scale / square;
        }
    }
    oracle.contains_raw(point, x)
}
