//! The invertible network Ψ from the unit ball to a set, and its training.

use std::sync::Arc;

use fab_method::data::PaperData;
use fabproj_nn::{Adam, AdamConfig};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use serde::Serialize;

use super::autoregressive::Autoregressive;
use super::layer::{ActNorm, Layer, Linear, Pass};
use crate::method::Task;
use crate::problem::{MOST, norm, widen};
use crate::{StudyError, StudySet};

/// Blocks of a norm, a matrix, a norm and an autoregressive layer.
const BLOCKS: usize = 3;
/// Weight of violations in the loss.
const PENALTY: f64 = 10.0;
/// Weight of unequal log-scales in the loss.
const DISTORTION: f64 = 0.1;
/// Weight of the parameters' squares, as the released optimiser has it.
const DECAY: f32 = 1e-6;
/// Length of the balls in which a roomy feasible point is looked for, and the first image's deviation.
const ROOM: f64 = 0.25;

/// Rows in which it is looked for: of a shell in 10 dimensions, one in a thousand is infeasible, and data
/// of one kind alone are refused.
const SAMPLES: usize = 20_000;

/// Settings of Ψ; the defaults are those of the released experiment in the plane.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct MappingConfig {
    /// Width of the hidden layers of the masked networks. Default 32.
    pub hidden: usize,
    /// Steps. Default 10 000.
    pub steps: u64,
    /// Points of the ball per step. Default 256.
    pub rows: usize,
    /// Learning rate of Adam; × 0.9 after each tenth of the steps. Default 0.001.
    pub rate: f32,
    /// Begin with a small image around a feasible point, instead of one of deviation 1 around 0: where
    /// 0 is in a hole, the image of the ball's centre stays there. Default false.
    pub inside: bool,
}

impl Default for MappingConfig {
    fn default() -> Self {
        Self {
            hidden: 32,
            steps: 10_000,
            rows: 256,
            rate: 1e-3,
            inside: false,
        }
    }
}

/// Ψ, with memory for its calls.
pub struct Mapping {
    dim: usize,
    layers: Vec<Box<dyn Layer>>,
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
    fn of(dim: usize, layers: Vec<Box<dyn Layer>>) -> Self {
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
    /// neighbourhood of `centre`.
    ///
    /// # Errors
    /// [`StudyError::Network`] for a size of which no network can be made.
    pub fn new(
        dim: usize,
        hidden: usize,
        centre: Option<&[f64]>,
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
        if let Some(centre) = centre {
            last.aim(centre, ROOM);
        }
        layers.push(Box::new(last));
        Ok(Self::of(dim, layers))
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

    /// Trains Ψ for a set: the image should be large, feasible, and not distorted,
    /// −log det/n + 10·v + 0.1·(differences of log-scales).
    ///
    /// # Errors
    /// [`StudyError`] when the set cannot be sampled, the numbers grow beyond all bounds, or the study
    /// stops.
    pub fn train(config: &MappingConfig, task: &Task<'_>) -> Result<Self, StudyError> {
        let dim = task.set.dim();
        let mut random = ChaCha8Rng::seed_from_u64(task.seed);
        random.set_stream(41);
        let centre = match config.inside {
            true => roomy(&task.set, task.seed, &mut random)?,
            false => None,
        };
        let mut mapping = Self::new(dim, config.hidden, centre.as_deref(), &mut random)?;
        let new_adam = |layer: &mut Box<dyn Layer>| {
            Adam::new(AdamConfig::default(), layer.parameters().0.len())
        };
        let mut adams: Vec<Adam> = mapping.layers.iter_mut().map(new_adam).collect();
        for step in 0..config.steps {
            task.context.check_stop()?;
            let points = ball(dim, config.rows, &mut random);
            let loss = mapping.differentiate(&task.set, &points);
            if !loss.is_finite() {
                let what = "the invertible network".to_owned();
                return Err(StudyError::Diverged { what, step });
            }
            let rate = config.rate * 0.9_f32.powi((10 * step / config.steps) as i32);
            for (layer, adam) in mapping.layers.iter_mut().zip(&mut adams) {
                let (parameters, gradient) = layer.parameters();
                for (gradient, parameter) in gradient.iter_mut().zip(&*parameters) {
                    *gradient += DECAY * parameter;
                }
                adam.update(parameters, gradient, rate);
            }
        }
        Ok(mapping)
    }

    /// The mean loss of rows; the layers keep its gradient.
    fn differentiate(&mut self, set: &StudySet, points: &[f32]) -> f64 {
        let (dim, length) = (self.dim, points.len());
        let share = (dim as f64) / length as f64;
        self.forward(points);
        for buffer in [&mut self.d_values, &mut self.d_next, &mut self.d_scales] {
            buffer.resize(length, 0.0);
        }
        let image = &self.values[self.layers.len()];
        let mut loss = PENALTY * share * violations(set, image, &mut self.d_values);
        for value in &mut self.d_values {
            *value *= (PENALTY * share) as f32;
        }
        for index in (0..self.layers.len()).rev() {
            let scales = &self.scales[index];
            loss += share * scale_losses(scales, dim, share as f32, &mut self.d_scales);
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

/// The sum of the rows' violations, with gradients.
fn violations(set: &StudySet, rows: &[f32], gradient: &mut [f32]) -> f64 {
    let dim = set.dim();
    let (mut y, mut slope) = ([0.0; MOST], [0.0; MOST]);
    let (y, slope) = (&mut y[..dim], &mut slope[..dim]);
    let mut total = 0.0;
    for (row, gradient) in rows.chunks_exact(dim).zip(gradient.chunks_exact_mut(dim)) {
        widen(row, y);
        // Every set of the study knows its violation.
        total += set.set().violation(y, &[], slope).unwrap_or(f64::NAN);
        for (gradient, slope) in gradient.iter_mut().zip(&*slope) {
            *gradient = *slope as f32;
        }
    }
    total
}

/// The sum over rows of −Σ scales/n + 0.1·(largest − smallest); gradients are multiplied by `share`.
fn scale_losses(scales: &[f32], dim: usize, share: f32, gradient: &mut [f32]) -> f64 {
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
        total +=
            -f64::from(sum) / dim as f64 + DISTORTION * f64::from(scales[most] - scales[least]);
        gradient.fill(-share / dim as f32);
        gradient[most] += share * DISTORTION as f32;
        gradient[least] -= share * DISTORTION as f32;
    }
    total
}

/// Uniform points of the unit ball, one after the other.
fn ball(dim: usize, rows: usize, random: &mut ChaCha8Rng) -> Vec<f32> {
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

/// The feasible sample with the most feasible neighbours.
fn roomy(
    set: &Arc<StudySet>,
    seed: u64,
    random: &mut ChaCha8Rng,
) -> Result<Option<Vec<f64>>, StudyError> {
    let dim = set.dim();
    let data = PaperData::sample_rows(set.set(), SAMPLES, seed)?;
    let rows = data.y.chunks_exact(dim).zip(&data.labels);
    let feasible = rows.filter(|(_, feasible)| **feasible).take(200);
    let candidates = feasible.map(|(row, _)| {
        let offsets = ball(dim, 64, random);
        let near = offsets.chunks_exact(dim).filter(|offset| {
            let shifted = row.iter().zip(*offset);
            let point: Vec<f64> = shifted
                .map(|(y, o)| f64::from(*y) + 2.0 * ROOM * f64::from(*o))
                .collect();
            set.set().contains(&point, &[])
        });
        (near.count(), row)
    });
    let best = candidates.max_by_key(|(near, _)| *near);
    Ok(best.map(|(_, row)| row.iter().copied().map(f64::from).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A mapping whose parameters are not those of the start.
    fn shaken(dim: usize, seed: u64) -> Mapping {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut mapping = Mapping::new(dim, 8, None, &mut random).unwrap();
        for layer in &mut mapping.layers {
            // What is masked stays zero.
            let (parameters, _) = layer.parameters();
            for parameter in parameters.iter_mut().filter(|parameter| **parameter != 0.0) {
                *parameter += 0.1 * random.sample::<f32, _>(StandardNormal);
            }
        }
        mapping
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_inverse_undoes_the_mapping(dim in 1..6_usize, seed in 0..1000_u64) {
            let mut mapping = shaken(dim, seed);
            let point = ball(dim, 1, &mut ChaCha8Rng::seed_from_u64(seed + 1));
            let mut back = mapping.forward(&point).to_vec();
            mapping.invert(&mut back);
            for (point, back) in point.iter().zip(&back) {
                prop_assert!((point - back).abs() < 1e-5 * (1.0 + point.abs()), "{point} {back}");
            }
        }
    }

    #[test]
    fn log_scales_are_the_determinant() {
        let mut mapping = shaken(2, 5);
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

    /// Points of the ball whose images are not at the boundary of the shell.
    fn points_without_kinks(mapping: &mut Mapping, dim: usize) -> Vec<f32> {
        let candidates = ball(dim, 64, &mut ChaCha8Rng::seed_from_u64(2));
        let calm = candidates.chunks_exact(dim).filter(|point| {
            let image: Vec<f64> = mapping
                .forward(point)
                .iter()
                .map(|y| f64::from(*y))
                .collect();
            let radius = norm(&image);
            radius > 0.1 && (radius - 1.0).abs() > 0.05 && (radius - 2.0).abs() > 0.05
        });
        calm.flatten().copied().collect()
    }

    #[test]
    fn the_loss_is_differentiated_through_all_layers() {
        for (name, dim) in [("concentric-circles", 2), ("shell-3d", 3)] {
            let set = StudySet::open(name).unwrap();
            let mut random = ChaCha8Rng::seed_from_u64(11);
            // As a trained one, but without kinks nearby: calm units, and log-scales far apart.
            let mut layers: Vec<Box<dyn Layer>> = Vec::new();
            for _ in 0..2 {
                let mut bend = Autoregressive::new(dim, 8, &mut random).unwrap();
                bend.calm();
                layers.push(Box::new(ActNorm::new(dim)));
                layers.push(Box::new(Linear::new(dim, &mut random)));
                layers.push(Box::new(bend));
            }
            for (index, layer) in layers
                .iter_mut()
                .enumerate()
                .filter(|(index, _)| index % 3 < 2)
            {
                for (place, parameter) in layer.parameters().0.iter_mut().enumerate() {
                    *parameter += 0.15 * ((index + 5 * place) as f32).sin();
                }
            }
            let mut mapping = Mapping::of(dim, layers);
            let points = points_without_kinks(&mut mapping, dim);
            assert!(points.len() > 16 * dim);
            mapping.differentiate(&set, &points);
            let gradients: Vec<Vec<f32>> = mapping
                .layers
                .iter_mut()
                .map(|layer| layer.parameters().1.to_vec())
                .collect();
            assert!(gradients.concat().iter().any(|slope| slope.abs() > 0.1));
            for (index, gradient) in gradients.iter().enumerate() {
                for (place, found) in gradient.iter().enumerate() {
                    let mut loss = |change: f32| {
                        let before = mapping.layers[index].parameters().0[place];
                        mapping.layers[index].parameters().0[place] = before + change;
                        let loss = mapping.differentiate(&set, &points);
                        mapping.layers[index].parameters().0[place] = before;
                        loss
                    };
                    let difference = (loss(2e-3) - loss(-2e-3)) / 4e-3;
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
}
