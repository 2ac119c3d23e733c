//! The tasks as environments.

use super::cost::indicator;
use super::episode::Episode;
use super::layout::Layout;
use super::lidar::BINS;
use super::random::NumpyRandom;
use super::scene::Scene;
use super::simulator::PhysicalState;
use super::task::Task;
use crate::env::{
    Environment, EnvironmentError, Interval, Restore, Result, Step, check_action, check_observation,
};

/// Steps per episode.
pub const TIME_LIMIT: usize = 1000;

/// Readings of the four sensors.
const SENSORS: usize = 12;

/// A Safety Gym task on MuJoCo.
///
/// Episodes last [`TIME_LIMIT`] steps; reaching the goal moves it. A step's cost is 0 or 1, and so is
/// each entry of [`costs`](Environment::costs). The first action drives forward and saturates at
/// ±0.05; the second sets the yaw rate.
///
/// ```
/// use fab_saferl::env::Environment;
/// use fab_saferl::safety_gym::{SafetyGym, Task};
///
/// let mut task = SafetyGym::new(Task::Goal2);
/// let mut observation = vec![0.0; task.observation_dim()];
/// task.reset(0, &mut observation)?;
/// let step = task.step(&[0.05, 0.0], &mut observation)?;
/// assert_eq!(step.cost, 0.0);
/// # Ok::<(), fab_saferl::env::EnvironmentError>(())
/// ```
#[derive(Debug)]
pub struct SafetyGym {
    task: Task,
    sleep: bool,
    episode: Option<Episode>,
    raw_costs: Vec<f64>,
    costs: Vec<f64>,
}

/// The state of an episode of [`SafetyGym`]. It holds a copy of MuJoCo's data, some hundred kilobytes.
#[derive(Clone, Debug)]
pub struct SafetyGymState {
    task: Task,
    episode: Option<Episode>,
}

impl SafetyGym {
    /// A task in which bodies at rest sleep, which makes it about ten times as fast.
    pub fn new(task: Task) -> Self {
        Self::with_sleep(task, true)
    }

    /// A task with or without sleeping bodies.
    pub fn with_sleep(task: Task, sleep: bool) -> Self {
        let kinds = task.cost_kinds().len();
        Self {
            task,
            sleep,
            episode: None,
            raw_costs: vec![0.0; kinds],
            costs: vec![0.0; kinds],
        }
    }

    /// Which task it is.
    pub fn task(&self) -> Task {
        self.task
    }

    /// The layout: objects as they were placed, with the goal in force.
    pub fn layout(&self) -> Result<&Layout> {
        Ok(&self.running()?.layout)
    }

    /// Where everything is now.
    pub fn scene(&self) -> Result<Scene> {
        Ok(self.running()?.scene())
    }

    /// Costs of the last step by kind before they are turned into 0 or 1: depth in hazards, number of
    /// contacts, speed of vases.
    pub fn raw_costs(&self) -> &[f64] {
        &self.raw_costs
    }

    /// Whether anything touched anything but the floor at any time in the last step.
    pub fn touched(&self) -> Result<bool> {
        Ok(self.running()?.touched())
    }

    /// Writes the current observation, for use after [`restore`](Restore::restore).
    pub fn observe(&self, observation: &mut [f64]) -> Result<()> {
        check_observation(self, observation)?;
        self.running()?.observe(observation);
        Ok(())
    }

    /// The stream that the next goals come from.
    pub fn random(&self) -> Result<&NumpyRandom> {
        Ok(self.running()?.random())
    }

    /// The state of MuJoCo's integrator.
    pub fn physical_state(&self) -> Result<PhysicalState> {
        Ok(self.running()?.physical_state())
    }

    /// Puts the bodies and the goal of the current episode elsewhere, with every body awake. Layout,
    /// random stream and time stay.
    pub fn restart(&mut self, state: &PhysicalState) -> Result<()> {
        let episode = self.episode.as_mut();
        episode.ok_or(EnvironmentError::NotRunning)?.restart(state)
    }

    fn running(&self) -> Result<&Episode> {
        self.episode.as_ref().ok_or(EnvironmentError::NotRunning)
    }
}

impl Environment for SafetyGym {
    fn observation_dim(&self) -> usize {
        SENSORS + BINS * self.task.lidars().len()
    }

    fn action_bounds(&self) -> &[Interval] {
        &[(-1.0, 1.0); 2]
    }

    fn reset(&mut self, seed: u32, observation: &mut [f64]) -> Result<()> {
        check_observation(self, observation)?;
        let episode = Episode::new(self.task, seed, self.sleep)?;
        episode.observe(observation);
        self.episode = Some(episode);
        self.raw_costs.fill(0.0);
        self.costs.fill(0.0);
        Ok(())
    }

    fn step(&mut self, action: &[f64], observation: &mut [f64]) -> Result<Step> {
        check_action(self, action)?;
        check_observation(self, observation)?;
        let running = self.episode.as_mut();
        let episode = running
            .filter(|episode| episode.steps < TIME_LIMIT)
            .ok_or(EnvironmentError::NotRunning)?;
        episode.advance(action)?;
        let (reward, goal_reached) = episode.reward();
        episode.raw_costs(&mut self.raw_costs);
        for (cost, raw) in self.costs.iter_mut().zip(&self.raw_costs) {
            *cost = indicator(*raw);
        }
        let terminated = goal_reached && !episode.next_goal();
        episode.observe(observation);
        Ok(Step {
            reward,
            cost: indicator(self.raw_costs.iter().sum()),
            goal_reached,
            terminated,
            truncated: episode.steps >= TIME_LIMIT,
        })
    }

    fn cost_kinds(&self) -> &[&'static str] {
        self.task.cost_kinds()
    }

    fn costs(&self) -> &[f64] {
        &self.costs
    }
}

impl Restore for SafetyGym {
    type State = SafetyGymState;

    fn state(&self) -> SafetyGymState {
        SafetyGymState {
            task: self.task,
            episode: self.episode.clone(),
        }
    }

    fn restore(&mut self, state: &SafetyGymState) -> Result<()> {
        if state.task != self.task {
            return Err(EnvironmentError::OtherTask(format!(
                "it is of {}, not of {}",
                state.task, self.task
            )));
        }
        match (&mut self.episode, &state.episode) {
            (Some(episode), Some(other)) => episode.copy_from(other)?,
            (episode, other) => episode.clone_from(other),
        }
        self.raw_costs.fill(0.0);
        self.costs.fill(0.0);
        Ok(())
    }
}
