//! Safe reinforcement learning: tasks with a cost, and the algorithms that learn them.
//!
//! * [`mod@env`]: the trait of a task, for a user's own as well.
//! * [`DoubleIntegrator`]: a small task without a simulator.
//! * [`VectorEnvironment`]: several copies of a task on several threads.
//! * [`safety_gym`]: the Safety Gym tasks, with the feature `mujoco`.
//! * `parity`: the Safety Gym tasks beside recordings of the original package, with the same feature.

pub mod advantage;
mod agent;
pub mod algorithm;
mod critic;
mod disk;
pub mod env;
mod error;
pub mod evaluate;
pub mod filter;
pub mod gaussian;
pub mod multiplier;
mod normaliser;
mod parameter_tangent;
#[cfg(feature = "mujoco")]
pub mod parity;
pub mod policy;
pub mod ppo;
pub mod ppo_lag;
pub mod report;
pub mod rollout;
pub mod safety_gym;
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
