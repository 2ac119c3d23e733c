//! Misuse of a call: lengths that do not fit.

use super::Projector;
use crate::workspace::Workspace;

/// A call that does not fit the projector. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// A slice of the wrong length.
    #[error("`{argument}` has {found} numbers; this projector needs {expected}")]
    Length {
        /// Which argument.
        argument: &'static str,
        /// The length it must have.
        expected: usize,
        /// The length it has.
        found: usize,
    },
    /// A batch that is not a whole number of rows.
    #[error("`{argument}` has {found} numbers, which is not a whole number of rows of {row}")]
    Rows {
        /// Which argument.
        argument: &'static str,
        /// Numbers per row.
        row: usize,
        /// The length it has.
        found: usize,
    },
    /// A chart that is not there.
    #[error("there is no chart {chart}; this projector has {charts}, counted from 0")]
    Chart {
        /// The chart that was asked for.
        chart: usize,
        /// How many there are.
        charts: usize,
    },
    /// A workspace that was made by a projector of another shape.
    #[error("the workspace belongs to another projector; make one with `Projector::workspace`")]
    Workspace,
    /// A score was asked of a model without a discriminator.
    #[error("this model was saved without a discriminator")]
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
    #[inline]
    pub(super) fn check_workspace(&self, workspace: &Workspace) -> Result<(), CallError> {
        if workspace.layout == self.layout {
            return Ok(());
        }
        Err(CallError::Workspace)
    }

    #[inline]
    pub(crate) fn check_point(
        &self,
        y: &[f32],
        x: &[f32],
        workspace: &Workspace,
    ) -> Result<(), CallError> {
        length("y", y.len(), self.dim)?;
        length("x", x.len(), self.parameter_dim)?;
        self.check_workspace(workspace)
    }

    /// Checks a batch and counts its rows.
    pub(crate) fn check_batch(
        &self,
        y: &[f32],
        x: &[f32],
        workspace: &Workspace,
    ) -> Result<usize, CallError> {
        let count = rows("y", y.len(), self.dim)?;
        length("x", x.len(), count * self.parameter_dim)?;
        self.check_workspace(workspace)?;
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
