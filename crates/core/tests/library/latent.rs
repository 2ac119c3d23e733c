//! Latent sets: clamps, their gradients, and points that fill them.

use fabproj_core::{LatentError, LatentSet};
use proptest::prelude::*;

use crate::common::latent_sets;

fn any_set() -> impl Strategy<Value = LatentSet> {
    prop::sample::select(latent_sets())
}

fn clamped(set: LatentSet, latent: &[f32]) -> Vec<f32> {
    let mut latent = latent.to_vec();
    set.clamp(&mut latent);
    latent
}

fn distance(a: &[f32], b: &[f32]) -> f32 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b) * (a - b))
        .sum::<f32>()
        .sqrt()
}

proptest! {
    #[test]
    fn every_map_ends_in_its_set(set in any_set(), latent in prop::collection::vec(-3.0_f32..3.0, 2..6)) {
        prop_assert!(set.contains(&clamped(set, &latent), 1e-6));
    }

    #[test]
    fn huge_and_tiny_latents_stay_finite(
        set in any_set(),
        latent in prop::collection::vec(prop::num::f32::NORMAL | prop::num::f32::SUBNORMAL | prop::num::f32::ZERO, 2..6),
    ) {
        let result = clamped(set, &latent);
        prop_assert!(set.contains(&result, 1e-6), "{result:?}");
    }

    #[test]
    fn hard_maps_leave_the_set_alone(set in any_set(), latent in prop::collection::vec(-0.6_f32..0.6, 2..4)) {
        let hard = !matches!(
            set,
            LatentSet::Simplex { .. }
                | LatentSet::Ball { smooth: Some(_), .. }
                | LatentSet::Shell { smooth: Some(_), .. }
                | LatentSet::Box { smooth: Some(_), .. }
        );
        let mut result = latent.clone();
        let inside = set.clamp(&mut result);
        if hard && set.contains(&latent, 0.0) {
            prop_assert!(inside);
            prop_assert_eq!(result, latent);
        } else if hard {
            prop_assert!(!inside);
        }
    }

    /// No point of a dense cloud in the set is nearer than the hard map's.
    #[test]
    fn hard_maps_give_the_nearest_point(kind in 0_usize..3, latent in prop::collection::vec(-2.0_f32..2.0, 2)) {
        let set = latent_sets()[2 * kind];
        let mapped = distance(&clamped(set, &latent), &latent);
        let steps = 120;
        for i in 0..=steps {
            for j in 0..=steps {
                let candidate = [i, j].map(|k| k as f32 / steps as f32 - 0.5);
                if set.contains(&candidate, 0.0) {
                    prop_assert!(mapped <= distance(&candidate, &latent) + 1e-6);
                }
            }
        }
    }

    #[test]
    fn vjp_agrees_with_finite_differences(
        set in any_set(),
        latent in prop::collection::vec(-1.5_f32..1.5, 3),
        cotangent in prop::collection::vec(-1.0_f32..1.0, 3),
    ) {
        // Away from kinks and from the centre, where a difference quotient means nothing.
        let norm = distance(&latent, &[0.0; 3]);
        let kinks = [0.25, 0.5, 0.0].iter().any(|radius| (norm - radius).abs() < 0.02)
            || latent.iter().any(|z| (z.abs() - 0.5).abs() < 0.01);
        prop_assume!(!kinks);
        let mut analytic = cotangent.clone();
        set.clamp_vjp(&latent, &mut analytic);
        let step = 2e-3;
        for j in 0..3 {
            let [plus, minus] = [step, -step].map(|step| {
                let mut moved = latent.clone();
                moved[j] += step;
                let image = clamped(set, &moved);
                image.iter().zip(&cotangent).map(|(z, c)| f64::from(z * c)).sum::<f64>()
            });
            let numeric = (plus - minus) / f64::from(2.0 * step);
            prop_assert!(
                (numeric - f64::from(analytic[j])).abs() < 2e-3,
                "{set:?} {latent:?}: {numeric} against {}", analytic[j]
            );
        }
    }

    #[test]
    fn spread_points_are_inside(set in any_set(), index in any::<u32>(), dim in 2_usize..8) {
        let mut latent = vec![0.0; dim];
        set.spread(index, &mut latent);
        prop_assert!(set.contains(&latent, 1e-5), "{set:?} {latent:?}");
    }

    #[test]
    fn restrict_ends_in_the_set(set in any_set(), latent in prop::collection::vec(-3.0_f32..3.0, 2..5)) {
        let mut result = latent;
        set.restrict(&mut result);
        prop_assert!(set.contains(&result, 1e-6));
    }
}

#[test]
fn smooth_ball_has_the_values_of_the_released_code() {
    let ball = LatentSet::Ball {
        radius: 0.5,
        smooth: Some(20.0),
    };
    let at = |radius: f32| clamped(ball, &[radius, 0.0])[0];
    assert!((at(0.5) - 0.465_342_6).abs() < 1e-6);
    assert!((at(1.0) - 0.499_997_7).abs() < 1e-6);
    assert!(at(0.0).abs() < 1e-5);
    assert!((at(1e6) - 0.5).abs() < 1e-6);
}

#[test]
fn centre_of_a_shell_goes_along_the_first_axis() {
    for smooth in [None, Some(20.0)] {
        let shell = LatentSet::Shell {
            inner: 0.25,
            outer: 0.5,
            smooth,
        };
        let image = clamped(shell, &[0.0, 0.0, 0.0]);
        assert!(shell.contains(&image, 1e-6));
        assert_eq!(image[1..], [0.0, 0.0]);
        assert!(image[0] > 0.0);
        let mut cotangent = [1.0, -2.0, 3.0];
        shell.clamp_vjp(&[0.0; 3], &mut cotangent);
        assert_eq!(cotangent, [0.0; 3]);
    }
}

#[test]
fn simplex_is_softmax() {
    let image = clamped(LatentSet::Simplex { sharpness: 3.0 }, &[0.1, -0.4, 1.2]);
    let weights = [0.1_f64, -0.4, 1.2].map(|z| (3.0 * z).exp());
    let sum: f64 = weights.iter().sum();
    for (value, weight) in image.iter().zip(weights) {
        assert!((f64::from(*value) - weight / sum).abs() < 1e-7);
    }
}

#[test]
fn spread_fills_the_ball() {
    // Every cell of a coarse grid that lies in the disc is met by 400 points.
    let ball = LatentSet::Ball {
        radius: 0.5,
        smooth: None,
    };
    let mut cells = [[false; 8]; 8];
    for index in 0..400 {
        let mut latent = [0.0; 2];
        ball.spread(index, &mut latent);
        let [i, j] = latent.map(|z| ((z + 0.5) * 8.0) as usize);
        cells[i.min(7)][j.min(7)] = true;
    }
    for (i, row) in cells.iter().enumerate() {
        for (j, met) in row.iter().enumerate() {
            let centre = [i, j].map(|k| (k as f32 + 0.5) / 8.0 - 0.5);
            assert!(*met || !ball.contains(&centre, -0.09), "cell {i} {j}");
        }
    }
}

#[test]
fn invalid_sets_are_named() {
    let negative = LatentSet::Ball {
        radius: -1.0,
        smooth: None,
    };
    assert_eq!(
        negative.validate(2),
        Err(LatentError::NotPositive {
            quantity: "radius",
            value: -1.0
        })
    );
    let swapped = LatentSet::Shell {
        inner: 0.5,
        outer: 0.25,
        smooth: None,
    };
    assert!(matches!(
        swapped.validate(2),
        Err(LatentError::Radii { .. })
    ));
    let soft = LatentSet::Ball {
        radius: 0.5,
        smooth: Some(1.0),
    };
    assert!(matches!(soft.validate(2), Err(LatentError::TooSoft { .. })));
    let simplex = LatentSet::Simplex { sharpness: 1.0 };
    assert_eq!(
        simplex.validate(1),
        Err(LatentError::Dimension { dim: 1, minimum: 2 })
    );
    assert!(latent_sets().iter().all(|set| set.validate(2).is_ok()));
}

#[test]
fn nan_is_never_inside() {
    for set in latent_sets() {
        assert!(!set.contains(&[f32::NAN, 0.0], 1.0));
        let mut latent = [f32::NAN, 0.0];
        assert!(!set.clamp(&mut latent));
    }
}

proptest! {
    #[test]
    fn json_keeps_every_bit(radius in prop::num::f32::POSITIVE, smooth in prop::option::of(prop::num::f32::POSITIVE)) {
        let set = LatentSet::Ball { radius, smooth };
        let text = serde_json::to_string(&set)?;
        prop_assert_eq!(serde_json::from_str::<LatentSet>(&text)?, set);
    }
}
