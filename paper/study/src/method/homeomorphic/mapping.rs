//! The invertible network Ψ from the unit ball to a set, and its loss.

use fabproj_nn::{Adam, AdamConfig};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::autoregressive::Autoregressive;
use super::coupling::Coupling;
use super::layer::{ActNorm, Layer, Linear, Pass};
use crate::StudyError;
use crate::problem::norm;

/// Blocks of a norm, a matrix, a norm and an autoregressive layer.
const BLOCKS: usize = 3;
/// Weight of the parameters' squares, as the released optimiser has it.
const DECAY: f32 = 1e-6;

/// Weights of the loss's parts beside the volume.
#[derive(Clone, Copy)]
pub(crate) struct Weights {
    /// Of violations.
    pub penalty: f64,
    /// Of unequal log-scales.
    pub distortion: f64,
}

/// Ψ, with memory for its calls.
pub struct Mapping {
    dim: usize,
    pub(super) layers: Vec<Box<dyn Layer>>,
    /// Inputs of the first layer, and outputs of all.
    values: Vec<Vec<f32>>,
    scales: Vec<Vec<f32>>,
    d_values: Vec<f32>,
    d_next: Vec<f32>,
    d_scales: Vec<f32>,
}

impl Clone for Mapping {
    fn clone(&self) -> Self {
        let layers = self.layers.iter().map(|layer| layer.duplicate());
        Self::of(self.dim, layers.collect())
    }
}

impl Mapping {
    pub(super) fn of(dim: usize, layers: Vec<Box<dyn Layer>>) -> Self {
        Self {
            dim,
            values: vec![Vec::new(); layers.len() + 1],
            scales: vec![Vec::new(); layers.len()],
            layers,
            d_values: Vec::new(),
            d_next: Vec::new(),
            d_scales: Vec::new(),
        }
    }

    /// A random mapping that gives points of the ball mean 0 and deviation 1, or shrinks these to a
    /// ball of deviation `room` around a point, for a pair of both.
    ///
    /// # Errors
    /// [`StudyError::Network`] for a size of which no network can be made.
    pub fn new(
        dim: usize,
        hidden: usize,
        centre: Option<(&[f64], f64)>,
        random: &mut ChaCha8Rng,
    ) -> Result<Self, StudyError> {
        let mut layers: Vec<Box<dyn Layer>> = Vec::new();
        for _ in 0..BLOCKS {
            layers.push(Box::new(ActNorm::new(dim)));
            layers.push(Box::new(Linear::new(dim, random)));
            layers.push(Box::new(ActNorm::new(dim)));
            layers.push(Box::new(Autoregressive::new(dim, hidden, random)?));
        }
        let mut values = ball(dim, 1024, random);
        let (mut outputs, mut scales) = (values.clone(), values.clone());
        for layer in &mut layers {
            layer.adopt(&values);
            layer.forward(&values, &mut outputs, &mut scales);
            std::mem::swap(&mut values, &mut outputs);
        }
        let mut last = ActNorm::new(dim);
        last.adopt(&values);
        if let Some((centre, room)) = centre {
            last.aim(centre, room);
        }
        layers.push(Box::new(last));
        Ok(Self::of(dim, layers))
    }

    /// The identity of so many dimensions, to be trained to depend on an x: `blocks` of norms and couplings
    /// that move either half of the coordinates, and a last layer that moves and scales all of them by x.
    ///
    /// # Errors
    /// [`StudyError::Network`] for a size of which no network can be made.
    pub(crate) fn conditional(
        [dim, x_dim]: [usize; 2],
        blocks: usize,
        hidden: &[usize],
        random: &mut ChaCha8Rng,
    ) -> Result<Self, StudyError> {
        let mut layers: Vec<Box<dyn Layer>> = Vec::new();
        for _ in 0..blocks {
            let order = rand::seq::index::sample(random, dim, dim).into_vec();
            let (first, second) = order.split_at(dim / 2);
            for (kept, moved) in [(first, second), (second, first)] {
                layers.push(Box::new(ActNorm::new(dim)));
                layers.push(Box::new(Coupling::new(kept, moved, x_dim, hidden, random)?));
            }
        }
        let all: Vec<usize> = (0..dim).collect();
        layers.push(Box::new(Coupling::new(&[], &all, x_dim, hidden, random)?));
        Ok(Self::of(dim, layers))
    }

    /// Sets the x of the points that follow, row by row.
    pub(crate) fn given(&mut self, x: &[f32]) {
        self.layers.iter_mut().for_each(|layer| layer.given(x));
    }

    /// Ψ of rows. Allocates nothing once it has seen as many.
    pub fn forward(&mut self, points: &[f32]) -> &[f32] {
        for values in &mut self.values {
            values.resize(points.len(), 0.0);
        }
        self.values[0].copy_from_slice(points);
        for (index, layer) in self.layers.iter_mut().enumerate() {
            let (before, after) = self.values.split_at_mut(index + 1);
            self.scales[index].resize(points.len(), 0.0);
            layer.forward(&before[index], &mut after[0], &mut self.scales[index]);
        }
        &self.values[self.layers.len()]
    }

    /// Replaces Ψ(z) by z.
    pub fn invert(&mut self, point: &mut [f32]) {
        for layer in self.layers.iter_mut().rev() {
            layer.invert(point);
        }
    }

    /// The optimisers of all layers.
    pub(crate) fn optimisers(&mut self) -> Vec<Adam> {
        let layers = self.layers.iter_mut();
        layers
            .map(|layer| Adam::new(AdamConfig::default(), layer.parameters().0.len()))
            .collect()
    }

    /// A step along the gradient that the layers keep.
    pub(crate) fn descend(&mut self, optimisers: &mut [Adam], rate: f32) {
        for (layer, optimiser) in self.layers.iter_mut().zip(optimisers) {
            let (parameters, gradient) = layer.parameters();
            for (gradient, parameter) in gradient.iter_mut().zip(&*parameters) {
                *gradient += DECAY * parameter;
            }
            optimiser.update(parameters, gradient, rate);
        }
    }

    /// The mean loss of rows, −log det/n + penalty·v + distortion·(differences of log-scales); the layers
    /// keep its gradient. `violations` sums those of images and writes their gradients.
    pub(crate) fn differentiate(
        &mut self,
        points: &[f32],
        weights: Weights,
        violations: impl FnOnce(&[f32], &mut [f32]) -> f64,
    ) -> f64 {
        let (dim, length) = (self.dim, points.len());
        let share = (dim as f64) / length as f64;
        self.forward(points);
        for buffer in [&mut self.d_values, &mut self.d_next, &mut self.d_scales] {
            buffer.resize(length, 0.0);
        }
        let image = &self.values[self.layers.len()];
        let mut loss = weights.penalty * share * violations(image, &mut self.d_values);
        for value in &mut self.d_values {
            *value *= (weights.penalty * share) as f32;
        }
        for index in (0..self.layers.len()).rev() {
            let scales = &self.scales[index];
            let unequal = weights.distortion;
            loss += share * scale_losses(scales, dim, unequal, share as f32, &mut self.d_scales);
            let pass = Pass {
                outputs: &self.values[index + 1],
                d_outputs: &self.d_values,
                d_scales: &self.d_scales,
            };
            self.layers[index].backward(&pass, &mut self.d_next);
            std::mem::swap(&mut self.d_values, &mut self.d_next);
        }
        loss
    }
}

/// The sum over rows of −Σ scales/n + unequal·(largest − smallest); gradients are multiplied by `share`.
fn scale_losses(scales: &[f32], dim: usize, unequal: f64, share: f32, gradient: &mut [f32]) -> f64 {
    let mut total = 0.0;
    for (scales, gradient) in scales.chunks_exact(dim).zip(gradient.chunks_exact_mut(dim)) {
        let (mut least, mut most) = (0, 0);
        for index in 1..dim {
            if scales[index] < scales[least] {
                least = index;
            }
            if scales[index] > scales[most] {
                most = index;
            }
        }
        let sum: f32 = scales.iter().sum();
        total += -f64::from(sum) / dim as f64 + unequal * f64::from(scales[most] - scales[least]);
        gradient.fill(-share / dim as f32);
        gradient[most] += share * unequal as f32;
        gradient[least] -= share * unequal as f32;
    }
    total
}

/// Uniform points of the unit ball, one after the other.
pub(crate) fn ball(dim: usize, rows: usize, random: &mut ChaCha8Rng) -> Vec<f32> {
    let mut points = Vec::with_capacity(rows * dim);
    let mut direction = vec![0.0_f64; dim];
    for _ in 0..rows {
        direction.fill_with(|| random.sample(StandardNormal));
        let radius = random.random::<f64>().powf(1.0 / dim as f64);
        let factor = radius / norm(&direction).max(f64::MIN_POSITIVE);
        points.extend(direction.iter().map(|value| (factor * value) as f32));
    }
    points
}

#[cfg(test)]
impl Mapping {
    /// Adds noise to parameters, of those that are zero only `with_zeros`: what is masked stays zero.
    pub(crate) fn shake(mut self, with_zeros: bool, random: &mut ChaCha8Rng) -> Self {
        for layer in &mut self.layers {
            let (parameters, _) = layer.parameters();
            let some = |parameter: &&mut f32| with_zeros || **parameter != 0.0;
            for parameter in parameters.iter_mut().filter(some) {
                *parameter += 0.1 * random.sample::<f32, _>(StandardNormal);
            }
        }
        self
    }

    /// Holds the gradient that `loss` leaves in the layers against differences.
    pub(crate) fn check_gradient(&mut self, name: &str, mut loss: impl FnMut(&mut Self) -> f64) {
        loss(self);
        let layers = self.layers.iter_mut();
        let gradients: Vec<Vec<f32>> = layers.map(|layer| layer.parameters().1.to_vec()).collect();
        assert!(gradients.concat().iter().any(|slope| slope.abs() > 0.1));
        for (index, gradient) in gradients.iter().enumerate() {
            for (place, found) in gradient.iter().enumerate() {
                let mut moved = |change: f32| {
                    let before = self.layers[index].parameters().0[place];
                    self.layers[index].parameters().0[place] = before + change;
                    let loss = loss(self);
                    self.layers[index].parameters().0[place] = before;
                    loss
                };
                let difference = (moved(2e-3) - moved(-2e-3)) / 4e-3;
                // Zero: masked, which a test of the layer checks.
                let error = (f64::from(*found) - difference).abs();
                assert!(
                    *found == 0.0 || error < 5e-3 * (1.0 + difference.abs()),
                    "{name}, layer {index}, {place}: {found} {difference}"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;

    /// One of either kind whose parameters are not those of the start.
    fn shaken(dim: usize, seed: u64) -> [Mapping; 2] {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let plain = Mapping::new(dim, 8, None, &mut random).unwrap();
        let plain = plain.shake(false, &mut random);
        let conditional = Mapping::conditional([dim, 3], 2, &[8], &mut random).unwrap();
        let mut conditional = conditional.shake(true, &mut random);
        conditional.given(&[0.5, -1.0, 0.1]);
        [plain, conditional]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_inverse_undoes_the_mapping(dim in 2..6_usize, seed in 0..1000_u64) {
            for mut mapping in shaken(dim, seed) {
                let point = ball(dim, 1, &mut ChaCha8Rng::seed_from_u64(seed + 1));
                let mut back = mapping.forward(&point).to_vec();
                mapping.invert(&mut back);
                for (point, back) in point.iter().zip(&back) {
                    prop_assert!((point - back).abs() < 1e-5 * (1.0 + point.abs()), "{point} {back}");
                }
            }
        }
    }

    #[test]
    fn log_scales_are_the_determinant() {
        for mut mapping in shaken(2, 5) {
            let point = [0.3, -0.4];
            mapping.forward(&point);
            let expected: f32 = mapping.scales.iter().flatten().sum();
            let step = 1e-2;
            let mut column = |index: usize| {
                let mut moved = |sign: f32| {
                    let mut point = point;
                    point[index] += sign * step;
                    mapping.forward(&point).to_vec()
                };
                let (up, down) = (moved(1.0), moved(-1.0));
                [0, 1].map(|row| (up[row] - down[row]) / (2.0 * step))
            };
            let (first, second) = (column(0), column(1));
            let determinant = first[0] * second[1] - first[1] * second[0];
            assert!((determinant.abs().ln() - expected).abs() < 0.02);
        }
    }
}
