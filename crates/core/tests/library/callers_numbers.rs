//! A guard tests the caller's numbers: x as it was given, and the very point that is returned.

use crate::common::{Random, Shape, projector};
use fabproj_core::{Guard, LatentSet, Outcome, Weights};

/// Projections on both sides of a boundary that moves with x, nearer to it than f32 can tell.
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
        let below = |y: &[f64], x: &[f64]| y[0] <= 1e3 * x[0];
        let guard = Guard::from_fn(projector.clone(), below);
        let guard = guard.expect("anchors are verified at each call");
        let guard = guard.keep_feasible(false);
        let (mut random, mut near) = (Random(seed), 0);
        for _ in 0..2000 {
            let y: Vec<f64> = (0..n).map(|_| 3.0 * f64::from(random.signed())).collect();
            // The x at which the projection lies on the boundary, and then a little to one side.
            let mut x = 0.0;
            for _ in 0..20 {
                x = projector.project(&y, &[x]).expect("lengths fit").0[0] / 1e3;
            }
            let x = [x + 2e-11 * f64::from(random.signed())];
            let (out, outcome) = guard.project(&y, &x).expect("lengths fit");
            assert!(outcome.is_verified(), "{outcome}");
            assert!(below(&out, &x), "{outcome}: {out:?} at {x:?}");
            near += usize::from(!below(&out, &x.map(|x| f64::from(x as f32))));
        }
        assert!(near > 100, "only {near} outputs would fail at a rounded x");
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
