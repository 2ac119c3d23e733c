//! Value networks, and evaluation of a network on many rows.

use fabproj_core::Activation;
use fabproj_nn::{Adam, AdamConfig, Mlp, MlpSpec, Tape};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::error::Result;

/// Rows per task of [`evaluate_rows`]. Fixed, so that results do not depend on the threads.
const ROWS: usize = 1008;

/// A network for the expected sum of rewards or costs, with its optimiser.
#[derive(Clone, Debug, PartialEq)]
pub struct Critic {
    /// The network: observation to value, tanh hidden layers.
    pub network: Mlp,
    /// Its optimiser.
    pub adam: Adam,
}

impl Critic {
    /// A critic with PyTorch's default weights.
    ///
    /// # Errors
    /// If a width is 0.
    pub fn new(observation_dim: usize, hidden: &[usize], random: &mut ChaCha8Rng) -> Result<Self> {
        let spec = MlpSpec::new(observation_dim, hidden, 1).with_hidden(Activation::Tanh);
        let network = Mlp::new(spec, random)?;
        let adam = Adam::new(AdamConfig::default(), network.parameters().len());
        Ok(Self { network, adam })
    }

    /// Values of observations that lie one after the other.
    pub fn values(&self, observations: &[f32]) -> Vec<f32> {
        evaluate_rows(&self.network, observations)
    }

    /// Adds the gradient of mean (V - target)² + `decay` · Σ parameter² to `gradient`, and returns
    /// the first of the two terms.
    ///
    /// The decay covers weights and biases, as in SafePO.
    pub fn add_gradient(
        &self,
        observations: &[f32],
        targets: &[f32],
        decay: f32,
        tape: &mut Tape,
        gradient: &mut [f32],
    ) -> f64 {
        let rows = targets.len();
        let values = self.network.forward(observations, rows, tape);
        let errors: Vec<f32> = values.iter().zip(targets).map(|(v, t)| v - t).collect();
        let squares: f64 = errors.iter().map(|e| f64::from(*e) * f64::from(*e)).sum();
        let d_values: Vec<f32> = errors.iter().map(|e| 2.0 * e / rows as f32).collect();
        self.network
            .backward(tape, &d_values, Some(&mut *gradient), None);
        let pairs = gradient.iter_mut().zip(self.network.parameters());
        pairs.for_each(|(slot, parameter)| *slot += 2.0 * decay * parameter);
        squares / rows as f64
    }
}

/// Outputs of a network for inputs that lie one after the other, on all threads.
pub fn evaluate_rows(network: &Mlp, inputs: &[f32]) -> Vec<f32> {
    let (width, outputs) = (network.spec().inputs, network.spec().outputs);
    let mut results = vec![0.0; inputs.len() / width * outputs];
    let pieces = inputs
        .par_chunks(ROWS * width)
        .zip(results.par_chunks_mut(ROWS * outputs));
    pieces.for_each_init(Tape::new, |tape, (input, result)| {
        network.evaluate(input, input.len() / width, tape, result);
    });
    results
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_gradient, random_values};
    use rand::SeedableRng;

    #[test]
    fn gradient_equals_finite_differences() {
        let mut critic = Critic::new(3, &[8, 8], &mut ChaCha8Rng::seed_from_u64(3)).unwrap();
        let (observations, targets) = (random_values(5 * 3, 1), random_values(5, 2));
        let mut tape = Tape::new();
        let mut gradient = vec![0.0; critic.network.parameters().len()];
        critic.add_gradient(&observations, &targets, 0.1, &mut tape, &mut gradient);
        let start = critic.network.parameters().to_vec();
        assert_gradient(&start, &gradient, |parameters| {
            critic.network.parameters_mut().copy_from_slice(parameters);
            let mut unused = vec![0.0; parameters.len()];
            let square = |p: &f32| f64::from(*p) * f64::from(*p);
            critic.add_gradient(&observations, &targets, 0.1, &mut tape, &mut unused)
                + 0.1 * parameters.iter().map(square).sum::<f64>()
        });
    }

    #[test]
    fn rows_on_threads_give_the_bits_of_one_pass() {
        let critic = Critic::new(2, &[16], &mut ChaCha8Rng::seed_from_u64(3)).unwrap();
        let observations = random_values(2 * 2500, 4);
        let values = critic.values(&observations);
        let mut tape = Tape::new();
        assert_eq!(
            values,
            critic.network.forward(&observations, 2500, &mut tape)
        );
    }
}
