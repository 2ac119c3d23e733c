//! Safety-Gymnasium's Point tasks: SafetyPointGoal1, Goal2, Push1 and Push2, version 0.
//!
//! The tasks follow the package safety-gymnasium 1.0.0. A seed gives the package's layout, goal
//! positions and random stream exactly. The physics is MuJoCo 3.17, where the package has 2.3.3; the
//! module `parity` measures the difference.
//!
//! Layouts need no simulator. `SafetyGym`, the environment, needs the feature `mujoco`.

mod layout;
mod random;
mod task;

#[cfg(feature = "mujoco")]
mod cost;
#[cfg(feature = "mujoco")]
mod environment;
#[cfg(feature = "mujoco")]
mod episode;
#[cfg(feature = "mujoco")]
mod lidar;
#[cfg(feature = "mujoco")]
mod mjcf;
#[cfg(feature = "mujoco")]
mod scene;
#[cfg(feature = "mujoco")]
mod simulator;

pub use self::layout::{Kind, Layout, Object};
pub use self::random::NumpyRandom;
pub use self::task::{Group, Task, UnknownTask};

#[cfg(feature = "mujoco")]
pub use self::environment::{SafetyGym, SafetyGymState, TIME_LIMIT};
#[cfg(feature = "mujoco")]
pub use self::scene::{Disc, Pose, Scene};
#[cfg(feature = "mujoco")]
pub use self::simulator::PhysicalState;

use crate::env::{Environment, Result};

/// Makes a task, or fails with [`WithoutMujoco`](crate::env::EnvironmentError::WithoutMujoco) in a program
/// without the feature `mujoco`.
#[cfg(feature = "mujoco")]
pub fn create(task: Task) -> Result<Box<dyn Environment>> {
    Ok(Box::new(SafetyGym::new(task)))
}

/// Fails with [`WithoutMujoco`](crate::env::EnvironmentError::WithoutMujoco): this program lacks the feature
/// `mujoco`.
#[cfg(not(feature = "mujoco"))]
pub fn create(_: Task) -> Result<Box<dyn Environment>> {
    Err(crate::env::EnvironmentError::WithoutMujoco)
}
