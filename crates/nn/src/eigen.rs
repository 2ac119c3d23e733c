//! Eigenvalues and eigenvectors of small symmetric matrices.

/// Rounds over all pairs of axes; a dozen suffice at any size.
const SWEEPS: usize = 30;
/// The rotations stop when the squared entries off the diagonal are below this share of all.
const NEGLIGIBLE: f64 = 1e-24;

/// The eigenvalues of a symmetric matrix and its eigenvectors: the matrix is Vᵀ diag(values) V.
///
/// ```
/// use fabproj_nn::Eigen;
///
/// let eigen = Eigen::new(vec![2.0, 1.0, 1.0, 2.0], 2);
/// assert!((eigen.least() - 1.0).abs() < 1e-12);
/// let inner = eigen.enter(&[3.0, 4.0]);
/// let mut back = [0.0; 2];
/// eigen.leave(&inner, &mut back);
/// assert!((back[0] - 3.0).abs() < 1e-12 && (back[1] - 4.0).abs() < 1e-12);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Eigen {
    /// The eigenvalues, in no particular order.
    pub values: Vec<f64>,
    /// V: row k is the unit eigenvector of value k.
    pub vectors: Vec<f64>,
}

impl Eigen {
    /// Decomposes a symmetric matrix of `dim` rows, by Jacobi's rotations.
    pub fn new(mut matrix: Vec<f64>, dim: usize) -> Self {
        let on_diagonal = |index: usize| index / dim == index % dim;
        let mut vectors: Vec<f64> = (0..dim * dim)
            .map(|index| f64::from(u8::from(on_diagonal(index))))
            .collect();
        let size: f64 = matrix.iter().map(|v| v * v).sum();
        for _ in 0..SWEEPS {
            let off = (0..dim * dim).filter(|index| !on_diagonal(*index));
            let off: f64 = off.map(|index| matrix[index] * matrix[index]).sum();
            if off <= NEGLIGIBLE * size {
                break;
            }
            for p in 0..dim {
                for q in p + 1..dim {
                    rotate(&mut matrix, &mut vectors, dim, p, q);
                }
            }
        }
        Self {
            values: (0..dim).map(|k| matrix[k * dim + k]).collect(),
            vectors,
        }
    }

    /// The smallest eigenvalue.
    pub fn least(&self) -> f64 {
        self.values.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Coordinates of `x` in the eigenbasis.
    pub fn enter(&self, x: &[f64]) -> Vec<f64> {
        let dot = |row: &[f64]| row.iter().zip(x).map(|(v, x)| v * x).sum();
        self.vectors.chunks_exact(x.len()).map(dot).collect()
    }

    /// The point with these coordinates in the eigenbasis.
    pub fn leave(&self, inner: &[f64], x: &mut [f64]) {
        x.fill(0.0);
        for (row, value) in self.vectors.chunks_exact(x.len()).zip(inner) {
            for (x, v) in x.iter_mut().zip(row) {
                *x += value * v;
            }
        }
    }
}

/// Turns the plane of two axes so that their entry vanishes.
fn rotate(matrix: &mut [f64], vectors: &mut [f64], dim: usize, p: usize, q: usize) {
    let entry = matrix[p * dim + q];
    if entry == 0.0 {
        return;
    }
    let angle = 0.5 * (2.0 * entry).atan2(matrix[q * dim + q] - matrix[p * dim + p]);
    let (sine, cosine) = angle.sin_cos();
    let turn = |values: &mut [f64], a: usize, b: usize| {
        let (x, y) = (values[a], values[b]);
        values[a] = cosine * x - sine * y;
        values[b] = sine * x + cosine * y;
    };
    for k in 0..dim {
        turn(matrix, k * dim + p, k * dim + q);
    }
    for k in 0..dim {
        turn(matrix, p * dim + k, q * dim + k);
        turn(vectors, p * dim + k, q * dim + k);
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
            let eigen = Eigen::new(matrix.clone(), dim);
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
