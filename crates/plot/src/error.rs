//! Why a figure was not drawn.

use fabproj::core::CallError;

/// Why a figure was not drawn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// The set and the model have different dimensions.
    #[error(
        "the model projects {model} numbers {what}, the set has {set}: it is a model for another set"
    )]
    Dimension {
        /// Which of the two, `y` or `x`.
        what: &'static str,
        /// Dimension of the model.
        model: usize,
        /// Dimension of the set.
        set: usize,
    },
    /// The projector refused a call.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The drawing library failed.
    #[error("cannot draw the figure: {problem}")]
    Drawing {
        /// What it says.
        problem: String,
    },
    /// A text of an SVG that cannot be outlined.
    #[error("cannot outline a text of the figure: {problem}")]
    Text {
        /// What is wrong with it.
        problem: String,
    },
}

pub(crate) type Result<T, E = PlotError> = std::result::Result<T, E>;
