//! Follows the gradient of a set's violation to the set.

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

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::set::{FnSet, built_in};

    #[test]
    fn a_shell_is_entered_at_its_nearest_point() {
        let set = built_in("shell-10d").unwrap();
        let oracle = Oracle::new(set.as_ref());
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..200 {
            let start: Vec<f64> = (0..10).map(|_| rng.random_range(-2.0..2.0)).collect();
            let radius = start.iter().map(|v| v * v).sum::<f64>().sqrt();
            let mut point = start.clone();
            assert!(descend(&oracle, &[], &[1.0; 10], &mut point));
            let moved: f64 = point.iter().zip(&start).map(|(p, s)| (p - s).powi(2)).sum();
            let nearest = (radius - 2.0).max(1.0 - radius).max(0.0);
            // A step ends 5 % beyond the boundary.
            assert!(
                moved.sqrt() <= 1.06 * nearest,
                "{} for {nearest}",
                moved.sqrt()
            );
        }
    }

    #[test]
    fn without_a_violation_there_is_no_way_down() {
        let disc = FnSet::new("disc", vec![(-2.0, 2.0); 2], |y: &[f64], _: &[f64]| {
            y[0].hypot(y[1]) <= 1.0
        });
        let disc = disc;
        let mut point = [1.5, 1.5];
        assert!(!descend(&Oracle::new(&disc), &[], &[1.0; 2], &mut point));
        assert_eq!(point, [1.5, 1.5]);
    }
}
