//! What the paper's method cannot work with.

use fabproj::TrainError;
use fabproj::set::SetError;
use thiserror::Error;

/// Data or settings that the paper's method cannot work with.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum PaperError {
    /// All rows have the same label.
    #[error(
        "{feasible} of {rows} rows are feasible, but both kinds are needed; \
         choose bounds that contain both feasible and infeasible points, or more rows"
    )]
    OneClass {
        /// Number of rows.
        rows: usize,
        /// How many of them are labelled feasible.
        feasible: usize,
    },
    /// A share that leaves one part without rows, or is not a share.
    #[error(
        "{what} of {share} of {rows} rows is not possible; give a number between 0 and 1 that leaves rows in both parts"
    )]
    Share {
        /// What the share is for.
        what: &'static str,
        /// The share.
        share: f64,
        /// The rows that it is a share of.
        rows: usize,
    },
    /// A labelled point that is too large for f32.
    #[error("row {row} of {what} holds {value}, which is too large for f32; scale the data")]
    TooLarge {
        /// `"y"` or `"x"`.
        what: &'static str,
        /// The row, counted from 1.
        row: usize,
        /// The value.
        value: f64,
    },
    /// Only labels are known, but the settings ask for the labels of new points.
    #[error(
        "labels alone cannot judge generated points: leave `mask` out, set it to true, or let the \
         discriminator learn from real rows"
    )]
    LabelsOnly,
    /// A first phase for other dimensions.
    #[error(
        "phase 1 was trained for {found:?} coordinates of y and x, the data has {expected:?}: \
         use a phase 1 of the same set"
    )]
    PhaseOne {
        /// Dimensions of y and x of phase 1.
        found: (usize, usize),
        /// Dimensions of the data.
        expected: (usize, usize),
    },
    /// The set cannot be sampled.
    #[error(transparent)]
    Set(#[from] SetError),
}

impl From<PaperError> for TrainError {
    fn from(error: PaperError) -> Self {
        match error {
            PaperError::Set(error) => Self::Set(error),
            error => Self::Recipe(Box::new(error)),
        }
    }
}
