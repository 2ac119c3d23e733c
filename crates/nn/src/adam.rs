//! The Adam update rule.

use fabproj_core::kernel::{Kernel, Loop};
use serde::{Deserialize, Serialize};

/// Settings of [`Adam`]; the defaults are PyTorch's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamConfig {
    /// Decay of the average of gradients; default 0.9.
    pub beta1: f32,
    /// Decay of the average of squared gradients; default 0.999.
    pub beta2: f32,
    /// Added to the root of the second average; default 1e-8.
    pub epsilon: f32,
    /// Decoupled weight decay (as in AdamW), applied to every parameter; default 0.
    pub weight_decay: f32,
}

impl Default for AdamConfig {
    fn default() -> Self {
        Self {
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.0,
        }
    }
}

/// Adam with decoupled weight decay; all fields are the state that a checkpoint must hold.
///
/// ```
/// use fabproj_nn::{Adam, AdamConfig};
/// let mut parameters = [1.0];
/// let mut adam = Adam::new(AdamConfig::default(), 1);
/// adam.update(&mut parameters, &[0.3], 0.1);
/// assert!((parameters[0] - 0.9f32).abs() < 1e-6); // the first step is the learning rate
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adam {
    /// The settings.
    pub config: AdamConfig,
    /// Decaying average of gradients.
    pub first: Vec<f32>,
    /// Decaying average of squared gradients.
    pub second: Vec<f32>,
    /// Updates made so far.
    pub step: u64,
}

impl Adam {
    /// A fresh state for `length` parameters.
    pub fn new(config: AdamConfig, length: usize) -> Self {
        Self {
            config,
            first: vec![0.0; length],
            second: vec![0.0; length],
            step: 0,
        }
    }

    /// One update of the parameters.
    ///
    /// # Panics
    /// If the lengths differ from the one that the state was made for.
    pub fn update(&mut self, parameters: &mut [f32], gradient: &[f32], learning_rate: f32) {
        self.apply(parameters, gradient.iter().copied(), learning_rate);
    }

    /// One update of the parameters by a gradient that is zero afterwards, ready to be summed up again:
    /// quicker than [`update`](Self::update) and another pass.
    ///
    /// # Panics
    /// If the lengths differ from the one that the state was made for.
    pub fn consume(&mut self, parameters: &mut [f32], gradient: &mut [f32], learning_rate: f32) {
        let gradient = gradient.iter_mut().map(std::mem::take);
        self.apply(parameters, gradient, learning_rate);
    }

    fn apply(
        &mut self,
        parameters: &mut [f32],
        gradient: impl ExactSizeIterator<Item = f32>,
        learning_rate: f32,
    ) {
        assert_eq!(
            parameters.len(),
            self.first.len(),
            "Adam::update: parameters"
        );
        assert_eq!(gradient.len(), self.first.len(), "Adam::update: gradient");
        self.step += 1;
        let AdamConfig {
            beta1,
            beta2,
            epsilon,
            weight_decay,
        } = self.config;
        let correction =
            |beta: f32| 1.0 - f64::from(beta).powi(self.step.min(i32::MAX as u64) as i32);
        let rate = (f64::from(learning_rate) / correction(beta1)) as f32;
        let root = (1.0 / correction(beta2).sqrt()) as f32;
        Kernel::detect().vectorise(Update {
            parameters,
            gradient,
            first: &mut self.first,
            second: &mut self.second,
            beta1,
            beta2,
            epsilon,
            rate,
            root,
            keep: 1.0 - learning_rate * weight_decay,
        });
    }
}

/// One update, with the corrections of its step.
struct Update<'a, G> {
    parameters: &'a mut [f32],
    gradient: G,
    first: &'a mut [f32],
    second: &'a mut [f32],
    beta1: f32,
    beta2: f32,
    epsilon: f32,
    /// Learning rate / (1 - β₁ᵗ)
    rate: f32,
    /// 1 / √(1 - β₂ᵗ)
    root: f32,
    /// What the weight decay leaves.
    keep: f32,
}

impl<G: Iterator<Item = f32>> Loop for Update<'_, G> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            beta1,
            beta2,
            epsilon,
            rate,
            root,
            keep,
            ..
        } = self;
        let averages = self.first.iter_mut().zip(self.second);
        let values = self.parameters.iter_mut().zip(self.gradient);
        for ((p, g), (m, v)) in values.zip(averages) {
            *m = without_dust(*m + (1.0 - beta1) * (g - *m));
            *v = without_dust(beta2 * *v + (1.0 - beta2) * g * g);
            *p = *p * keep - rate * *m / (v.sqrt() * root + epsilon);
        }
    }
}

/// Averages this small move no parameter. Those of units that went silent would decay on into the
/// numbers below the normal ones, on which processors take a hundred times as long.
const DUST: f32 = 1e-34;

#[inline(always)]
fn without_dust(average: f32) -> f32 {
    if average.abs() < DUST { 0.0 } else { average }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule as PyTorch's documentation of AdamW writes it, in f64.
    fn reference(config: AdamConfig, rate: f64, gradients: &[f64], mut p: f64) -> f64 {
        let (b1, b2) = (f64::from(config.beta1), f64::from(config.beta2));
        let (mut m, mut v) = (0.0, 0.0);
        for (t, g) in gradients.iter().enumerate() {
            p -= rate * f64::from(config.weight_decay) * p;
            m = b1 * m + (1.0 - b1) * g;
            v = b2 * v + (1.0 - b2) * g * g;
            let (mh, vh) = (
                m / (1.0 - b1.powi(t as i32 + 1)),
                v / (1.0 - b2.powi(t as i32 + 1)),
            );
            p -= rate * mh / (vh.sqrt() + f64::from(config.epsilon));
        }
        p
    }

    #[test]
    fn follows_the_published_rule() {
        let config = AdamConfig {
            weight_decay: 0.1,
            ..AdamConfig::default()
        };
        let gradients: Vec<f64> = (0..200).map(|t| (t as f64 * 0.3).sin() + 0.2).collect();
        let mut adam = Adam::new(config, 37);
        let mut parameters = vec![0.7f32; 37];
        for g in &gradients {
            adam.update(&mut parameters, &[*g as f32; 37], 1e-2);
        }
        let expected = reference(config, 1e-2, &gradients, 0.7);
        for p in parameters {
            assert!((f64::from(p) - expected).abs() < 1e-5, "{p} {expected}");
        }
        assert_eq!(adam.step, 200);
    }

    #[test]
    fn a_consumed_gradient_moves_as_far_and_is_zero() {
        let mut gradient: Vec<f32> = (0..50).map(|i| (i as f32).cos()).collect();
        let mut adam = Adam::new(AdamConfig::default(), 50);
        let (mut other, mut parameters, mut moved) = (adam.clone(), vec![0.1; 50], vec![0.1; 50]);
        for _ in 0..3 {
            let mut consumed = gradient.clone();
            adam.update(&mut parameters, &gradient, 1e-3);
            other.consume(&mut moved, &mut consumed, 1e-3);
            assert_eq!((&parameters, &adam), (&moved, &other));
            assert_eq!(consumed, [0.0; 50]);
            gradient.iter_mut().for_each(|g| *g *= 0.5);
        }
    }

    #[test]
    fn a_stored_state_continues_with_the_same_bits() {
        let gradient: Vec<f32> = (0..50).map(|i| (i as f32).cos()).collect();
        let mut adam = Adam::new(AdamConfig::default(), 50);
        let mut parameters = vec![0.1; 50];
        adam.update(&mut parameters, &gradient, 1e-3);
        let mut restored: Adam =
            serde_json::from_str(&serde_json::to_string(&adam).unwrap()).unwrap();
        let mut copy = parameters.clone();
        adam.update(&mut parameters, &gradient, 1e-3);
        restored.update(&mut copy, &gradient, 1e-3);
        assert_eq!(parameters, copy);
    }
}
