//! How a network's outputs change along a direction of its parameters.
//!
//! With a = W h + b and h' = f(a), a direction (V, v) of the parameters gives ȧ = V h + v + W ḣ and
//! ḣ' = f'(a) ⊙ ȧ. Each layer is a network of one layer here, so the engine's kernels do the work.

use fabproj_core::Activation;
use fabproj_nn::{Mlp, MlpSpec, SpecError, Tape};

/// A forward pass whose hidden values are kept. Hidden layers must be tanh, outputs linear.
#[derive(Debug)]
pub(crate) struct LayeredPass {
    rows: usize,
    /// The layers alone, without their biases: what ḣ goes through.
    linear: Vec<Mlp>,
    /// The inputs, then the values after each hidden layer.
    values: Vec<Vec<f32>>,
    tape: Tape,
}

impl LayeredPass {
    /// Runs the network.
    pub(crate) fn new(network: &Mlp, inputs: &[f32]) -> Result<Self, SpecError> {
        let spec = network.spec();
        let rows = inputs.len() / spec.inputs;
        let mut tape = Tape::new();
        let (mut linear, mut values) = (Vec::new(), vec![inputs.to_vec()]);
        for layer in 0..spec.layer_count() {
            let mut alone = one_layer(network, layer, network.parameters())?;
            if layer + 1 < spec.layer_count() {
                let mut hidden = alone.forward(&values[layer], rows, &mut tape).to_vec();
                hidden.iter_mut().for_each(|value| *value = value.tanh());
                values.push(hidden);
            }
            alone.bias_mut(0).fill(0.0);
            linear.push(alone);
        }
        Ok(Self {
            rows,
            linear,
            values,
            tape,
        })
    }

    /// The derivative of the outputs along `direction`, which has the layout of the parameters.
    pub(crate) fn push(&mut self, network: &Mlp, direction: &[f32]) -> Result<Vec<f32>, SpecError> {
        let mut tangent: Vec<f32> = Vec::new();
        for layer in 0..self.linear.len() {
            let change = one_layer(network, layer, direction)?;
            let values = &self.values[layer];
            let mut next = change.forward(values, self.rows, &mut self.tape).to_vec();
            if layer > 0 {
                let through = self.linear[layer].forward(&tangent, self.rows, &mut self.tape);
                next.iter_mut().zip(through).for_each(|(n, t)| *n += t);
            }
            if let Some(after) = self.values.get(layer + 1) {
                let slopes = next.iter_mut().zip(after);
                slopes.for_each(|(n, h)| *n *= 1.0 - h * h);
            }
            tangent = next;
        }
        Ok(tangent)
    }
}

/// A layer as a network, its weights and bias taken from a flat vector.
fn one_layer(network: &Mlp, layer: usize, parameters: &[f32]) -> Result<Mlp, SpecError> {
    let (inputs, outputs) = network.spec().layer_shape(layer);
    let spec = MlpSpec::new(inputs, &[], outputs).with_output(Activation::Identity);
    let mut alone = Mlp::zeros(spec)?;
    let weights = &parameters[network.weights_range(layer)];
    alone.weights_mut(0).copy_from_slice(weights);
    let bias = &parameters[network.bias_range(layer)];
    alone.bias_mut(0).copy_from_slice(bias);
    Ok(alone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_values;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn tangents_equal_finite_differences() {
        for hidden in [&[][..], &[7], &[9, 20]] {
            let spec = MlpSpec::new(4, hidden, 2).with_hidden(Activation::Tanh);
            let network = Mlp::new(spec, &mut ChaCha8Rng::seed_from_u64(2)).unwrap();
            let inputs = random_values(6 * 4, 1);
            let direction = random_values(network.parameters().len(), 5);
            let mut pass = LayeredPass::new(&network, &inputs).unwrap();
            let found = pass.push(&network, &direction).unwrap();
            let at = |step: f32| {
                let mut moved = network.clone();
                let pairs = moved.parameters_mut().iter_mut().zip(&direction);
                pairs.for_each(|(p, d)| *p += step * d);
                moved.forward(&inputs, 6, &mut Tape::new()).to_vec()
            };
            let (above, below) = (at(2e-3), at(-2e-3));
            for (index, found) in found.iter().enumerate() {
                let expected = (above[index] - below[index]) / 4e-3;
                assert!(
                    (found - expected).abs() < 1e-3 * (1.0 + expected.abs()),
                    "{hidden:?}[{index}]: {found}, expected {expected}"
                );
            }
        }
    }
}
