//! Filters between a policy and its task: they replace actions that are not safe.

use std::sync::Arc;

use serde_json::Value;

use crate::env::{Environment, Interval, Result, Step};
use crate::look_ahead::{Action, LookAheadSettings, Outlook};
use crate::normaliser::Normaliser;
use crate::task::{Task, TopView};

/// Replaces unsafe actions by safe ones.
///
/// Every copy of a task has a filter of its own ([`boxed`](Self::boxed)), so a filter may keep
/// scratch memory. What it keeps of earlier steps of an episode it must tell ([`memory`](Self::memory)),
/// so that an interrupted training continues with the same bits.
pub trait ActionFilter: Send {
    /// Writes the action to execute into `filtered`, which holds `action` before. Returns whether
    /// the filter intervened.
    fn filter(
        &mut self,
        situation: Situation<'_>,
        action: &[f64],
        filtered: &mut [f64],
    ) -> Result<bool>;

    /// Forgets earlier steps: an episode starts. Default: there is nothing to forget.
    fn reset(&mut self) {}

    /// What the filter keeps of earlier steps. Default nothing.
    fn memory(&self) -> Value {
        Value::Null
    }

    /// Continues with a memory of an equal filter.
    ///
    /// # Errors
    /// If it is not one.
    fn recall(&mut self, _memory: &Value) -> Result<()> {
        Ok(())
    }

    /// Number of entries that the filter adds to the policy's observation.
    fn hint_dim(&self) -> usize {
        0
    }

    /// Writes what the filter tells the policy about the current observation.
    fn hints(&mut self, _situation: Situation<'_>, _hints: &mut [f64]) -> Result<()> {
        Ok(())
    }

    /// Whether the filter needs the policy's normalisation of observations. Default no.
    fn wants_normaliser(&self) -> bool {
        false
    }

    /// Gives the filter the current normalisation, before every step if it wants it.
    fn set_normaliser(&mut self, _normaliser: &Normaliser) {}

    /// The projection behind the filter, for losses that need it. Default none.
    fn projector(&self) -> Option<Arc<dyn ActionProjector>> {
        None
    }

    /// A copy for another copy of the task.
    fn boxed(&self) -> Box<dyn ActionFilter>;

    /// Names the filter and its contents, so that a checkpoint knows what it was trained with.
    fn digest(&self) -> String;
}

/// A map from observations and actions to safe actions, for many rows, with its derivative.
pub trait ActionProjector: Send + Sync {
    /// Projects actions that lie one after the other. `observations` are the task's own, or the
    /// normalised ones if [`wants_normalised`](Self::wants_normalised).
    fn project(&self, observations: &[f32], actions: &[f32]) -> Vec<f32>;

    /// Derivatives of the actions from those of the projected ones: Jᵀ d.
    fn pull_back(&self, observations: &[f32], actions: &[f32], d_projected: &[f32]) -> Vec<f32>;

    /// Whether it reads the policy's normalised observations. Default no.
    fn wants_normalised(&self) -> bool {
        false
    }
}

/// What a filter decides on.
pub struct Situation<'a> {
    /// The task's own observation, not normalised.
    pub observation: &'a [f64],
    /// The task, for filters that look ahead by simulation. Learned filters use the observation only.
    pub task: &'a dyn Task,
}

/// What a filter did in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Correction {
    /// The filter intervened, whether its action was executed or not.
    pub intervened: bool,
    /// Distance between the wanted and the executed action, both clipped to the task's bounds.
    pub distance: f64,
}

/// A task with a filter in front of it, or without.
///
/// The filter is part of the environment: a policy acts, and the filtered action is executed. The
/// observation is the task's, followed by the filter's hints.
pub struct Guarded {
    task: Box<dyn Task>,
    filter: Option<Box<dyn ActionFilter>>,
    executes: bool,
    observation: Vec<f64>,
    filtered: Vec<f64>,
    correction: Correction,
}

impl Guarded {
    /// A task without a filter.
    pub fn plain(task: Box<dyn Task>) -> Self {
        Self::new(task, None)
    }

    /// A task with a filter.
    pub fn new(task: Box<dyn Task>, filter: Option<Box<dyn ActionFilter>>) -> Self {
        let (observations, actions) = (task.observation_dim(), task.action_dim());
        Self {
            task,
            filter,
            executes: true,
            observation: vec![0.0; observations],
            filtered: vec![0.0; actions],
            correction: Correction::default(),
        }
    }

    /// Whether filtered actions are executed, or only reported. Default true.
    pub fn set_executes(&mut self, executes: bool) {
        self.executes = executes;
    }

    /// Whether there is a filter.
    pub fn has_filter(&self) -> bool {
        self.filter.is_some()
    }

    /// Whether the filter needs the policy's normalisation.
    pub fn wants_normaliser(&self) -> bool {
        let filter = self.filter.as_ref();
        filter.is_some_and(|filter| filter.wants_normaliser())
    }

    /// What the filter keeps of earlier steps.
    pub(crate) fn memory(&self) -> Value {
        let filter = self.filter.as_ref();
        filter.map_or(Value::Null, |filter| filter.memory())
    }

    /// Gives the filter its memory back.
    pub(crate) fn recall(&mut self, memory: &Value) -> Result<()> {
        match &mut self.filter {
            Some(filter) => filter.recall(memory),
            None => Ok(()),
        }
    }

    /// Passes the policy's normalisation to the filter.
    pub fn set_normaliser(&mut self, normaliser: &Normaliser) {
        if let Some(filter) = &mut self.filter {
            filter.set_normaliser(normaliser);
        }
    }

    /// What the filter did in the last step.
    pub fn correction(&self) -> Correction {
        self.correction
    }

    /// The action that the last step executed.
    pub fn executed(&self) -> &[f64] {
        &self.filtered
    }

    /// Where the executed action of the last step pushes, for a picture.
    pub fn executed_direction(&self) -> [f64; 2] {
        self.task.action_direction(&self.filtered)
    }

    /// The task's own observation, without hints.
    pub fn task_observation(&self) -> &[f64] {
        &self.observation
    }

    /// Where the agent is.
    pub fn position(&self) -> [f64; 2] {
        self.task.position()
    }

    /// The task from above.
    pub fn top_view(&self) -> TopView {
        self.task.top_view()
    }

    /// Actions at which the actuators saturate.
    pub fn action_scale(&self) -> Action {
        self.task.action_scale()
    }

    /// Looks ahead from the current state.
    ///
    /// # Errors
    /// If the task has no model.
    pub fn outlooks(
        &self,
        actions: &[Action],
        settings: &LookAheadSettings,
    ) -> Result<Vec<Outlook>> {
        self.task.outlooks(actions, settings)
    }

    /// Runs the filter on `action`; the action to execute is in `self.filtered`.
    fn apply_filter(&mut self, action: &[f64]) -> Result<()> {
        self.filtered.copy_from_slice(action);
        self.correction = Correction::default();
        let Some(filter) = &mut self.filter else {
            return Ok(());
        };
        let situation = Situation {
            observation: &self.observation,
            task: &*self.task,
        };
        self.correction.intervened = filter.filter(situation, action, &mut self.filtered)?;
        if !self.executes {
            // What it would have done in later steps follows from what it was not allowed to do.
            filter.reset();
            self.filtered.copy_from_slice(action);
        }
        let pairs = action.iter().zip(&self.filtered);
        let squares = pairs
            .zip(self.task.action_bounds())
            .map(|((wanted, done), (low, high))| {
                (wanted.clamp(*low, *high) - done.clamp(*low, *high)).powi(2)
            });
        self.correction.distance = squares.sum::<f64>().sqrt();
        Ok(())
    }

    /// Copies the task's observation, followed by the hints, to the caller.
    fn observe(&mut self, observation: &mut [f64]) -> Result<()> {
        let (own, hints) = observation.split_at_mut(self.observation.len());
        own.copy_from_slice(&self.observation);
        if let Some(filter) = &mut self.filter {
            let situation = Situation {
                observation: &self.observation,
                task: &*self.task,
            };
            filter.hints(situation, hints)?;
        }
        Ok(())
    }
}

impl Environment for Guarded {
    fn observation_dim(&self) -> usize {
        let hints = self.filter.as_ref().map_or(0, |filter| filter.hint_dim());
        self.observation.len() + hints
    }

    fn action_bounds(&self) -> &[Interval] {
        self.task.action_bounds()
    }

    fn reset(&mut self, seed: u32, observation: &mut [f64]) -> Result<()> {
        crate::env::check_observation(self, observation)?;
        self.task.reset(seed, &mut self.observation)?;
        if let Some(filter) = &mut self.filter {
            filter.reset();
        }
        self.observe(observation)
    }

    fn step(&mut self, action: &[f64], observation: &mut [f64]) -> Result<Step> {
        crate::env::check_action(self, action)?;
        crate::env::check_observation(self, observation)?;
        self.apply_filter(action)?;
        let step = self.task.step(&self.filtered, &mut self.observation)?;
        self.observe(observation)?;
        Ok(step)
    }

    fn cost_kinds(&self) -> &[&'static str] {
        self.task.cost_kinds()
    }

    fn costs(&self) -> &[f64] {
        self.task.costs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::open;

    /// Brakes always, and tells the policy its speed.
    struct Brake;

    impl ActionFilter for Brake {
        fn filter(
            &mut self,
            situation: Situation<'_>,
            action: &[f64],
            filtered: &mut [f64],
        ) -> Result<bool> {
            let velocity = &situation.observation[..2];
            for (slot, speed) in filtered.iter_mut().zip(velocity) {
                *slot = (-10.0 * speed).clamp(-1.0, 1.0);
            }
            Ok(filtered != action)
        }

        fn hint_dim(&self) -> usize {
            1
        }

        fn hints(&mut self, situation: Situation<'_>, hints: &mut [f64]) -> Result<()> {
            hints[0] = situation.observation[0].hypot(situation.observation[1]);
            Ok(())
        }

        fn boxed(&self) -> Box<dyn ActionFilter> {
            Box::new(Brake)
        }

        fn digest(&self) -> String {
            "brake".to_owned()
        }
    }

    fn guarded() -> Guarded {
        Guarded::new(open("double-integrator").unwrap(), Some(Box::new(Brake)))
    }

    #[test]
    fn the_filtered_action_is_executed_and_reported() {
        let mut task = guarded();
        let mut observation = vec![0.0; task.observation_dim()];
        assert_eq!(observation.len(), 15);
        task.reset(1, &mut observation).unwrap();
        task.step(&[3.0, 0.0], &mut observation).unwrap();
        assert_eq!(task.position(), [0.0, 0.0]);
        // Clipped to the bounds, the wanted action is 1 away from standing still.
        let expected = Correction {
            intervened: true,
            distance: 1.0,
        };
        assert_eq!(task.correction(), expected);
        assert_eq!(observation[14], 0.0);
    }

    #[test]
    fn a_filter_that_only_reports_changes_nothing() {
        let (mut watched, mut plain) = (
            guarded(),
            Guarded::plain(open("double-integrator").unwrap()),
        );
        watched.set_executes(false);
        let (mut with, mut without) = (vec![0.0; 15], vec![0.0; 14]);
        watched.reset(1, &mut with).unwrap();
        plain.reset(1, &mut without).unwrap();
        for _ in 0..5 {
            watched.step(&[0.5, -1.0], &mut with).unwrap();
            plain.step(&[0.5, -1.0], &mut without).unwrap();
        }
        assert_eq!(with[..14], without);
        assert!(with[14] > 0.0);
        assert!(watched.correction().intervened);
        assert_eq!(watched.correction().distance, 0.0);
        assert_eq!(plain.correction(), Correction::default());
    }
}
