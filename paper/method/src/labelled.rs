//! Points with labels that come from elsewhere.

use super::error::PaperTrainError;
use crate::data::{PaperData, PaperError};

/// Points with labels, and nothing else that is known about a set.
#[derive(Clone, Copy, Debug)]
pub struct LabelledPoints<'a> {
    /// Dimension of y.
    pub dim: usize,
    /// Dimension of the parameters x; 0 for a fixed set.
    pub x_dim: usize,
    /// The points, one row after the other.
    pub points: &'a [f32],
    /// The parameters of each row.
    pub parameters: &'a [f32],
    /// Whether each row is feasible.
    pub labels: &'a [bool],
}

impl LabelledPoints<'_> {
    /// The points as data, if they can be learned from.
    pub(super) fn checked(self) -> Result<PaperData, PaperTrainError> {
        let rows = self.labels.len();
        for (what, values, dim) in [
            ("points", self.points, self.dim),
            ("parameters", self.parameters, self.x_dim),
        ] {
            if values.len() != rows * dim {
                return Err(PaperTrainError::Length {
                    what,
                    found: values.len(),
                    expected: rows * dim,
                });
            }
            if let Some(index) = values.iter().position(|value| !value.is_finite()) {
                return Err(PaperTrainError::NotFinite {
                    what,
                    row: index / dim,
                    value: values[index],
                });
            }
        }
        let feasible = self.labels.iter().filter(|label| **label).count();
        if feasible == 0 || feasible == rows {
            return Err(PaperError::OneClass { rows, feasible }.into());
        }
        Ok(PaperData {
            dim: self.dim,
            x_dim: self.x_dim,
            points: self.points.to_vec(),
            parameters: self.parameters.to_vec(),
            labels: self.labels.to_vec(),
            oracle: self.labels.to_vec(),
        })
    }
}
