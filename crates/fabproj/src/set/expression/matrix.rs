//! Constant arrays: the numbers of a file's `arrays`.

use std::sync::Arc;

use fabproj_core::vector;

/// A matrix of constants, row after row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// A matrix of `rows` rows. Both sizes are at least one.
    pub(crate) fn new(rows: usize, values: Vec<f64>) -> Self {
        let columns = values.len() / rows;
        debug_assert!(rows * columns == values.len() && columns > 0);
        Self {
            rows,
            columns,
            values,
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    pub(super) fn transposed(&self) -> Arc<Self> {
        let columns = 0..self.columns;
        let entries =
            columns.flat_map(|column| self.values.iter().skip(column).step_by(self.columns));
        Arc::new(Self::new(self.columns, entries.copied().collect()))
    }

    pub(super) fn map(&self, change: impl Fn(f64) -> f64) -> Arc<Self> {
        let values = self.values.iter().map(|value| change(*value));
        Arc::new(Self::new(self.rows, values.collect()))
    }

    /// The product with a vector.
    #[inline]
    pub(super) fn times(&self, vector: &[f64], result: &mut [f64]) {
        vector::times(&self.values, vector, result);
    }

    /// Adds the product of the transposed matrix with a vector.
    pub(super) fn add_transposed_times(&self, vector: &[f64], result: &mut [f64]) {
        vector::add_transposed_times(&self.values, vector, result);
    }
}
