//! A step of phase 2: three discriminator steps with oracle labels, then one autoencoder step.
//!
//! Encoder and decoder stand still during the discriminator's steps, so that the reconstruction, its
//! labels and the decodes that the autoencoder's loss needs are computed once, and the generated
//! points of all three steps in one pass.

use fabproj::nn::{MlpSpec, Tape, unit_tangents};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::training::{BATCH, Batches, DIM, MULTIPLY_ADDS, Trained, is_feasible};
use crate::{Case, Outcome};

const DISCRIMINATOR_STEPS: usize = 3;
const DISCRIMINATOR_HIDDEN: [usize; 2] = [64, 32];
const RADIUS: f32 = 0.5;
/// Rows of the geometry loss.
const GEOMETRY_ROWS: usize = 32;
const EPSILON: f32 = 1e-6;
/// The first entry of the released grid of loss weights.
const RECONSTRUCTION: f32 = 1.5;
const FEASIBILITY: f32 = 1.0;
const LATENT: f32 = 1.0;
const HINGE: f32 = 0.5;
const GEOMETRY: f32 = 0.025;

struct PhaseTwo {
    encoder: Trained,
    decoder: Trained,
    discriminator: Trained,
    /// For decodes that nothing is propagated back through.
    tape: Tape,
    batches: Batches,
    oracle: Oracle,
    positive_weight: f32,
    tangents: Vec<f32>,
    rng: ChaCha8Rng,
}

/// Labels of points in normalised units.
#[derive(Clone, Copy)]
struct Oracle {
    scale: f32,
}

impl Oracle {
    fn labels(self, points: &[f32]) -> impl Iterator<Item = bool> {
        let (points, _) = points.as_chunks::<DIM>();
        points
            .iter()
            .map(move |point| is_feasible(point.map(|y| y * self.scale)))
    }
}

pub fn case() -> Outcome<Box<dyn Case>> {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut batches = Batches::new(|_| true);
    let points = batches.all();
    let positives = points.iter().filter(|point| is_feasible(**point)).count();
    let positive_weight = (points.len() - positives) as f32 / positives as f32;
    // The mean is zero and the deviation alike in both coordinates, but for the noise of sampling.
    let squares: f32 = points.as_flattened().iter().map(|y| y * y).sum();
    let scale = (squares / (points.len() * DIM) as f32).sqrt();
    points
        .as_flattened_mut()
        .iter_mut()
        .for_each(|y| *y /= scale);
    Ok(Box::new(PhaseTwo {
        encoder: Trained::encoder(&mut rng)?,
        decoder: Trained::decoder(&mut rng)?,
        discriminator: Trained::new(MlpSpec::new(DIM, &DISCRIMINATOR_HIDDEN, 1), &mut rng)?,
        tape: Tape::new(),
        batches,
        oracle: Oracle { scale },
        positive_weight,
        tangents: unit_tangents(GEOMETRY_ROWS, DIM, DIM),
        rng,
    }))
}

/// The derivative of the weighted cross-entropy with respect to a logit.
fn cross_entropy_slope(logit: f32, target: bool, positive_weight: f32) -> f32 {
    let probability = 1.0 / (1.0 + (-logit).exp());
    if target {
        positive_weight * (probability - 1.0)
    } else {
        probability
    }
}

/// The derivative of the unbiased variance of log det(JJᵀ + εI) with respect to the entries of each
/// J; `jacobians` holds J's columns one after the other.
fn geometry_slope(jacobians: &[f32]) -> Vec<f32> {
    let (jacobians, _) = jacobians.as_chunks::<{ DIM * DIM }>();
    // JJᵀ + εI = [[p, q], [q, r]]
    let gram = |[a, c, b, d]: [f32; 4]| {
        (
            a * a + b * b + EPSILON,
            a * c + b * d,
            c * c + d * d + EPSILON,
        )
    };
    let determinant = |j| {
        let (p, q, r) = gram(j);
        (p * r - q * q).clamp(1e-12, 1e12)
    };
    let logarithms: Vec<f32> = jacobians.iter().map(|j| determinant(*j).ln()).collect();
    let count = logarithms.len() as f32;
    let mean = logarithms.iter().sum::<f32>() / count;
    let slopes = jacobians
        .iter()
        .zip(&logarithms)
        .flat_map(|(&j, logarithm)| {
            let ((p, q, r), [a, c, b, d]) = (gram(j), j);
            // 2 (JJᵀ + εI)⁻¹ J times the derivative of the variance.
            let factor = 2.0 * (logarithm - mean) / (count - 1.0) * 2.0 / determinant(j);
            [r * a - q * c, p * c - q * a, r * b - q * d, p * d - q * b].map(|entry| factor * entry)
        });
    slopes.collect()
}

impl PhaseTwo {
    /// Uniform in the ball.
    fn ball_latents(&mut self) -> Vec<f32> {
        let mut latents = Vec::with_capacity(BATCH * DIM);
        for _ in 0..BATCH {
            let direction: [f32; DIM] = std::array::from_fn(|_| self.rng.sample(StandardNormal));
            let norm = direction.iter().map(|z| z * z).sum::<f32>().sqrt() + 1e-8;
            let radius = RADIUS * self.rng.random::<f32>().powf(1.0 / DIM as f32);
            latents.extend(direction.map(|z| z * radius / norm));
        }
        latents
    }

    /// Points decoded from tanh of normals, for all steps of the discriminator.
    fn generated(&mut self) -> Vec<f32> {
        let rows = DISCRIMINATOR_STEPS * BATCH;
        let normal = || self.rng.sample::<f32, _>(StandardNormal).tanh();
        let latents: Vec<f32> = std::iter::repeat_with(normal).take(rows * DIM).collect();
        self.decoder
            .network
            .forward(&latents, rows, &mut self.tape)
            .to_vec()
    }

    fn train_discriminator(&mut self, real: &[f32], rebuilt: &[f32]) {
        let generated = self.generated();
        let mut points = [real, rebuilt, rebuilt].concat();
        let mut targets: Vec<bool> = self.oracle.labels(&points).collect();
        for fresh in generated.chunks_exact(BATCH * DIM) {
            points[2 * BATCH * DIM..].copy_from_slice(fresh);
            let labels = self.oracle.labels(fresh);
            targets[2 * BATCH..]
                .iter_mut()
                .zip(labels)
                .for_each(|(target, label)| *target = label);
            let discriminator = &mut self.discriminator;
            let logits = discriminator
                .network
                .forward(&points, 3 * BATCH, &mut discriminator.tape);
            let slopes = logits
                .iter()
                .zip(&targets)
                .enumerate()
                .map(|(row, (logit, target))| {
                    // The mean over the real rows, plus the mean over the others, twice as many.
                    let rows = if row < BATCH { BATCH } else { 2 * BATCH };
                    cross_entropy_slope(*logit, *target, self.positive_weight) / rows as f32
                });
            let slopes: Vec<f32> = slopes.collect();
            let gradient = Some(&mut discriminator.gradient[..]);
            discriminator
                .network
                .backward(&mut discriminator.tape, &slopes, gradient, None);
            discriminator.update();
        }
    }

    /// The derivative of the reconstruction, feasibility and latent losses with respect to the decodes of
    /// the batch's latents and of the ball's.
    fn output_slopes(&mut self, real: &[f32], labels: &[bool], decoded: &[f32]) -> Vec<f32> {
        let Trained { network, tape, .. } = &mut self.discriminator;
        let logits = network.forward(decoded, 2 * BATCH, tape);
        let slopes = logits.iter().enumerate().map(|(row, logit)| {
            let (weight, target) = if row < BATCH {
                (FEASIBILITY, labels[row])
            } else {
                (LATENT, true)
            };
            weight * cross_entropy_slope(*logit, target, self.positive_weight) / BATCH as f32
        });
        let slopes: Vec<f32> = slopes.collect();
        let mut d_output = vec![0.0; decoded.len()];
        network.backward(tape, &slopes, None, Some(&mut d_output));
        for ((d, decoded), real) in d_output.iter_mut().zip(decoded).zip(real) {
            *d += RECONSTRUCTION * 2.0 * (decoded - real) / (BATCH * DIM) as f32;
        }
        d_output
    }

    fn train_autoencoder(
        &mut self,
        real: &[f32],
        labels: &[bool],
        latents: &[f32],
        decoded: &[f32],
    ) {
        let d_output = self.output_slopes(real, labels, decoded);
        let decoder = &mut self.decoder;
        let jacobians = decoder
            .network
            .forward_tangents(&mut decoder.tape, &self.tangents, DIM);
        let mut d_tangents = geometry_slope(jacobians);
        d_tangents.iter_mut().for_each(|slope| *slope *= GEOMETRY);
        let mut d_latents = vec![0.0; 2 * BATCH * DIM];
        decoder.network.backward_tangents(
            &mut decoder.tape,
            Some(&d_output),
            &d_tangents,
            Some(&mut decoder.gradient),
            Some(&mut d_latents),
            None,
        );
        // Only the batch's latents come from the encoder.
        d_latents.truncate(BATCH * DIM);
        let rows = d_latents
            .chunks_exact_mut(DIM)
            .zip(latents.chunks_exact(DIM))
            .zip(labels);
        for ((d, latent), label) in rows {
            let norm = latent.iter().map(|z| z * z).sum::<f32>().sqrt();
            let direction = match label {
                true if norm > RADIUS => 1.0,
                false if norm < RADIUS && norm > 0.0 => -1.0,
                _ => continue,
            };
            d.iter_mut()
                .zip(latent)
                .for_each(|(d, z)| *d += HINGE * direction * z / norm / BATCH as f32);
        }
        let encoder = &mut self.encoder;
        let gradient = Some(&mut encoder.gradient[..]);
        encoder
            .network
            .backward(&mut encoder.tape, &d_latents, gradient, None);
        self.encoder.update();
        self.decoder.update();
    }
}

impl Case for PhaseTwo {
    fn call(&mut self) {
        let real = self.batches.draw().as_flattened().to_vec();
        let labels: Vec<bool> = self.oracle.labels(&real).collect();
        let encoder = &mut self.encoder;
        let mut latents = encoder
            .network
            .forward(&real, BATCH, &mut encoder.tape)
            .to_vec();
        latents.extend(self.ball_latents());
        let decoder = &mut self.decoder;
        let decoded = decoder
            .network
            .forward(&latents, 2 * BATCH, &mut decoder.tape)
            .to_vec();
        self.train_discriminator(&real, &decoded[..BATCH * DIM]);
        self.train_autoencoder(&real, &labels, &latents, &decoded);
    }

    /// Forward and backward of the networks; gradients of the first layers' inputs are left out where
    /// nothing needs them, which is too little to count.
    fn flops(&self) -> f64 {
        let [first, second] = DISCRIMINATOR_HIDDEN;
        let discriminator = DIM * first + first * second + second;
        let encoder = 3 * BATCH * MULTIPLY_ADDS;
        let decoder =
            (3 * (2 * BATCH + GEOMETRY_ROWS * DIM) + DISCRIMINATOR_STEPS * BATCH) * MULTIPLY_ADDS;
        let steps = DISCRIMINATOR_STEPS * 3 * (3 * BATCH) * discriminator;
        let judged = 2 * (2 * BATCH) * discriminator;
        2.0 * (encoder + decoder + steps + judged) as f64
    }
}
