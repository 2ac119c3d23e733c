//! Learns a fast map onto a feasible set, and runs it.
//!
//! A set is whatever a membership test says it is. Training makes a [`Model`](core::Model) of it, a pair
//! of small networks (or several) around a simple latent set; a [`Projector`](core::Projector) runs it in
//! about a microsecond, and a [`Guard`](core::Guard) returns only points that have passed the test.
//!
//! ```
//! use fabproj::certify::{Plan, certify};
//! use fabproj::core::Guard;
//! use fabproj::file::{ModelFile, Record};
//! use fabproj::set::{Set, built_in};
//! use fabproj::train::{Session, ShapeConfig, shape};
//!
//! let ring = built_in("concentric-circles")?;
//! // `ShapeConfig::default()` takes longer and gives a better model.
//! let config = ShapeConfig { phase_two: 600, ..ShapeConfig::quick() };
//! let (model, _summary) = shape(ring.as_ref(), &config, 7, &Session::default())?;
//!
//! // How often is it right? The answer goes into the model's file.
//! let mut file = ModelFile { model, record: Record::of(ring.as_ref()) };
//! let plan = Plan { samples: 5_000, ..Plan::default() };
//! let certificate = certify(ring.as_ref(), &file.projector()?, &plan)?;
//! assert!(certificate.raw_lower_bound > 0.8);
//! assert_eq!(certificate.guarded_feasible, 1.0);
//! file.record.certificate = Some(serde_json::to_value(&certificate)?);
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("ring.safetensors");
//! file.save(&path)?;
//!
//! // In another program: load it, and run it under guard.
//! let projector = ModelFile::load(&path)?.projector()?;
//! let guard = Guard::new(&projector, |y: &[f64], x: &[f64]| ring.contains(y, x))?;
//! let mut out = [0.0; 2];
//! let status = guard.project(&[0.3, 0.2], &[], &mut out, &mut guard.workspace())?;
//! assert!(status.is_verified() && ring.contains(&out.map(f64::from), &[]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | say what is feasible | [`set`]: [`built_in`](set::built_in), [files](set::from_file), closures ([`FnSet`](set::FnSet)), set algebra, or your own [`Set`](set::Set) |
//! | train | [`train::shape`](fn@train::shape) with a [`ShapeConfig`](train::ShapeConfig) |
//! | watch, stop and resume a training | [`train::Session`] |
//! | know how good it is | [`certify`](mod@certify) |
//! | save and load | [`file`](mod@file) |
//! | run | [`core`]: alone it is the crate `fabproj-core`, for programs that only run a projector |
//!
//! [`data`] is what training sees of a set.

pub mod certify;
pub mod data;
pub mod file;
pub mod near;
pub mod set;
pub mod train;
pub use fabproj_core as core;

/// The code of the repository's front page, run with the other examples.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
