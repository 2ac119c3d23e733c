//! Proximal policy optimisation (PPO).
//!
//! Measured in 3 million steps (docs/safe-rl.md): reward 23.5 ± 1.2 at cost 203 ± 78 on Goal2, 0.80 ± 0.25 at
//! 85 ± 62 on Push2.
//!
//! Schulman et al., "Proximal Policy Optimization Algorithms", 2017, equation 7. Constants, early
//! stop and critics as in SafePO's `ppo.py`.
//!
//! Each epoch makes up to 40 passes over its samples, in shuffled batches of 64. A batch moves three
//! networks: the policy by the clipped surrogate, the critics by squared errors. Passes end early
//! when the policy has moved further than `target_kl` from the one that collected the samples.

use fabproj_nn::state::State;
use fabproj_nn::{Adam, AdamConfig, Tape, clip_norm_all};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::algorithm::{Epoch, Figures, Learner};
use crate::critic::{Critic, evaluate_rows};
use crate::error::{Result, RlError, check_setting};
use crate::gaussian::{GaussianPolicy, log_probability, mean_kl};
use crate::rollout::Rollout;

/// Settings of [`Ppo`]. Defaults are SafePO's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PpoSettings {
    /// Samples per gradient step. Default 64.
    pub batch_size: usize,
    /// Most passes over an epoch's samples. Default 40.
    pub passes: usize,
    /// Passes end when the mean KL divergence, summed over action components, is larger. Default 0.02.
    pub target_kl: f64,
    /// The ratio of probabilities counts up to 1 ± this. Default 0.2.
    pub clip: f64,
    /// Learning rate of the policy at the start; it falls linearly to 0. Default 3e-4.
    pub actor_rate: f32,
    /// Learning rate of the critics. Default 3e-4.
    pub critic_rate: f32,
    /// Largest norm of the gradient of all three networks together. Default 40.
    pub max_gradient_norm: f32,
    /// Factor of Σ parameter² in each critic's loss. Default 1e-3.
    pub critic_decay: f32,
}

impl Default for PpoSettings {
    fn default() -> Self {
        Self {
            batch_size: 64,
            passes: 40,
            target_kl: 0.02,
            clip: 0.2,
            actor_rate: 3e-4,
            critic_rate: 3e-4,
            max_gradient_norm: 40.0,
            critic_decay: 1e-3,
        }
    }
}

impl PpoSettings {
    pub(crate) fn validate(&self) -> Result<()> {
        check_setting(
            self.batch_size >= 1,
            "batch_size",
            "at least 1",
            self.batch_size,
        )?;
        check_setting(self.passes >= 1, "passes", "at least 1", self.passes)?;
        check_setting(
            self.clip > 0.0 && self.clip < 1.0,
            "clip",
            "between 0 and 1",
            self.clip,
        )?;
        for (name, value) in [
            ("target_kl", self.target_kl),
            ("actor_rate", self.actor_rate.into()),
            ("critic_rate", self.critic_rate.into()),
            ("max_gradient_norm", self.max_gradient_norm.into()),
        ] {
            check_setting(value > 0.0, name, "greater than 0", value)?;
        }
        let decay = self.critic_decay;
        check_setting(decay >= 0.0, "critic_decay", "at least 0", decay)
    }
}

/// PPO with its optimiser.
#[derive(Clone, Debug)]
pub struct Ppo {
    settings: PpoSettings,
    actor_adam: ActorAdam,
}

impl Ppo {
    /// A fresh optimiser for the agent's policy.
    pub fn new(settings: PpoSettings, agent: &Agent) -> Self {
        let actor_adam = ActorAdam::new(&agent.actor);
        Self {
            settings,
            actor_adam,
        }
    }

    /// Passes over the samples with the given advantages. `term` is added to the policy's loss.
    pub(crate) fn improve(
        &mut self,
        agent: &mut Agent,
        rollout: &Rollout,
        advantages: &[f64],
        epoch: Epoch,
        term: Option<&dyn MeanTerm>,
    ) -> Result<Figures> {
        let mut order: Vec<usize> = (0..rollout.len()).collect();
        let (mut random, mut work) = (epoch.shuffle(), Workspace::new(agent));
        let (mut losses, mut steps, mut passes, mut kl) = (Losses::default(), 0.0, 0, 0.0);
        while passes < self.settings.passes && kl <= self.settings.target_kl {
            order.shuffle(&mut random);
            for rows in order.chunks(self.settings.batch_size) {
                let batch = Batch::gather(rollout, advantages, rows);
                losses.add(self.step(agent, &batch, epoch, term, &mut work));
                steps += 1.0;
            }
            passes += 1;
            kl = kl_from_old(&agent.actor, rollout);
        }
        losses.check(epoch)?;
        Ok(vec![
            ("actor_loss", losses.actor / steps),
            ("reward_critic_loss", losses.reward / steps),
            ("cost_critic_loss", losses.cost / steps),
            ("kl", kl),
            ("passes", passes as f64),
        ])
    }

    /// One gradient step of all three networks.
    fn step(
        &mut self,
        agent: &mut Agent,
        batch: &Batch,
        epoch: Epoch,
        term: Option<&dyn MeanTerm>,
        work: &mut Workspace,
    ) -> Losses {
        let settings = &self.settings;
        let decay = settings.critic_decay;
        let [actor, reward, cost] = &mut work.parts;
        let critic = |critic: &Critic, targets: &[f32], part: &mut Part| {
            let Part { tape, gradient } = part;
            critic.add_gradient(&batch.observations, targets, decay, tape, gradient)
        };
        let (actor_loss, (reward_loss, cost_loss)) = rayon::join(
            || add_surrogate_gradient(&agent.actor, batch, settings.clip, term, actor),
            || {
                rayon::join(
                    || critic(&agent.reward_critic, &batch.reward_targets, reward),
                    || critic(&agent.cost_critic, &batch.cost_targets, cost),
                )
            },
        );
        let mut gradients = [
            &mut actor.gradient[..],
            &mut reward.gradient[..],
            &mut cost.gradient[..],
        ];
        clip_norm_all(&mut gradients, settings.max_gradient_norm);
        // LinearLR from 1 to 0 over the epochs.
        let rate = settings.actor_rate * (1.0 - epoch.progress()) as f32;
        self.actor_adam
            .consume(&mut agent.actor, &mut actor.gradient, rate);
        for (critic, part) in [
            (&mut agent.reward_critic, reward),
            (&mut agent.cost_critic, cost),
        ] {
            let parameters = critic.network.parameters_mut();
            let rate = settings.critic_rate;
            critic.adam.consume(parameters, &mut part.gradient, rate);
        }
        Losses {
            actor: actor_loss,
            reward: reward_loss,
            cost: cost_loss,
        }
    }
}

impl Learner for Ppo {
    fn update(&mut self, agent: &mut Agent, rollout: &Rollout, epoch: Epoch) -> Result<Figures> {
        self.improve(agent, rollout, &rollout.reward_advantages, epoch, None)
    }

    fn save(&self, state: &mut State) {
        self.actor_adam.save(state);
    }

    fn record(&self) -> Value {
        json!({ "actor_steps": self.actor_adam.network.step })
    }

    fn load(&mut self, state: &State, record: &Value) -> bool {
        let steps = record["actor_steps"].as_u64();
        steps.is_some_and(|steps| self.actor_adam.load(state, steps))
    }
}

/// A term of the policy's loss that depends on the means.
pub(crate) trait MeanTerm: Sync {
    /// Adds the term's derivative with respect to the means of a batch, and returns its value.
    fn add_gradient(&self, batch: &Batch, means: &[f32], d_means: &mut [f32]) -> f64;
}

/// Adds the gradient of -mean min(r A, clip(r, 1-ε, 1+ε) A), r = π(a|o) / π_old(a|o), and of `term`.
/// Returns the loss.
fn add_surrogate_gradient(
    actor: &GaussianPolicy,
    batch: &Batch,
    clip: f64,
    term: Option<&dyn MeanTerm>,
    part: &mut Part,
) -> f64 {
    let (dim, rows) = (actor.action_dim(), batch.advantages.len());
    let Part { tape, gradient } = part;
    let means = actor.mean.forward(&batch.observations, rows, tape).to_vec();
    let (d_network, d_log_std) = gradient.split_at_mut(actor.mean.parameters().len());
    let inverse_variance: Vec<f32> = actor.log_std.iter().map(|l| (-2.0 * l).exp()).collect();
    let (mut d_means, mut loss) = (vec![0.0; means.len()], 0.0);
    for row in 0..rows {
        let range = row * dim..(row + 1) * dim;
        let (mean, action) = (&means[range.clone()], &batch.actions[range.clone()]);
        let log_ratio =
            log_probability(mean, &actor.log_std, action) - batch.log_probabilities[row];
        let (value, slope) = clipped_surrogate(log_ratio.exp(), batch.advantages[row], clip);
        loss -= value;
        let d_log = (-slope / rows as f64) as f32;
        // ∂ log π/∂μ = (a-μ)/σ², ∂ log π/∂ log σ = (a-μ)²/σ² - 1
        for (index, d_mean) in d_means[range].iter_mut().enumerate() {
            let error = action[index] - mean[index];
            let scaled = error * inverse_variance[index];
            *d_mean = d_log * scaled;
            d_log_std[index] += d_log * (error * scaled - 1.0);
        }
    }
    loss /= rows as f64;
    if let Some(term) = term {
        loss += term.add_gradient(batch, &means, &mut d_means);
    }
    actor.mean.backward(tape, &d_means, Some(d_network), None);
    loss
}

/// min(r A, clip(r) A) and its derivative with respect to log r.
fn clipped_surrogate(ratio: f64, advantage: f64, clip: f64) -> (f64, f64) {
    let plain = ratio * advantage;
    let clipped = ratio.clamp(1.0 - clip, 1.0 + clip) * advantage;
    if plain <= clipped {
        (plain, plain)
    } else {
        (clipped, 0.0)
    }
}

/// The mean KL divergence of the current policy from the one that collected the samples.
pub(crate) fn kl_from_old(actor: &GaussianPolicy, rollout: &Rollout) -> f64 {
    let means = evaluate_rows(&actor.mean, &rollout.observations);
    mean_kl((&rollout.means, &rollout.log_std), (&means, &actor.log_std))
}

/// Samples of one gradient step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) observations: Vec<f32>,
    /// Raw, as a filter sees them; empty without a filter.
    pub(crate) task_observations: Vec<f32>,
    pub(crate) actions: Vec<f32>,
    pub(crate) log_probabilities: Vec<f64>,
    pub(crate) advantages: Vec<f64>,
    pub(crate) reward_targets: Vec<f32>,
    pub(crate) cost_targets: Vec<f32>,
}

impl Batch {
    /// Copies the given samples.
    pub(crate) fn gather(rollout: &Rollout, advantages: &[f64], rows: &[usize]) -> Self {
        let samples = rollout.len();
        let blocks = |values: &[f32]| {
            let width = values.len() / samples;
            let mut gathered = Vec::with_capacity(rows.len() * width);
            for row in rows {
                gathered.extend_from_slice(&values[row * width..][..width]);
            }
            gathered
        };
        let wide = |values: &[f64]| rows.iter().map(|row| values[*row]).collect();
        Self {
            observations: blocks(&rollout.observations),
            task_observations: blocks(&rollout.task_observations),
            actions: blocks(&rollout.actions),
            log_probabilities: wide(&rollout.log_probabilities),
            advantages: wide(advantages),
            reward_targets: blocks(&rollout.reward_targets),
            cost_targets: blocks(&rollout.cost_targets),
        }
    }
}

/// Scratch memory of a gradient step.
struct Workspace {
    parts: [Part; 3],
}

#[derive(Default)]
struct Part {
    tape: Tape,
    gradient: Vec<f32>,
}

impl Workspace {
    fn new(agent: &Agent) -> Self {
        let part = |length| Part {
            tape: Tape::new(),
            gradient: vec![0.0; length],
        };
        let critic = |critic: &Critic| part(critic.network.parameters().len());
        Self {
            parts: [
                part(agent.actor.parameter_count()),
                critic(&agent.reward_critic),
                critic(&agent.cost_critic),
            ],
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    actor: f64,
    reward: f64,
    cost: f64,
}

impl Losses {
    fn add(&mut self, other: Self) {
        self.actor += other.actor;
        self.reward += other.reward;
        self.cost += other.cost;
    }

    fn check(&self, epoch: Epoch) -> Result<()> {
        let parts = [
            (self.actor, "the policy's loss"),
            (self.reward, "the reward critic's loss"),
            (self.cost, "the cost critic's loss"),
        ];
        match parts.iter().find(|(loss, _)| !loss.is_finite()) {
            None => Ok(()),
            Some((_, what)) => Err(RlError::Diverged {
                epoch: epoch.index,
                what: (*what).to_owned(),
            }),
        }
    }
}

/// Adam for a policy: its network and log σ.
#[derive(Clone, Debug)]
struct ActorAdam {
    network: Adam,
    log_std: Adam,
}

impl ActorAdam {
    fn new(actor: &GaussianPolicy) -> Self {
        let config = AdamConfig::default();
        Self {
            network: Adam::new(config, actor.mean.parameters().len()),
            log_std: Adam::new(config, actor.log_std.len()),
        }
    }

    /// One update; the gradient is zero afterwards.
    fn consume(&mut self, actor: &mut GaussianPolicy, gradient: &mut [f32], rate: f32) {
        let (network, log_std) = gradient.split_at_mut(self.network.first.len());
        self.network
            .consume(actor.mean.parameters_mut(), network, rate);
        self.log_std.consume(&mut actor.log_std, log_std, rate);
    }

    fn save(&self, state: &mut State) {
        for (name, adam) in [("actor", &self.network), ("log_std", &self.log_std)] {
            state.put(&format!("{name}.first"), &adam.first);
            state.put(&format!("{name}.second"), &adam.second);
        }
    }

    fn load(&mut self, state: &State, steps: u64) -> bool {
        let mut parts = [("actor", &mut self.network), ("log_std", &mut self.log_std)];
        parts.iter_mut().all(|(name, adam)| {
            adam.step = steps;
            state.get(&format!("{name}.first"), &mut adam.first)
                && state.get(&format!("{name}.second"), &mut adam.second)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_gradient, random_values};

    fn batch(rows: usize) -> Batch {
        let widen = |values: Vec<f32>| values.into_iter().map(f64::from).collect::<Vec<_>>();
        Batch {
            observations: random_values(rows * 3, 1),
            task_observations: Vec::new(),
            actions: random_values(rows * 2, 2),
            // Ratios on both sides of the clip range.
            log_probabilities: widen(random_values(rows, 3))
                .iter()
                .map(|v| 0.6 * v - 2.2)
                .collect(),
            advantages: widen(random_values(rows, 4)),
            reward_targets: random_values(rows, 5),
            cost_targets: random_values(rows, 6),
        }
    }

    /// 0.5 mean (μ - 1)²
    struct Pull;

    impl MeanTerm for Pull {
        fn add_gradient(&self, _batch: &Batch, means: &[f32], d_means: &mut [f32]) -> f64 {
            let count = means.len() as f32;
            let each = d_means.iter_mut().zip(means);
            each.for_each(|(d, mean)| *d += (mean - 1.0) / count);
            means
                .iter()
                .map(|mean| 0.5 * f64::from((mean - 1.0).powi(2)))
                .sum::<f64>()
                / f64::from(count)
        }
    }

    #[test]
    fn surrogate_gradient_equals_finite_differences() {
        let mut agent = Agent::new(3, 2, &[8, 8], 1).unwrap();
        agent.actor.log_std = vec![0.2, -0.4];
        let batch = batch(12);
        for term in [None, Some(&Pull as &dyn MeanTerm)] {
            let mut work = Workspace::new(&agent);
            let part = &mut work.parts[0];
            add_surrogate_gradient(&agent.actor, &batch, 0.2, term, part);
            let gradient = part.gradient.clone();
            let start = agent.actor.parameters();
            let mut actor = agent.actor.clone();
            assert_gradient(&start, &gradient, |parameters| {
                actor.set_parameters(parameters);
                add_surrogate_gradient(&actor, &batch, 0.2, term, part)
            });
        }
    }

    #[test]
    fn the_clip_stops_gains_but_not_losses() {
        // A good action is already more likely by more than the clip: no more gain.
        assert_eq!(clipped_surrogate(1.5, 2.0, 0.2), (2.4, 0.0));
        // A bad action has become more likely: its gradient stays.
        assert_eq!(clipped_surrogate(1.5, -2.0, 0.2), (-3.0, -3.0));
        // A bad action is already less likely by more than the clip.
        assert_eq!(clipped_surrogate(0.5, -2.0, 0.2), (-1.6, 0.0));
        // A good action has become less likely.
        assert_eq!(clipped_surrogate(0.5, 2.0, 0.2), (1.0, 1.0));
        // Inside the range nothing is clipped.
        assert_eq!(clipped_surrogate(1.1, 1.0, 0.2).1, 1.1);
    }

    #[test]
    fn the_actors_rate_falls_linearly_and_the_critics_stays() {
        let settings = PpoSettings::default();
        let distance = |index| {
            let mut agent = Agent::new(3, 2, &[8], 1).unwrap();
            let before = agent.clone();
            let mut ppo = Ppo::new(settings.clone(), &agent);
            let epoch = Epoch {
                index,
                count: 10,
                seed: 0,
            };
            let mut work = Workspace::new(&agent);
            ppo.step(&mut agent, &batch(8), epoch, None, &mut work);
            let largest = |a: &[f32], b: &[f32]| {
                let pairs = a.iter().zip(b);
                pairs.map(|(a, b)| (a - b).abs()).fold(0.0f32, f32::max)
            };
            let critic = |agent: &Agent| agent.reward_critic.network.parameters().to_vec();
            (
                largest(&agent.actor.parameters(), &before.actor.parameters()),
                largest(&critic(&agent), &critic(&before)),
            )
        };
        // Adam's first step is the learning rate.
        let ((actor_first, critic_first), (actor_late, critic_late)) = (distance(0), distance(9));
        assert!((actor_first - 3e-4).abs() < 1e-6 && (actor_late - 3e-5).abs() < 1e-6);
        assert!((critic_first - 3e-4).abs() < 1e-6 && (critic_late - 3e-4).abs() < 1e-6);
    }
}
