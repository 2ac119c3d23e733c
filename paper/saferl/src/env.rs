//! The border between a task and an algorithm.
//!
//! A task implements [`Environment`]; one that can be put back into an earlier state also implements
//! [`Restore`]. [`DoubleIntegrator`](crate::DoubleIntegrator) is an implementation to copy from.

use std::error::Error;

/// The smallest and largest value of one component of an action.
pub type Interval = (f64, f64);

/// `Result` with an [`EnvironmentError`].
pub type Result<T> = std::result::Result<T, EnvironmentError>;

/// A task: an agent acts and receives an observation, a reward and a cost.
///
/// [`reset`](Self::reset) starts an episode, [`step`](Self::step) continues it. Observations are
/// written into a slice of the caller, so a step needs no allocation.
///
/// An environment is deterministic: the same seed and the same actions give the same bits, on every
/// thread. All randomness comes from the seed.
///
/// ```
/// use fab_saferl::env::{Environment, Interval, Result, Step, check_action, check_observation};
///
/// /// A point on a line. Its goal is the origin; the left half is forbidden.
/// struct Line {
///     position: f64,
/// }
///
/// impl Environment for Line {
///     fn observation_dim(&self) -> usize {
///         1
///     }
///     fn action_bounds(&self) -> &[Interval] {
///         &[(-0.1, 0.1)]
///     }
///     fn reset(&mut self, seed: u32, observation: &mut [f64]) -> Result<()> {
///         check_observation(self, observation)?;
///         self.position = 1.0 + f64::from(seed % 10);
///         observation[0] = self.position;
///         Ok(())
///     }
///     fn step(&mut self, action: &[f64], observation: &mut [f64]) -> Result<Step> {
///         check_action(self, action)?;
///         check_observation(self, observation)?;
///         let before = self.position.abs();
///         self.position += action[0].clamp(-0.1, 0.1);
///         observation[0] = self.position;
///         Ok(Step {
///             reward: before - self.position.abs(),
///             cost: if self.position < 0.0 { 1.0 } else { 0.0 },
///             ..Step::default()
///         })
///     }
/// }
///
/// let mut line = Line { position: 0.0 };
/// let mut observation = [0.0];
/// line.reset(0, &mut observation)?;
/// let step = line.step(&[-0.1], &mut observation)?;
/// assert!(step.reward > 0.0 && step.cost == 0.0);
/// # Ok::<(), fab_saferl::env::EnvironmentError>(())
/// ```
pub trait Environment: Send {
    /// Number of entries of an observation.
    fn observation_dim(&self) -> usize;

    /// The interval of each component of an action. `step` clips actions to it.
    fn action_bounds(&self) -> &[Interval];

    /// Number of components of an action.
    fn action_dim(&self) -> usize {
        self.action_bounds().len()
    }

    /// Starts a new episode and writes its first observation.
    fn reset(&mut self, seed: u32, observation: &mut [f64]) -> Result<()>;

    /// Takes one step and writes the observation that follows it.
    ///
    /// `action` must have [`action_dim`](Self::action_dim) finite entries; see [`check_action`].
    fn step(&mut self, action: &[f64], observation: &mut [f64]) -> Result<Step>;

    /// Names of the kinds of cost, in the order of [`costs`](Self::costs). Empty if there is one kind.
    fn cost_kinds(&self) -> &[&'static str] {
        &[]
    }

    /// The cost of the last step by kind.
    fn costs(&self) -> &[f64] {
        &[]
    }
}

/// An environment that can be put back into an earlier state, for look-ahead by simulation.
pub trait Restore: Environment {
    /// Everything that the rest of an episode depends on.
    type State: Clone + Send;

    /// Copies the state of the current episode.
    fn state(&self) -> Self::State;

    /// Returns to a state of this or another episode of the same task. The same actions then give
    /// the same bits.
    fn restore(&mut self, state: &Self::State) -> Result<()>;
}

/// What a step gave, apart from the observation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// The task's reward.
    pub reward: f64,
    /// The cost: 0 when the step was safe.
    pub cost: f64,
    /// A goal was reached in this step.
    pub goal_reached: bool,
    /// The episode ended in a final state, whose value is 0.
    pub terminated: bool,
    /// The episode ended because its time was over. The final state has a value.
    pub truncated: bool,
}

impl Step {
    /// Whether the episode is over.
    pub fn ended(&self) -> bool {
        self.terminated || self.truncated
    }
}

/// Why an environment could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// An action of the wrong length.
    #[error("an action of this task has {expected} components, found {found}")]
    ActionLength {
        /// The task's action dimension.
        expected: usize,
        /// Length of the given action.
        found: usize,
    },
    /// An action that is NaN or infinite.
    #[error("action[{index}] is {value}: actions must be finite")]
    ActionNotFinite {
        /// The component.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// A slice of the wrong length for an observation.
    #[error("an observation of this task has {expected} entries, found a slice of {found}")]
    ObservationLength {
        /// The task's observation dimension.
        expected: usize,
        /// Length of the given slice.
        found: usize,
    },
    /// The simulation left the finite numbers.
    #[error("the simulation diverged in step {step} of the episode with seed {seed}: {what}")]
    Diverged {
        /// What was not finite, or what the simulator reported.
        what: String,
        /// Seed of the episode.
        seed: u32,
        /// Step of the episode, from 1.
        step: usize,
    },
    /// No room for all objects.
    #[error("could not place `{object}` in {tries} tries (seed {seed})")]
    Layout {
        /// The object that did not fit.
        object: String,
        /// Tries made.
        tries: usize,
        /// Seed of the episode.
        seed: u32,
    },
    /// A step before the first reset, or after the end of an episode.
    #[error("no episode is running: call reset first")]
    NotRunning,
    /// A state of another task.
    #[error("the state belongs to another task: {0}")]
    OtherTask(String),
    /// A setting out of its range.
    #[error("setting `{name}` must be {expected}, found {found}")]
    Setting {
        /// The setting's name.
        name: &'static str,
        /// What is allowed.
        expected: &'static str,
        /// What was given.
        found: f64,
    },
    /// A task on MuJoCo in a program that was built without it.
    #[error(
        "this program was built without MuJoCo: run `cargo xtask mujoco`, then build with `--features mujoco`"
    )]
    WithoutMujoco,
    /// An error of a user's own environment.
    #[error(transparent)]
    Other(#[from] Box<dyn Error + Send + Sync>),
}

/// Checks the length of an action and that it is finite.
pub fn check_action<E: Environment + ?Sized>(environment: &E, action: &[f64]) -> Result<()> {
    let expected = environment.action_dim();
    if action.len() != expected {
        let found = action.len();
        return Err(EnvironmentError::ActionLength { expected, found });
    }
    match action.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(EnvironmentError::ActionNotFinite {
            index,
            value: action[index],
        }),
    }
}

/// Checks the length of the slice for an observation.
pub fn check_observation<E: Environment + ?Sized>(
    environment: &E,
    observation: &[f64],
) -> Result<()> {
    let expected = environment.observation_dim();
    let found = observation.len();
    if found != expected {
        return Err(EnvironmentError::ObservationLength { expected, found });
    }
    Ok(())
}

impl<E: Environment + ?Sized> Environment for Box<E> {
    fn observation_dim(&self) -> usize {
        (**self).observation_dim()
    }
    fn action_bounds(&self) -> &[Interval] {
        (**self).action_bounds()
    }
    fn reset(&mut self, seed: u32, observation: &mut [f64]) -> Result<()> {
        (**self).reset(seed, observation)
    }
    fn step(&mut self, action: &[f64], observation: &mut [f64]) -> Result<Step> {
        (**self).step(action, observation)
    }
    fn cost_kinds(&self) -> &[&'static str] {
        (**self).cost_kinds()
    }
    fn costs(&self) -> &[f64] {
        (**self).costs()
    }
}
