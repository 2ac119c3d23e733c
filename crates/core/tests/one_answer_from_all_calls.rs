//! One point, a batch, the gradient's primal output and encode-clamp-decode give the same bits, and
//! those are the definition's values.

mod common;

use common::{Random, Shape, projector, reference};
use fabproj_core::{Gradient, Status};
use proptest::prelude::*;

struct Batch {
    y: Vec<f32>,
    x: Vec<f32>,
    rows: usize,
}

fn batch(shape: &Shape, rows: usize, seed: u64) -> Batch {
    let mut random = Random(seed ^ 0x5eed);
    Batch {
        y: random.floats(rows * shape.dim, 4.0),
        x: random.floats(rows * shape.parameter_dim, 2.0),
        rows,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn one_point_is_the_definition(shape in common::shapes(), seed in any::<u64>()) {
        let model = shape.model(seed);
        let projector = projector(&model);
        let mut workspace = projector.workspace();
        let Batch { y, x, rows } = batch(&shape, 4, seed);
        for row in 0..rows {
            let y = &y[row * shape.dim..][..shape.dim];
            let x = &x[row * shape.parameter_dim..][..shape.parameter_dim];
            let mut out = vec![0.0; shape.dim];
            let status = projector.project(y, x, &mut out, &mut workspace)?;
            prop_assert_ne!(status, Status::NotFinite);
            let chart = projector.chart_of(y, x, &mut workspace)?;
            prop_assert_eq!(chart, reference::chart_of(&model, &reference::wide(y), &reference::wide(x)));
            let expected = reference::project(&model, chart, &reference::wide(y), &reference::wide(x));
            for (found, expected) in out.iter().zip(expected) {
                prop_assert!((f64::from(*found) - expected).abs() < 1e-3, "{found} against {expected}");
            }
        }
    }

    #[test]
    fn batches_and_gradients_give_the_bits_of_one_point(
        shape in common::shapes(),
        seed in any::<u64>(),
        rows in prop::sample::select(vec![1_usize, 2, 3, 4, 70, 1100]),
    ) {
        let model = shape.model(seed);
        let projector = projector(&model);
        let mut workspace = projector.workspace();
        let Batch { mut y, x, rows } = batch(&shape, rows, seed);
        y[0] = if seed % 4 == 0 { f32::NAN } else { y[0] };

        let mut many = vec![0.0; y.len()];
        let mut statuses = vec![Status::Inside; rows];
        let tally = projector.project_batch(&y, &x, &mut many, &mut statuses, &mut workspace)?;
        prop_assert_eq!(tally.total(), rows);
        let mut charts = vec![0; rows];
        projector.charts_of(&y, &x, &mut charts, &mut workspace)?;

        let (mut primal, mut dy, mut dx) = (vec![0.0; y.len()], vec![0.0; y.len()], vec![0.0; x.len()]);
        let gradient = Gradient { y: &mut dy, x: &mut dx };
        let again = projector.vjp_batch(&y, &x, &many, &mut primal, gradient, &mut workspace)?;
        prop_assert_eq!(&primal, &many);
        prop_assert_eq!(again, tally);

        let (n, p) = (shape.dim, shape.parameter_dim);
        for row in 0..rows {
            let (y, x) = (&y[row * n..][..n], &x[row * p..][..p]);
            let mut one = vec![0.0; n];
            let status = projector.project(y, x, &mut one, &mut workspace)?;
            prop_assert_eq!(&one[..], &many[row * n..][..n]);
            prop_assert_eq!(status, statuses[row]);
            prop_assert_eq!(projector.chart_of(y, x, &mut workspace)?, charts[row]);
            let (mut primal, mut one_dy, mut one_dx) = (vec![0.0; n], vec![0.0; n], vec![0.0; p]);
            let gradient = Gradient { y: &mut one_dy, x: &mut one_dx };
            let same = projector.vjp(y, x, &one, &mut primal, gradient, &mut workspace)?;
            prop_assert_eq!(same, status);
            prop_assert_eq!(&primal, &one);
            prop_assert_eq!(&one_dy[..], &dy[row * n..][..n]);
            prop_assert_eq!(&one_dx[..], &dx[row * p..][..p]);
        }
    }

    #[test]
    fn encode_clamp_decode_is_project(shape in common::shapes(), seed in any::<u64>()) {
        let model = shape.model(seed);
        let projector = projector(&model);
        let mut workspace = projector.workspace();
        let Batch { y, x, rows } = batch(&shape, 90, seed);
        let mut whole = vec![0.0; y.len()];
        let mut statuses = vec![Status::Inside; rows];
        projector.project_batch(&y, &x, &mut whole, &mut statuses, &mut workspace)?;
        let (n, p) = (shape.dim, shape.parameter_dim);
        for chart in 0..projector.charts() {
            let k = projector.latent_dim(chart).expect("the chart exists");
            let set = projector.latent_set(chart).expect("the chart exists");
            let mut latents = vec![0.0; rows * k];
            prop_assert_eq!(projector.encode_batch(chart, &y, &x, &mut latents, &mut workspace)?, 0);
            let mut one = vec![0.0; k];
            prop_assert!(projector.encode(chart, &y[..n], &x[..p], &mut one, &mut workspace)?);
            prop_assert_eq!(&one[..], &latents[..k]);
            let inside: Vec<_> = latents.chunks_exact_mut(k).map(|z| set.clamp(z)).collect();
            let mut decodes = vec![0.0; y.len()];
            prop_assert_eq!(projector.decode_batch(chart, &latents, &x, &mut decodes, &mut workspace)?, 0);
            let mut one = vec![0.0; n];
            prop_assert!(projector.decode(chart, &latents[..k], &x[..p], &mut one, &mut workspace)?);
            prop_assert_eq!(&one[..], &decodes[..n]);
            for row in 0..rows {
                let (y, x) = (&y[row * n..][..n], &x[row * p..][..p]);
                if projector.chart_of(y, x, &mut workspace)? == chart {
                    prop_assert_eq!(&decodes[row * n..][..n], &whole[row * n..][..n]);
                    prop_assert_eq!(inside[row], statuses[row] == Status::Inside);
                }
            }
        }
    }

    #[test]
    fn score_is_the_discriminator(shape in common::shapes(), seed in any::<u64>()) {
        let model = shape.model(seed);
        let projector = projector(&model);
        let mut workspace = projector.workspace();
        let Batch { mut y, x, rows } = batch(&shape, 70, seed);
        y[0] = f32::INFINITY;
        let mut scores = vec![0.0; rows];
        projector.score_batch(&y, &x, &mut scores, &mut workspace)?;
        prop_assert_eq!(scores[0], f32::NEG_INFINITY);
        let discriminator = model.discriminator.as_ref().expect("the fixture has one");
        let (n, p) = (shape.dim, shape.parameter_dim);
        for row in 1..rows {
            let frame = |frame: &fabproj_core::Frame, values: &[f32]| -> Vec<f64> {
                let units = frame.centre.iter().zip(&frame.scale);
                values.iter().zip(units).map(|(v, (c, s))| f64::from((v - c) / s)).collect()
            };
            let joined = [
                frame(&model.frame, &y[row * n..][..n]),
                frame(&model.parameter_frame, &x[row * p..][..p]),
            ].concat();
            let expected = reference::network(discriminator, &joined)[0];
            prop_assert!((f64::from(scores[row]) - expected).abs() < 1e-3);
        }
    }
}

/// Offsets of thousands must not cost accuracy: the frame is applied before the first layer.
#[test]
fn large_offsets_keep_their_digits() {
    let near = Shape::plain().model(3);
    let mut far = near.clone();
    // Powers of two, so that the shift itself is exact in f32.
    for frame in [&mut far.frame, &mut far.charts[0].frame] {
        frame.centre = vec![8192.0, -8192.0];
        frame.scale = vec![1.0, 1.0];
    }
    let mut near = near;
    for frame in [&mut near.frame, &mut near.charts[0].frame] {
        *frame = fabproj_core::Frame::unit(2);
    }
    let (near, far) = (projector(&near), projector(&far));
    for step in 0..50 {
        let y = [step as f32 / 16.0 - 1.5, 0.25];
        let shifted = [y[0] + 8192.0, y[1] - 8192.0];
        let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
        near.project(&y, &[], &mut a, &mut near.workspace())
            .expect("lengths fit");
        far.project(&shifted, &[], &mut b, &mut far.workspace())
            .expect("lengths fit");
        // Half a unit in the last place of 8192 is all that may be lost, and only on the way out.
        assert!((b[0] - 8192.0 - a[0]).abs() <= 0.0005, "{a:?} {b:?}");
        assert!((b[1] + 8192.0 - a[1]).abs() <= 0.0005, "{a:?} {b:?}");
    }
}
