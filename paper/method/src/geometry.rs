//! The geometry loss (equation 9): the variance over rows of log det(J Jᵀ + ε I), J = ∂R/∂z.

/// ε, which keeps the determinant positive where the decoder is flat.
const EPSILON: f64 = 1e-6;
/// Determinants are cut to this range; beyond it they pull on nothing.
const RANGE: (f64, f64) = (1e-12, 1e12);

/// The loss with its scratch memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Geometry {
    /// The lower triangle of S = J Jᵀ + ε I, then of its Cholesky factor, row by row.
    factor: Vec<f64>,
    column: Vec<f64>,
    /// Per row: the logarithm, and whether it pulls; `None` for a row that is left out.
    logarithms: Vec<Option<(f64, bool)>>,
}

impl Geometry {
    /// The loss of Jacobians that lie one after the other, each transposed (`[k][n]`), and `weight`
    /// times its derivative with respect to them.
    ///
    /// Rows whose determinant is not a positive, finite number are left out. With fewer than two rows
    /// left there is no variance; the loss is zero then.
    pub(super) fn variance(
        &mut self,
        jacobians: &[f32],
        (dim, latent_dim): (usize, usize),
        weight: f32,
        derivative: &mut Vec<f32>,
    ) -> f64 {
        derivative.clear();
        derivative.resize(jacobians.len(), 0.0);
        self.logarithms.clear();
        let size = dim * latent_dim;
        let rows = jacobians.chunks_exact(size);
        for (jacobian, derivative) in rows.zip(derivative.chunks_exact_mut(size)) {
            let logarithm = self.log_determinant(jacobian, dim, derivative);
            self.logarithms.push(logarithm);
        }
        let kept = || self.logarithms.iter().flatten().map(|(value, _)| value);
        let count = kept().count();
        if count < 2 {
            derivative.fill(0.0);
            return 0.0;
        }
        let mean = kept().sum::<f64>() / count as f64;
        let unbiased = (count - 1) as f64;
        let rows = derivative.chunks_exact_mut(size);
        for (derivative, logarithm) in rows.zip(&self.logarithms) {
            let factor = match logarithm {
                Some((value, true)) => 2.0 * f64::from(weight) * (value - mean) / unbiased,
                _ => 0.0,
            };
            derivative.iter_mut().for_each(|d| *d *= factor as f32);
        }
        kept().map(|value| (value - mean).powi(2)).sum::<f64>() / unbiased
    }

    /// log det S of one row, and its derivative 2 S⁻¹ J, transposed as J is.
    fn log_determinant(
        &mut self,
        jacobian: &[f32],
        dim: usize,
        derivative: &mut [f32],
    ) -> Option<(f64, bool)> {
        self.factor.clear();
        self.factor.resize(dim * dim, 0.0);
        for column in jacobian.chunks_exact(dim) {
            for (i, a) in column.iter().enumerate() {
                for (j, b) in column[..=i].iter().enumerate() {
                    self.factor[i * dim + j] += f64::from(*a) * f64::from(*b);
                }
            }
        }
        (0..dim).for_each(|i| self.factor[i * dim + i] += EPSILON);
        let logarithm = cholesky(&mut self.factor, dim)?;
        let columns = jacobian.chunks_exact(dim);
        for (column, derivative) in columns.zip(derivative.chunks_exact_mut(dim)) {
            self.column.clear();
            self.column.extend(column.iter().map(|v| f64::from(*v)));
            solve(&self.factor, &mut self.column);
            for (d, value) in derivative.iter_mut().zip(&self.column) {
                *d = (2.0 * value) as f32;
            }
        }
        let (low, high) = (RANGE.0.ln(), RANGE.1.ln());
        Some((
            logarithm.clamp(low, high),
            (low..=high).contains(&logarithm),
        ))
    }
}

/// Replaces the lower triangle of a symmetric matrix by its Cholesky factor and returns the logarithm
/// of its determinant; `None` unless it is positive and finite.
fn cholesky(matrix: &mut [f64], dim: usize) -> Option<f64> {
    let mut logarithm = 0.0;
    for i in 0..dim {
        for j in 0..=i {
            let (row, other) = (i * dim, j * dim);
            let products = (0..j).map(|c| matrix[row + c] * matrix[other + c]);
            let rest = matrix[row + j] - products.sum::<f64>();
            if i > j {
                matrix[row + j] = rest / matrix[other + j];
            } else if rest > 0.0 && rest.is_finite() {
                matrix[row + j] = rest.sqrt();
                logarithm += rest.ln();
            } else {
                return None;
            }
        }
    }
    Some(logarithm)
}

/// Replaces b by the solution of L Lᵀ x = b.
fn solve(factor: &[f64], b: &mut [f64]) {
    let dim = b.len();
    for i in 0..dim {
        let known: f64 = (0..i).map(|j| factor[i * dim + j] * b[j]).sum();
        b[i] = (b[i] - known) / factor[i * dim + i];
    }
    for i in (0..dim).rev() {
        let known: f64 = (i + 1..dim).map(|j| factor[j * dim + i] * b[j]).sum();
        b[i] = (b[i] - known) / factor[i * dim + i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By the definition: the determinant by expansion along the first row.
    fn determinant(matrix: &[Vec<f64>]) -> f64 {
        let expand = |column: usize| {
            let minor: Vec<Vec<f64>> = matrix[1..]
                .iter()
                .map(|row| [&row[..column], &row[column + 1..]].concat())
                .collect();
            let sign = if column.is_multiple_of(2) { 1.0 } else { -1.0 };
            sign * matrix[0][column] * determinant(&minor)
        };
        match matrix.len() {
            0 => 1.0,
            size => (0..size).map(expand).sum(),
        }
    }

    fn determinants(jacobians: &[f64], dim: usize, latent_dim: usize) -> Vec<f64> {
        jacobians
            .chunks_exact(dim * latent_dim)
            .map(|jacobian| {
                let entry = |i: usize, j: usize| {
                    let sum: f64 = (0..latent_dim)
                        .map(|c| jacobian[c * dim + i] * jacobian[c * dim + j])
                        .sum();
                    sum + if i == j { EPSILON } else { 0.0 }
                };
                let matrix: Vec<Vec<f64>> = (0..dim)
                    .map(|i| (0..dim).map(|j| entry(i, j)).collect())
                    .collect();
                determinant(&matrix)
            })
            .collect()
    }

    fn by_definition(jacobians: &[f64], dim: usize, latent_dim: usize) -> f64 {
        let logarithms: Vec<f64> = determinants(jacobians, dim, latent_dim)
            .iter()
            .map(|determinant| determinant.clamp(RANGE.0, RANGE.1).ln())
            .collect();
        let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
        let squares = logarithms.iter().map(|value| (value - mean).powi(2));
        squares.sum::<f64>() / (logarithms.len() - 1) as f64
    }

    const SHAPES: [(usize, usize); 7] = [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 3), (3, 4)];

    proptest! {
        #[test]
        fn loss_and_derivative_are_those_of_the_definition(
            (dim, latent_dim, jacobians) in prop::sample::select(SHAPES.to_vec()).prop_flat_map(|(n, k)| {
                (Just(n), Just(k), prop::collection::vec(-1.5f32..1.5, 5 * n * k))
            }),
        ) {
            let wide: Vec<f64> = jacobians.iter().map(|v| f64::from(*v)).collect();
            // Below, the definition itself is lost in rounding.
            let least = determinants(&wide, dim, latent_dim).into_iter().fold(1.0, f64::min);
            prop_assume!(least > if dim > latent_dim { 1e-8 } else { 1e-4 });
            let mut derivative = Vec::new();
            let loss = Geometry::default()
                .variance(&jacobians, (dim, latent_dim), 0.3, &mut derivative);
            let expected = by_definition(&wide, dim, latent_dim);
            prop_assert!((loss - expected).abs() <= 1e-5 * (1.0 + expected), "{loss} {expected}");
            for index in 0..wide.len() {
                let at = |h: f64| {
                    let mut moved = wide.clone();
                    moved[index] += h;
                    by_definition(&moved, dim, latent_dim)
                };
                let slope = 0.3 * (at(1e-7) - at(-1e-7)) / 2e-7;
                let error = (f64::from(derivative[index]) - slope).abs();
                let allowed = 1e-3 * (1.0 + slope.abs());
                prop_assert!(error <= allowed, "{} {slope}", derivative[index]);
            }
        }
    }

    #[test]
    fn useless_rows_are_left_out() {
        let good = [1.0, 0.0, 0.0, 2.0, 1.0, 0.5, 0.0, 1.0];
        let mut with_bad = good.to_vec();
        with_bad.extend([f32::NAN, 0.0, 0.0, 1.0]);
        let (mut alone, mut mixed) = (Vec::new(), Vec::new());
        let mut geometry = Geometry::default();
        let expected = geometry.variance(&good, (2, 2), 1.0, &mut alone);
        assert_eq!(
            geometry.variance(&with_bad, (2, 2), 1.0, &mut mixed),
            expected
        );
        assert_eq!(mixed[..8], alone);
        assert_eq!(mixed[8..], [0.0; 4]);
        assert_eq!(geometry.variance(&good[..4], (2, 2), 1.0, &mut alone), 0.0);
        assert_eq!(alone, [0.0; 4]);
    }

    #[test]
    fn a_determinant_beyond_the_range_counts_but_does_not_pull() {
        let mut derivative = Vec::new();
        let jacobians = [1.0, 0.0, 0.0, 1.0, 1e4, 0.0, 0.0, 1e4];
        let loss = Geometry::default().variance(&jacobians, (2, 2), 1.0, &mut derivative);
        assert!((loss - 0.5 * (RANGE.1.ln()).powi(2)).abs() < 1e-2, "{loss}");
        assert!(derivative[0] != 0.0);
        assert_eq!(derivative[4..], [0.0; 4]);
    }
}
