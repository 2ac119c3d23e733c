//! Why a training of the paper's kind ended without a model.

use fabproj_core::ModelError;
use thiserror::Error;

use crate::data::PaperError;
use fabproj_nn::SpecError;

/// Why there is no model.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum PaperTrainError {
    /// The session asked for it; what was done so far is in its store.
    #[error(
        "stopped in {unit} at step {step} of {steps}; train again with the same store to go on"
    )]
    Stopped {
        /// The unit of work.
        unit: String,
        /// Steps done.
        step: u64,
        /// Steps in all.
        steps: u64,
    },
    /// A loss became infinite or no number.
    #[error("the loss became {loss} in {unit} at step {step}; try a smaller learning rate")]
    Diverged {
        /// The unit of work.
        unit: String,
        /// The step after which it was found.
        step: u64,
        /// The loss.
        loss: f64,
    },
    /// The data cannot be sampled, or not as asked for.
    #[error(transparent)]
    Data(#[from] PaperError),
    /// A list of labelled points whose lengths do not fit together.
    #[error("{what} holds {found} values; {expected} are needed")]
    Length {
        /// Which list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that fits.
        expected: usize,
    },
    /// NaN or infinity among labelled points.
    #[error("row {row} of the {what} holds {value}; only finite numbers can be learned from")]
    NotFinite {
        /// `"points"` or `"parameters"`.
        what: &'static str,
        /// The row, from 0.
        row: usize,
        /// The value.
        value: f32,
    },
    /// Only labels are known, but the settings ask for the labels of new points.
    #[error(
        "labels alone cannot judge generated points: leave `mask` out, set it to true, or let the \
         discriminator learn from real rows"
    )]
    LabelsOnly,
    /// A first phase for points of other dimensions.
    #[error(
        "the first phase was for {found:?} coordinates of y and x, the data has {expected:?}: \
         start from a first phase of the same set"
    )]
    PhaseOne {
        /// Dimensions of y and x that it was trained for.
        found: (usize, usize),
        /// Dimensions of the data.
        expected: (usize, usize),
    },
    /// A network of a size that cannot be.
    #[error(transparent)]
    Network(#[from] SpecError),
    /// The trained networks make no model that runs.
    #[error("the training diverged: {0}")]
    Model(#[from] ModelError),
}
