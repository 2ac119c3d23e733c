//! Misuse of a call: lengths that do not fit.

use super::Projector;
use crate::workspace::{RunBuffers, Workspace};

/// A call that does not fit the projector. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// A slice of the wrong length.
    #[error("`{argument}` must have length {expected}, found {found}")]
    Length {
        /// Which argument.
        argument: &'static str,
        /// The length it must have.
        expected: usize,
        /// The length it has.
        found: usize,
    },
    /// A batch that is not a whole number of rows.
    #[error("`{argument}` has {found} numbers, not a whole number of rows of {row}")]
    Rows {
        /// Which argument.
        argument: &'static str,
        /// Numbers per row.
        row: usize,
        /// The length it has.
        found: usize,
    },
    /// A chart that does not exist.
    #[error("no chart {chart}; this projector has {charts}, counted from 0")]
    Chart {
        /// The chart that was asked for.
        chart: usize,
        /// How many there are.
        charts: usize,
    },
    /// A workspace of another projector, or a projector's workspace given to a guard.
    #[error("the workspace does not fit; make one with `workspace()` of what is called")]
    Workspace,
    /// A tape of another projector.
    #[error("the tape belongs to another projector; make one with `Projector::tape`")]
    Tape,
    /// A pullback without a forward pass.
    #[error("the tape holds no forward pass; call `Projector::forward` first")]
    NoForward,
    /// A score of weights without a discriminator.
    #[error("the weights hold no discriminator; train with one to get scores")]
    NoDiscriminator,
}

/// Checks the length of one argument.
pub(crate) fn length(
    argument: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), CallError> {
    if found == expected {
        return Ok(());
    }
    Err(CallError::Length {
        argument,
        expected,
        found,
    })
}

/// Counts the rows of one argument.
pub(crate) fn rows(argument: &'static str, found: usize, row: usize) -> Result<usize, CallError> {
    if found.is_multiple_of(row) {
        return Ok(found / row);
    }
    Err(CallError::Rows {
        argument,
        row,
        found,
    })
}

impl Projector {
    /// The buffers of a workspace that fits.
    #[inline]
    pub(crate) fn check_workspace<'w>(
        &self,
        workspace: &'w mut Workspace,
    ) -> Result<&'w mut RunBuffers, CallError> {
        if workspace.run.layout == self.layout {
            return Ok(&mut workspace.run);
        }
        Err(CallError::Workspace)
    }

    #[inline]
    pub(crate) fn check_point<T>(&self, y: &[T], x: &[T]) -> Result<(), CallError> {
        length("y", y.len(), self.layout.dim)?;
        length("x", x.len(), self.x_dim)
    }

    /// Checks a batch and counts its rows.
    pub(crate) fn check_rows<T>(&self, y: &[T], x: &[T]) -> Result<usize, CallError> {
        let count = rows("y", y.len(), self.layout.dim)?;
        length("x", x.len(), count * self.x_dim)?;
        Ok(count)
    }

    pub(super) fn check_chart(&self, chart: usize) -> Result<(), CallError> {
        if chart < self.charts.len() {
            return Ok(());
        }
        Err(CallError::Chart {
            chart,
            charts: self.charts.len(),
        })
    }
}
