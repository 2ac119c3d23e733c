//! Eigenvalues and eigenvectors of small symmetric matrices.

/// Sweeps after which rotations change nothing any more; five or six suffice for our sizes.
const SWEEPS: usize = 30;

/// Q = Vᵀ diag(values) V.
pub(super) struct Eigen {
    pub(super) values: Vec<f64>,
    /// Row k is the eigenvector of value k.
    pub(super) vectors: Vec<f64>,
}

impl Eigen {
    /// By Jacobi rotations.
    pub(super) fn new(matrix: &[f64], dim: usize) -> Self {
        let mut a = matrix.to_vec();
        let mut vectors = vec![0.0; dim * dim];
        vectors.iter_mut().step_by(dim + 1).for_each(|v| *v = 1.0);
        let size: f64 = a.iter().map(|value| value * value).sum();
        for _ in 0..SWEEPS {
            let off: f64 = (0..dim)
                .flat_map(|p| (p + 1..dim).map(move |q| (p, q)))
                .map(|(p, q)| a[p * dim + q] * a[p * dim + q])
                .sum();
            if off <= 1e-30 * size {
                break;
            }
            for p in 0..dim {
                for q in p + 1..dim {
                    rotate(&mut a, &mut vectors, dim, p, q);
                }
            }
        }
        let values = (0..dim).map(|k| a[k * dim + k]).collect();
        Self { values, vectors }
    }

    /// The smallest eigenvalue.
    pub(super) fn least(&self) -> f64 {
        self.values.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Coordinates of `x` in the eigenbasis.
    pub(super) fn enter(&self, x: &[f64]) -> Vec<f64> {
        let rows = self.vectors.chunks_exact(x.len());
        rows.map(|row| crate::problem::dot(row, x)).collect()
    }

    /// The point with these coordinates in the eigenbasis.
    pub(super) fn leave(&self, inner: &[f64], x: &mut [f64]) {
        x.fill(0.0);
        for (row, value) in self.vectors.chunks_exact(x.len()).zip(inner) {
            for (x, v) in x.iter_mut().zip(row) {
                *x += value * v;
            }
        }
    }
}

/// Makes entry (p, q) zero.
fn rotate(a: &mut [f64], vectors: &mut [f64], dim: usize, p: usize, q: usize) {
    let entry = a[p * dim + q];
    if entry == 0.0 {
        return;
    }
    let theta = (a[q * dim + q] - a[p * dim + p]) / (2.0 * entry);
    let tangent = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let cos = 1.0 / (tangent * tangent + 1.0).sqrt();
    let sin = tangent * cos;
    for k in 0..dim {
        let (left, right) = (a[k * dim + p], a[k * dim + q]);
        a[k * dim + p] = cos * left - sin * right;
        a[k * dim + q] = sin * left + cos * right;
    }
    for k in 0..dim {
        let (upper, lower) = (a[p * dim + k], a[q * dim + k]);
        a[p * dim + k] = cos * upper - sin * lower;
        a[q * dim + k] = sin * upper + cos * lower;
        let (upper, lower) = (vectors[p * dim + k], vectors[q * dim + k]);
        vectors[p * dim + k] = cos * upper - sin * lower;
        vectors[q * dim + k] = sin * upper + cos * lower;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_matrix_comes_back(entries in prop::collection::vec(-3.0..3.0_f64, 25)) {
            let dim = 5;
            let matrix: Vec<f64> = (0..25)
                .map(|i| entries[i] + entries[(i % dim) * dim + i / dim])
                .collect();
            let eigen = Eigen::new(&matrix, dim);
            for i in 0..dim {
                for j in 0..dim {
                    let sum: f64 = (0..dim)
                        .map(|k| eigen.values[k] * eigen.vectors[k * dim + i] * eigen.vectors[k * dim + j])
                        .sum();
                    prop_assert!((sum - matrix[i * dim + j]).abs() < 1e-10);
                    let unit: f64 = (0..dim)
                        .map(|k| eigen.vectors[i * dim + k] * eigen.vectors[j * dim + k])
                        .sum();
                    prop_assert!((unit - f64::from(u8::from(i == j))).abs() < 1e-12);
                }
            }
        }
    }
}
