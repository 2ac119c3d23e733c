//! Experience of one epoch: a policy acts in several copies of a task.

use std::collections::VecDeque;

use fabproj_nn::Tape;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::advantage::{centre, generalised_advantages, standardise};
use crate::agent::Agent;
use crate::critic::Critic;
use crate::env::{Environment, Step};
use crate::error::{Result, RlError, check_setting};
use crate::filter::{Correction, Guarded};
use crate::gaussian::log_probability;
use crate::normaliser::Normaliser;
use crate::vector::{Episode, VectorEnvironment};

/// Episodes whose mean cost the multiplier of the Lagrangian methods is adapted to (SafePO).
const RECENT: usize = 50;

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
        let at_least_one = self.environments >= 1;
        check_setting(
            at_least_one,
            "environments",
            "at least 1",
            self.environments,
        )?;
        let whole = self.steps_per_epoch >= self.environments
            && self.steps_per_epoch.is_multiple_of(self.environments);
        let expected = "a multiple of `environments`";
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

/// Copies of a task with their running episodes.
pub struct Collector {
    copies: VectorEnvironment<Guarded>,
    settings: RolloutSettings,
    /// The current observations, normalised.
    inputs: Vec<f32>,
    /// Actions that each running episode executed: a checkpoint replays them.
    running: Vec<Vec<f64>>,
    /// (reward, cost) of the last episodes.
    recent: VecDeque<(f64, f64)>,
    filtered: bool,
}

/// The part of a checkpoint that restores a [`Collector`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CollectorRecord {
    episodes: Vec<u64>,
    running: Vec<Vec<f64>>,
    recent: VecDeque<(f64, f64)>,
}

impl Collector {
    /// Starts the first episode of every copy.
    ///
    /// # Errors
    /// If a task cannot be reset.
    pub fn new(
        tasks: Vec<Guarded>,
        settings: &RolloutSettings,
        seed: u64,
        normaliser: &mut Normaliser,
    ) -> Result<Self> {
        let copies = VectorEnvironment::new(tasks, seed)?;
        let mut collector = Self::with(copies, settings);
        normaliser.update(&collector.observations());
        collector.normalise(normaliser);
        Ok(collector)
    }

    fn with(copies: VectorEnvironment<Guarded>, settings: &RolloutSettings) -> Self {
        let first = copies.slots().first().map(|slot| slot.environment());
        let count = copies.slots().len();
        let dim = first.map_or(0, |task| task.observation_dim());
        Self {
            filtered: first.is_some_and(Guarded::has_filter),
            copies,
            settings: settings.clone(),
            inputs: vec![0.0; count * dim],
            running: vec![Vec::new(); count],
            recent: VecDeque::new(),
        }
    }

    pub(crate) fn record(&self) -> CollectorRecord {
        CollectorRecord {
            episodes: self.copies.episodes(),
            running: self.running.clone(),
            recent: self.recent.clone(),
        }
    }

    /// Continues the episodes of a checkpoint: they are reset with their seeds, then the actions that
    /// were executed are replayed without the filter. Tasks are deterministic, so this gives the same
    /// bits for any task.
    pub(crate) fn resume(
        tasks: Vec<Guarded>,
        settings: &RolloutSettings,
        seed: u64,
        normaliser: &Normaliser,
        record: CollectorRecord,
    ) -> Result<Self> {
        let mut copies = VectorEnvironment::resume(tasks, seed, &record.episodes)?;
        let dim = copies
            .slots()
            .first()
            .map_or(1, |slot| slot.environment().action_dim());
        copies.map(|index, slot| {
            slot.environment_mut().set_executes(false);
            for action in record.running[index].chunks_exact(dim) {
                slot.step(action)?;
            }
            slot.environment_mut().set_executes(true);
            Ok(())
        })?;
        let mut collector = Self::with(copies, settings);
        collector.running = record.running;
        collector.recent = record.recent;
        collector.normalise(normaliser);
        Ok(collector)
    }

    /// Changes every copy between two epochs.
    ///
    /// # Errors
    /// None of its own.
    pub fn prepare(&mut self, change: impl Fn(usize, &mut Guarded) + Sync) -> Result<()> {
        self.copies.map(|index, slot| {
            change(index, slot.environment_mut());
            Ok(())
        })?;
        Ok(())
    }

    /// (reward, cost) of the last 50 episodes, oldest first.
    pub fn recent(&self) -> &VecDeque<(f64, f64)> {
        &self.recent
    }

    /// Collects the samples of one epoch, and estimates their advantages.
    ///
    /// # Errors
    /// If a task fails, or the policy's actions are not finite.
    pub fn collect(
        &mut self,
        agent: &mut Agent,
        price: Price,
        random: &mut ChaCha8Rng,
    ) -> Result<Rollout> {
        let mut recording = self.start(agent);
        let (steps, mut tape) = (recording.steps, Tape::new());
        for step in 0..steps {
            self.share_normaliser(&agent.normaliser)?;
            let actions = self.act(agent, random, &mut tape, step, &mut recording.rollout);
            let results = self.copies.step(&actions)?;
            agent.normaliser.update(&self.observations());
            self.normalise(&agent.normaliser);
            for (copy, result) in results.iter().enumerate() {
                let correction = self.copies.slots()[copy].environment().correction();
                recording.add(copy, step, result, correction, price);
                self.remember(copy, result, &mut recording);
                if result.ended() || step + 1 == steps {
                    let next = self.next_input(copy, result, &agent.normaliser);
                    recording.end_path(copy, step, next);
                }
            }
        }
        let cost = mean(&recording.costs_at_ends).or_else(|| self.mean_recent_cost());
        recording.rollout.episode_cost = cost;
        Ok(recording.finish(agent, &self.settings))
    }

    /// Passes the normalisation to filters that want it.
    fn share_normaliser(&mut self, normaliser: &Normaliser) -> Result<()> {
        let first = self.copies.slots().first();
        if first.is_some_and(|slot| slot.environment().wants_normaliser()) {
            self.prepare(|_, task| task.set_normaliser(normaliser))?;
        }
        Ok(())
    }

    fn start(&self, agent: &Agent) -> Recording {
        let (steps, copies) = (self.settings.steps_per_copy(), self.running.len());
        let samples = steps * copies;
        let (inputs, actions) = (agent.actor.observation_dim(), agent.actor.action_dim());
        let task_dim = match self.copies.slots().first() {
            Some(slot) if self.filtered => slot.environment().task_observation().len(),
            _ => 0,
        };
        let rollout = Rollout {
            observations: vec![0.0; samples * inputs],
            task_observations: vec![0.0; samples * task_dim],
            actions: vec![0.0; samples * actions],
            means: vec![0.0; samples * actions],
            log_std: agent.actor.log_std.clone(),
            log_probabilities: vec![0.0; samples],
            rewards: vec![0.0; samples],
            costs: vec![0.0; samples],
            ..Rollout::default()
        };
        Recording {
            rollout,
            steps,
            paths: Vec::new(),
            starts: vec![0; copies],
            costs_at_ends: Vec::new(),
            interventions: 0,
        }
    }

    /// Draws an action for every copy and records what it was drawn from.
    fn act(
        &self,
        agent: &Agent,
        random: &mut ChaCha8Rng,
        tape: &mut Tape,
        step: usize,
        rollout: &mut Rollout,
    ) -> Vec<f64> {
        let (actor, copies) = (&agent.actor, self.running.len());
        let (inputs, dim) = (actor.observation_dim(), actor.action_dim());
        let steps = rollout.len() / copies;
        let std = actor.std();
        let means = actor.mean.forward(&self.inputs, copies, tape);
        let mut executed = Vec::with_capacity(copies * dim);
        for copy in 0..copies {
            let sample = copy * steps + step;
            let input = &self.inputs[copy * inputs..][..inputs];
            rollout.observations[sample * inputs..][..inputs].copy_from_slice(input);
            let mean = &means[copy * dim..][..dim];
            rollout.means[sample * dim..][..dim].copy_from_slice(mean);
            let action = &mut rollout.actions[sample * dim..][..dim];
            for (index, slot) in action.iter_mut().enumerate() {
                *slot = mean[index] + std[index] * random.sample::<f32, _>(StandardNormal);
            }
            rollout.log_probabilities[sample] = log_probability(mean, &actor.log_std, action);
            executed.extend(action.iter().map(|value| f64::from(*value)));
            if self.filtered {
                let seen = self.copies.slots()[copy].environment().task_observation();
                let kept = &mut rollout.task_observations[sample * seen.len()..][..seen.len()];
                kept.iter_mut().zip(seen).for_each(|(k, s)| *k = *s as f32);
            }
        }
        executed
    }

    /// Keeps the actions of running episodes and the totals of ended ones.
    fn remember(&mut self, copy: usize, result: &Step, recording: &mut Recording) {
        if !result.ended() {
            let executed = self.copies.slots()[copy].environment().executed();
            self.running[copy].extend(executed);
            return;
        }
        self.running[copy].clear();
        if let Some(episode) = self.copies.slots()[copy].finished() {
            self.recent.push_back((episode.reward, episode.cost));
            while self.recent.len() > RECENT {
                self.recent.pop_front();
            }
            recording.rollout.episodes.push(episode.clone());
            recording.costs_at_ends.extend(self.mean_recent_cost());
        }
    }

    fn mean_recent_cost(&self) -> Option<f64> {
        mean(
            &self
                .recent
                .iter()
                .map(|totals| totals.1)
                .collect::<Vec<_>>(),
        )
    }

    /// The normalised observation whose value follows the path that ends here.
    fn next_input(&self, copy: usize, result: &Step, normaliser: &Normaliser) -> Option<Vec<f32>> {
        if result.terminated {
            return None;
        }
        let dim = normaliser.dim();
        let Some(last) = self.copies.slots()[copy].final_observation() else {
            return Some(self.inputs[copy * dim..][..dim].to_vec());
        };
        let mut input = vec![0.0; dim];
        if self.settings.normalise_final_observation {
            normaliser.normalise(last, &mut input);
        } else {
            let raw = input.iter_mut().zip(last);
            raw.for_each(|(slot, value)| *slot = *value as f32);
        }
        Some(input)
    }

    /// The current observations of all copies, one after the other.
    fn observations(&self) -> Vec<f64> {
        let slots = self.copies.slots().iter();
        slots.flat_map(|slot| slot.observation()).copied().collect()
    }

    fn normalise(&mut self, normaliser: &Normaliser) {
        let dim = normaliser.dim();
        let slots = self.copies.slots().iter();
        for (slot, input) in slots.zip(self.inputs.chunks_exact_mut(dim)) {
            normaliser.normalise(slot.observation(), input);
        }
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

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{Purpose, random_stream};
    use crate::task::open;

    fn settings(steps_per_epoch: usize) -> RolloutSettings {
        RolloutSettings {
            environments: 3,
            steps_per_epoch,
            ..RolloutSettings::default()
        }
    }

    fn tasks() -> Vec<Guarded> {
        let task = |_| Guarded::plain(open("double-integrator").unwrap());
        (0..3).map(task).collect()
    }

    fn agent() -> Agent {
        Agent::new(14, 2, &[16], 5).unwrap()
    }

    fn collect(agent: &mut Agent, collector: &mut Collector, epoch: usize) -> Rollout {
        let mut random = random_stream(5, Purpose::Actions, epoch);
        let price = Price::default();
        collector.collect(agent, price, &mut random).unwrap()
    }

    fn bits(rollout: &Rollout, agent: &Agent) -> (Vec<f32>, Vec<f64>, Vec<f64>, Normaliser) {
        (
            rollout.observations.clone(),
            rollout.rewards.clone(),
            rollout.reward_advantages.clone(),
            agent.normaliser.clone(),
        )
    }

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let (mut agent, settings) = (agent(), settings(900));
                let mut collector =
                    Collector::new(tasks(), &settings, 5, &mut agent.normaliser).unwrap();
                let rollout = collect(&mut agent, &mut collector, 0);
                bits(&rollout, &agent)
            })
        };
        assert_eq!(run(1), run(3));
    }

    #[test]
    fn a_checkpoint_inside_episodes_continues_with_the_same_bits() {
        // 70 steps per copy and epoch: the episodes of 200 steps are cut twice.
        let settings = settings(210);
        let mut first = agent();
        let mut collector = Collector::new(tasks(), &settings, 5, &mut first.normaliser).unwrap();
        collect(&mut first, &mut collector, 0);
        collect(&mut first, &mut collector, 1);
        let text = serde_json::to_string(&collector.record()).unwrap();
        let mut second = first.clone();
        let record = serde_json::from_str(&text).unwrap();
        let mut resumed =
            Collector::resume(tasks(), &settings, 5, &second.normaliser, record).unwrap();
        for epoch in 2..4 {
            let expected = collect(&mut first, &mut collector, epoch);
            let found = collect(&mut second, &mut resumed, epoch);
            assert_eq!(bits(&found, &second), bits(&expected, &first));
            assert_eq!(found.episodes, expected.episodes);
        }
        assert_eq!(collector.recent(), resumed.recent());
        assert_eq!(collector.recent().len(), 3);
    }

    #[test]
    fn paths_end_with_episodes_and_with_the_epoch() {
        // 300 steps per copy: one episode of 200 steps, and half of the next.
        let (mut agent, settings) = (agent(), settings(900));
        let mut collector = Collector::new(tasks(), &settings, 5, &mut agent.normaliser).unwrap();
        let rollout = collect(&mut agent, &mut collector, 0);
        assert_eq!((rollout.len(), rollout.episodes.len()), (900, 3));
        let total: f64 = rollout.rewards[..200].iter().sum();
        assert!((total - rollout.episodes[0].reward).abs() < 1e-9);
        // The targets of the last step of an episode and of the epoch are one-step returns.
        let last = 299;
        let next = collector.inputs[..14].to_vec();
        let value = f64::from(agent.reward_critic.values(&next)[0]);
        let target = rollout.rewards[last] + 0.99 * value;
        assert!((f64::from(rollout.reward_targets[last]) - target).abs() < 1e-5);
        assert_eq!(rollout.fault(), None);
    }

    #[test]
    fn prices_lower_the_reward_that_is_learned_but_not_the_episodes() {
        let (mut agent, settings) = (agent(), settings(600));
        let mut collector = Collector::new(tasks(), &settings, 5, &mut agent.normaliser).unwrap();
        let price = Price {
            intervention: 1.0,
            cost: 10.0,
        };
        let mut random = random_stream(5, Purpose::Actions, 0);
        let rollout = collector.collect(&mut agent, price, &mut random).unwrap();
        let costs: f64 = rollout.costs.iter().sum();
        let learned: f64 = rollout.rewards.iter().sum();
        let earned: f64 = rollout.episodes.iter().map(|episode| episode.reward).sum();
        assert!(costs > 0.0);
        assert!((earned - 10.0 * costs - learned).abs() < 1e-9);
        assert_eq!(rollout.intervened, 0.0);
    }

    #[test]
    fn wrong_settings_and_policies_are_refused() {
        let error = settings(100).validate().unwrap_err().to_string();
        assert!(error.contains("steps_per_epoch"), "{error}");
        let error = check_dimensions(60, 2, &tasks()[0])
            .unwrap_err()
            .to_string();
        assert!(error.contains("60") && error.contains("14"), "{error}");
    }
}
