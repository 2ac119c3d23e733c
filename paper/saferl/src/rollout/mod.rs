//! Experience of one epoch: a policy acts in several copies of a task.

mod collector;

use serde::{Deserialize, Serialize};

use crate::advantage::{centre, generalised_advantages, standardise};
use crate::agent::Agent;
use crate::critic::Critic;
use crate::env::{Environment, Step};
use crate::error::{Result, RlError, check_setting};
use crate::filter::{Correction, Guarded};
use crate::vector::Episode;

pub use collector::Collector;
pub(crate) use collector::CollectorRecord;

/// Settings of rollouts and advantages. Defaults are SafePO's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RolloutSettings {
    /// Copies of the task. Default 10.
    pub environments: usize,
    /// Steps of all copies together in one epoch. Default 20,000.
    pub steps_per_epoch: usize,
    /// Discount γ of rewards and costs. Default 0.99.
    pub discount: f64,
    /// λ of the advantages of rewards. Default 0.95.
    pub reward_lambda: f64,
    /// λ of the advantages of costs. Default 0.95.
    pub cost_lambda: f64,
    /// Normalise the last observation of an episode before its value is taken. SafePO does not,
    /// which is a bug. Default true.
    pub normalise_final_observation: bool,
}

impl Default for RolloutSettings {
    fn default() -> Self {
        Self {
            environments: 10,
            steps_per_epoch: 20_000,
            discount: 0.99,
            reward_lambda: 0.95,
            cost_lambda: 0.95,
            normalise_final_observation: true,
        }
    }
}

impl RolloutSettings {
    pub(crate) fn validate(&self) -> Result<()> {
        check_setting(
            (1..=1024).contains(&self.environments),
            "environments",
            "from 1 to 1024",
            self.environments,
        )?;
        let whole = (self.environments..=1 << 24).contains(&self.steps_per_epoch)
            && self.steps_per_epoch.is_multiple_of(self.environments);
        let expected = "a multiple of `environments` up to 16777216";
        check_setting(whole, "steps_per_epoch", expected, self.steps_per_epoch)?;
        for (name, value) in [
            ("discount", self.discount),
            ("reward_lambda", self.reward_lambda),
            ("cost_lambda", self.cost_lambda),
        ] {
            check_setting((0.0..=1.0).contains(&value), name, "in [0, 1]", value)?;
        }
        Ok(())
    }

    fn steps_per_copy(&self) -> usize {
        self.steps_per_epoch / self.environments
    }
}

/// What learning charges beside the task's reward, for policies that train under a filter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// Per intervention of the filter.
    pub intervention: f64,
    /// Per unit of cost.
    pub cost: f64,
}

/// The samples of one epoch. Sample `copy * steps + step` is step `step` of copy `copy`.
#[derive(Clone, Debug, Default)]
pub struct Rollout {
    /// Normalised observations, one after the other.
    pub observations: Vec<f32>,
    /// Observations of the task as the filter saw them, if there is a filter; else empty.
    pub task_observations: Vec<f32>,
    /// Actions as the policy drew them, before any filter.
    pub actions: Vec<f32>,
    /// Means of the policy that acted.
    pub means: Vec<f32>,
    /// log σ of the policy that acted.
    pub log_std: Vec<f32>,
    /// log π(action | observation).
    pub log_probabilities: Vec<f64>,
    /// Rewards less the [`Price`].
    pub rewards: Vec<f64>,
    /// Costs.
    pub costs: Vec<f64>,
    /// Advantages of rewards: mean 0, standard deviation 1.
    pub reward_advantages: Vec<f64>,
    /// Advantages of costs: mean 0.
    pub cost_advantages: Vec<f64>,
    /// Targets of the reward critic.
    pub reward_targets: Vec<f32>,
    /// Targets of the cost critic.
    pub cost_targets: Vec<f32>,
    /// Episodes that ended in this epoch, in the order of their ends.
    pub episodes: Vec<Episode>,
    /// For the multiplier: the mean cost of the last 50 episodes, averaged over this epoch's ends.
    /// `None` before the first episode ended.
    pub episode_cost: Option<f64>,
    /// Share of the steps in which the filter intervened.
    pub intervened: f64,
}

/// Consecutive samples of one episode.
#[derive(Clone, Debug)]
struct Path {
    start: usize,
    end: usize,
    /// The normalised observation after the path; `None` after a final state.
    next: Option<Vec<f32>>,
}

impl Rollout {
    /// Number of samples.
    pub fn len(&self) -> usize {
        self.rewards.len()
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.rewards.is_empty()
    }

    /// What is not finite, if anything.
    pub fn fault(&self) -> Option<&'static str> {
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        let parts = [
            (
                self.observations.iter().all(|v| v.is_finite()),
                "an observation",
            ),
            (finite(&self.rewards), "a reward"),
            (finite(&self.costs), "a cost"),
            (
                finite(&self.reward_advantages),
                "an advantage of the reward",
            ),
            (finite(&self.cost_advantages), "an advantage of the cost"),
        ];
        parts.iter().find(|(finite, _)| !finite).map(|part| part.1)
    }
}

/// An epoch's samples while they are collected.
struct Recording {
    rollout: Rollout,
    steps: usize,
    paths: Vec<Path>,
    /// Where the path of each copy starts.
    starts: Vec<usize>,
    /// The mean cost of recent episodes at the end of each.
    costs_at_ends: Vec<f64>,
    interventions: usize,
}

impl Recording {
    /// Records the outcome of a step.
    fn add(
        &mut self,
        copy: usize,
        step: usize,
        result: &Step,
        correction: Correction,
        price: Price,
    ) {
        let sample = copy * self.steps + step;
        let intervened = u8::from(correction.intervened);
        self.interventions += usize::from(intervened);
        let charge = f64::from(intervened) * price.intervention + result.cost * price.cost;
        self.rollout.rewards[sample] = result.reward - charge;
        self.rollout.costs[sample] = result.cost;
    }

    /// Ends the path of a copy after a step.
    fn end_path(&mut self, copy: usize, step: usize, next: Option<Vec<f32>>) {
        self.paths.push(Path {
            start: copy * self.steps + self.starts[copy],
            end: copy * self.steps + step + 1,
            next,
        });
        self.starts[copy] = step + 1;
    }

    /// Fills in advantages and targets.
    fn finish(mut self, agent: &Agent, settings: &RolloutSettings) -> Rollout {
        let (rewards, costs) = (&self.rollout.rewards, &self.rollout.costs);
        let (critic, lambda) = (&agent.reward_critic, settings.reward_lambda);
        let (mut advantages, targets) = self.estimate(rewards, critic, settings.discount, lambda);
        standardise(&mut advantages);
        let (critic, lambda) = (&agent.cost_critic, settings.cost_lambda);
        let (mut costly, cost_targets) = self.estimate(costs, critic, settings.discount, lambda);
        centre(&mut costly);
        self.rollout.reward_advantages = advantages;
        self.rollout.reward_targets = targets;
        self.rollout.cost_advantages = costly;
        self.rollout.cost_targets = cost_targets;
        self.rollout.intervened = self.interventions as f64 / self.rollout.len().max(1) as f64;
        self.rollout
    }

    /// Advantages and targets of one signal, from its critic.
    fn estimate(
        &self,
        signal: &[f64],
        critic: &Critic,
        discount: f64,
        lambda: f64,
    ) -> (Vec<f64>, Vec<f32>) {
        let values = critic.values(&self.rollout.observations);
        let next = self.paths.iter().filter_map(|path| path.next.as_deref());
        let next: Vec<f32> = next.flatten().copied().collect();
        let mut last_values = critic.values(&next).into_iter();
        let mut advantages = vec![0.0; signal.len()];
        for path in &self.paths {
            let last = path.next.as_ref().and_then(|_| last_values.next());
            let range = path.start..path.end;
            let of_path = generalised_advantages(
                &signal[range.clone()],
                &values[range.clone()],
                f64::from(last.unwrap_or(0.0)),
                discount,
                lambda,
            );
            advantages[range].copy_from_slice(&of_path);
        }
        let targets = advantages.iter().zip(&values);
        let targets = targets.map(|(a, v)| (a + f64::from(*v)) as f32).collect();
        (advantages, targets)
    }
}

/// Checks that a policy fits a task.
///
/// # Errors
/// [`RlError::Dimensions`].
pub fn check_dimensions(inputs: usize, actions: usize, task: &Guarded) -> Result<()> {
    let (task_inputs, task_actions) = (task.observation_dim(), task.action_dim());
    if inputs == task_inputs && actions == task_actions {
        return Ok(());
    }
    Err(RlError::Dimensions {
        policy_inputs: inputs,
        policy_actions: actions,
        task_inputs,
        task_actions,
    })
}

#[cfg(test)]
mod tests;
