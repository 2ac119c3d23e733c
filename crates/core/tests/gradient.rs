//! The vector-Jacobian product against finite differences of the definition in f64.

mod common;

use common::reference::{self, wide};
use common::{Random, projector};
use fabproj_core::{Blend, Gradient};
use proptest::prelude::*;

/// Central differences at two steps; `None` where they disagree, that is near a kink.
fn difference(value: impl Fn(&[f64]) -> f64, at: &[f64], index: usize) -> Option<f64> {
    let quotient = |step: f64| {
        let [plus, minus] = [step, -step].map(|step| {
            let mut moved = at.to_vec();
            moved[index] += step;
            value(&moved)
        });
        (plus - minus) / (2.0 * step)
    };
    let (fine, coarse) = (quotient(1e-6), quotient(3e-5));
    ((fine - coarse).abs() < 1e-4 * (1.0 + fine.abs())).then_some(fine)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn vjp_agrees_with_finite_differences(shape in common::shapes(), seed in any::<u64>()) {
        let model = shape.model(seed);
        let projector = projector(&model);
        let mut workspace = projector.workspace();
        let mut random = Random(seed ^ 7);
        let (y, x) = (random.floats(shape.dim, 3.0), random.floats(shape.parameter_dim, 2.0));
        let cotangent = random.floats(shape.dim, 1.0);
        let (mut out, mut dy, mut dx) = (vec![0.0; shape.dim], vec![0.0; shape.dim], vec![0.0; x.len()]);
        let gradient = Gradient { y: &mut dy, x: &mut dx };
        projector.vjp(&y, &x, &cotangent, &mut out, gradient, &mut workspace)?;

        let chart = projector.chart_of(&y, &x, &mut workspace)?;
        let value = |y: &[f64], x: &[f64]| -> f64 {
            let image = reference::project(&model, chart, y, x);
            image.iter().zip(&cotangent).map(|(v, c)| v * f64::from(*c)).sum()
        };
        let (y, x) = (wide(&y), wide(&x));
        let mut compared = 0;
        for (index, found) in dy.iter().enumerate() {
            let Some(numeric) = difference(|y| value(y, &x), &y, index) else { continue };
            prop_assert!((numeric - f64::from(*found)).abs() < 2e-3 * (1.0 + numeric.abs()), "y: {found} against {numeric}");
            compared += 1;
        }
        for (index, found) in dx.iter().enumerate() {
            let Some(numeric) = difference(|x| value(&y, x), &x, index) else { continue };
            prop_assert!((numeric - f64::from(*found)).abs() < 2e-3 * (1.0 + numeric.abs()), "x: {found} against {numeric}");
            compared += 1;
        }
        prop_assume!(compared > 0);
    }

    #[test]
    fn gradient_of_x_may_be_left_out(shape in common::shapes(), seed in any::<u64>()) {
        let projector = projector(&shape.model(seed));
        let mut workspace = projector.workspace();
        let mut random = Random(seed);
        let (y, x) = (random.floats(shape.dim, 3.0), random.floats(shape.parameter_dim, 2.0));
        let mut out = vec![0.0; shape.dim];
        let [mut with, mut without] = [vec![0.0; shape.dim], vec![0.0; shape.dim]];
        let mut dx = vec![0.0; x.len()];
        let cotangent = vec![1.0; shape.dim];
        let gradient = Gradient { y: &mut with, x: &mut dx };
        projector.vjp(&y, &x, &cotangent, &mut out, gradient, &mut workspace)?;
        let gradient = Gradient { y: &mut without, x: &mut [] };
        projector.vjp(&y, &x, &cotangent, &mut out, gradient, &mut workspace)?;
        prop_assert_eq!(with, without);
    }
}

/// The radial part of the gradient dies at a hard ball's surface, as it must.
#[test]
fn hard_clamp_loses_the_radial_signal() {
    let mut shape = common::Shape::plain();
    shape.blend = Blend::Hard;
    let mut model = shape.model(0);
    let identity = fabproj_core::Network::identity(2);
    model.charts[0].encoder = identity.clone();
    model.charts[0].decoders = vec![identity];
    model.charts[0].frame = fabproj_core::Frame::unit(2);
    let projector = projector(&model);
    let (mut out, mut dy) = ([0.0; 2], [0.0; 2]);
    let gradient = Gradient {
        y: &mut dy,
        x: &mut [],
    };
    let mut workspace = projector.workspace();
    let radial = [3.0, 4.0];
    projector
        .vjp(&radial, &[], &radial, &mut out, gradient, &mut workspace)
        .expect("lengths fit");
    assert!(dy.iter().all(|d| d.abs() < 1e-6), "{dy:?}");
    let gradient = Gradient {
        y: &mut dy,
        x: &mut [],
    };
    projector
        .vjp(
            &radial,
            &[],
            &[-4.0, 3.0],
            &mut out,
            gradient,
            &mut workspace,
        )
        .expect("lengths fit");
    assert!(
        (dy[0] + 0.4).abs() < 1e-6 && (dy[1] - 0.3).abs() < 1e-6,
        "{dy:?}"
    );
}
