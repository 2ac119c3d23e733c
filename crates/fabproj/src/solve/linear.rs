//! Dense linear algebra of small systems.

use fabproj_core::vector::dot;

/// A symmetric positive definite matrix as L Lᵀ.
#[derive(Clone, Debug)]
pub(super) struct Cholesky {
    size: usize,
    /// L, row by row.
    factor: Vec<f64>,
}

impl Cholesky {
    /// The factor; `None` if the matrix is not positive definite beyond rounding.
    pub(super) fn of(matrix: &[f64], size: usize) -> Option<Self> {
        let mut factor = matrix.to_vec();
        for row in 0..size {
            let (above, own) = factor.split_at_mut(row * size);
            for column in 0..row {
                let other = &above[column * size..][..column + 1];
                let known = dot(&own[..column], &other[..column]);
                own[column] = (own[column] - known) / other[column];
            }
            let square = own[row] - dot(&own[..row], &own[..row]);
            if square.partial_cmp(&(1e-14 * matrix[row * size + row].abs()))
                != Some(std::cmp::Ordering::Greater)
            {
                return None;
            }
            own[row] = square.sqrt();
            own[row + 1..size].fill(0.0);
        }
        Some(Self { size, factor })
    }

    /// The factor of the matrix with as much added to its diagonal as it takes.
    pub(super) fn shifted(matrix: &[f64], size: usize) -> Self {
        let largest = (0..size).fold(0.0_f64, |most, i| most.max(matrix[i * size + i].abs()));
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let mut shift = 0.0;
        loop {
            let mut moved = matrix.to_vec();
            (0..size).for_each(|i| moved[i * size + i] += shift);
            if let Some(found) = Self::of(&moved, size) {
                return found;
            }
            shift = if shift == 0.0 {
                1e-6 * largest
            } else {
                4.0 * shift
            };
            if !shift.is_finite() {
                let identity = (0..size * size).map(|at| f64::from(u8::from(at % (size + 1) == 0)));
                return Self {
                    size,
                    factor: identity.collect(),
                };
            }
        }
    }

    /// values = L⁻¹ values
    pub(super) fn forward(&self, values: &mut [f64]) {
        for row in 0..self.size {
            let factor = &self.factor[row * self.size..][..row + 1];
            let known = dot(&factor[..row], &values[..row]);
            values[row] = (values[row] - known) / factor[row];
        }
    }

    /// values = L⁻ᵀ values
    pub(super) fn backward(&self, values: &mut [f64]) {
        for row in (0..self.size).rev() {
            let factor = &self.factor[row * self.size..][..row + 1];
            let value = values[row] / factor[row];
            values[row] = value;
            let before = values[..row].iter_mut().zip(factor);
            before.for_each(|(other, factor)| *other -= value * factor);
        }
    }

    /// valuesᵀ L Lᵀ values
    pub(super) fn square(&self, values: &[f64]) -> f64 {
        let mut product = vec![0.0; self.size];
        for (row, value) in self.factor.chunks_exact(self.size).zip(values) {
            let pairs = product.iter_mut().zip(row);
            pairs.for_each(|(product, factor)| *product += value * factor);
        }
        dot(&product, &product)
    }
}

/// An orthonormal basis, vector by vector, of what is at right angles to orthonormal `normals`.
pub(super) fn complement(normals: &[Vec<f64>], dim: usize) -> Vec<Vec<f64>> {
    let mut rest: Vec<Vec<f64>> = normals.to_vec();
    let mut mirrors: Vec<Vec<f64>> = Vec::with_capacity(normals.len());
    for place in 0..normals.len() {
        let mut mirror = rest[place][place..].to_vec();
        let length = dot(&mirror, &mirror).sqrt();
        mirror[0] += length.copysign(mirror[0]);
        let length = dot(&mirror, &mirror).sqrt();
        mirror.iter_mut().for_each(|value| *value /= length);
        rest[place..]
            .iter_mut()
            .for_each(|column| reflect(&mut column[place..], &mirror));
        mirrors.push(mirror);
    }
    let columns = normals.len()..dim;
    columns
        .map(|column| {
            let mut axis = vec![0.0; dim];
            axis[column] = 1.0;
            for (place, mirror) in mirrors.iter().enumerate().rev() {
                reflect(&mut axis[place..], mirror);
            }
            axis
        })
        .collect()
}

fn reflect(values: &mut [f64], mirror: &[f64]) {
    let along = 2.0 * dot(values, mirror);
    let pairs = values.iter_mut().zip(mirror);
    pairs.for_each(|(value, mirror)| *value -= along * mirror);
}

/// The affine map x ↦ y with the least squared error on rows: its values at x = 0, and its slopes row by row.
/// Directions of x that the rows do not span have slope 0.
pub(super) fn fit(x: &[Vec<f64>], y: &[Vec<f64>]) -> (Vec<f64>, Vec<f64>) {
    /// Damping, as a part of the variance of x.
    const RIDGE: f64 = 1e-12;
    let (count, x_dim, dim) = (x.len() as f64, x[0].len(), y[0].len());
    let mean = |rows: &[Vec<f64>], width: usize| -> Vec<f64> {
        let sum = |i: usize| rows.iter().map(|row| row[i]).sum::<f64>();
        (0..width).map(|i| sum(i) / count).collect()
    };
    let (x_mean, y_mean) = (mean(x, x_dim), mean(y, dim));
    let centred = |row: &[f64], mean: &[f64]| -> Vec<f64> {
        row.iter()
            .zip(mean)
            .map(|(value, mean)| value - mean)
            .collect()
    };
    let mut square = vec![0.0; x_dim * x_dim];
    let mut product = vec![0.0; dim * x_dim];
    for (x, y) in x.iter().zip(y) {
        let (x, y) = (centred(x, &x_mean), centred(y, &y_mean));
        accumulate(&mut square, &x, &x);
        accumulate(&mut product, &y, &x);
    }
    let mut by_x = product;
    if x_dim > 0 {
        for i in 0..x_dim {
            let at = i * x_dim + i;
            square[at] += RIDGE * square[at] + f64::MIN_POSITIVE;
        }
        let factor = Cholesky::shifted(&square, x_dim);
        for row in by_x.chunks_exact_mut(x_dim) {
            factor.forward(row);
            factor.backward(row);
        }
    }
    let moved = |i: usize| dot(&by_x[i * x_dim..][..x_dim], &x_mean);
    let constant = (0..dim).map(|i| y_mean[i] - moved(i)).collect();
    (constant, by_x)
}

/// matrix += a bᵀ
fn accumulate(matrix: &mut [f64], a: &[f64], b: &[f64]) {
    for (row, a) in matrix.chunks_exact_mut(b.len().max(1)).zip(a) {
        row.iter_mut().zip(b).for_each(|(value, b)| *value += a * b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complements_are_orthonormal() {
        let half = 0.5_f64.sqrt();
        let normals = [vec![half, 0.0, half, 0.0], vec![0.0, 0.6, 0.0, -0.8]];
        let basis = complement(&normals, 4);
        assert_eq!(basis.len(), 2);
        for (i, a) in basis.iter().enumerate() {
            for normal in &normals {
                assert!(dot(a, normal).abs() < 1e-14);
            }
            for (j, b) in basis.iter().enumerate() {
                let expected = f64::from(u8::from(i == j));
                assert!((dot(a, b) - expected).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn affine_maps_are_found_again() {
        let x: Vec<Vec<f64>> = (0..30)
            .map(|i| vec![f64::from(i).sin(), (2.3 * f64::from(i)).cos()])
            .collect();
        let map = |x: &[f64]| vec![1.0 + 2.0 * x[0] - x[1], 5.0 - 0.5 * x[1], 3.0];
        let y: Vec<Vec<f64>> = x.iter().map(|x| map(x)).collect();
        let (constant, by_x) = fit(&x, &y);
        let expected = [1.0, 5.0, 3.0, 2.0, -1.0, 0.0, -0.5, 0.0, 0.0];
        for (found, expected) in constant.iter().chain(&by_x).zip(expected) {
            assert!((found - expected).abs() < 1e-10, "{found} but {expected}");
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_shifted() {
        assert!(Cholesky::of(&[1.0, 2.0, 2.0, 1.0], 2).is_none());
        let factor = Cholesky::shifted(&[1.0, 2.0, 2.0, 1.0], 2);
        let mut values = [1.0, -1.0];
        factor.forward(&mut values);
        factor.backward(&mut values);
        assert!(values[0] > 0.0 && values[1] < 0.0, "{values:?}");
    }
}
