//! The policy: a Gaussian around the output of a network.

use fabproj_core::Activation;
use fabproj_nn::{Mlp, MlpSpec, Tape};
use rand_chacha::ChaCha8Rng;

use crate::error::Result;

/// ln √(2π)
const LOG_ROOT_TWO_PI: f64 = 0.918_938_533_204_672_7;

/// A normal distribution of actions: the mean is a network of the observation, the standard
/// deviation is a parameter of its own.
///
/// Hidden layers are tanh, the mean is linear, log σ starts at 0 (SafePO's `ActorVCritic`). Actions
/// are not squashed; tasks clip them.
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianPolicy {
    /// The network of the mean.
    pub mean: Mlp,
    /// log σ of each action component.
    pub log_std: Vec<f32>,
}

impl GaussianPolicy {
    /// A policy with PyTorch's default weights.
    ///
    /// # Errors
    /// If a width is 0.
    pub fn new(
        observation_dim: usize,
        action_dim: usize,
        hidden: &[usize],
        random: &mut ChaCha8Rng,
    ) -> Result<Self> {
        let spec = MlpSpec::new(observation_dim, hidden, action_dim).with_hidden(Activation::Tanh);
        Ok(Self {
            mean: Mlp::new(spec, random)?,
            log_std: vec![0.0; action_dim],
        })
    }

    /// Entries of an observation.
    pub fn observation_dim(&self) -> usize {
        self.mean.spec().inputs
    }

    /// Components of an action.
    pub fn action_dim(&self) -> usize {
        self.log_std.len()
    }

    /// Means for observations that lie one after the other.
    pub fn means(&self, observations: &[f32], tape: &mut Tape) -> Vec<f32> {
        let rows = observations.len() / self.observation_dim();
        let mut means = vec![0.0; rows * self.action_dim()];
        self.mean.evaluate(observations, rows, tape, &mut means);
        means
    }

    /// σ of each component.
    pub fn std(&self) -> Vec<f32> {
        self.log_std.iter().map(|value| value.exp()).collect()
    }

    /// Length of [`parameters`](Self::parameters).
    pub fn parameter_count(&self) -> usize {
        self.mean.parameters().len() + self.log_std.len()
    }

    /// All parameters: those of the network, then log σ.
    pub fn parameters(&self) -> Vec<f32> {
        let network = self.mean.parameters().iter();
        network.chain(&self.log_std).copied().collect()
    }

    /// Sets all parameters.
    ///
    /// # Panics
    /// If the length is not [`parameter_count`](Self::parameter_count).
    pub fn set_parameters(&mut self, parameters: &[f32]) {
        let (network, log_std) = parameters.split_at(self.mean.parameters().len());
        self.mean.parameters_mut().copy_from_slice(network);
        self.log_std.copy_from_slice(log_std);
    }

    /// Whether all parameters are finite.
    pub fn is_finite(&self) -> bool {
        let mut values = self.mean.parameters().iter().chain(&self.log_std);
        values.all(|value| value.is_finite())
    }
}

/// log N(action; mean, σ²), summed over the components.
///
/// ```
/// // The density of the standard normal at its mean is 1/√(2π).
/// let log = fab_saferl::gaussian::log_probability(&[0.0], &[0.0], &[0.0]);
/// assert!((log.exp() - 0.3989).abs() < 1e-4);
/// ```
pub fn log_probability(mean: &[f32], log_std: &[f32], action: &[f32]) -> f64 {
    let components = mean.iter().zip(log_std).zip(action);
    let each = components.map(|((mean, log_std), action)| {
        let log_std = f64::from(*log_std);
        let z = (f64::from(*action) - f64::from(*mean)) * (-log_std).exp();
        -0.5 * z * z - log_std - LOG_ROOT_TWO_PI
    });
    each.sum()
}

/// KL(old‖new) for one observation, summed over the components:
/// log(σₙ/σₒ) + (σₒ² + (μₒ - μₙ)²) / (2σₙ²) - ½.
pub fn kl_divergence(old: (&[f32], &[f32]), new: (&[f32], &[f32])) -> f64 {
    let ((old_mean, old_log_std), (new_mean, new_log_std)) = (old, new);
    let means = old_mean.iter().zip(new_mean);
    let stds = old_log_std.iter().zip(new_log_std);
    let each = means
        .zip(stds)
        .map(|((old_mean, new_mean), (old_log, new_log))| {
            let log_ratio = f64::from(*new_log) - f64::from(*old_log);
            let shift =
                (f64::from(*old_mean) - f64::from(*new_mean)) * (-f64::from(*new_log)).exp();
            log_ratio + 0.5 * ((-2.0 * log_ratio).exp() + shift * shift) - 0.5
        });
    each.sum()
}

/// The mean of [`kl_divergence`] over rows of means.
pub fn mean_kl(old: (&[f32], &[f32]), new: (&[f32], &[f32])) -> f64 {
    let dim = old.1.len();
    let rows = old.0.chunks_exact(dim).zip(new.0.chunks_exact(dim));
    let count = rows.len().max(1) as f64;
    let total: f64 = rows
        .map(|(before, after)| kl_divergence((before, old.1), (after, new.1)))
        .sum();
    total / count
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn density_is_that_of_the_definition() {
        let (mean, log_std, action) = ([0.3, -1.0], [0.2f32, -0.5], [1.0, -0.7]);
        let density: f64 = (0..2)
            .map(|i| {
                let std = f64::from(log_std[i]).exp();
                let z = f64::from(action[i] - mean[i]) / std;
                (-0.5 * z * z).exp() / (std * (2.0 * std::f64::consts::PI).sqrt())
            })
            .product();
        let found = log_probability(&mean, &log_std, &action).exp();
        assert!(
            (found - density).abs() < 1e-6 * density,
            "{found} {density}"
        );
    }

    #[test]
    fn divergence_is_the_mean_log_ratio() {
        let old = ([0.2f32], [-0.3f32]);
        let new = ([0.5f32], [0.1f32]);
        // Integrates p(a) (log p(a) - log q(a)) on a fine grid.
        let (step, std) = (1e-3, f64::from(old.1[0]).exp());
        let total: f64 = (-8000..8000)
            .map(|i| {
                let action = [(0.2 + f64::from(i) * step) as f32];
                let p = log_probability(&old.0, &old.1, &action);
                let q = log_probability(&new.0, &new.1, &action);
                p.exp() * (p - q) * step
            })
            .sum();
        let found = kl_divergence((&old.0, &old.1), (&new.0, &new.1));
        assert!((found - total).abs() < 1e-4, "{found} {total} (σ {std})");
        assert_eq!(kl_divergence((&old.0, &old.1), (&old.0, &old.1)), 0.0);
    }

    #[test]
    fn flat_parameters_come_back() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let policy = GaussianPolicy::new(3, 2, &[4], &mut random).unwrap();
        let mut other = GaussianPolicy::new(3, 2, &[4], &mut random).unwrap();
        assert_ne!(policy, other);
        other.set_parameters(&policy.parameters());
        assert_eq!(policy, other);
        assert_eq!(policy.parameter_count(), 3 * 4 + 4 + 4 * 2 + 2 + 2);
    }
}
