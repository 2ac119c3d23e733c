//! Trust region policy optimisation (TRPO).
//!
//! Measured in 3 million steps (docs/safe-rl.md): reward 25.6 ± 1.6 at cost 207 ± 23 on Goal2, 1.35 ± 1.96 at
//! 86 ± 11 on Push2.
//!
//! Schulman et al., "Trust Region Policy Optimization", ICML 2015, appendix C. Constants, line search
//! and critics as in SafePO's `trpo.py`.
//!
//! Each epoch makes one step of the policy: the natural gradient x = H⁻¹ g by conjugate gradients,
//! scaled to the trust region, shortened until the surrogate rises and the divergence is in bounds.
//! The critics then make ten passes over the samples.

use fabproj_nn::state::State;
use fabproj_nn::{Tape, clip_norm_all};
use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::Agent;
use crate::algorithm::{Epoch, Figures, Learner};
use crate::critic::evaluate_rows;
use crate::error::{Result, RlError, check_setting};
use crate::gaussian::{GaussianPolicy, log_probability};
use crate::parameter_tangent::LayeredPass;
use crate::ppo::{Batch, kl_from_old};
use crate::rollout::Rollout;

/// Samples per task of the parallel sums. Fixed, so that results do not depend on the threads.
const ROWS: usize = 1000;

/// Settings of [`Trpo`]. Defaults are SafePO's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrpoSettings {
    /// Bound of the mean KL divergence, averaged over samples and action components. Default 0.01.
    pub target_kl: f64,
    /// Most iterations of the conjugate gradients. Default 15.
    pub conjugate_gradient_steps: usize,
    /// Multiple of the identity that is added to the Fisher matrix. Default 0.1.
    pub damping: f64,
    /// Most tries of the line search. Default 15.
    pub line_search_steps: usize,
    /// Each try of the line search is shorter by this factor. Default 0.8.
    pub line_search_factor: f64,
    /// Samples per gradient step of the critics. Default 128.
    pub critic_batch_size: usize,
    /// Passes of the critics over the samples. Default 10.
    pub critic_passes: usize,
    /// Learning rate of the critics. Default 1e-3.
    pub critic_rate: f32,
    /// Largest norm of the gradient of both critics together. Default 40.
    pub max_gradient_norm: f32,
    /// Factor of Σ parameter² in each critic's loss. Default 1e-3.
    pub critic_decay: f32,
}

impl Default for TrpoSettings {
    fn default() -> Self {
        Self {
            target_kl: 0.01,
            conjugate_gradient_steps: 15,
            damping: 0.1,
            line_search_steps: 15,
            line_search_factor: 0.8,
            critic_batch_size: 128,
            critic_passes: 10,
            critic_rate: 1e-3,
            max_gradient_norm: 40.0,
            critic_decay: 1e-3,
        }
    }
}

impl TrpoSettings {
    pub(crate) fn validate(&self) -> Result<()> {
        for (name, count) in [
            ("conjugate_gradient_steps", self.conjugate_gradient_steps),
            ("line_search_steps", self.line_search_steps),
            ("critic_batch_size", self.critic_batch_size),
        ] {
            check_setting(count >= 1, name, "at least 1", count)?;
        }
        for (name, value) in [
            ("target_kl", self.target_kl),
            ("critic_rate", self.critic_rate.into()),
            ("max_gradient_norm", self.max_gradient_norm.into()),
        ] {
            check_setting(value > 0.0, name, "greater than 0", value)?;
        }
        let factor = self.line_search_factor;
        let shorter = factor > 0.0 && factor < 1.0;
        check_setting(shorter, "line_search_factor", "between 0 and 1", factor)?;
        check_setting(self.damping >= 0.0, "damping", "at least 0", self.damping)?;
        let decay = self.critic_decay;
        check_setting(decay >= 0.0, "critic_decay", "at least 0", decay)
    }
}

/// TRPO.
#[derive(Clone, Debug)]
pub struct Trpo {
    settings: TrpoSettings,
}

impl Trpo {
    /// TRPO has no state of its own.
    pub fn new(settings: TrpoSettings) -> Self {
        Self { settings }
    }

    /// One step of the policy with the given advantages, then the critics' passes.
    pub(crate) fn improve(
        &self,
        agent: &mut Agent,
        rollout: &Rollout,
        advantages: &[f64],
        epoch: Epoch,
    ) -> Result<Figures> {
        let mut figures = self.step(&mut agent.actor, rollout, advantages, epoch)?;
        figures.extend(self.fit_critics(agent, rollout, epoch)?);
        Ok(figures)
    }

    /// One step of the policy inside the trust region.
    fn step(
        &self,
        actor: &mut GaussianPolicy,
        rollout: &Rollout,
        advantages: &[f64],
        epoch: Epoch,
    ) -> Result<Figures> {
        let settings = &self.settings;
        let (before, gradient) = surrogate_gradient(actor, rollout, advantages);
        if !before.is_finite() || gradient.iter().any(|value| !value.is_finite()) {
            return Err(RlError::Diverged {
                epoch: epoch.index,
                what: "the gradient of the surrogate".to_owned(),
            });
        }
        let mut fisher = Fisher::new(actor, rollout, settings.damping)?;
        let direction = conjugate_gradients(
            |v| fisher.times(v),
            &gradient,
            settings.conjugate_gradient_steps,
        )?;
        // xᵀHx is twice the divergence of the step x, to second order.
        let curvature = dot(&direction, &fisher.times(&direction)?);
        let length = (2.0 * settings.target_kl / (curvature + 1e-8)).sqrt();
        let step: Vec<f64> = direction.iter().map(|x| length * x).collect();
        let taken = self.line_search(actor, rollout, advantages, before, &step);
        let (share, improvement, kl) = taken.unwrap_or_default();
        Ok(vec![
            ("surrogate_improvement", improvement),
            ("kl", kl),
            ("step_share", share),
        ])
    }

    /// Moves the policy by the longest share of `step` that improves the surrogate within the bound,
    /// and returns (share, improvement, divergence). Leaves the policy as it was if there is none.
    fn line_search(
        &self,
        actor: &mut GaussianPolicy,
        rollout: &Rollout,
        advantages: &[f64],
        before: f64,
        step: &[f64],
    ) -> Option<(f64, f64, f64)> {
        let (start, mut share) = (actor.parameters(), 1.0);
        for _ in 0..self.settings.line_search_steps {
            let moved: Vec<f32> = start
                .iter()
                .zip(step)
                .map(|(parameter, step)| (f64::from(*parameter) + share * step) as f32)
                .collect();
            actor.set_parameters(&moved);
            let improvement = surrogate(actor, rollout, advantages) - before;
            let kl = kl_from_old(actor, rollout) / actor.action_dim() as f64;
            // NaN compares false, so a diverged step is refused.
            if improvement >= 0.0 && improvement.is_finite() && kl <= self.settings.target_kl {
                return Some((share, improvement, kl));
            }
            share *= self.settings.line_search_factor;
        }
        actor.set_parameters(&start);
        None
    }

    /// Passes of both critics over the samples.
    fn fit_critics(&self, agent: &mut Agent, rollout: &Rollout, epoch: Epoch) -> Result<Figures> {
        let settings = &self.settings;
        let mut order: Vec<usize> = (0..rollout.len()).collect();
        let (mut random, mut tapes) = (epoch.shuffle(), [Tape::new(), Tape::new()]);
        let length = agent.reward_critic.network.parameters().len();
        let mut gradients = [vec![0.0; length], vec![0.0; length]];
        let (mut losses, mut steps) = ([0.0; 2], 0.0);
        for _ in 0..settings.critic_passes {
            order.shuffle(&mut random);
            for rows in order.chunks(settings.critic_batch_size) {
                let batch = Batch::gather(rollout, &rollout.reward_advantages, rows);
                let [reward_tape, cost_tape] = &mut tapes;
                let [reward, cost] = &mut gradients;
                let (inputs, decay) = (&batch.observations, settings.critic_decay);
                let (critic, other) = (&agent.reward_critic, &agent.cost_critic);
                let found = rayon::join(
                    || {
                        critic.add_gradient(
                            inputs,
                            &batch.reward_targets,
                            decay,
                            reward_tape,
                            reward,
                        )
                    },
                    || other.add_gradient(inputs, &batch.cost_targets, decay, cost_tape, cost),
                );
                losses = [losses[0] + found.0, losses[1] + found.1];
                clip_norm_all(&mut [reward, cost], settings.max_gradient_norm);
                for (critic, gradient) in [
                    (&mut agent.reward_critic, reward),
                    (&mut agent.cost_critic, cost),
                ] {
                    let parameters = critic.network.parameters_mut();
                    critic
                        .adam
                        .consume(parameters, gradient, settings.critic_rate);
                }
                steps += 1.0;
            }
        }
        if losses.iter().any(|loss| !loss.is_finite()) {
            return Err(RlError::Diverged {
                epoch: epoch.index,
                what: "a critic's loss".to_owned(),
            });
        }
        let mean = |loss: f64| if steps > 0.0 { loss / steps } else { 0.0 };
        Ok(vec![
            ("reward_critic_loss", mean(losses[0])),
            ("cost_critic_loss", mean(losses[1])),
        ])
    }
}

impl Learner for Trpo {
    fn update(&mut self, agent: &mut Agent, rollout: &Rollout, epoch: Epoch) -> Result<Figures> {
        self.improve(agent, rollout, &rollout.reward_advantages, epoch)
    }

    fn save(&self, _state: &mut State) {}

    fn record(&self) -> Value {
        Value::Null
    }

    fn load(&mut self, _state: &State, _record: &Value) -> bool {
        true
    }
}

/// mean π(a|o) / π_old(a|o) · A
fn surrogate(actor: &GaussianPolicy, rollout: &Rollout, advantages: &[f64]) -> f64 {
    let means = evaluate_rows(&actor.mean, &rollout.observations);
    let dim = actor.action_dim();
    let rows = means
        .chunks_exact(dim)
        .zip(rollout.actions.chunks_exact(dim));
    let old = rollout.log_probabilities.iter().zip(advantages);
    let each = rows.zip(old).map(|((mean, action), (old, advantage))| {
        (log_probability(mean, &actor.log_std, action) - old).exp() * advantage
    });
    each.sum::<f64>() / rollout.len() as f64
}

/// The surrogate and its gradient with respect to all parameters.
fn surrogate_gradient(
    actor: &GaussianPolicy,
    rollout: &Rollout,
    advantages: &[f64],
) -> (f64, Vec<f64>) {
    let starts: Vec<usize> = (0..rollout.len()).step_by(ROWS).collect();
    let parts: Vec<(f64, Vec<f32>)> = starts
        .par_iter()
        .map(|start| {
            let end = (start + ROWS).min(rollout.len());
            partial_gradient(actor, rollout, advantages, *start..end)
        })
        .collect();
    let value = parts.iter().map(|part| part.0).sum();
    (value, add_up(parts.iter().map(|part| &part.1[..])))
}

/// One piece of [`surrogate_gradient`].
fn partial_gradient(
    actor: &GaussianPolicy,
    rollout: &Rollout,
    advantages: &[f64],
    rows: std::ops::Range<usize>,
) -> (f64, Vec<f32>) {
    let (inputs, dim) = (actor.observation_dim(), actor.action_dim());
    let observations = &rollout.observations[rows.start * inputs..rows.end * inputs];
    let mut tape = Tape::new();
    let means = actor
        .mean
        .forward(observations, rows.len(), &mut tape)
        .to_vec();
    let mut gradient = vec![0.0; actor.parameter_count()];
    let (d_network, d_log_std) = gradient.split_at_mut(actor.mean.parameters().len());
    let (mut d_means, mut value) = (vec![0.0; means.len()], 0.0);
    for (row, sample) in rows.enumerate() {
        let mean = &means[row * dim..][..dim];
        let action = &rollout.actions[sample * dim..][..dim];
        let log_ratio =
            log_probability(mean, &actor.log_std, action) - rollout.log_probabilities[sample];
        let term = log_ratio.exp() * advantages[sample] / rollout.len() as f64;
        value += term;
        // ∂ log π/∂μ = (a-μ)/σ², ∂ log π/∂ log σ = (a-μ)²/σ² - 1
        for index in 0..dim {
            let error = action[index] - mean[index];
            let scaled = error * (-2.0 * actor.log_std[index]).exp();
            d_means[row * dim + index] = term as f32 * scaled;
            d_log_std[index] += term as f32 * (error * scaled - 1.0);
        }
    }
    actor
        .mean
        .backward(&mut tape, &d_means, Some(d_network), None);
    (value, gradient)
}

/// The Fisher matrix of the policy: the Hessian of the mean KL divergence, averaged over samples and
/// action components, plus damping.
///
/// For a Gaussian with σ apart from the network it is Jᵀ diag(1/σ²) J / (N·a) for the network's
/// parameters, J the Jacobian of the means, and 2/a for log σ.
struct Fisher<'a> {
    actor: &'a GaussianPolicy,
    pieces: Vec<Piece>,
    samples: usize,
    damping: f64,
}

struct Piece {
    pass: LayeredPass,
    tape: Tape,
}

impl<'a> Fisher<'a> {
    fn new(actor: &'a GaussianPolicy, rollout: &Rollout, damping: f64) -> Result<Self> {
        let chunks = rollout
            .observations
            .par_chunks(ROWS * actor.observation_dim());
        let pieces: Result<Vec<Piece>> = chunks
            .map(|observations| {
                let mut tape = Tape::new();
                let rows = observations.len() / actor.observation_dim();
                actor.mean.forward(observations, rows, &mut tape);
                let pass = LayeredPass::new(&actor.mean, observations)?;
                Ok(Piece { pass, tape })
            })
            .collect();
        Ok(Self {
            actor,
            pieces: pieces?,
            samples: rollout.len(),
            damping,
        })
    }

    /// H v
    fn times(&mut self, vector: &[f64]) -> Result<Vec<f64>> {
        let (actor, dim) = (self.actor, self.actor.action_dim());
        let weight = 1.0 / (self.samples * dim) as f32;
        let length = actor.mean.parameters().len();
        let direction: Vec<f32> = vector[..length].iter().map(|v| *v as f32).collect();
        let scales: Vec<f32> = actor
            .log_std
            .iter()
            .map(|log| weight * (-2.0 * log).exp())
            .collect();
        let parts: Result<Vec<Vec<f32>>> = self
            .pieces
            .par_iter_mut()
            .map(|piece| {
                let mut tangent = piece.pass.push(&actor.mean, &direction)?;
                for (index, value) in tangent.iter_mut().enumerate() {
                    *value *= scales[index % dim];
                }
                let mut product = vec![0.0; length];
                actor
                    .mean
                    .backward(&mut piece.tape, &tangent, Some(&mut product), None);
                Ok(product)
            })
            .collect();
        let mut product = add_up(parts?.iter().map(|part| &part[..]));
        let log_std = vector[length..].iter().map(|v| 2.0 * v / dim as f64);
        product.extend(log_std);
        let damped = product.iter_mut().zip(vector);
        damped.for_each(|(p, v)| *p += self.damping * v);
        Ok(product)
    }
}

/// Solves H x = b from x = 0, as SafePO does: residuals below 1e-10 end it, denominators get 1e-6.
fn conjugate_gradients(
    mut times: impl FnMut(&[f64]) -> Result<Vec<f64>>,
    b: &[f64],
    steps: usize,
) -> Result<Vec<f64>> {
    let (mut x, mut residual) = (vec![0.0; b.len()], b.to_vec());
    let (mut direction, mut square) = (b.to_vec(), dot(b, b));
    for _ in 0..steps {
        if square.sqrt() < 1e-10 {
            break;
        }
        let image = times(&direction)?;
        let alpha = square / (dot(&direction, &image) + 1e-6);
        for index in 0..b.len() {
            x[index] += alpha * direction[index];
            residual[index] -= alpha * image[index];
        }
        let next = dot(&residual, &residual);
        let beta = next / (square + 1e-6);
        let pairs = direction.iter_mut().zip(&residual);
        pairs.for_each(|(d, r)| *d = r + beta * *d);
        square = next;
    }
    Ok(x)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The sum of vectors, in their order.
fn add_up<'a>(parts: impl Iterator<Item = &'a [f32]>) -> Vec<f64> {
    let mut sum: Vec<f64> = Vec::new();
    for part in parts {
        sum.resize(part.len(), 0.0);
        let pairs = sum.iter_mut().zip(part);
        pairs.for_each(|(sum, value)| *sum += f64::from(*value));
    }
    sum
}

#[cfg(test)]
mod tests;
