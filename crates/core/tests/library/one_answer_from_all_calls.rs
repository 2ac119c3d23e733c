//! One point, rows of points, the forward pass of the gradient and encode-clamp-decode give the same
//! bits, and those are the definition's values.

use crate::common::{Random, Shape, cast, projector, reference, row, wide};
use fabproj_core::{Projector, RawOutcome, Real};
use proptest::prelude::*;

struct Batch<T> {
    y: Vec<T>,
    x: Vec<T>,
    rows: usize,
}

fn batch<T: Real>(projector: &Projector, rows: usize, seed: u64) -> Batch<T> {
    let mut random = Random(seed ^ 0x5eed);
    Batch {
        y: cast(&random.floats(rows * projector.dim(), 4.0)),
        x: cast(&random.floats(rows * projector.x_dim(), 2.0)),
        rows,
    }
}

fn is_the_definition<T: Real>(shape: &Shape, seed: u64) -> Result<(), TestCaseError> {
    let weights = shape.weights(seed);
    let projector = projector(&weights);
    let Batch { y, x, rows } = batch::<T>(&projector, 4, seed);
    for index in 0..rows {
        let y = row(&y, index, projector.dim());
        let x = row(&x, index, projector.x_dim());
        let (out, outcome) = projector.project(y, x)?;
        prop_assert_ne!(outcome, RawOutcome::NotFinite);
        let (y, x) = (wide(y), wide(x));
        let chart = reference::chart_of(&weights, &y, &x);
        let expected = reference::project(&weights, chart, &y, &x);
        for (found, expected) in wide(&out).into_iter().zip(expected) {
            prop_assert!(
                (found - expected).abs() < 1e-3,
                "{} against {}",
                found,
                expected
            );
        }
    }
    Ok(())
}

fn rows_are_single_points<T: Real>(
    shape: &Shape,
    rows: usize,
    seed: u64,
) -> Result<(), TestCaseError> {
    let projector = projector(&shape.weights(seed));
    let (n, p) = (projector.dim(), projector.x_dim());
    let mut workspace = projector.workspace();
    let Batch { mut y, x, rows } = batch::<T>(&projector, rows, seed);
    if seed.is_multiple_of(4) {
        y[0] = T::from_f64(f64::NAN);
    }
    let (many, outcomes) = projector.project_rows(&y, &x)?;
    let mut into = vec![T::default(); y.len()];
    let mut again = vec![RawOutcome::NotFinite; rows];
    projector.project_rows_into(&y, &x, &mut into, &mut again, &mut workspace)?;
    prop_assert_eq!((&into, &again), (&many, &outcomes));

    let mut tape = projector.tape(rows / 2);
    let mut primal = vec![T::default(); y.len()];
    projector.forward(&y, &x, &mut primal, &mut again, &mut tape)?;
    prop_assert_eq!((&primal, &again), (&many, &outcomes));
    let (mut d_y, mut d_x) = (y.clone(), x.clone());
    projector.pullback(&many, &mut d_y, &mut d_x, &mut tape)?;
    prop_assert_eq!(
        (&d_y, &d_x),
        (
            &projector.vjp(&y, &x, &many)?.0,
            &projector.vjp(&y, &x, &many)?.1
        )
    );

    for (index, expected) in outcomes.into_iter().enumerate() {
        let (y, x) = (row(&y, index, n), row(&x, index, p));
        let (one, outcome) = projector.project(y, x)?;
        prop_assert_eq!(&one[..], row(&many, index, n));
        prop_assert_eq!(outcome, expected);
        let mut into = vec![T::default(); n];
        prop_assert_eq!(
            projector.project_into(y, x, &mut into, &mut workspace)?,
            outcome
        );
        prop_assert_eq!(&into, &one);
        if index < 40 {
            let (one_y, one_x) = projector.vjp(y, x, &one)?;
            prop_assert_eq!(&one_y[..], row(&d_y, index, n));
            prop_assert_eq!(&one_x[..], row(&d_x, index, p));
        }
    }
    Ok(())
}

fn encode_clamp_decode<T: Real>(shape: &Shape, seed: u64) -> Result<(), TestCaseError> {
    let weights = shape.weights(seed);
    let projector = projector(&weights);
    let (n, p) = (projector.dim(), projector.x_dim());
    let mut workspace = projector.workspace();
    let Batch { y, x, rows } = batch::<T>(&projector, 90, seed);
    let (whole, outcomes) = projector.project_rows(&y, &x)?;
    for chart in 0..projector.charts() {
        let k = projector.latent_dim(chart).expect("the chart exists");
        let set = projector.latent_set(chart).expect("the chart exists");
        let mut latents = vec![0.0; rows * k];
        for (index, latent) in latents.chunks_exact_mut(k).enumerate() {
            let (y, x) = (row(&y, index, n), row(&x, index, p));
            prop_assert!(projector.encode(chart, y, x, latent, &mut workspace)?);
        }
        let inside: Vec<_> = latents.chunks_exact_mut(k).map(|z| set.clamp(z)).collect();
        let mut decodes = vec![T::default(); y.len()];
        prop_assert_eq!(
            projector.decode_rows(chart, &latents, &x, &mut decodes, &mut workspace)?,
            0
        );
        let mut one = vec![T::default(); n];
        prop_assert!(projector.decode(chart, &latents[..k], &x[..p], &mut one, &mut workspace)?);
        prop_assert_eq!(&one[..], &decodes[..n]);
        for index in 0..rows {
            let (y, x) = (row(&y, index, n), row(&x, index, p));
            if reference::chart_of(&weights, &wide(y), &wide(x)) == chart {
                prop_assert_eq!(row(&decodes, index, n), row(&whole, index, n));
                prop_assert_eq!(inside[index], outcomes[index] == RawOutcome::Inside);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn one_point_is_the_definition(shape in crate::common::shapes(), seed in any::<u64>()) {
        is_the_definition::<f32>(&shape, seed)?;
        is_the_definition::<f64>(&shape, seed)?;
    }

    #[test]
    fn rows_and_gradients_give_the_bits_of_one_point(
        shape in crate::common::shapes(),
        seed in any::<u64>(),
        rows in prop::sample::select(vec![1_usize, 2, 3, 4, 70, 1100]),
        double in any::<bool>(),
    ) {
        if double {
            rows_are_single_points::<f64>(&shape, rows, seed)?;
        } else {
            rows_are_single_points::<f32>(&shape, rows, seed)?;
        }
    }

    #[test]
    fn encode_clamp_decode_is_project(shape in crate::common::shapes(), seed in any::<u64>()) {
        encode_clamp_decode::<f32>(&shape, seed)?;
        encode_clamp_decode::<f64>(&shape, seed)?;
    }

    #[test]
    fn score_is_the_discriminator(shape in crate::common::shapes(), seed in any::<u64>()) {
        let weights = shape.weights(seed);
        let projector = projector(&weights);
        let (n, p) = (projector.dim(), projector.x_dim());
        let Batch { mut y, x, rows } = batch::<f64>(&projector, 70, seed);
        y[0] = f64::INFINITY;
        let mut scores = vec![0.0; rows];
        projector.score_rows(&y, &x, &mut scores, &mut projector.workspace())?;
        prop_assert_eq!(scores[0], f32::NEG_INFINITY);
        let discriminator = weights.discriminator.as_ref().expect("the fixture has one");
        for (index, score) in scores.into_iter().enumerate().skip(1) {
            let joined = reference::joined(&weights, row(&y, index, n), row(&x, index, p));
            let expected = reference::network(discriminator, &joined)[0];
            prop_assert!((f64::from(score) - expected).abs() < 1e-3);
        }
    }
}

/// Offsets of thousands must not cost accuracy: the frame is applied before the first layer.
#[test]
fn large_offsets_keep_their_digits() {
    let mut near = Shape::plain().weights(2);
    let mut far = near.clone();
    // Powers of two, so that the shift itself is exact in f32.
    for frame in [&mut far.frame, &mut far.charts[0].frame] {
        frame.centre = vec![8192.0, -8192.0];
        frame.scale = vec![1.0, 1.0];
    }
    for frame in [&mut near.frame, &mut near.charts[0].frame] {
        *frame = fabproj_core::Frame::unit(2);
    }
    let (near, far) = (projector(&near), projector(&far));
    for step in 0..50 {
        let y = [step as f32 / 16.0 - 1.5, 0.25];
        let shifted = [y[0] + 8192.0, y[1] - 8192.0];
        let (a, _) = near.project(&y, &[]).expect("lengths fit");
        let (b, _) = far.project(&shifted, &[]).expect("lengths fit");
        // Half a unit in the last place of 8192 is all that may be lost, and only on the way out.
        assert!((b[0] - 8192.0 - a[0]).abs() <= 0.0005, "{a:?} {b:?}");
        assert!((b[1] + 8192.0 - a[1]).abs() <= 0.0005, "{a:?} {b:?}");
        // In f64 nothing is lost.
        let (c, _) = far
            .project(&shifted.map(f64::from), &[])
            .expect("lengths fit");
        assert!(
            (c[0] - 8192.0 - f64::from(a[0])).abs() <= 1e-6,
            "{a:?} {c:?}"
        );
    }
}
