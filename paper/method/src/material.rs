//! The rows of a phase in the units of that phase, and the order in which steps see them.

use fabproj_core::Frame;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::data::{PaperData, split};
use crate::error::PaperError;

/// Scales are never smaller.
const LEAST_SCALE: f32 = 1e-8;

/// What a random stream is for: each purpose has its own, so that none depends on how much another
/// one has drawn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    Coverage = 1,
    SplitOne,
    SplitTwo,
    OrderOne,
    OrderTwo,
    Networks,
    Discriminator,
    Latents,
    Score,
}

/// A generator for one purpose of a training.
pub(super) fn generator(seed: u64, purpose: Purpose) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(purpose as u64);
    rng
}

/// A seed for one purpose of a training.
pub(super) fn sub_seed(seed: u64, purpose: Purpose) -> u64 {
    generator(seed, purpose).next_u64()
}

/// The units of y and of x.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Frames {
    pub(super) y: Frame,
    pub(super) x: Frame,
}

impl Frames {
    /// Raw units.
    pub(super) fn identity(dim: usize, x_dim: usize) -> Self {
        Self {
            y: Frame::unit(dim),
            x: Frame::unit(x_dim),
        }
    }

    /// Mean and unbiased standard deviation of every column of rows `[y, x]`.
    fn of_rows(rows: &[f32], dim: usize, width: usize) -> Self {
        let count = (rows.len() / width) as f64;
        let column = |j: usize| rows.iter().skip(j).step_by(width).map(|v| f64::from(*v));
        let (mut centre, mut scale) = (Vec::new(), Vec::new());
        for j in 0..width {
            let mean = column(j).sum::<f64>() / count;
            let squares: f64 = column(j).map(|v| (v - mean).powi(2)).sum();
            centre.push(mean as f32);
            scale.push(((squares / (count - 1.0).max(1.0)).sqrt() as f32).max(LEAST_SCALE));
        }
        let x = Frame {
            centre: centre.split_off(dim),
            scale: scale.split_off(dim),
        };
        Self {
            y: Frame { centre, scale },
            x,
        }
    }

    fn columns(&self) -> impl Iterator<Item = (&f32, &f32)> + Clone {
        let centres = self.y.centre.iter().chain(&self.x.centre);
        centres.zip(self.y.scale.iter().chain(&self.x.scale))
    }

    /// Rows `[y, x]` into these units.
    fn enter(&self, rows: &mut [f32], width: usize) {
        for row in rows.chunks_exact_mut(width) {
            for (value, (centre, scale)) in row.iter_mut().zip(self.columns()) {
                *value = (*value - centre) / scale;
            }
        }
    }

    /// Rows `[y, x]` back to raw units, with the projector's arithmetic.
    pub(super) fn leave(&self, rows: &[f32], y: &mut Vec<f64>, x: &mut Vec<f64>) {
        let raw =
            |(value, (centre, scale)): (&f32, (&f32, &f32))| f64::from(value * scale + centre);
        let dim = self.y.centre.len();
        y.clear();
        x.clear();
        for row in rows.chunks_exact(dim + self.x.centre.len()) {
            let mut values = row.iter().zip(self.columns()).map(raw);
            y.extend(values.by_ref().take(dim));
            x.extend(values);
        }
    }
}

/// Rows to train on and to validate with.
#[derive(Clone, Debug)]
pub(super) struct Material {
    /// Floats of one row `[y, x]`.
    pub(super) width: usize,
    pub(super) frames: Frames,
    pub(super) rows: Vec<f32>,
    pub(super) labels: Vec<bool>,
    pub(super) oracle: Vec<bool>,
    pub(super) validation: Vec<f32>,
}

impl Material {
    /// Feasible rows in raw units.
    pub(super) fn phase_one(
        data: &PaperData,
        feasible: Vec<usize>,
        share: f64,
        seed: u64,
    ) -> Result<Self, PaperError> {
        let seed = sub_seed(seed, Purpose::SplitOne);
        Self::gather(data, &data.labels, feasible, share, seed)
    }

    /// All rows, every column scaled by its own mean and deviation.
    pub(super) fn phase_two(
        data: &PaperData,
        labels: &[bool],
        share: f64,
        seed: u64,
    ) -> Result<Self, PaperError> {
        let seed = sub_seed(seed, Purpose::SplitTwo);
        let all = (0..data.rows()).collect();
        let mut material = Self::gather(data, labels, all, share, seed)?;
        material.frames = Frames::of_rows(&material.rows, data.dim, material.width);
        material.frames.enter(&mut material.rows, material.width);
        material
            .frames
            .enter(&mut material.validation, material.width);
        Ok(material)
    }

    fn gather(
        data: &PaperData,
        labels: &[bool],
        rows: Vec<usize>,
        share: f64,
        seed: u64,
    ) -> Result<Self, PaperError> {
        let (train, validation) = if share == 0.0 {
            (rows, Vec::new())
        } else {
            let parts = split(rows, share, seed)?;
            (parts.train, parts.validation)
        };
        let (dim, x_dim) = (data.dim, data.x_dim);
        let joined = |rows: &[usize]| -> Vec<f32> {
            let mut joined = Vec::with_capacity(rows.len() * (dim + x_dim));
            for row in rows {
                joined.extend_from_slice(&data.y[row * dim..][..dim]);
                joined.extend_from_slice(&data.x[row * x_dim..][..x_dim]);
            }
            joined
        };
        Ok(Self {
            width: dim + x_dim,
            frames: Frames::identity(dim, x_dim),
            rows: joined(&train),
            labels: train.iter().map(|row| labels[*row]).collect(),
            oracle: train.iter().map(|row| data.oracle[*row]).collect(),
            validation: joined(&validation),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }

    /// (infeasible rows)/(feasible rows).
    pub(super) fn positive_weight(&self) -> f32 {
        let positives = self.labels.iter().filter(|label| **label).count();
        (self.len() - positives) as f32 / positives.max(1) as f32
    }
}

/// Shuffled batches, anew in every epoch; which rows a step sees depends on its number alone.
#[derive(Clone, Debug)]
pub(super) struct Batches {
    rng: ChaCha8Rng,
    batch: usize,
    order: Vec<u32>,
    /// The epoch that `order` is for.
    epoch: Option<u64>,
}

impl Batches {
    pub(super) fn new(rows: usize, batch: usize, seed: u64, purpose: Purpose) -> Self {
        Self {
            rng: ChaCha8Rng::seed_from_u64(sub_seed(seed, purpose)),
            batch,
            order: (0..rows as u32).collect(),
            epoch: None,
        }
    }

    /// Batches of an epoch; the last one may be short.
    pub(super) fn per_epoch(&self) -> u64 {
        self.order.len().div_ceil(self.batch) as u64
    }

    /// The rows of a step.
    pub(super) fn rows(&mut self, step: u64) -> &[u32] {
        let (epoch, within) = (step / self.per_epoch(), step % self.per_epoch());
        if self.epoch != Some(epoch) {
            self.epoch = Some(epoch);
            let mut rng = self.rng.clone();
            rng.set_stream(epoch);
            let rows = self.order.len() as u32;
            self.order.clear();
            self.order.extend(0..rows);
            self.order.shuffle(&mut rng);
        }
        let start = within as usize * self.batch;
        &self.order[start..self.order.len().min(start + self.batch)]
    }
}

/// Copies rows of `width` floats one after the other.
pub(super) fn gather_rows(from: &[f32], width: usize, rows: &[u32], to: &mut Vec<f32>) {
    to.clear();
    for row in rows {
        to.extend_from_slice(&from[*row as usize * width..][..width]);
    }
}

/// Copies flags.
pub(super) fn gather_flags(from: &[bool], rows: &[u32], to: &mut Vec<bool>) {
    to.clear();
    to.extend(rows.iter().map(|row| from[*row as usize]));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(rows: usize) -> PaperData {
        let labels: Vec<bool> = (0..rows).map(|row| row % 4 == 0).collect();
        PaperData {
            dim: 2,
            x_dim: 1,
            y: (0..2 * rows).map(|i| i as f32).collect(),
            x: (0..rows).map(|i| 7.0 - i as f32).collect(),
            oracle: labels.clone(),
            labels,
        }
    }

    #[test]
    fn the_second_phase_has_mean_zero_and_deviation_one() {
        let data = data(100);
        let material = Material::phase_two(&data, &data.labels, 0.2, 3).unwrap();
        assert_eq!((material.len(), material.validation.len()), (80, 60));
        for j in 0..3 {
            let column: Vec<f64> = material.rows[j..]
                .iter()
                .step_by(3)
                .map(|v| f64::from(*v))
                .collect();
            let mean = column.iter().sum::<f64>() / 80.0;
            let square = column.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 79.0;
            assert!(mean.abs() < 1e-5 && (square - 1.0).abs() < 1e-5);
        }
        let (mut y, mut x) = (Vec::new(), Vec::new());
        material.frames.leave(&material.rows[..3], &mut y, &mut x);
        let row = (y[0] / 2.0).round();
        assert!((y[1] - 2.0 * row - 1.0).abs() < 1e-3 && (x[0] + row - 7.0).abs() < 1e-3);
        let positives = material.labels.iter().filter(|label| **label).count() as f32;
        assert_eq!(material.positive_weight(), (80.0 - positives) / positives);
    }

    #[test]
    fn the_first_phase_has_the_feasible_rows_as_they_are() {
        let data = data(100);
        let material = Material::phase_one(&data, data.feasible(), 0.2, 3).unwrap();
        assert_eq!(material.len(), 20);
        assert!(material.labels.iter().all(|label| *label));
        for row in material.rows.chunks_exact(3) {
            assert!(row[0] % 8.0 == 0.0 && row[1] == row[0] + 1.0 && row[2] == 7.0 - row[0] / 2.0);
        }
    }

    #[test]
    fn every_epoch_sees_every_row_once_in_another_order() {
        let mut batches = Batches::new(10, 4, 1, Purpose::OrderOne);
        let epoch = |batches: &mut Batches, epoch: u64| -> Vec<u32> {
            (0..3)
                .flat_map(|step| batches.rows(3 * epoch + step).to_vec())
                .collect()
        };
        let (first, second) = (epoch(&mut batches, 0), epoch(&mut batches, 1));
        assert_ne!(first, second);
        for mut order in [first.clone(), second.clone()] {
            order.sort_unstable();
            assert_eq!(order, (0..10).collect::<Vec<_>>());
        }
        // A step's rows do not depend on the steps before it.
        let mut fresh = Batches::new(10, 4, 1, Purpose::OrderOne);
        assert_eq!(fresh.rows(5), &second[8..]);
        assert_eq!(batches.rows(0), &first[..4]);
    }

    #[test]
    fn a_constant_column_does_not_divide_by_zero() {
        let frames = Frames::of_rows(&[3.0, 1.0, 3.0, 2.0], 2, 2);
        assert_eq!(frames.y.scale[0], LEAST_SCALE);
        let mut rows = [3.0, 1.5];
        frames.enter(&mut rows, 2);
        assert_eq!(rows[0], 0.0);
    }
}
