//! Figures of a model and its set, as SVG: the set, what the projector does, and the latent space.
//!
//! ```
//! use fabproj::Model;
//! use fabproj::core::{LatentSet, Weights};
//!
//! // A model whose networks are the identity and whose latent set is a ring within the ring.
//! let ring = fabproj::set::built_in("concentric-circles")?;
//! let latent = LatentSet::Shell { inner: 1.01, outer: 1.99, smooth: None };
//! let model = Model::new(Weights::identity(2, latent), &ring)?;
//!
//! let svg = fabproj_plot::draw(&model, &ring, 0)?;
//! assert!(svg.starts_with("<svg"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | y | what a figure shows |
//! |---|---|
//! | one coordinate | the output over the input, and the latent space |
//! | two | the set, decodes of the latent set, arrows from infeasible points to their projections; the latent space |
//! | more | planes through the model's centre, some inputs with their projections, distances; the latent space |
//!
//! A set that depends on x is shown at several x. Coordinates that equations determine do not count: planes
//! lie where the equations hold.

mod axes;
mod bars;
mod canvas;
mod error;
mod figure;
mod gather;
mod graph;
mod histogram;
mod latent;
mod legend;
mod letters;
pub mod panel;
mod plane;
mod space;
mod style;

use fabproj::Model;
use fabproj::set::Set;
use fabproj::support::is_obeyed;

pub use self::error::PlotError;
use self::error::Result;

/// Draws the figure of a model and a set; the same seed draws the same figure.
///
/// # Errors
/// [`PlotError::Dimension`] for a set of other dimensions than the model's.
pub fn draw(model: &Model, set: &dyn Set, seed: u64) -> Result<String> {
    let mut svg = figure::draw(model, set, seed)?;
    // XML has no control characters, and names come from files.
    svg.retain(|letter| letter == '\n' || !is_obeyed(letter));
    Ok(svg)
}

/// The figure with outlines in the place of its texts, for programs that have no fonts.
///
/// # Errors
/// [`PlotError::Text`] for an SVG that [`draw`] has not made.
///
/// ```
/// # use fabproj::Model;
/// # use fabproj::core::{LatentSet, Weights};
/// # let ring = fabproj::set::built_in("concentric-circles")?;
/// # let latent = LatentSet::Shell { inner: 1.01, outer: 1.99, smooth: None };
/// # let model = Model::new(Weights::identity(2, latent), &ring)?;
/// let svg = fabproj_plot::outlined(&fabproj_plot::draw(&model, &ring, 0)?)?;
/// assert!(!svg.contains("<text"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn outlined(svg: &str) -> Result<String> {
    letters::Letters::load()?.outlined(svg)
}
