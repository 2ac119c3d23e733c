//! Training of the invertible network for a set of the study.

use std::sync::Arc;

use fab_method::data::PaperData;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::mapping::{Mapping, Weights, ball};
use crate::method::Task;
use crate::problem::{MOST, widen};
use crate::{StudyError, StudySet};

/// As released.
const WEIGHTS: Weights = Weights {
    penalty: 10.0,
    distortion: 0.1,
};
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

impl Mapping {
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
        let mut mapping = Self::new(
            dim,
            config.hidden,
            centre.as_deref().map(|centre| (centre, ROOM)),
            &mut random,
        )?;
        let mut optimisers = mapping.optimisers();
        for step in 0..config.steps {
            task.context.check_stop()?;
            let points = ball(dim, config.rows, &mut random);
            let loss = differentiate(&mut mapping, &task.set, &points);
            if !loss.is_finite() {
                let what = "the invertible network".to_owned();
                return Err(StudyError::Diverged { what, step });
            }
            let rate = config.rate * 0.9_f32.powi((10 * step / config.steps) as i32);
            mapping.descend(&mut optimisers, rate);
        }
        Ok(mapping)
    }
}

fn differentiate(mapping: &mut Mapping, set: &StudySet, points: &[f32]) -> f64 {
    mapping.differentiate(points, WEIGHTS, |rows, gradient| {
        violations(set, rows, gradient)
    })
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
    use super::super::autoregressive::Autoregressive;
    use super::super::layer::{ActNorm, Layer, Linear};
    use super::*;
    use crate::problem::norm;

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
            mapping.check_gradient(name, |mapping| differentiate(mapping, &set, &points));
        }
    }
}
