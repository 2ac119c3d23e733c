//! Invertible layers with closed forms: a scale per coordinate, and a matrix in triangular factors.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// An invertible layer of rows of the same dimension. Next to its outputs it writes *log-scales*, one
/// per coordinate, whose sum is the logarithm of its Jacobian's determinant.
pub(super) trait Layer: Send + Sync {
    /// A copy.
    fn duplicate(&self) -> Box<dyn Layer>;

    /// Sets parameters that are to fit the first batch.
    fn adopt(&mut self, _inputs: &[f32]) {}

    /// Sets the x that the rows to come depend on, one for each.
    fn given(&mut self, _x: &[f32]) {}

    /// Outputs and log-scales of all rows.
    fn forward(&mut self, inputs: &[f32], outputs: &mut [f32], scales: &mut [f32]);

    /// From a loss's gradient with respect to outputs and log-scales of the latest
    /// [`forward`](Self::forward), writes that with respect to the inputs, and keeps that with respect
    /// to the parameters.
    fn backward(&mut self, pass: &Pass<'_>, d_inputs: &mut [f32]);

    /// Replaces one output by its input.
    fn invert(&mut self, point: &mut [f32]);

    /// The parameters, and the gradient that the latest [`backward`](Self::backward) kept.
    fn parameters(&mut self) -> (&mut [f32], &mut [f32]);
}

/// A forward pass with the gradient that comes back.
pub(super) struct Pass<'a> {
    pub outputs: &'a [f32],
    pub d_outputs: &'a [f32],
    pub d_scales: &'a [f32],
}

/// u = (x − b)·eʷ, coordinate by coordinate (Kingma and Dhariwal, "Glow", 2018). Starts so that the
/// first batch has mean 0 and standard deviation 1.
#[derive(Clone)]
pub(super) struct ActNorm {
    /// b, then w.
    parameters: Vec<f32>,
    gradient: Vec<f32>,
}

impl ActNorm {
    pub fn new(dim: usize) -> Self {
        Self {
            parameters: vec![0.0; 2 * dim],
            gradient: vec![0.0; 2 * dim],
        }
    }

    /// Shrinks what has mean 0 and deviation 1 to `width` around a point.
    pub fn aim(&mut self, centre: &[f64], width: f64) {
        let (bias, weight) = self.parameters.split_at_mut(centre.len());
        for ((bias, weight), centre) in bias.iter_mut().zip(weight).zip(centre) {
            *weight += width.ln() as f32;
            *bias -= *centre as f32 * (-*weight).exp();
        }
    }
}

impl Layer for ActNorm {
    fn duplicate(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }

    fn adopt(&mut self, inputs: &[f32]) {
        let dim = self.parameters.len() / 2;
        let rows = (inputs.len() / dim) as f32;
        for index in 0..dim {
            let column = || inputs.iter().skip(index).step_by(dim);
            let mean = column().sum::<f32>() / rows;
            let variance = column().map(|x| (x - mean) * (x - mean)).sum::<f32>() / rows;
            self.parameters[index] = mean;
            self.parameters[dim + index] = -(variance.sqrt() + 1e-12).ln();
        }
    }

    fn forward(&mut self, inputs: &[f32], outputs: &mut [f32], scales: &mut [f32]) {
        let dim = self.parameters.len() / 2;
        let (bias, weight) = self.parameters.split_at(dim);
        for (index, input) in inputs.iter().enumerate() {
            let weight = weight[index % dim];
            outputs[index] = (input - bias[index % dim]) * weight.exp();
            scales[index] = weight;
        }
    }

    fn backward(&mut self, pass: &Pass<'_>, d_inputs: &mut [f32]) {
        let dim = self.parameters.len() / 2;
        self.gradient.fill(0.0);
        for (index, d_input) in d_inputs.iter_mut().enumerate() {
            let d_output = pass.d_outputs[index];
            *d_input = d_output * self.parameters[dim + index % dim].exp();
            self.gradient[index % dim] -= *d_input;
            self.gradient[dim + index % dim] +=
                d_output * pass.outputs[index] + pass.d_scales[index];
        }
    }

    fn invert(&mut self, point: &mut [f32]) {
        let (bias, weight) = self.parameters.split_at(point.len());
        for ((value, bias), weight) in point.iter_mut().zip(bias).zip(weight) {
            *value = *value * (-weight).exp() + bias;
        }
    }

    fn parameters(&mut self) -> (&mut [f32], &mut [f32]) {
        (&mut self.parameters, &mut self.gradient)
    }
}

/// u = x·P·L·U with a fixed permutation P, a unit lower triangle L and an upper triangle U whose diagonal
/// is ±eˢ ("Glow"); starts as a rotation.
#[derive(Clone)]
pub(super) struct Linear {
    dim: usize,
    permutation: Vec<usize>,
    signs: Vec<f32>,
    /// Below the diagonal L, on it s, above it U; row by row.
    matrix: Vec<f32>,
    gradient: Vec<f32>,
    /// x·P and x·P·L of the latest rows.
    permuted: Vec<f32>,
    middle: Vec<f32>,
}

impl Linear {
    pub fn new(dim: usize, random: &mut ChaCha8Rng) -> Self {
        let mut matrix = orthogonal(dim, random);
        let permutation = factorise(&mut matrix, dim);
        let diagonal: Vec<f64> = matrix.iter().step_by(dim + 1).copied().collect();
        for (index, value) in diagonal.iter().enumerate() {
            matrix[index * (dim + 1)] = value.abs().max(1e-6).ln();
        }
        Self {
            dim,
            permutation,
            signs: diagonal.iter().map(|v| v.signum() as f32).collect(),
            matrix: matrix.iter().map(|v| *v as f32).collect(),
            gradient: vec![0.0; dim * dim],
            permuted: Vec::new(),
            middle: Vec::new(),
        }
    }

    fn diagonal(&self, index: usize) -> f32 {
        self.signs[index] * self.matrix[index * (self.dim + 1)].exp()
    }

    /// An entry of U.
    fn upper(&self, row: usize, column: usize) -> f32 {
        if row == column {
            self.diagonal(row)
        } else {
            self.matrix[row * self.dim + column]
        }
    }

    /// An entry of L.
    fn lower(&self, row: usize, column: usize) -> f32 {
        if row == column {
            1.0
        } else {
            self.matrix[row * self.dim + column]
        }
    }
}

impl Layer for Linear {
    fn duplicate(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }

    fn forward(&mut self, inputs: &[f32], outputs: &mut [f32], scales: &mut [f32]) {
        let dim = self.dim;
        self.permuted.resize(inputs.len(), 0.0);
        self.middle.resize(inputs.len(), 0.0);
        for start in (0..inputs.len()).step_by(dim) {
            for index in 0..dim {
                self.permuted[start + index] = inputs[start + self.permutation[index]];
                scales[start + index] = self.matrix[index * (dim + 1)];
            }
            for column in 0..dim {
                let terms =
                    (column..dim).map(|row| self.permuted[start + row] * self.lower(row, column));
                self.middle[start + column] = terms.sum();
            }
            for column in 0..dim {
                let terms =
                    (0..=column).map(|row| self.middle[start + row] * self.upper(row, column));
                outputs[start + column] = terms.sum();
            }
        }
    }

    fn backward(&mut self, pass: &Pass<'_>, d_inputs: &mut [f32]) {
        let dim = self.dim;
        self.gradient.fill(0.0);
        let mut d_middle = [0.0; 16];
        for start in (0..d_inputs.len()).step_by(dim) {
            let d_output = &pass.d_outputs[start..start + dim];
            for (row, d_middle) in d_middle[..dim].iter_mut().enumerate() {
                *d_middle = (row..dim).map(|k| d_output[k] * self.upper(row, k)).sum();
                let middle = self.middle[start + row];
                for (column, d_output) in d_output.iter().enumerate().skip(row + 1) {
                    self.gradient[row * dim + column] += middle * d_output;
                }
                self.gradient[row * (dim + 1)] +=
                    middle * d_output[row] * self.diagonal(row) + pass.d_scales[start + row];
            }
            for row in 0..dim {
                let terms = (0..=row).map(|column| d_middle[column] * self.lower(row, column));
                d_inputs[start + self.permutation[row]] = terms.sum();
                let permuted = self.permuted[start + row];
                for (column, d_middle) in d_middle[..row].iter().enumerate() {
                    self.gradient[row * dim + column] += permuted * d_middle;
                }
            }
        }
    }

    fn invert(&mut self, point: &mut [f32]) {
        let dim = self.dim;
        for column in 0..dim {
            let known: f32 = (0..column)
                .map(|row| point[row] * self.upper(row, column))
                .sum();
            point[column] = (point[column] - known) / self.diagonal(column);
        }
        for column in (0..dim).rev() {
            let known: f32 = (column + 1..dim)
                .map(|row| point[row] * self.lower(row, column))
                .sum();
            point[column] -= known;
        }
        let mut permuted = [0.0; 16];
        permuted[..dim].copy_from_slice(point);
        for (value, place) in permuted.iter().zip(&self.permutation) {
            point[*place] = *value;
        }
    }

    fn parameters(&mut self) -> (&mut [f32], &mut [f32]) {
        (&mut self.matrix, &mut self.gradient)
    }
}

/// Rows that are orthogonal to each other and of length 1, by Gram and Schmidt.
fn orthogonal(dim: usize, random: &mut ChaCha8Rng) -> Vec<f64> {
    let mut matrix = vec![0.0; dim * dim];
    for row in 0..dim {
        let (before, rest) = matrix.split_at_mut(row * dim);
        let current = &mut rest[..dim];
        current.fill_with(|| random.sample(StandardNormal));
        // Twice, because rounding leaves a little of the earlier rows.
        for _ in 0..2 {
            for earlier in before.chunks_exact(dim) {
                let along = crate::problem::dot(earlier, current);
                for (value, earlier) in current.iter_mut().zip(earlier) {
                    *value -= along * earlier;
                }
            }
        }
        let length = crate::problem::norm(current);
        for value in current {
            *value /= length;
        }
    }
    matrix
}

/// Replaces a matrix by its factors L (below the diagonal) and U, with rows exchanged for the largest
/// pivots; gives the order of the rows.
fn factorise(matrix: &mut [f64], dim: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..dim).collect();
    for column in 0..dim {
        let largest = (column..dim).max_by(|a, b| {
            let size = |row: &usize| matrix[row * dim + column].abs();
            size(a).total_cmp(&size(b))
        });
        let pivot = largest.unwrap_or(column);
        order.swap(column, pivot);
        for index in 0..dim {
            matrix.swap(column * dim + index, pivot * dim + index);
        }
        for row in column + 1..dim {
            let factor = matrix[row * dim + column] / matrix[column * dim + column];
            matrix[row * dim + column] = factor;
            for index in column + 1..dim {
                matrix[row * dim + index] -= factor * matrix[column * dim + index];
            }
        }
    }
    order
}

/// Holds all gradients of a layer without kinks near the inputs against differences. Parameters whose
/// mask is 0 must have none.
#[cfg(test)]
pub(super) fn check_gradients(
    layer: &mut dyn Layer,
    mask: &[f32],
    inputs: &[f32],
    random: &mut ChaCha8Rng,
) {
    let length = inputs.len();
    let mut normal = || random.sample::<f32, _>(StandardNormal);
    let d_outputs: Vec<f32> = (0..length).map(|_| normal()).collect();
    let d_scales: Vec<f32> = (0..length).map(|_| normal()).collect();
    let (mut outputs, mut scales) = (vec![0.0; length], vec![0.0; length]);
    layer.forward(inputs, &mut outputs, &mut scales);
    let mut d_inputs = vec![f32::NAN; length];
    let pass = Pass {
        outputs: &outputs,
        d_outputs: &d_outputs,
        d_scales: &d_scales,
    };
    layer.backward(&pass, &mut d_inputs);
    let d_parameters = layer.parameters().1.to_vec();
    // A scalar whose gradient with respect to outputs and log-scales is the one above.
    let mut value = |layer: &mut dyn Layer, inputs: &[f32]| -> f64 {
        layer.forward(inputs, &mut outputs, &mut scales);
        let terms = outputs.iter().zip(&d_outputs);
        let terms = terms.chain(scales.iter().zip(&d_scales));
        terms.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let step = 4e-3;
    let agree = |found: f32, up: f64, down: f64, what: &str| {
        let difference = (up - down) / (2.0 * f64::from(step));
        let error = (f64::from(found) - difference).abs();
        assert!(
            error < 2e-3 * (1.0 + difference.abs()),
            "{what}: {found} {difference}"
        );
    };
    for (index, found) in d_inputs.iter().enumerate() {
        let mut moved = |step: f32| {
            let mut inputs = inputs.to_vec();
            inputs[index] += step;
            value(layer, &inputs)
        };
        let (up, down) = (moved(step), moved(-step));
        agree(*found, up, down, &format!("input {index}"));
    }
    for (index, found) in d_parameters.iter().enumerate() {
        if mask[index] == 0.0 {
            assert_eq!(*found, 0.0, "masked parameter {index}");
            continue;
        }
        let mut moved = |step: f32| {
            let before = layer.parameters().0[index];
            layer.parameters().0[index] = before + step;
            let value = value(layer, inputs);
            layer.parameters().0[index] = before;
            value
        };
        let (up, down) = (moved(step), moved(-step));
        agree(*found, up, down, &format!("parameter {index}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn gradients_agree_with_differences() {
        let mut random = ChaCha8Rng::seed_from_u64(8);
        for dim in [1, 2, 3, 10] {
            let layers: [Box<dyn Layer>; 2] = [
                Box::new(ActNorm::new(dim)),
                Box::new(Linear::new(dim, &mut random)),
            ];
            for mut layer in layers {
                for parameter in layer.parameters().0 {
                    *parameter += 0.3 * random.sample::<f32, _>(StandardNormal);
                }
                let inputs: Vec<f32> = (0..4 * dim).map(|i| (i as f32 * 0.9).sin()).collect();
                let mask = vec![1.0; layer.parameters().0.len()];
                check_gradients(layer.as_mut(), &mask, &inputs, &mut random);
            }
        }
    }

    #[test]
    fn a_linear_layer_starts_as_a_rotation() {
        let mut layer = Linear::new(5, &mut ChaCha8Rng::seed_from_u64(3));
        let input = [0.3, -1.0, 0.7, 2.0, -0.2_f32];
        let (mut output, mut scales) = ([0.0; 5], [0.0; 5]);
        layer.forward(&input, &mut output, &mut scales);
        let length = |point: &[f32]| point.iter().map(|x| x * x).sum::<f32>().sqrt();
        assert!((length(&input) - length(&output)).abs() < 1e-5);
        assert!(scales.iter().sum::<f32>().abs() < 1e-5);
    }

    #[test]
    fn norms_adopt_their_first_batch_and_can_be_aimed() {
        let inputs = [1.0, 10.0, 3.0, 30.0];
        let mut layer = ActNorm::new(2);
        layer.adopt(&inputs);
        let (mut outputs, mut scales) = ([0.0; 4], [0.0; 4]);
        layer.forward(&inputs, &mut outputs, &mut scales);
        assert_eq!(outputs.map(f32::round), [-1.0, -1.0, 1.0, 1.0]);
        layer.aim(&[0.5, -1.0], 0.25);
        layer.forward(&inputs, &mut outputs, &mut scales);
        for (found, expected) in outputs.iter().zip([0.25, -1.25, 0.75, -0.75]) {
            assert!((found - expected).abs() < 1e-5, "{outputs:?}");
        }
    }
}
