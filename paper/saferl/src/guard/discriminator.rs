//! The discriminator: is an action safe in a state, and if not, how bad is it?
//!
//! Three outputs: the logit of "safe", log(1 + recovery cost), log(1 + hold cost).

use fabproj_nn::{Adam, AdamConfig, Cosine};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::data::{ACTIONS, LabelledStates};
use super::set_net::{SetGradient, SetNet, SetNetWidths, SetTape};
use crate::error::{Result, check_setting};

/// Outputs of the discriminator.
pub(crate) const OUTPUTS: usize = 3;

/// States per task of a batch's gradient. Fixed, so that results do not depend on the threads.
const STATES: usize = 16;

/// Settings of the discriminator's training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DiscriminatorSettings {
    /// Widths of the network. Default 48 and 24.
    pub widths: SetNetWidths,
    /// Gradient steps. Default 3500.
    pub steps: u64,
    /// States per step, each with all its actions. Default 64.
    pub batch_states: usize,
    /// Share of the batch that is drawn from states with safe and unsafe actions. Default 1/3.
    pub mixed_share: f64,
    /// Largest learning rate; 50 steps of warm-up, then a cosine to 0. Default 3e-3.
    pub rate: f32,
    /// Factor of the squared error of the recovery cost. Default 0.3.
    pub recovery_weight: f32,
    /// Factor of the squared error of the hold cost. Default 0.2.
    pub hold_weight: f32,
}

impl Default for DiscriminatorSettings {
    fn default() -> Self {
        Self {
            widths: SetNetWidths {
                hidden: 48,
                pooled: 24,
            },
            steps: 3500,
            batch_states: 64,
            mixed_share: 1.0 / 3.0,
            rate: 3e-3,
            recovery_weight: 0.3,
            hold_weight: 0.2,
        }
    }
}

impl DiscriminatorSettings {
    pub(crate) fn validate(&self) -> Result<()> {
        let batch = self.batch_states;
        check_setting(batch >= 1, "batch_states", "at least 1", batch)?;
        check_setting(self.rate > 0.0, "rate", "greater than 0", self.rate)?;
        let share = (0.0..=1.0).contains(&self.mixed_share);
        check_setting(share, "mixed_share", "in [0, 1]", self.mixed_share)
    }
}

/// Draws states, a share of them from the mixed ones.
pub(crate) struct Sampler {
    mixed: Vec<usize>,
    all: usize,
    share: f64,
}

impl Sampler {
    pub(crate) fn new(states: &LabelledStates, share: f64) -> Self {
        let mixed = (0..states.len()).filter(|index| states.is_mixed(*index));
        Self {
            mixed: mixed.collect(),
            all: states.len(),
            share,
        }
    }

    pub(crate) fn draw(&self, random: &mut ChaCha8Rng) -> usize {
        match random.random_bool(self.share) && !self.mixed.is_empty() {
            true => self.mixed[random.random_range(0..self.mixed.len())],
            false => random.random_range(0..self.all),
        }
    }
}

/// A network with its optimiser.
pub(crate) struct Learner {
    slot: Adam,
    head: Adam,
}

impl Learner {
    pub(crate) fn new(net: &SetNet) -> Self {
        let config = AdamConfig::default();
        Self {
            slot: Adam::new(config, net.slot.parameters().len()),
            head: Adam::new(config, net.head.parameters().len()),
        }
    }

    pub(crate) fn update(&mut self, net: &mut SetNet, gradient: &SetGradient, rate: f32) {
        self.slot
            .update(net.slot.parameters_mut(), &gradient.slot, rate);
        self.head
            .update(net.head.parameters_mut(), &gradient.head, rate);
    }
}

/// Trains a discriminator, or continues with `start`.
pub(crate) fn train_discriminator(
    states: &LabelledStates,
    settings: &DiscriminatorSettings,
    start: Option<&SetNet>,
    random: &mut ChaCha8Rng,
) -> Result<SetNet> {
    let mut net = match start {
        Some(net) => net.clone(),
        None => SetNet::new(settings.widths, OUTPUTS, random)?,
    };
    let schedule = Cosine {
        peak: settings.rate,
        end_fraction: 0.0,
        warm_up: 50,
        total: settings.steps,
    };
    let (sampler, mut learner) = (
        Sampler::new(states, settings.mixed_share),
        Learner::new(&net),
    );
    let mut tapes = vec![SetTape::default(); settings.batch_states.div_ceil(STATES)];
    for step in 0..settings.steps {
        let batch: Vec<usize> = (0..settings.batch_states)
            .map(|_| sampler.draw(random))
            .collect();
        let parts: Vec<SetGradient> = batch
            .par_chunks(STATES)
            .zip(&mut tapes)
            .map(|(part, tape)| gradient(&net, states, part, batch.len(), settings, tape))
            .collect();
        let mut sum = net.gradient();
        for part in &parts {
            add(&mut sum.slot, &part.slot);
            add(&mut sum.head, &part.head);
        }
        learner.update(&mut net, &sum, schedule.at(step));
    }
    Ok(net)
}

fn add(sum: &mut [f32], part: &[f32]) {
    sum.iter_mut().zip(part).for_each(|(s, p)| *s += p);
}

/// The states of a batch, one after the other: features, actions.
pub(crate) fn gather(states: &LabelledStates, batch: &[usize]) -> (Vec<f32>, Vec<f32>) {
    let features = batch.iter().flat_map(|index| states.state(*index));
    let actions = batch.iter().flat_map(|index| states.actions_of(*index));
    (features.copied().collect(), actions.copied().collect())
}

/// The gradient of a part of a batch of `total` states.
fn gradient(
    net: &SetNet,
    states: &LabelledStates,
    part: &[usize],
    total: usize,
    settings: &DiscriminatorSettings,
    tape: &mut SetTape,
) -> SetGradient {
    let (features, actions) = gather(states, part);
    let outputs = net.forward(&features, &actions, ACTIONS, tape).to_vec();
    let scale = 1.0 / (total * ACTIONS) as f32;
    let mut d_outputs = vec![0.0; outputs.len()];
    let rows = outputs
        .chunks_exact(OUTPUTS)
        .zip(d_outputs.chunks_exact_mut(OUTPUTS));
    for (row, (output, d_output)) in rows.enumerate() {
        let place = part[row / ACTIONS] * ACTIONS + row % ACTIONS;
        let targets = targets(states, place);
        d_output[0] = scale * (sigmoid(output[0]) - targets[0]);
        d_output[1] = scale * 2.0 * settings.recovery_weight * (output[1] - targets[1]);
        d_output[2] = scale * 2.0 * settings.hold_weight * (output[2] - targets[2]);
    }
    let mut gradient = net.gradient();
    net.backward(tape, &d_outputs, Some(&mut gradient));
    gradient
}

/// Safe (0 or 1), log(1 + recovery cost), log(1 + hold cost).
fn targets(states: &LabelledStates, place: usize) -> [f32; OUTPUTS] {
    let recovery = states.recovery[place];
    let safe = if recovery == 0.0 { 1.0 } else { 0.0 };
    [safe, recovery.ln_1p(), states.hold[place].ln_1p()]
}

pub(crate) fn sigmoid(value: f32) -> f32 {
    1.0 / (1.0 + (-value).exp())
}

/// How well a discriminator does on labelled states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Mean binary cross-entropy.
    pub cross_entropy: f64,
    /// Share of the unsafe actions that pass the threshold.
    pub false_safe: f64,
    /// Share of the safe actions that do not.
    pub false_unsafe: f64,
}

/// Measures a discriminator at a threshold.
pub(crate) fn examine(net: &SetNet, states: &LabelledStates, threshold: f32) -> Quality {
    let (mut tape, mut entropy) = (SetTape::default(), 0.0);
    let (mut counts, mut wrong) = ([0.0f64; 2], [0.0f64; 2]);
    for index in 0..states.len() {
        let outputs = net.forward(
            states.state(index),
            states.actions_of(index),
            ACTIONS,
            &mut tape,
        );
        for (output, cost) in outputs.chunks_exact(OUTPUTS).zip(states.recovery_of(index)) {
            let (safe, probability) = (*cost == 0.0, sigmoid(output[0]));
            let likelihood = if safe { probability } else { 1.0 - probability };
            entropy -= f64::from(likelihood.max(1e-12)).ln();
            let class = usize::from(safe);
            counts[class] += 1.0;
            wrong[class] += f64::from(u8::from((probability >= threshold) != safe));
        }
    }
    let share = |class: usize| wrong[class] / counts[class].max(1.0);
    Quality {
        cross_entropy: entropy / (counts[0] + counts[1]).max(1.0),
        false_safe: share(0),
        false_unsafe: share(1),
    }
}
