//! The pullback against finite differences of the definition in f64.

use crate::common::{Random, cast, projector, reference, wide};
use fabproj_core::{CallError, LatentSet, Projector, RawOutcome, Real, Weights};
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

/// Compares all coordinates that have a derivative; how many those are.
fn compare<T: Real>(weights: &Weights, seed: u64) -> Result<usize, TestCaseError> {
    let projector = projector(weights);
    let mut random = Random(seed ^ 7);
    let y: Vec<T> = cast(&random.floats(projector.dim(), 3.0));
    let x: Vec<T> = cast(&random.floats(projector.x_dim(), 2.0));
    let cotangent: Vec<T> = cast(&random.floats(projector.dim(), 1.0));
    let (d_y, d_x) = projector.vjp(&y, &x, &cotangent)?;
    let (y, x, cotangent) = (wide(&y), wide(&x), wide(&cotangent));
    let chart = reference::chart_of(weights, &y, &x);
    let value = |y: &[f64], x: &[f64]| -> f64 {
        let image = reference::project(weights, chart, y, x);
        image.iter().zip(&cotangent).map(|(v, c)| v * c).sum()
    };
    let by_y = (0..y.len()).map(|index| difference(|y| value(y, &x), &y, index));
    let by_x = (0..x.len()).map(|index| difference(|x| value(&y, x), &x, index));
    let found = wide(&d_y).into_iter().chain(wide(&d_x));
    let mut compared = 0;
    for (found, numeric) in found.zip(by_y.chain(by_x)) {
        let Some(numeric) = numeric else { continue };
        let close = (numeric - found).abs() < 2e-3 * (1.0 + numeric.abs());
        prop_assert!(close, "{found} against {numeric}");
        compared += 1;
    }
    Ok(compared)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_pullback_agrees_with_finite_differences(
        shape in crate::common::shapes(),
        seed in any::<u64>(),
        double in any::<bool>(),
    ) {
        let weights = shape.weights(seed);
        let compared = if double {
            compare::<f64>(&weights, seed)?
        } else {
            compare::<f32>(&weights, seed)?
        };
        prop_assume!(compared > 0);
    }

    #[test]
    fn the_gradient_of_x_may_be_left_out(shape in crate::common::shapes(), seed in any::<u64>()) {
        let projector = projector(&shape.weights(seed));
        let mut random = Random(seed);
        let y = random.floats(5 * projector.dim(), 3.0);
        let x = random.floats(5 * projector.x_dim(), 2.0);
        let (mut out, mut d_y) = (y.clone(), y.clone());
        let mut tape = projector.tape(5);
        projector.forward(&y, &x, &mut out, &mut [RawOutcome::NotFinite; 5], &mut tape)?;
        projector.pullback(&y, &mut d_y, &mut [], &mut tape)?;
        prop_assert_eq!(&d_y, &projector.vjp(&y, &x, &y)?.0);
        // And once more from the same forward pass.
        let (mut again, mut d_x) = (vec![0.0; y.len()], x.clone());
        projector.pullback(&y, &mut again, &mut d_x, &mut tape)?;
        prop_assert_eq!(again, d_y);
        prop_assert_eq!(d_x, projector.vjp(&y, &x, &y)?.1);
    }
}

fn disc() -> Projector {
    let ball = LatentSet::Ball {
        radius: 0.5,
        smooth: None,
    };
    projector(&Weights::identity(2, ball))
}

/// The radial part of the gradient dies at a hard ball's surface, as it must.
#[test]
fn a_hard_clamp_loses_the_radial_signal() {
    let radial = [3.0_f32, 4.0];
    let (d_y, _) = disc().vjp(&radial, &[], &radial).expect("lengths fit");
    assert!(d_y.iter().all(|d| d.abs() < 1e-6), "{d_y:?}");
    let (d_y, _) = disc().vjp(&radial, &[], &[-4.0, 3.0]).expect("lengths fit");
    assert!((d_y[0] + 0.4).abs() < 1e-6 && (d_y[1] - 0.3).abs() < 1e-6);
}

#[test]
fn a_tape_serves_the_rows_of_its_last_forward_pass() {
    let projector = disc();
    let mut tape = projector.tape(0);
    let mut d_y = [7.0_f32; 4];
    let early = projector.pullback(&[1.0; 4], &mut d_y, &mut [], &mut tape);
    assert_eq!(early, Err(CallError::NoForward));

    // It grows with the rows.
    let (y, mut outcomes) = ([0.1, 0.2, 3.0, 4.0], [RawOutcome::NotFinite; 2]);
    let forward = projector.forward(&y, &[], &mut [0.0; 4], &mut outcomes, &mut tape);
    assert_eq!(
        (forward, outcomes),
        (Ok(()), [RawOutcome::Inside, RawOutcome::Clamped])
    );
    let length = |argument, found| {
        let expected = 4;
        Err(CallError::Length {
            argument,
            expected,
            found,
        })
    };
    let short = projector.pullback(&[1.0; 2], &mut d_y, &mut [], &mut tape);
    assert_eq!(short, length("cotangent", 2));
    let short = projector.pullback(&[1.0; 4], &mut d_y[..2], &mut [], &mut tape);
    assert_eq!(short, length("d_y", 2));
    let without_x = projector.pullback(&[1.0; 4], &mut d_y, &mut [0.0], &mut tape);
    assert!(matches!(
        without_x,
        Err(CallError::Length {
            argument: "d_x",
            ..
        })
    ));
    assert_eq!(d_y, [7.0; 4]);

    let wider =
        crate::common::projector(&Weights::identity(3, LatentSet::Simplex { sharpness: 1.0 }));
    let foreign = wider.pullback(&[1.0; 6], &mut [0.0; 6], &mut [], &mut tape);
    assert_eq!(foreign, Err(CallError::Tape));
    assert_eq!(
        projector.pullback(&[1.0; 4], &mut d_y, &mut [], &mut tape),
        Ok(())
    );
    assert_eq!(d_y[..2], [1.0, 1.0]);
}
