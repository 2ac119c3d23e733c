//! Runs a trained projector: encode, clamp to a simple latent set, decode.
//!
//! This crate holds all that a program needs to *run* a projector and nothing that makes one: no
//! file system, no clock, no randomness, no standard library, and no allocation in a call.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod buffer;
mod dense;
pub mod format;
mod guard;
pub mod kernel;
pub mod latent;
pub mod model;
mod projector;
mod status;
pub mod validate;
mod workspace;

pub use format::FormatError;
pub use guard::{Guard, GuardError, GuardWorkspace, Membership};
pub use latent::LatentSet;
pub use model::{Activation, Anchor, Blend, Chart, Frame, Layer, Model, Network};
pub use projector::{CallError, Gradient, Projector};
pub use status::{Status, Tally};
pub use validate::ModelError;
pub use workspace::Workspace;
