//! The autoencoder of safe actions: an encoder into a disc, a decoder out of it.
//!
//! E(u, s) = 0.35 u + setnet(u, s), R(z, s) = 1.1 tanh(1.2 (z / 0.35 + setnet(z, s))). The projection
//! φ(u) = R(clamp(E(u, s)), s) clamps to the disc of radius 0.5; it starts near the identity.
//!
//! Phase 1 reconstructs feasible actions. Phase 2 adds three terms, D frozen: feasible actions are
//! encoded inside the disc and others outside (hinge), decodes of the disc satisfy D (latent), and φ
//! maps to the action itself or to the nearest feasible one.

use fabproj_nn::{Cosine, clip_norm_all};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::data::{ACTIONS, LabelledStates};
use super::discriminator::{Learner, OUTPUTS, Sampler, sigmoid};
use super::set_net::{INPUT, SetGradient, SetNet, SetNetWidths, SetTape};
use crate::error::{Result, check_setting};

/// Radius of the latent disc.
pub(crate) const RADIUS: f32 = 0.5;

/// Scale between actions and latents.
const SCALE: f32 = 0.35;

/// The hinge's gap to the rim on either side.
const GAP: f32 = 0.02;

/// Settings of the autoencoder's training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AutoencoderSettings {
    /// Widths of both networks. Default 40 and 20.
    pub widths: SetNetWidths,
    /// Steps of phase 1. Default 150.
    pub phase_one: u64,
    /// Steps of phase 2. Default 1200.
    pub phase_two: u64,
    /// States per step. Default 128.
    pub batch_states: usize,
    /// Actions per state. Default 4.
    pub batch_actions: usize,
    /// Share of the batch from states with safe and unsafe actions. Default 2/3.
    pub mixed_share: f64,
    /// Largest learning rate, with a cosine to 0. Default 3e-3.
    pub rate: f32,
    /// Weight of the hinge. Default 0.5.
    pub hinge: f32,
    /// Weight of the latent term. Default 0.5.
    pub latent: f32,
}

impl Default for AutoencoderSettings {
    fn default() -> Self {
        Self {
            widths: SetNetWidths {
                hidden: 40,
                pooled: 20,
            },
            phase_one: 150,
            phase_two: 1200,
            batch_states: 128,
            batch_actions: 4,
            mixed_share: 2.0 / 3.0,
            rate: 3e-3,
            hinge: 0.5,
            latent: 0.5,
        }
    }
}

impl AutoencoderSettings {
    pub(crate) fn validate(&self) -> Result<()> {
        for (name, count) in [
            ("batch_states", self.batch_states),
            ("batch_actions", self.batch_actions),
        ] {
            check_setting(count >= 1, name, "at least 1", count)?;
        }
        check_setting(self.rate > 0.0, "rate", "greater than 0", self.rate)
    }
}

/// Encoder and decoder.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Autoencoder {
    pub(crate) encoder: SetNet,
    pub(crate) decoder: SetNet,
}

impl Autoencoder {
    pub(crate) fn new(widths: SetNetWidths, random: &mut ChaCha8Rng) -> Result<Self> {
        let mut autoencoder = Self {
            encoder: SetNet::new(widths, INPUT, random)?,
            decoder: SetNet::new(widths, INPUT, random)?,
        };
        // φ is near the identity at the start.
        for net in [&mut autoencoder.encoder, &mut autoencoder.decoder] {
            let last = net.head.spec().layer_count() - 1;
            net.head
                .weights_mut(last)
                .iter_mut()
                .for_each(|w| *w *= 0.1);
            net.head.bias_mut(last).fill(0.0);
        }
        Ok(autoencoder)
    }

    pub(crate) fn encode(
        &self,
        states: &[f32],
        actions: &[f32],
        per_state: usize,
        tape: &mut SetTape,
    ) -> Vec<f32> {
        let outputs = self.encoder.forward(states, actions, per_state, tape);
        let pairs = outputs.iter().zip(actions);
        pairs.map(|(output, u)| SCALE * u + output).collect()
    }

    pub(crate) fn decode(
        &self,
        states: &[f32],
        latents: &[f32],
        per_state: usize,
        tape: &mut SetTape,
    ) -> Vec<f32> {
        let outputs = self.decoder.forward(states, latents, per_state, tape);
        let pairs = outputs.iter().zip(latents);
        pairs
            .map(|(output, z)| 1.1 * (1.2 * (z / SCALE + output)).tanh())
            .collect()
    }

    /// Derivatives of the actions from those of the latents.
    pub(crate) fn encode_back(&self, d_latents: &[f32], tape: &mut SetTape) -> Vec<f32> {
        let through = self.encoder.backward(tape, d_latents, None);
        let pairs = through.iter().zip(d_latents);
        pairs.map(|(through, d)| through + SCALE * d).collect()
    }

    /// Derivatives of the latents from those of the decoded actions; adds to the gradient.
    pub(crate) fn decode_back(
        &self,
        decoded: &[f32],
        d_decoded: &[f32],
        tape: &mut SetTape,
        gradient: Option<&mut SetGradient>,
    ) -> Vec<f32> {
        let pairs = decoded.iter().zip(d_decoded);
        let d_sums: Vec<f32> = pairs
            .map(|(y, d)| {
                let tanh = y / 1.1;
                d * 1.1 * 1.2 * (1.0 - tanh * tanh)
            })
            .collect();
        let d_inputs = self.decoder.backward(tape, &d_sums, gradient);
        let pairs = d_inputs.iter().zip(&d_sums);
        pairs.map(|(direct, sum)| direct + sum / SCALE).collect()
    }
}

/// Moves latents outside the disc to its rim.
pub(crate) fn clamp(latents: &[f32]) -> Vec<f32> {
    let mut clamped = latents.to_vec();
    for z in clamped.as_chunks_mut::<2>().0 {
        let norm = z[0].hypot(z[1]);
        if norm > RADIUS {
            *z = z.map(|part| part * RADIUS / norm);
        }
    }
    clamped
}

/// Pulls derivatives back through [`clamp`]: outside, only the tangential part remains.
pub(crate) fn clamp_back(latents: &[f32], d_clamped: &[f32]) -> Vec<f32> {
    let mut d_latents = d_clamped.to_vec();
    let pairs = d_latents.as_chunks_mut::<2>().0.iter_mut();
    for (d, z) in pairs.zip(latents.as_chunks::<2>().0) {
        let norm = z[0].hypot(z[1]);
        if norm > RADIUS {
            let unit = z.map(|part| part / norm);
            let radial = d[0] * unit[0] + d[1] * unit[1];
            *d = [0, 1].map(|i| RADIUS / norm * (d[i] - radial * unit[i]));
        }
    }
    d_latents
}

/// A batch of states with some of their actions.
struct Batch {
    per_state: usize,
    states: Vec<f32>,
    actions: Vec<f32>,
    /// Where φ should map: the action itself, or the nearest feasible one.
    targets: Vec<f32>,
    feasible: Vec<bool>,
    /// Per state: some action is safe.
    recoverable: Vec<bool>,
}

impl Batch {
    fn draw(
        data: &LabelledStates,
        sampler: &Sampler,
        settings: &AutoencoderSettings,
        random: &mut ChaCha8Rng,
    ) -> Self {
        let mut batch = Self {
            per_state: settings.batch_actions,
            states: Vec::new(),
            actions: Vec::new(),
            targets: Vec::new(),
            feasible: Vec::new(),
            recoverable: Vec::new(),
        };
        for _ in 0..settings.batch_states {
            let index = sampler.draw(random);
            let (costs, actions) = (data.recovery_of(index), data.actions_of(index));
            // Without a safe action, the least costly ones count as feasible.
            let least = costs.iter().copied().fold(f32::INFINITY, f32::min);
            batch.states.extend(data.state(index));
            batch.recoverable.push(least == 0.0);
            for _ in 0..settings.batch_actions {
                let choice = random.random_range(0..ACTIONS);
                let action = [actions[2 * choice], actions[2 * choice + 1]];
                let feasible = costs[choice] == least;
                batch.actions.extend(action);
                batch.feasible.push(feasible);
                let target = match feasible {
                    true => action,
                    false => nearest(action, actions, costs, least),
                };
                batch.targets.extend(target);
            }
        }
        batch
    }
}

/// The nearest action of a given cost, in the metric Δu₀² + 0.3 Δu₁².
fn nearest(action: [f32; 2], actions: &[f32], costs: &[f32], cost: f32) -> [f32; 2] {
    let distance =
        |other: &[f32; 2]| (other[0] - action[0]).powi(2) + 0.3 * (other[1] - action[1]).powi(2);
    let candidates = actions.as_chunks::<2>().0.iter().zip(costs);
    let best = candidates
        .filter(|(_, found)| **found == cost)
        .map(|(other, _)| other)
        .min_by(|a, b| distance(a).total_cmp(&distance(b)));
    best.copied().unwrap_or(action)
}

/// Scratch memory of a step.
#[derive(Default)]
struct Tapes {
    encode: SetTape,
    plain: SetTape,
    projected: SetTape,
    sampled: SetTape,
    judged: SetTape,
}

/// Gradients of both networks.
struct Gradients {
    encoder: SetGradient,
    decoder: SetGradient,
}

/// Trains an autoencoder against a frozen discriminator.
pub(crate) fn train_autoencoder(
    data: &LabelledStates,
    discriminator: &SetNet,
    settings: &AutoencoderSettings,
    random: &mut ChaCha8Rng,
) -> Result<Autoencoder> {
    let mut net = Autoencoder::new(settings.widths, random)?;
    let sampler = Sampler::new(data, settings.mixed_share);
    let mut learners = (Learner::new(&net.encoder), Learner::new(&net.decoder));
    let (total, mut tapes) = (settings.phase_one + settings.phase_two, Tapes::default());
    let schedule = Cosine {
        peak: settings.rate,
        end_fraction: 0.0,
        warm_up: 50,
        total,
    };
    for step in 0..total {
        let batch = Batch::draw(data, &sampler, settings, random);
        let mut gradients = Gradients {
            encoder: net.encoder.gradient(),
            decoder: net.decoder.gradient(),
        };
        let latents = net.encode(
            &batch.states,
            &batch.actions,
            batch.per_state,
            &mut tapes.encode,
        );
        let mut d_latents = reconstruct(&net, &batch, &latents, &mut tapes, &mut gradients);
        if step >= settings.phase_one {
            let projected = project(&net, &batch, &latents, &mut tapes, &mut gradients);
            add(&mut d_latents, &projected);
            add(&mut d_latents, &hinge(&batch, &latents, settings.hinge));
            let weight = settings.latent;
            satisfy(
                &net,
                discriminator,
                &batch,
                weight,
                random,
                &mut tapes,
                &mut gradients,
            );
        }
        net.encoder
            .backward(&mut tapes.encode, &d_latents, Some(&mut gradients.encoder));
        let Gradients { encoder, decoder } = &mut gradients;
        clip_norm_all(
            &mut [
                &mut encoder.slot[..],
                &mut encoder.head[..],
                &mut decoder.slot[..],
                &mut decoder.head[..],
            ],
            1.0,
        );
        learners
            .0
            .update(&mut net.encoder, encoder, schedule.at(step));
        learners
            .1
            .update(&mut net.decoder, decoder, schedule.at(step));
    }
    Ok(net)
}

fn add(sum: &mut [f32], part: &[f32]) {
    sum.iter_mut().zip(part).for_each(|(s, p)| *s += p);
}

/// mean ‖R(E(u)) - u‖² over feasible rows; returns the latents' derivatives.
fn reconstruct(
    net: &Autoencoder,
    batch: &Batch,
    latents: &[f32],
    tapes: &mut Tapes,
    gradients: &mut Gradients,
) -> Vec<f32> {
    let decoded = net.decode(&batch.states, latents, batch.per_state, &mut tapes.plain);
    let count = batch.feasible.iter().filter(|f| **f).count().max(1) as f32;
    let errors = decoded.iter().zip(&batch.actions).enumerate();
    let d_decoded: Vec<f32> = errors
        .map(|(place, (y, u))| match batch.feasible[place / 2] {
            true => 2.0 * (y - u) / count,
            false => 0.0,
        })
        .collect();
    net.decode_back(
        &decoded,
        &d_decoded,
        &mut tapes.plain,
        Some(&mut gradients.decoder),
    )
}

/// mean ‖φ(u) - target‖²; returns the latents' derivatives.
fn project(
    net: &Autoencoder,
    batch: &Batch,
    latents: &[f32],
    tapes: &mut Tapes,
    gradients: &mut Gradients,
) -> Vec<f32> {
    let inside = clamp(latents);
    let projected = net.decode(
        &batch.states,
        &inside,
        batch.per_state,
        &mut tapes.projected,
    );
    let scale = 2.0 / batch.feasible.len() as f32;
    let errors = projected.iter().zip(&batch.targets);
    let d_projected: Vec<f32> = errors.map(|(y, target)| scale * (y - target)).collect();
    let (tape, gradient) = (&mut tapes.projected, &mut gradients.decoder);
    let d_inside = net.decode_back(&projected, &d_projected, tape, Some(gradient));
    clamp_back(latents, &d_inside)
}

/// Feasible encodings belong inside the disc, others outside: squared distance from the gap's edge.
fn hinge(batch: &Batch, latents: &[f32], weight: f32) -> Vec<f32> {
    let mut d_latents = vec![0.0; latents.len()];
    let scale = 2.0 * weight / batch.feasible.len() as f32;
    let rows = d_latents.as_chunks_mut::<2>().0.iter_mut();
    for ((d, z), feasible) in rows.zip(latents.as_chunks::<2>().0).zip(&batch.feasible) {
        let norm = z[0].hypot(z[1]).max(1e-6);
        let excess = match feasible {
            true => (norm - (RADIUS - GAP)).max(0.0),
            false => (norm - (RADIUS + GAP)).min(0.0),
        };
        *d = z.map(|part| scale * excess * part / norm);
    }
    d_latents
}

/// Decodes of random points of the disc: softplus(-logit of D) where a safe action exists, else D's
/// recovery cost.
fn satisfy(
    net: &Autoencoder,
    discriminator: &SetNet,
    batch: &Batch,
    weight: f32,
    random: &mut ChaCha8Rng,
    tapes: &mut Tapes,
    gradients: &mut Gradients,
) {
    let rows = batch.feasible.len();
    let disc = |random: &mut ChaCha8Rng| {
        let radius = RADIUS * random.random::<f32>().sqrt();
        let (sin, cos) = (std::f32::consts::TAU * random.random::<f32>()).sin_cos();
        [radius * cos, radius * sin]
    };
    let latents: Vec<f32> = (0..rows).flat_map(|_| disc(random)).collect();
    let decoded = net.decode(&batch.states, &latents, batch.per_state, &mut tapes.sampled);
    let judged = &mut tapes.judged;
    let outputs = discriminator.forward(&batch.states, &decoded, batch.per_state, judged);
    let mut d_outputs = vec![0.0; outputs.len()];
    let pairs = outputs
        .chunks_exact(OUTPUTS)
        .zip(d_outputs.chunks_exact_mut(OUTPUTS));
    for (row, (output, d_output)) in pairs.enumerate() {
        match batch.recoverable[row / batch.per_state] {
            true => d_output[0] = -weight * sigmoid(-output[0]) / rows as f32,
            false => d_output[1] = weight / rows as f32,
        }
    }
    let d_decoded = discriminator.backward(judged, &d_outputs, None);
    let (tape, gradient) = (&mut tapes.sampled, &mut gradients.decoder);
    net.decode_back(&decoded, &d_decoded, tape, Some(gradient));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_gradient;
    use rand::SeedableRng;

    fn batch(random: &mut ChaCha8Rng) -> Batch {
        let mut states = vec![0.0; 3 * super::super::features::FEATURES];
        states.fill_with(|| random.random_range(-1.0..1.0));
        Batch {
            per_state: 2,
            states,
            // Beyond 1.43, so that some latents are outside the disc.
            actions: (0..12).map(|_| random.random_range(-2.0..2.0)).collect(),
            targets: (0..12).map(|_| random.random_range(-1.0..1.0)).collect(),
            feasible: vec![true, false, true, true, false, false],
            recoverable: vec![true, false, true],
        }
    }

    /// All losses of phase 2 but the sampled one.
    fn loss(net: &Autoencoder, batch: &Batch, weight: f32) -> f64 {
        let mut tape = SetTape::default();
        let latents = net.encode(&batch.states, &batch.actions, 2, &mut tape);
        let plain = net.decode(&batch.states, &latents, 2, &mut tape);
        let projected = net.decode(&batch.states, &clamp(&latents), 2, &mut tape);
        let mut total = 0.0;
        let count = batch.feasible.iter().filter(|f| **f).count() as f64;
        for (row, feasible) in batch.feasible.iter().enumerate() {
            let part =
                |values: &[f32]| [f64::from(values[2 * row]), f64::from(values[2 * row + 1])];
            let square = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2);
            if *feasible {
                total += square(part(&plain), part(&batch.actions)) / count;
            }
            total += square(part(&projected), part(&batch.targets)) / 6.0;
            let z = part(&latents);
            let norm = z[0].hypot(z[1]);
            let excess = match feasible {
                true => (norm - 0.48).max(0.0),
                false => (norm - 0.52).min(0.0),
            };
            total += f64::from(weight) * excess * excess / 6.0;
        }
        total
    }

    #[test]
    fn gradients_of_all_terms_equal_finite_differences() {
        let mut random = ChaCha8Rng::seed_from_u64(6);
        let widths = SetNetWidths {
            hidden: 6,
            pooled: 4,
        };
        let mut net = Autoencoder::new(widths, &mut random).unwrap();
        let (batch, mut tapes) = (batch(&mut random), Tapes::default());
        let mut gradients = Gradients {
            encoder: net.encoder.gradient(),
            decoder: net.decoder.gradient(),
        };
        let latents = net.encode(&batch.states, &batch.actions, 2, &mut tapes.encode);
        assert!(
            latents
                .as_chunks::<2>()
                .0
                .iter()
                .any(|z| z[0].hypot(z[1]) > RADIUS)
        );
        let mut d_latents = reconstruct(&net, &batch, &latents, &mut tapes, &mut gradients);
        add(
            &mut d_latents,
            &project(&net, &batch, &latents, &mut tapes, &mut gradients),
        );
        add(&mut d_latents, &hinge(&batch, &latents, 0.5));
        net.encoder
            .backward(&mut tapes.encode, &d_latents, Some(&mut gradients.encoder));
        let start = net.encoder.head.parameters().to_vec();
        assert_gradient(&start, &gradients.encoder.head, |parameters| {
            net.encoder
                .head
                .parameters_mut()
                .copy_from_slice(parameters);
            loss(&net, &batch, 0.5)
        });
        net.encoder.head.parameters_mut().copy_from_slice(&start);
        let start = net.decoder.slot.parameters().to_vec();
        assert_gradient(&start, &gradients.decoder.slot, |parameters| {
            net.decoder
                .slot
                .parameters_mut()
                .copy_from_slice(parameters);
            loss(&net, &batch, 0.5)
        });
    }

    #[test]
    fn the_latent_term_pulls_decodes_towards_the_discriminator() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let widths = SetNetWidths {
            hidden: 6,
            pooled: 4,
        };
        let mut net = Autoencoder::new(widths, &mut random).unwrap();
        let judge = SetNet::new(widths, OUTPUTS, &mut random).unwrap();
        let (batch, mut tapes) = (batch(&mut random), Tapes::default());
        let mut gradients = Gradients {
            encoder: net.encoder.gradient(),
            decoder: net.decoder.gradient(),
        };
        let draws = ChaCha8Rng::seed_from_u64(8);
        let (tapes, mut same) = (&mut tapes, draws.clone());
        satisfy(&net, &judge, &batch, 0.5, &mut same, tapes, &mut gradients);
        let value = |net: &Autoencoder| {
            let mut random = draws.clone();
            let mut tape = SetTape::default();
            let latents: Vec<f32> = (0..6)
                .flat_map(|_| {
                    let radius = RADIUS * random.random::<f32>().sqrt();
                    let angle = std::f32::consts::TAU * random.random::<f32>();
                    [radius * angle.cos(), radius * angle.sin()]
                })
                .collect();
            let decoded = net.decode(&batch.states, &latents, 2, &mut tape);
            let outputs = judge.forward(&batch.states, &decoded, 2, &mut tape);
            let rows = outputs.chunks_exact(OUTPUTS).enumerate();
            rows.map(|(row, output)| match batch.recoverable[row / 2] {
                true => 0.5 * f64::from((-output[0]).exp().ln_1p()) / 6.0,
                false => 0.5 * f64::from(output[1]) / 6.0,
            })
            .sum::<f64>()
        };
        let start = net.decoder.head.parameters().to_vec();
        assert_gradient(&start, &gradients.decoder.head, |parameters| {
            net.decoder
                .head
                .parameters_mut()
                .copy_from_slice(parameters);
            value(&net)
        });
    }
}
