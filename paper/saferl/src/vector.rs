//! Several copies of a task, stepped on rayon's threads.
//!
//! Each copy owns its state and its sequence of seeds, so results are the same bits whatever the
//! number of threads.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::env::{Environment, EnvironmentError, Result, Step};

/// Totals of a finished episode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Episode {
    /// Seed that the episode was reset with.
    pub seed: u32,
    /// Number of steps.
    pub length: usize,
    /// Sum of rewards.
    pub reward: f64,
    /// Sum of costs.
    pub cost: f64,
    /// Sums of costs by kind, in the order of [`Environment::cost_kinds`].
    pub costs: Vec<f64>,
    /// Goals reached.
    pub goals: usize,
}

/// One copy of a task with its current observation. An episode that ends is followed by the next.
#[derive(Debug)]
pub struct Slot<E> {
    environment: E,
    seed: u64,
    index: usize,
    episode: u64,
    observation: Vec<f64>,
    final_observation: Vec<f64>,
    running: Episode,
    finished: Option<Episode>,
}

impl<E: Environment> Slot<E> {
    /// Starts episode `episode` of copy `index`. The episode's seed is a function of all three numbers.
    pub fn new(environment: E, seed: u64, index: usize, episode: u64) -> Result<Self> {
        let dim = environment.observation_dim();
        let mut slot = Self {
            environment,
            seed,
            index,
            episode,
            observation: vec![0.0; dim],
            final_observation: vec![0.0; dim],
            running: Episode::default(),
            finished: None,
        };
        slot.begin()?;
        Ok(slot)
    }

    /// Takes one step. When it ends the episode, the next one begins: [`observation`](Self::observation)
    /// is then the first of the new episode, [`final_observation`](Self::final_observation) the last of
    /// the old one, and [`finished`](Self::finished) has its totals.
    pub fn step(&mut self, action: &[f64]) -> Result<Step> {
        self.finished = None;
        let step = self.environment.step(action, &mut self.observation)?;
        self.running.length += 1;
        self.running.reward += step.reward;
        self.running.cost += step.cost;
        self.running.goals += usize::from(step.goal_reached);
        for (sum, cost) in self.running.costs.iter_mut().zip(self.environment.costs()) {
            *sum += cost;
        }
        if step.ended() {
            self.final_observation.copy_from_slice(&self.observation);
            self.finished = Some(std::mem::take(&mut self.running));
            self.episode += 1;
            self.begin()?;
        }
        Ok(step)
    }

    /// The current observation.
    pub fn observation(&self) -> &[f64] {
        &self.observation
    }

    /// The last observation of the episode that the last step ended.
    pub fn final_observation(&self) -> Option<&[f64]> {
        let ended = self.finished.is_some();
        ended.then_some(self.final_observation.as_slice())
    }

    /// Totals of the episode that the last step ended.
    pub fn finished(&self) -> Option<&Episode> {
        self.finished.as_ref()
    }

    /// Totals of the running episode so far.
    pub fn running(&self) -> &Episode {
        &self.running
    }

    /// Number of the running episode, from 0. With `Slot::new`, it continues a run whose checkpoint was
    /// written between two episodes.
    pub fn episode(&self) -> u64 {
        self.episode
    }

    /// The task.
    pub fn environment(&self) -> &E {
        &self.environment
    }

    /// The task, to look ahead from its state. Put the state back afterwards.
    pub fn environment_mut(&mut self) -> &mut E {
        &mut self.environment
    }

    fn begin(&mut self) -> Result<()> {
        let seed = episode_seed(self.seed, self.index, self.episode);
        self.environment.reset(seed, &mut self.observation)?;
        self.running = Episode {
            seed,
            costs: vec![0.0; self.environment.cost_kinds().len()],
            ..Episode::default()
        };
        Ok(())
    }
}

/// The seed of episode `episode` in copy `index` of a run with seed `seed`.
fn episode_seed(seed: u64, index: usize, episode: u64) -> u32 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(index as u64);
    random.set_word_pos(u128::from(episode));
    random.next_u32()
}

/// Several copies of a task.
///
/// ```
/// use fab_saferl::{DoubleIntegrator, VectorEnvironment};
///
/// let mut copies = VectorEnvironment::new(vec![DoubleIntegrator::default(); 4], 0)?;
/// let actions = [0.0; 4 * 2];
/// let steps = copies.step(&actions)?;
/// assert_eq!(steps.len(), 4);
/// # Ok::<(), fab_saferl::env::EnvironmentError>(())
/// ```
#[derive(Debug)]
pub struct VectorEnvironment<E> {
    slots: Vec<Slot<E>>,
}

impl<E: Environment> VectorEnvironment<E> {
    /// Starts the first episode of every copy.
    pub fn new(environments: Vec<E>, seed: u64) -> Result<Self> {
        let episodes = vec![0; environments.len()];
        Self::resume(environments, seed, &episodes)
    }

    /// Starts copy i with episode `episodes[i]`, as [`episodes`](Self::episodes) gave it.
    pub fn resume(environments: Vec<E>, seed: u64, episodes: &[u64]) -> Result<Self> {
        if environments.len() != episodes.len() {
            return Err(EnvironmentError::OtherTask(format!(
                "{} episode numbers for {} copies",
                episodes.len(),
                environments.len()
            )));
        }
        let slots =
            environments.into_par_iter().zip(episodes).enumerate().map(
                |(index, (environment, episode))| Slot::new(environment, seed, index, *episode),
            );
        let slots = first_error(slots.collect())?;
        Ok(Self { slots })
    }

    /// Steps every copy once: `actions` holds one action after the other.
    pub fn step(&mut self, actions: &[f64]) -> Result<Vec<Step>> {
        let dim = self
            .slots
            .first()
            .map_or(0, |slot| slot.environment.action_dim());
        if actions.len() != dim * self.slots.len() {
            return Err(EnvironmentError::ActionLength {
                expected: dim * self.slots.len(),
                found: actions.len(),
            });
        }
        let rows = actions.par_chunks_exact(dim.max(1));
        let steps = self.slots.par_iter_mut().zip(rows);
        first_error(steps.map(|(slot, action)| slot.step(action)).collect())
    }

    /// Runs `work` once per copy, in parallel, and collects its results in the order of the copies.
    ///
    /// For rollouts in which each copy takes many steps with its own random numbers: one call
    /// instead of one per step.
    pub fn map<T, F>(&mut self, work: F) -> Result<Vec<T>>
    where
        T: Send,
        F: Fn(usize, &mut Slot<E>) -> Result<T> + Sync,
    {
        let slots = self.slots.par_iter_mut().enumerate();
        first_error(slots.map(|(index, slot)| work(index, slot)).collect())
    }

    /// The copies.
    pub fn slots(&self) -> &[Slot<E>] {
        &self.slots
    }

    /// Number of the running episode of each copy.
    pub fn episodes(&self) -> Vec<u64> {
        self.slots.iter().map(Slot::episode).collect()
    }
}

/// All results, or the error of the first copy that failed: rayon alone would give any of them.
fn first_error<T>(results: Vec<Result<T>>) -> Result<Vec<T>> {
    results.into_iter().collect()
}
