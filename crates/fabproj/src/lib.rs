//! Learns a fast map onto a feasible set, and runs it.
//!
//! A set is whatever a membership test says it is. [`train`](fn@train) makes a [`Model`] of it: small networks around a
//! simple latent set. A [`Projector`] runs them in about a microsecond; a [`Guard`] returns only points that
//! have passed the test; a [`Certificate`] says how often the projector alone is right.
//!
//! ```
//! use fabproj::set::FnSet;
//! use fabproj::{Model, Settings};
//!
//! // A plate with a round hole: a membership test, and the region that inputs come from.
//! let plate = FnSet::new("plate", [(-2.0, 2.0); 2], |y, _x| {
//!     y[0].abs().max(y[1].abs()) <= 1.0 && y[0].hypot(y[1]) >= 0.4
//! });
//! let model = fabproj::train(&plate, Settings::quick())?; // networks, record, certificate
//! let guard = model.guard(&plate)?;
//! let (y, outcome) = guard.project(&[0.1, 0.2], &[])?; // f64 or f32
//! assert!(outcome.is_verified() && f64::hypot(y[0], y[1]) >= 0.4);
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("plate.safetensors");
//! model.save(&path)?;
//! assert_eq!(Model::load(&path)?, model);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | say what is feasible | [`set`]: [built-in sets](set::built_in), [files](set::from_file), closures ([`FnSet`](set::FnSet)), set algebra, or your own [`Set`](set::Set) |
//! | learn what is feasible from data | [`LabelledData`](set::LabelledData) |
//! | train | [`train`](fn@train); to watch, stop and resume: [`train_with`] with a [`Session`] |
//! | answer a problem, a set with an objective | [`solve`] |
//! | know how good it is | [`Model::certify`] |
//! | save and load | [`Model`] |
//! | run | [`Projector`], [`Guard`]; the crate `fabproj-core`, which [`core`] is, has them alone, with their errors and calls without allocation |

#![warn(unreachable_pub)]

mod certify;
mod data;
mod model;
pub mod set;
pub mod solve;
#[doc(hidden)]
pub mod support;
mod train;
mod tree;

pub use fabproj_core as core;
pub use fabproj_core::{Guard, Membership, Outcome, Projector};

pub use self::certify::{
    Certificate, CertifyError, ChartShares, CoverageGrid, Inputs, Plan, Share, Slice,
};
pub use self::model::{FileError, Model, Record};
pub use self::train::{
    Checkpoints, Event, LatentKind, Recipe, Session, Settings, TrainError, Trained, train,
    train_with,
};

/// The code of the repository's front page, run with the other examples.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The first page of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/README.md")]
struct Guide;
