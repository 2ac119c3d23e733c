//! Copies of a task in which a policy acts.

use std::collections::VecDeque;

use fabproj_nn::Tape;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Price, Recording, Rollout, RolloutSettings};
use crate::agent::Agent;
use crate::env::{Environment, Step};
use crate::error::Result;
use crate::filter::Guarded;
use crate::gaussian::log_probability;
use crate::normaliser::Normaliser;
use crate::vector::VectorEnvironment;

/// Episodes whose mean cost the multiplier of the Lagrangian methods is adapted to (SafePO).
const RECENT: usize = 50;

/// Copies of a task with their running episodes.
pub struct Collector {
    copies: VectorEnvironment<Guarded>,
    settings: RolloutSettings,
    /// The current observations, normalised.
    pub(super) inputs: Vec<f32>,
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
    /// What the filter of each copy keeps of earlier steps.
    #[serde(default)]
    memories: Vec<Value>,
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
        let tasks = self.copies.slots().iter().map(|slot| slot.environment());
        CollectorRecord {
            memories: tasks.map(Guarded::memory).collect(),
            episodes: self.copies.episodes(),
            running: self.running.clone(),
            recent: self.recent.clone(),
        }
    }

    /// Continues the episodes of a checkpoint: they are reset with their seeds, then the actions that
    /// were executed are replayed without the filter, which then gets its memory back. Tasks are
    /// deterministic, so this gives the same bits for any task.
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
            match record.memories.get(index) {
                Some(memory) => slot.environment_mut().recall(memory),
                None => Ok(()),
            }
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

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
