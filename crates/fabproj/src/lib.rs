//! Learns a fast map onto a feasible set, and runs it.

pub mod near;
pub mod nn;
pub mod set;
pub use fabproj_core as core;
