//! Safe reinforcement learning: tasks with a cost, and the algorithms that learn them.
//!
//! * [`env`]: the trait of a task, for a user's own as well.
//! * [`DoubleIntegrator`]: a small task without a simulator.
//! * [`VectorEnvironment`]: several copies of a task on several threads.

pub mod env;

mod double_integrator;
mod vector;

pub use self::double_integrator::{
    DoubleIntegrator, DoubleIntegratorSettings, DoubleIntegratorState,
};
pub use self::vector::{Episode, Slot, VectorEnvironment};
