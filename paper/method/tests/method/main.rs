//! The paper's method at its public border.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod data;
mod memory;
mod recipe;
mod training;
