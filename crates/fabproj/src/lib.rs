//! Learns a fast map onto a feasible set, and runs it.

pub mod certify;
pub mod data;
pub mod file;
pub mod near;
pub mod nn;
pub mod sample;
pub mod set;
pub mod train;
pub use fabproj_core as core;
