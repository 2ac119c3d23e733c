//! Running normalisation of observations.

use serde::{Deserialize, Serialize};

/// Added to the variance, so that a constant entry gives 0.
const EPSILON: f64 = 1e-8;

/// Mean and variance of every entry of the observations seen so far.
///
/// Batches are merged by Chan's formula, as in Gymnasium's `RunningMeanStd`: the count starts at
/// 1e-4, the mean at 0, the variance at 1. Values are not clipped.
///
/// ```
/// use fab_saferl::Normaliser;
///
/// let mut normaliser = Normaliser::new(1);
/// normaliser.update(&[1.0, 3.0]); // two observations with one entry
/// let mut input = [0.0];
/// normaliser.normalise(&[3.0], &mut input);
/// assert!((input[0] - 1.0).abs() < 1e-3);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Normaliser {
    count: f64,
    mean: Vec<f64>,
    variance: Vec<f64>,
}

impl Normaliser {
    /// Nothing seen yet.
    pub fn new(dim: usize) -> Self {
        Self::from_parts(1e-4, vec![0.0; dim], vec![1.0; dim])
    }

    /// From statistics that were saved.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn from_parts(count: f64, mean: Vec<f64>, variance: Vec<f64>) -> Self {
        assert_eq!(mean.len(), variance.len(), "Normaliser: mean and variance");
        Self {
            count,
            mean,
            variance,
        }
    }

    /// Entries of an observation.
    pub fn dim(&self) -> usize {
        self.mean.len()
    }

    /// Observations seen, plus 1e-4.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// The mean of each entry.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The variance of each entry.
    pub fn variance(&self) -> &[f64] {
        &self.variance
    }

    /// Merges observations that lie one after the other.
    ///
    /// # Panics
    /// If the length is not a multiple of the dimension.
    pub fn update(&mut self, observations: &[f64]) {
        let dim = self.dim();
        assert!(
            dim > 0 && observations.len().is_multiple_of(dim),
            "Normaliser::update: whole observations"
        );
        let rows = (observations.len() / dim) as f64;
        if rows == 0.0 {
            return;
        }
        let total = self.count + rows;
        for entry in 0..dim {
            let column = || observations.iter().skip(entry).step_by(dim);
            let mean = column().sum::<f64>() / rows;
            let squares = column().map(|value| (value - mean).powi(2)).sum::<f64>();
            let delta = mean - self.mean[entry];
            self.mean[entry] += delta * rows / total;
            let merged = self.variance[entry] * self.count
                + squares
                + delta * delta * self.count * rows / total;
            self.variance[entry] = merged / total;
        }
        self.count = total;
    }

    /// Writes (o - mean) / sqrt(variance + 1e-8).
    ///
    /// # Panics
    /// If a slice is shorter than the dimension.
    pub fn normalise(&self, observation: &[f64], input: &mut [f32]) {
        for entry in 0..self.dim() {
            let centred = observation[entry] - self.mean[entry];
            input[entry] = (centred / (self.variance[entry] + EPSILON).sqrt()) as f32;
        }
    }

    /// Whether all statistics are finite.
    pub fn is_finite(&self) -> bool {
        let mut values = self.mean.iter().chain(&self.variance);
        self.count.is_finite() && values.all(|value| value.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_give_the_statistics_of_all_observations() {
        let values: Vec<f64> = (0..300).map(|i| (f64::from(i) * 0.7).sin() * 3.0).collect();
        let mut normaliser = Normaliser::new(3);
        for batch in values.chunks(30) {
            normaliser.update(batch);
        }
        for entry in 0..3 {
            let column: Vec<f64> = values.iter().skip(entry).step_by(3).copied().collect();
            let mean = column.iter().sum::<f64>() / 100.0;
            let variance = column.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 100.0;
            // The start weighs as much as 1e-4 observations.
            assert!((normaliser.mean()[entry] - mean).abs() < 1e-5);
            assert!((normaliser.variance()[entry] - variance).abs() < 1e-4);
        }
        assert_eq!(normaliser.count(), 1e-4 + 100.0);
    }

    #[test]
    fn a_constant_entry_is_zero_and_nothing_is_clipped() {
        let mut normaliser = Normaliser::new(2);
        for _ in 0..1000 {
            normaliser.update(&[5.0, 0.0, 5.0, 1.0]);
        }
        let mut input = [f32::NAN; 2];
        normaliser.normalise(&[5.0, 1000.5], &mut input);
        assert!(input[0].abs() < 1e-3);
        assert!((input[1] - 2000.0).abs() < 1.0);
    }

    #[test]
    fn statistics_survive_json_with_the_same_bits() {
        let mut normaliser = Normaliser::new(2);
        normaliser.update(&[0.1, 0.2, 0.3, 1e-9]);
        let text = serde_json::to_string(&normaliser).unwrap();
        let back: Normaliser = serde_json::from_str(&text).unwrap();
        assert_eq!(back, normaliser);
    }
}
