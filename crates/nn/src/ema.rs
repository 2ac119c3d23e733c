//! A decaying average of parameters.

use serde::{Deserialize, Serialize};

/// Average of the parameters with decay min(decay, (t + 1) / (t + 10)) at update t = 0, 1, …, so
/// that the start is forgotten quickly.
///
/// ```
/// let mut ema = fabproj_nn::Ema::new(0.998, &[0.0]);
/// ema.update(&[1.0]);
/// assert!((ema.average[0] - 0.9f32).abs() < 1e-6);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ema {
    /// The largest decay.
    pub decay: f32,
    /// The average.
    pub average: Vec<f32>,
    /// Updates made so far.
    pub step: u64,
}

impl Ema {
    /// Starts at the given parameters.
    pub fn new(decay: f32, parameters: &[f32]) -> Self {
        Self {
            decay,
            average: parameters.to_vec(),
            step: 0,
        }
    }

    /// Moves the average toward the parameters.
    ///
    /// # Panics
    /// If the length differs from the one at the start.
    pub fn update(&mut self, parameters: &[f32]) {
        assert_eq!(
            parameters.len(),
            self.average.len(),
            "Ema::update: parameters"
        );
        let step = self.step as f64;
        let decay = f64::from(self.decay).min((step + 1.0) / (step + 10.0));
        let pull = (1.0 - decay) as f32;
        self.average
            .iter_mut()
            .zip(parameters)
            .for_each(|(average, p)| *average += pull * (p - *average));
        self.step += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decay_grows_to_its_limit() {
        let mut ema = Ema::new(0.9, &[0.0]);
        let mut expected = 0.0f64;
        for t in 0..200 {
            let value = f64::from(t as f32).sin();
            let decay = 0.9f64.min((f64::from(t) + 1.0) / (f64::from(t) + 10.0));
            expected = decay * expected + (1.0 - decay) * value;
            ema.update(&[value as f32]);
        }
        assert!((f64::from(ema.average[0]) - expected).abs() < 1e-5);
        assert_eq!(ema.step, 200);
    }
}
