//! Safe reinforcement learning at its public border.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod double_integrator;
mod layouts;
mod learning;
#[cfg(feature = "mujoco")]
mod parity;
#[cfg(feature = "mujoco")]
mod safety_gym;
#[cfg(feature = "mujoco")]
mod statistics;
mod vector;
