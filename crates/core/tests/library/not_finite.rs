//! NaN and infinity, in the input or on the way: an outcome, and a finite output.

use crate::common::{Random, Shape, cast, projector, row};
use fabproj_core::{Projector, RawOutcome, Real};
use proptest::prelude::*;

#[test]
fn the_fallback_is_the_first_anchor_or_the_centre() {
    let mut weights = Shape {
        anchors: 2,
        ..Shape::plain()
    }
    .weights(2);
    let of_nan = |projector: &Projector| projector.project(&[f32::NAN, 0.0], &[]);
    let expected = (weights.anchors[0].point.clone(), RawOutcome::NotFinite);
    assert_eq!(of_nan(&projector(&weights)), Ok(expected));
    weights.anchors.clear();
    let expected = (weights.frame.centre.clone(), RawOutcome::NotFinite);
    assert_eq!(of_nan(&projector(&weights)), Ok(expected));
}

/// Finite in f64, not in the networks' f32.
#[test]
fn numbers_beyond_f32_are_said_to_be_not_finite() {
    let projector = projector(&Shape::plain().weights(2));
    let (out, outcome) = projector
        .project(&[1e300_f64, 0.0], &[])
        .expect("lengths fit");
    assert_eq!(outcome, RawOutcome::NotFinite);
    assert!(out.iter().all(|value| value.is_finite()));
}

fn check<T: Real>(projector: &Projector, y: &[T], x: &[T]) -> Result<(), TestCaseError> {
    let finite = |values: &[T]| values.iter().all(|value| value.to_f64().is_finite());
    let (out, outcome) = projector.project(y, x)?;
    prop_assert!(finite(&out));
    prop_assert!(finite(y) && finite(x) || outcome == RawOutcome::NotFinite);
    let cotangent = vec![T::from_f32(1.0); y.len()];
    let (d_y, d_x) = projector.vjp(y, x, &cotangent)?;
    prop_assert!(finite(&d_y) && finite(&d_x));
    if outcome == RawOutcome::NotFinite {
        let zero = |values: &[T]| values.iter().all(|value| *value == T::default());
        prop_assert!(zero(&d_y) && zero(&d_x));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Any input, and weights up to the largest numbers there are.
    #[test]
    fn outputs_and_gradients_are_always_finite(
        shape in crate::common::shapes(),
        seed in any::<u64>(),
        size in prop::sample::select(vec![1.0_f32, 1e10, 1e30, 1e38]),
        y in prop::collection::vec(prop::num::f32::ANY, 40),
        x in prop::collection::vec(prop::num::f32::ANY, 20),
        beyond in prop::collection::vec(prop::num::f64::ANY, 8),
    ) {
        let mut weights = shape.weights(seed);
        let mut random = Random(seed);
        for chart in &mut weights.charts {
            for network in chart.decoders.iter_mut().chain([&mut chart.encoder]) {
                for weight in network.layers.iter_mut().flat_map(|layer| &mut layer.weights) {
                    *weight = size * random.signed();
                }
            }
        }
        let projector = projector(&weights);
        let (n, p) = (projector.dim(), projector.x_dim());
        for index in 0..10 {
            let (y, x) = (row(&y, index, n), row(&x, index, p));
            check(&projector, y, x)?;
            check::<f64>(&projector, &cast(y), &cast(x))?;
            check::<f64>(&projector, &beyond[..n], &beyond[n..][..p])?;
        }
    }
}
