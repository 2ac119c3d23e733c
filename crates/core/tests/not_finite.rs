//! NaN and infinity, in the input or on the way: a status and a finite output.

mod common;

use common::{Random, Shape, projector};
use fabproj_core::{Gradient, Status};
use proptest::prelude::*;

#[test]
fn the_fallback_is_the_first_anchor_or_the_centre() {
    let mut model = Shape {
        anchors: 2,
        ..Shape::plain()
    }
    .model(2);
    assert_eq!(projector(&model).fallback(), model.anchors[0].point);
    model.anchors.clear();
    assert_eq!(projector(&model).fallback(), model.frame.centre);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Any input, and weights up to the largest numbers there are.
    #[test]
    fn outputs_and_gradients_are_always_finite(
        shape in common::shapes(),
        seed in any::<u64>(),
        size in prop::sample::select(vec![1.0_f32, 1e10, 1e30, 1e38]),
        y in prop::collection::vec(prop::num::f32::ANY, 30),
        x in prop::collection::vec(prop::num::f32::ANY, 30),
    ) {
        let mut model = shape.model(seed);
        let mut random = Random(seed);
        for chart in &mut model.charts {
            for network in chart.decoders.iter_mut().chain([&mut chart.encoder]) {
                for weight in network.layers.iter_mut().flat_map(|layer| &mut layer.weights) {
                    *weight = size * random.signed();
                }
            }
        }
        let projector = projector(&model);
        let mut workspace = projector.workspace();
        let (n, p) = (shape.dim, shape.parameter_dim);
        for row in 0..10 {
            let (y, x) = (&y[row * n..][..n], &x[row * p..][..p]);
            let mut out = vec![f32::NAN; n];
            let status = projector.project(y, x, &mut out, &mut workspace)?;
            prop_assert!(out.iter().all(|value| value.is_finite()));
            let input_is_finite = y.iter().chain(x).all(|value| value.is_finite());
            prop_assert!(input_is_finite || status == Status::NotFinite);
            if status == Status::NotFinite {
                prop_assert_eq!(&out[..], projector.fallback());
            }
            let (mut primal, mut dy, mut dx) = (vec![f32::NAN; n], vec![f32::NAN; n], vec![f32::NAN; p]);
            let gradient = Gradient { y: &mut dy, x: &mut dx };
            let cotangent = vec![1.0; n];
            prop_assert_eq!(projector.vjp(y, x, &cotangent, &mut primal, gradient, &mut workspace)?, status);
            prop_assert_eq!(&primal, &out);
            prop_assert!(dy.iter().chain(&dx).all(|value| value.is_finite()));
            if status == Status::NotFinite {
                prop_assert!(dy.iter().chain(&dx).all(|value| *value == 0.0));
            }
        }
    }
}
