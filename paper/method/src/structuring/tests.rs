//! Every derivative of a step against central differences of the definitions.

use rand::SeedableRng;

use super::reference::{self, Nets, Problem};
use super::*;
use crate::loss_weights::LossWeights;
use crate::settings::{PaperSettings, Reconstruction};

const ROWS: usize = 7;

/// Feasible above a slanted line.
struct Half;

fn above(point: &[f64]) -> bool {
    point.iter().sum::<f64>() > 0.1
}

impl Judge for Half {
    fn judge(&mut self, rows: &[f32], verdicts: &mut [bool]) {
        let inputs = rows.len() / verdicts.len();
        for (row, verdict) in rows.chunks_exact(inputs).zip(verdicts) {
            let point: Vec<f64> = row[..2].iter().map(|v| f64::from(*v)).collect();
            *verdict = above(&point);
        }
    }
}

struct Example {
    step: Structuring,
    rows: Vec<f32>,
    labels: Vec<bool>,
    oracle: Vec<bool>,
}

fn tiny() -> PaperSettings {
    PaperSettings {
        encoder_width: 7,
        encoder_depth: 2,
        decoder_width: 6,
        decoder_depth: 2,
        gate: vec![5],
        discriminator: vec![6, 4],
        geometry_rows: 5,
        // Large enough that every part shows in the sum.
        weights: LossWeights {
            reconstruction: 1.5,
            feasibility: 0.7,
            latent: 1.2,
            geometry: 0.3,
            hinge: 0.9,
        },
        ..PaperSettings::released()
    }
}

impl Example {
    fn new(settings: &PaperSettings, x_dim: usize, mask: bool, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut autoencoder = Autoencoder::new(settings, (2, x_dim), &mut rng).unwrap();
        // Larger latents than a fresh encoder gives, so that both sides of the hinge are seen.
        let encoder = &mut autoencoder.encoder.network;
        let last = encoder.spec().layer_count() - 1;
        encoder
            .weights_mut(last)
            .iter_mut()
            .for_each(|weight| *weight *= 4.0);
        let step = Structuring::new(autoencoder, settings, mask, 2.5, &mut rng).unwrap();
        let width = 2 + x_dim;
        let rows = (0..ROWS * width).map(|_| rng.random_range(-1.5f32..1.5));
        let mut example = Self {
            step,
            rows: rows.collect(),
            labels: (0..ROWS).map(|row| row % 3 != 0).collect(),
            oracle: (0..ROWS).map(|row| row % 2 == 0).collect(),
        };
        example.step.draw_ball(ROWS, &mut rng);
        if example.step.generates() {
            example.step.decode_cube(&example.rows, ROWS, &mut rng);
        }
        example.step.forward(&example.rows, ROWS);
        example
    }

    fn batch(&self) -> Batch<'_> {
        Batch {
            rows: &self.rows,
            labels: &self.labels,
            oracle: &self.oracle,
        }
    }

    fn problem(&self) -> Problem {
        let wide = |values: &[f32], width: usize| -> Vec<Vec<f64>> {
            let rows = values.chunks_exact(width);
            rows.map(|row| row.iter().map(|v| f64::from(*v)).collect())
                .collect()
        };
        let shape = self.step.autoencoder.shape;
        let mut ball = wide(&self.step.scratch.ball, shape.latent_dim);
        ball.resize(ROWS, vec![0.0; shape.latent_dim]);
        Problem {
            dim: shape.dim,
            rows: wide(&self.rows, shape.dim + shape.x_dim),
            labels: self.labels.clone(),
            oracle: self.oracle.clone(),
            ball,
        }
    }

    /// Compares all losses and all gradients of the autoencoder's step.
    fn check(mut self, what: &str) {
        let problem = self.problem();
        let (rows, labels, oracle) = (self.rows.clone(), self.labels.clone(), self.oracle.clone());
        let losses = self.step.accumulate(Batch {
            rows: &rows,
            labels: &labels,
            oracle: &oracle,
        });
        let nets = Nets::of(&self.step);
        let expected = reference::losses(&self.step, &nets, &problem);
        let weights = self.step.settings.weights.named();
        let both = losses.named().into_iter().zip(expected.named());
        for (((name, value), (_, expected)), (_, weight)) in both.zip(weights) {
            // A loss without weight need not be computed.
            let skipped = weight == 0.0 && value == 0.0;
            assert!(
                skipped || (value - expected).abs() < 1e-4 * (1.0 + expected.abs()),
                "{what}: {name} {value} {expected}"
            );
        }
        let found = self.gradients();
        assert!(found.iter().any(|gradient| !gradient.is_empty()));
        for (network, gradient) in found.iter().enumerate() {
            let scale = gradient.iter().fold(0.0f32, |m, g| m.max(g.abs()));
            assert!(scale > 1e-4, "{what}: network {network} learns nothing");
            let scale = scale.max(0.01);
            for (index, value) in gradient.iter().enumerate() {
                let at = |h: f64| {
                    let mut moved = nets.clone();
                    moved.changing()[network][index] += h;
                    let losses = reference::losses(&self.step, &moved, &problem);
                    reference::total(&self.step, &losses)
                };
                let slope = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!(
                    (f64::from(*value) - slope).abs() < 2e-3 * f64::from(scale),
                    "{what}: network {network}, parameter {index}: {value} {slope}"
                );
            }
        }
    }

    fn gradients(&mut self) -> Vec<Vec<f32>> {
        let Autoencoder {
            encoder, decoders, ..
        } = &mut self.step.autoencoder;
        let decoders = decoders.learners().map(|learner| learner.gradient.clone());
        let mut gradients: Vec<Vec<f32>> = decoders.collect();
        gradients.push(encoder.gradient.clone());
        gradients
    }
}

#[test]
fn the_composite_loss_has_the_gradient_of_its_differences() {
    for seed in 0..3 {
        for x_dim in [0, 1] {
            for decoders in [1, 2, 3] {
                let settings = PaperSettings { decoders, ..tiny() };
                let what = format!("{decoders} decoders, {x_dim} coordinates of x");
                Example::new(&settings, x_dim, false, seed).check(&what);
            }
        }
    }
}

#[test]
fn so_do_the_variants() {
    for (what, settings) in [
        (
            "text",
            PaperSettings {
                geometry_points: GeometryPoints::Ball,
                reconstruction: Reconstruction::Sum,
                discriminator_rows: DiscriminatorRows::Real,
                ..tiny()
            },
        ),
        ("no discriminator", tiny().without_discriminator()),
        ("no hinge", tiny().without_hinge()),
        (
            "more latents than coordinates",
            PaperSettings {
                latent_dim: Some(3),
                decoders: 2,
                ..tiny()
            },
        ),
        (
            "fewer latents than coordinates",
            PaperSettings {
                latent_dim: Some(1),
                ..tiny()
            },
        ),
    ] {
        for mask in [false, true] {
            Example::new(&settings, 1, mask, 5).check(what);
        }
    }
}

/// The two losses that reach both encoder and decoders.
#[test]
fn each_loss_alone_has_its_gradient() {
    for (reconstruction, feasibility) in [(1.0, 0.0), (0.0, 1.0)] {
        let weights = LossWeights {
            reconstruction,
            feasibility,
            latent: 0.0,
            geometry: 0.0,
            hinge: 0.0,
        };
        let settings = PaperSettings { weights, ..tiny() };
        Example::new(&settings, 0, false, 9).check("alone");
    }
}

#[test]
fn the_discriminator_has_the_gradient_of_its_differences() {
    for (rows, mask) in [
        (DiscriminatorRows::RealAndGenerated, false),
        (DiscriminatorRows::Real, false),
        (DiscriminatorRows::RealAndGenerated, true),
    ] {
        let settings = PaperSettings {
            discriminator_rows: rows,
            ..tiny()
        };
        let mut example = Example::new(&settings, 1, mask, 3);
        let problem = example.problem();
        let cube: Vec<Vec<f64>> = example
            .step
            .scratch
            .cube
            .chunks_exact(3)
            .skip(ROWS)
            .take(ROWS)
            .map(|row| row[..2].iter().map(|v| f64::from(*v)).collect())
            .collect();
        let (data, labels, oracle) = (
            example.rows.clone(),
            example.labels.clone(),
            example.oracle.clone(),
        );
        let batch = Batch {
            rows: &data,
            labels: &labels,
            oracle: &oracle,
        };
        example.step.gather_known_rows(batch, &mut Half);
        // The second step, so that its own generated rows are the ones that count.
        let loss = example.step.accumulate_discriminator(batch, 1, &mut Half);
        let nets = Nets::of(&example.step);
        let at = |nets: &Nets| {
            reference::discriminator_loss(&example.step, nets, &problem, &cube, above)
        };
        assert!((loss - at(&nets)).abs() < 1e-4, "{loss} {}", at(&nets));
        let gradient = &example.step.discriminator.as_ref().unwrap().gradient;
        for (index, value) in gradient.iter().enumerate() {
            let moved = |h: f64| {
                let mut nets = nets.clone();
                nets.discriminator.as_mut().unwrap().1[index] += h;
                at(&nets)
            };
            let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((f64::from(*value) - slope).abs() < 1e-4, "{value} {slope}");
        }
    }
}

#[test]
fn a_step_changes_all_networks_and_allocates_no_ball_it_does_not_need() {
    let mut example = Example::new(&tiny(), 0, false, 1);
    let before = example.step.clone();
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let (rows, labels, oracle) = (
        example.rows.clone(),
        example.labels.clone(),
        example.oracle.clone(),
    );
    let batch = Batch {
        rows: &rows,
        labels: &labels,
        oracle: &oracle,
    };
    let losses = example.step.step(batch, &mut Half, &mut rng);
    assert!(losses.named().iter().all(|(_, value)| *value > 0.0));
    let after = &example.step;
    assert_ne!(
        after.autoencoder.encoder.network,
        before.autoencoder.encoder.network
    );
    let (new, old) = (&after.discriminator, &before.discriminator);
    assert_ne!(new.as_ref().unwrap().network, old.as_ref().unwrap().network);
    assert_eq!(new.as_ref().unwrap().adam.step, 3);
    let bare = Example::new(&tiny().without_discriminator(), 0, false, 1);
    assert!(bare.step.scratch.ball.is_empty());
    assert_eq!(bare.batch().labels.len(), ROWS);
}
