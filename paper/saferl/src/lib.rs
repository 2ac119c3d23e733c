//! Safe reinforcement learning: tasks with a cost, and the algorithms that learn them.
//!
//! * [`mod@env`]: the trait of a task, for a user's own as well.
//! * [`DoubleIntegrator`]: a small task without a simulator.
//! * [`VectorEnvironment`]: several copies of a task on several threads.
//! * [`safety_gym`]: the Safety Gym tasks, with the feature `mujoco`.
//! * `parity`: the Safety Gym tasks beside recordings of the original package, with the same feature.

pub mod env;
#[cfg(feature = "mujoco")]
pub mod parity;
pub mod safety_gym;

mod double_integrator;
mod vector;

pub use self::double_integrator::{
    DoubleIntegrator, DoubleIntegratorSettings, DoubleIntegratorState,
};
pub use self::vector::{Episode, Slot, VectorEnvironment};
