//! The few matrix products that a network needs.

/// A matrix inside a slice: entry (row, column) is at `row · row_stride + column · column_stride`.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) values: &'a [f32],
    pub(super) row_stride: usize,
    pub(super) column_stride: usize,
}

impl<'a> View<'a> {
    /// Rows that lie one after the other, `stride` floats apart.
    pub(super) fn rows(values: &'a [f32], stride: usize) -> Self {
        Self {
            values,
            row_stride: stride,
            column_stride: 1,
        }
    }

    /// The transpose.
    pub(super) fn transposed(self) -> Self {
        Self {
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    fn holds(&self, rows: usize, columns: usize) -> bool {
        rows == 0
            || columns == 0
            || (rows - 1) * self.row_stride + (columns - 1) * self.column_stride < self.values.len()
    }
}

/// c[m][n] (+)= Σ_k a(m, k) · b(k, n), with rows of c `stride` floats apart.
pub(super) fn multiply(
    (m, n, k): (usize, usize, usize),
    a: View<'_>,
    b: View<'_>,
    c: &mut [f32],
    stride: usize,
    accumulate: bool,
) {
    if m == 0 || n == 0 {
        return;
    }
    assert!(a.holds(m, k) && b.holds(k, n) && (m - 1) * stride + n <= c.len() && n <= stride);
    // SAFETY: the assertion above keeps every index that gemm touches inside the three slices, and
    // `c` is borrowed exclusively.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            stride as isize,
            accumulate,
            a.values.as_ptr(),
            a.column_stride as isize,
            a.row_stride as isize,
            b.values.as_ptr(),
            b.column_stride as isize,
            b.row_stride as isize,
            1.0f32,
            1.0f32,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// sums[n] += Σ_r rows[r][n].
pub(super) fn add_rows(sums: &mut [f32], values: &[f32], rows: usize, stride: usize) {
    for row in 0..rows {
        let values = &values[row * stride..row * stride + sums.len()];
        sums.iter_mut()
            .zip(values)
            .for_each(|(sum, value)| *sum += value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_equals_the_definition() {
        let (m, n, k) = (3, 4, 5);
        let a: Vec<f32> = (0..m * k).map(|i| (i as f32 * 0.7).sin()).collect();
        let b: Vec<f32> = (0..k * n).map(|i| (i as f32 * 1.3).cos()).collect();
        let mut c = vec![1.0; m * 6];
        // a is read as the transpose of a [k][m] matrix.
        multiply(
            (m, n, k),
            View::rows(&a, m).transposed(),
            View::rows(&b, n),
            &mut c,
            6,
            true,
        );
        for row in 0..m {
            for column in 0..6 {
                let sum: f32 = (0..k)
                    .map(|i| a[i * m + row] * b[i * n + column.min(3)])
                    .sum();
                let expected = if column < n { 1.0 + sum } else { 1.0 };
                assert!((c[row * 6 + column] - expected).abs() < 1e-5);
            }
        }
    }
}
