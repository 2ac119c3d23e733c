//! Runs a trained projector: encode, clamp to a simple latent set, decode.
//!
//! This crate holds all that a program needs to *run* a projector and nothing that makes one: no
//! file system, no clock, no randomness, no standard library, and no allocation in a call.
//!
//! ```
//! use fabproj_core::{Guard, Projector};
//! # use fabproj_core::*;
//! # let model = Model {
//! #     dim: 2,
//! #     parameter_dim: 0,
//! #     frame: Frame::unit(2),
//! #     parameter_frame: Frame::unit(0),
//! #     gate: None,
//! #     charts: vec![Chart {
//! #         frame: Frame::unit(2),
//! #         encoder: Network::identity(2),
//! #         latent: LatentSet::Ball { radius: 0.5, smooth: None },
//! #         decoders: vec![Network::identity(2)],
//! #         decoder_gate: None,
//! #         blend: Blend::Soft,
//! #     }],
//! #     discriminator: None,
//! #     anchors: Vec::new(),
//! #     lift: None,
//! # };
//! # let file = model.to_bytes()?;
//! // `file` holds the bytes of a model file, from `include_bytes!` or from a disk.
//! let projector = Projector::from_bytes(&file)?;
//! let mut workspace = projector.workspace();
//! let mut out = [0.0; 2];
//! projector.project(&[3.0, 4.0], &[], &mut out, &mut workspace)?;
//! assert_eq!(out, [0.3, 0.4]);
//!
//! // With a membership test, outputs that have passed it.
//! let guard = Guard::new(&projector, |y: &[f64], _x: &[f64]| y[0] >= 0.0)?;
//! let status = guard.project(&[-3.0, 4.0], &[], &mut out, &mut guard.workspace())?;
//! assert!(status.is_verified() && out[0] >= 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | run a projector | [`Projector`]: one point, a batch, the vector-Jacobian product |
//! | be sure of the output | [`Guard`] |
//! | keep equations in y | [`Lifted`] |
//! | work in latent space | [`Projector::encode`], [`Projector::decode`], [`LatentSet`] |
//! | read and write model files | [`Model::from_bytes`], [`format`](mod@format) |
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
pub mod lift;
pub mod model;
mod projector;
mod status;
pub mod validate;
mod workspace;

pub use format::FormatError;
pub use guard::{Guard, GuardError, GuardWorkspace, MAX_TESTS_PER_CALL, Membership};
pub use latent::LatentSet;
pub use lift::{Lift, Lifted, LiftedWorkspace};
pub use model::{Activation, Anchor, Blend, Chart, Frame, Layer, Model, Network};
pub use projector::{CallError, Gradient, Projector};
pub use status::{Status, Tally};
pub use validate::ModelError;
pub use workspace::Workspace;
