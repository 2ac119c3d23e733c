//! Safe reinforcement learning: tasks with a cost, and the algorithms that learn them.
//!
//! Tasks:
//!
//! * [`mod@env`]: the trait of a task, for a user's own as well; [`task`]: tasks by name.
//! * [`DoubleIntegrator`]: a small task without a simulator.
//! * [`safety_gym`]: the Safety Gym tasks, with the feature `mujoco`; `parity` compares them with
//!   recordings of the original package.
//! * [`VectorEnvironment`]: several copies of a task on several threads.
//!
//! Algorithms, one file each: [`ppo`], [`ppo_lag`], [`trpo`], [`trpo_lag`], [`ppo_fab`]. They share
//! [`GaussianPolicy`], [`Critic`], [`Normaliser`], [`rollout`], [`advantage`] and [`multiplier`].
//!
//! Safe actions: [`filter`] is the border between a policy and its task, [`look_ahead`] labels actions,
//! [`shield`] filters by them, [`guard`] learns them; [`fab`] projects actions as the paper does.
//!
//! Experiments: [`train`], [`evaluate`], [`store`], [`report`], [`policy`] files.

pub mod advantage;
mod agent;
pub mod algorithm;
mod critic;
mod disk;
pub mod env;
mod error;
pub mod evaluate;
pub mod fab;
pub mod filter;
pub mod gaussian;
pub mod guard;
pub mod look_ahead;
pub mod multiplier;
mod normaliser;
pub mod pairs;
mod parameter_tangent;
#[cfg(feature = "mujoco")]
pub mod parity;
pub mod policy;
pub mod ppo;
pub mod ppo_fab;
pub mod ppo_lag;
pub mod report;
pub mod rollout;
pub mod safety_gym;
pub mod shield;
pub mod steering;
pub mod store;
pub mod task;
pub mod train;
pub mod trpo;
pub mod trpo_lag;

mod double_integrator;
#[cfg(test)]
mod testing;
mod vector;

pub use self::agent::Agent;
pub use self::critic::{Critic, evaluate_rows};
pub use self::double_integrator::{
    DoubleIntegrator, DoubleIntegratorSettings, DoubleIntegratorState,
};
pub use self::error::{Result, RlError};
pub use self::gaussian::GaussianPolicy;
pub use self::normaliser::Normaliser;
pub use self::policy::{Policy, PolicyRecord};
pub use self::vector::{Episode, Slot, VectorEnvironment};
