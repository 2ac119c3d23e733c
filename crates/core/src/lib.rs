//! Runs a trained projector: encode, clamp to a simple latent set, decode.
//!
//! This crate holds all that a program needs to *run* a projector and nothing that makes one: no
//! file system, no clock, no randomness, no standard library.
//!
//! ```
//! use fabproj_core::{Guard, Projector};
//! # use fabproj_core::{LatentSet, Weights};
//! # let disc = LatentSet::Ball { radius: 0.5, smooth: None };
//! # let file = Weights::identity(2, disc).to_bytes()?;
//! // `file` holds the bytes of a model file, from `include_bytes!` or from a disk.
//! let projector = Projector::from_bytes(&file)?;
//! let (y, _) = projector.project(&[3.0_f32, 4.0], &[])?;
//! assert_eq!(y, [0.3, 0.4]);
//!
//! // With a membership test, outputs that have passed it.
//! let guard = Guard::from_fn(projector, |y, _x| y[0] >= 0.0)?;
//! let (y, outcome) = guard.project(&[-3.0, 4.0], &[])?;
//! assert!(outcome.is_verified() && y[0] >= 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | run a projector | [`Projector`]: one point, rows of points, f32 or f64 |
//! | be sure of the output | [`Guard`] |
//! | answer a problem: a set and an objective | [`Solver`] |
//! | train through a projector | [`Projector::forward`], [`Projector::pullback`] |
//! | train through a solver | [`Solver::pullback`] |
//! | not allocate | [`Workspace`] and the calls that end in `_into` |
//! | work in latent space | [`Projector::encode`], [`Projector::decode`], [`LatentSet`] |
//! | read and write model files | [`Weights::from_bytes`], [`format`](mod@format) |
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod buffer;
mod dense;
mod equations;
pub mod format;
mod guard;
pub mod kernel;
mod latent;
mod outcome;
mod projector;
mod real;
mod solver;
mod validate;
pub mod vector;
mod weights;
mod workspace;

pub use equations::Equations;
pub use format::FormatError;
pub use guard::{FnMembership, Guard, GuardError, MAX_TESTS_PER_CALL, Membership};
pub use latent::{LatentError, LatentSet};
pub use outcome::{Outcome, RawOutcome};
pub use projector::{CallError, Projector, Tape};
pub use real::Real;
#[doc(hidden)] // For training: no promise of stability.
pub use solver::{ActiveSet, Ending};
pub use solver::{
    AffineMap, Answer, Functions, KnownAnswers, Proposer, PullbackWorkspace, SolveOutcome, Solver,
    SolverWeights, SolverWorkspace,
};
pub use validate::WeightsError;
pub use weights::{Activation, Anchor, Chart, Frame, Layer, Network, Weights};
pub use workspace::Workspace;
