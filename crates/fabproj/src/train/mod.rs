//! Two-phase training of projectors.

pub mod atlas;
pub mod chart;
pub mod measure;
pub mod paper;
pub mod session;
pub mod state;

pub use session::{CheckpointStore, Event, MemoryStore, Observer, Session};
