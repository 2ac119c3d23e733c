//! A guard tests the caller's numbers: x as it was given, and the very point that is returned.

mod common;

use common::{Random, Shape, projector};
use fabproj_core::{Guard, LatentSet, Outcome, Weights};

/// Both sides of a boundary that moves with x, at distances that f32 cannot tell.
#[test]
fn f64_outputs_near_a_boundary_pass_at_the_callers_x() {
    for seed in [6, 7] {
        let shape = Shape {
            x_dim: 1,
            anchors: 4,
            ..Shape::plain()
        };
        let projector = projector(&shape.weights(seed));
        let n = projector.dim();
        let (sample, _) = projector
            .project(&vec![0.3; n], &[0.1])
            .expect("lengths fit");
        // The image lies on both sides of it, and it moves fast with x.
        let bound = sample[0] - 1e3 * 0.1;
        let below = |y: &[f64], x: &[f64]| y[0] <= bound + 1e3 * x[0];
        let guard = Guard::from_fn(projector, below).expect("anchors are verified at each call");
        let mut random = Random(seed);
        let mut tested = [0; Outcome::ALL.len()];
        for _ in 0..2000 {
            // Steps of x that vanish in f32: the bound moves by up to 1e-5.
            let x = [0.1 + 1e-8 * f64::from(random.signed())];
            let y: Vec<f64> = (0..n).map(|_| 3.0 * f64::from(random.signed())).collect();
            let (out, outcome) = guard.project(&y, &x).expect("lengths fit");
            assert!(outcome.is_verified(), "{outcome}");
            assert!(below(&out, &x), "{outcome}: {out:?} at {x:?}");
            tested[outcome as usize] += 1;
        }
        let [kept, projected, repaired, ..] = tested;
        assert!(kept > 0 && projected > 0 && repaired > 0, "{tested:?}");
    }
}

#[test]
fn a_feasible_f64_input_is_kept_bit_for_bit() {
    let disc = LatentSet::Ball {
        radius: 0.5,
        smooth: None,
    };
    let bound = 0.3 + 1e-12;
    let below = |y: &[f64], _: &[f64]| y[0] <= bound;
    let guard = Guard::from_fn(projector(&Weights::identity(2, disc)), below);
    let guard = guard.expect("half of the disc is feasible");
    let y = [bound, 0.1];
    let rounded = y.map(|value| f64::from(value as f32));
    assert!(below(&y, &[]) && !below(&rounded, &[]));
    let (out, outcome) = guard.project(&y, &[]).expect("lengths fit");
    assert_eq!(outcome, Outcome::Kept);
    assert_eq!([out[0].to_bits(), out[1].to_bits()], y.map(f64::to_bits));
    let (out, outcomes) = guard.project_rows(&y, &[]).expect("lengths fit");
    assert_eq!((out, outcomes), (y.to_vec(), vec![Outcome::Kept]));
}
