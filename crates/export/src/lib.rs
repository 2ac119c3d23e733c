//! Trained projectors for other runtimes, an ONNX graph or one self-contained C99 file, and from another one: a
//! checkpoint of FAB's PyTorch code.
//!
//! Graph and file take points in the caller's units and do everything that [`Projector`](fabproj_core::Projector)
//! does in f32: units, equations, gate, encoder, latent set, decoders, and a fixed point for numbers that are not
//! finite. They do not test their outputs: a guard needs a membership test.
//!
//! ```
//! use fabproj_core::{LatentSet, Weights};
//!
//! let disc = LatentSet::Ball { radius: 0.5, smooth: None };
//! let weights = Weights::identity(2, disc);
//! let graph = fabproj_export::Graph::new(&weights)?;
//! assert_eq!(graph.project(&[3.0, 4.0], &[]), [0.3, 0.4]);
//! let onnx = graph.onnx(&[("set", "disc")]);
//! let source = fabproj_export::c(&weights, "disc")?;
//! assert!(source.contains("int disc_project("));
//! # assert!(!onnx.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod c;
mod checkpoint;
mod graph;
mod onnx;
mod proto;

pub use c::{NameError, c};
pub use checkpoint::{CheckpointError, checkpoint};
pub use graph::Graph;
pub use onnx::OPSET;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

use fabproj_core::{Weights, WeightsError};

/// The bytes of an ONNX model of opset [`OPSET`], with entries for its metadata.
///
/// Inputs are `y` [batch, dim] and, where the set depends on x, `x` [batch, x_dim]; the output is `projection`
/// [batch, dim]. All are f32.
///
/// # Errors
/// [`WeightsError`], which names the part that is at fault.
pub fn onnx(weights: &Weights, metadata: &[(&str, &str)]) -> Result<Vec<u8>, WeightsError> {
    Ok(Graph::new(weights)?.onnx(metadata))
}
