//! Runs a trained projector: encode, clamp to a simple latent set, decode.
//!
//! This crate holds all that a program needs to *run* a projector and nothing that makes one: no
//! file system, no clock, no randomness, no standard library, and no allocation in a call.
#![no_std]

extern crate alloc;

pub mod kernel;
pub mod latent;
pub mod model;

pub use latent::LatentSet;
pub use model::{Activation, Anchor, Blend, Chart, Frame, Layer, Model, Network};
