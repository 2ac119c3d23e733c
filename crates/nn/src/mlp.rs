//! A network with its parameters in one flat vector.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use fabproj_core::{Layer, Network};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::buffer::Buffer;
use super::spec::{MlpSpec, SpecError};

/// A multilayer perceptron for training.
///
/// All parameters lie in one flat vector: for each layer in order its weights `[outputs][inputs]`
/// (the layout of a PyTorch `Linear`), then its bias; at the end, if there is one, the skip
/// `[outputs][skip inputs]`. Gradients, optimizer states and averages use the same layout.
#[derive(Clone, Debug)]
pub struct Mlp {
    spec: MlpSpec,
    /// On cache lines, so that the kernels can read weights of whole blocks where they are.
    parameters: Buffer,
    length: usize,
    /// Changes whenever the parameters may have changed, so that a tape knows whether the weights
    /// that it rearranged are still the current ones. Unique in the process.
    version: u64,
}

impl PartialEq for Mlp {
    fn eq(&self, other: &Self) -> bool {
        self.spec == other.spec && self.parameters() == other.parameters()
    }
}

fn next_version() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Mlp {
    /// PyTorch's default start: weights and biases uniform in ±1/√(inputs of the layer).
    pub fn new(spec: MlpSpec, rng: &mut ChaCha8Rng) -> Result<Self, SpecError> {
        let mut network = Self::zeros(spec)?;
        for layer in 0..network.spec.layer_count() {
            let (inputs, _) = network.spec.layer_shape(layer);
            fill_uniform(network.weights_mut(layer), inputs, rng);
            fill_uniform(network.bias_mut(layer), inputs, rng);
        }
        let inputs = network.spec.skip.unwrap_or(0);
        if let Some(skip) = network.skip_mut() {
            fill_uniform(skip, inputs, rng);
        }
        Ok(network)
    }

    /// All parameters zero.
    pub fn zeros(spec: MlpSpec) -> Result<Self, SpecError> {
        spec.validate()?;
        let (mut parameters, length) = (Buffer::default(), spec.parameter_count());
        parameters.reserve(length);
        Ok(Self {
            spec,
            parameters,
            length,
            version: next_version(),
        })
    }

    /// The shape.
    pub fn spec(&self) -> &MlpSpec {
        &self.spec
    }

    /// All parameters, in the layout that the type describes.
    pub fn parameters(&self) -> &[f32] {
        self.parameters.first(self.length)
    }

    /// All parameters, to be changed.
    pub fn parameters_mut(&mut self) -> &mut [f32] {
        self.version = next_version();
        self.parameters.first_mut(self.length)
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Where the weights of a layer lie in the flat vector.
    ///
    /// # Panics
    /// If there is no such layer.
    pub fn weights_range(&self, layer: usize) -> Range<usize> {
        let start: usize = (0..layer)
            .map(|before| self.spec.layer_shape(before))
            .map(|(inputs, outputs)| (inputs + 1) * outputs)
            .sum();
        let (inputs, outputs) = self.spec.layer_shape(layer);
        start..start + inputs * outputs
    }

    /// Where the bias of a layer lies in the flat vector.
    ///
    /// # Panics
    /// If there is no such layer.
    pub fn bias_range(&self, layer: usize) -> Range<usize> {
        let start = self.weights_range(layer).end;
        start..start + self.spec.layer_shape(layer).1
    }

    /// Where the skip lies in the flat vector.
    pub fn skip_range(&self) -> Option<Range<usize>> {
        let length = self.spec.skip? * self.spec.outputs;
        Some(self.length - length..self.length)
    }

    /// Weights of a layer, `[outputs][inputs]`.
    ///
    /// # Panics
    /// If there is no such layer.
    pub fn weights(&self, layer: usize) -> &[f32] {
        &self.parameters()[self.weights_range(layer)]
    }

    /// Weights of a layer, to be changed.
    ///
    /// # Panics
    /// If there is no such layer.
    pub fn weights_mut(&mut self, layer: usize) -> &mut [f32] {
        let range = self.weights_range(layer);
        &mut self.parameters_mut()[range]
    }

    /// Bias of a layer.
    ///
    /// # Panics
    /// If there is no such layer.
    pub fn bias(&self, layer: usize) -> &[f32] {
        &self.parameters()[self.bias_range(layer)]
    }

    /// Bias of a layer, to be changed.
    ///
    /// # Panics
    /// If there is no such layer.
    pub fn bias_mut(&mut self, layer: usize) -> &mut [f32] {
        let range = self.bias_range(layer);
        &mut self.parameters_mut()[range]
    }

    /// The skip, `[outputs][skip inputs]`.
    pub fn skip(&self) -> Option<&[f32]> {
        self.skip_range().map(|range| &self.parameters()[range])
    }

    /// The skip, to be changed.
    pub fn skip_mut(&mut self) -> Option<&mut [f32]> {
        let range = self.skip_range()?;
        Some(&mut self.parameters_mut()[range])
    }

    /// The network as a model file holds it.
    pub fn to_network(&self) -> Network {
        let layers = (0..self.spec.layer_count())
            .map(|layer| {
                let (inputs, outputs) = self.spec.layer_shape(layer);
                let (weights, bias) = (self.weights(layer).to_vec(), self.bias(layer).to_vec());
                Layer {
                    inputs,
                    outputs,
                    weights,
                    bias,
                }
            })
            .collect();
        Network {
            layers,
            hidden: self.spec.hidden_activation,
            output: self.spec.output_activation,
            skip: self.skip().map(<[f32]>::to_vec),
        }
    }

    /// The inverse of [`to_network`](Self::to_network).
    pub fn from_network(network: &Network) -> Result<Self, SpecError> {
        let spec = spec_of(network)?;
        let mut mlp = Self::zeros(spec)?;
        for (index, layer) in network.layers.iter().enumerate() {
            copy_checked(mlp.weights_mut(index), &layer.weights, "weights", index)?;
            copy_checked(mlp.bias_mut(index), &layer.bias, "bias", index)?;
        }
        if let (Some(target), Some(skip)) = (mlp.skip_mut(), &network.skip) {
            copy_checked(target, skip, "skip", network.layers.len() - 1)?;
        }
        Ok(mlp)
    }
}

fn spec_of(network: &Network) -> Result<MlpSpec, SpecError> {
    let (Some(first), Some(last)) = (network.layers.first(), network.layers.last()) else {
        return Err(SpecError::NoLayers);
    };
    for (layer, pair) in network.layers.windows(2).enumerate() {
        if pair[0].outputs != pair[1].inputs {
            return Err(SpecError::Mismatch {
                layer: layer + 1,
                inputs: pair[1].inputs,
                before: pair[0].outputs,
            });
        }
    }
    let hidden = network.layers[..network.layers.len() - 1]
        .iter()
        .map(|layer| layer.outputs)
        .collect();
    Ok(MlpSpec {
        inputs: first.inputs,
        hidden,
        outputs: last.outputs,
        hidden_activation: network.hidden,
        output_activation: network.output,
        skip: network
            .skip
            .as_ref()
            .map(|skip| skip.len() / last.outputs.max(1)),
    })
}

fn copy_checked(
    target: &mut [f32],
    source: &[f32],
    part: &'static str,
    layer: usize,
) -> Result<(), SpecError> {
    if target.len() != source.len() {
        return Err(SpecError::Length {
            part,
            layer,
            found: source.len(),
            expected: target.len(),
        });
    }
    target.copy_from_slice(source);
    Ok(())
}

fn fill_uniform(values: &mut [f32], fan_in: usize, rng: &mut ChaCha8Rng) {
    let bound = 1.0 / (fan_in as f32).sqrt();
    values.fill_with(|| rng.random_range(-bound..bound));
}

#[cfg(test)]
mod tests {
    use fabproj_core::Activation;
    use rand::SeedableRng;

    use super::*;

    fn network() -> Mlp {
        let spec = MlpSpec::new(3, &[5, 4], 2)
            .with_output(Activation::Tanh)
            .with_skip(2);
        Mlp::new(spec, &mut ChaCha8Rng::seed_from_u64(7)).unwrap()
    }

    #[test]
    fn start_is_within_the_bounds_of_each_layer_and_fills_them() {
        let mlp = Mlp::new(
            MlpSpec::new(4, &[400], 3),
            &mut ChaCha8Rng::seed_from_u64(1),
        )
        .unwrap();
        for (layer, bound) in [(0, 0.5f32), (1, 0.05)] {
            let largest = mlp
                .weights(layer)
                .iter()
                .fold(0.0f32, |m, w| m.max(w.abs()));
            assert!(
                largest <= bound && largest > 0.98 * bound,
                "layer {layer}: {largest}"
            );
            assert!(mlp.bias(layer).iter().all(|b| b.abs() <= bound));
        }
    }

    #[test]
    fn ranges_tile_the_flat_vector() {
        let mlp = network();
        let mut covered = vec![0; mlp.parameters().len()];
        for layer in 0..mlp.spec().layer_count() {
            for index in mlp.weights_range(layer).chain(mlp.bias_range(layer)) {
                covered[index] += 1;
            }
        }
        for index in mlp.skip_range().unwrap() {
            covered[index] += 1;
        }
        assert!(covered.iter().all(|&count| count == 1));
    }

    #[test]
    fn network_round_trip_is_exact() {
        let mlp = network();
        assert_eq!(Mlp::from_network(&mlp.to_network()).unwrap(), mlp);
    }

    #[test]
    fn broken_networks_are_refused_with_the_values() {
        let mut broken = network().to_network();
        broken.layers[1].weights.pop();
        let expected = SpecError::Length {
            part: "weights",
            layer: 1,
            found: 19,
            expected: 20,
        };
        assert_eq!(Mlp::from_network(&broken), Err(expected));
        let mut broken = network().to_network();
        broken.layers.remove(1);
        let expected = SpecError::Mismatch {
            layer: 1,
            inputs: 4,
            before: 5,
        };
        assert_eq!(Mlp::from_network(&broken), Err(expected));
        let mut broken = network().to_network();
        broken.skip = Some(vec![0.0; 5]);
        assert!(matches!(
            Mlp::from_network(&broken),
            Err(SpecError::Length { part: "skip", .. })
        ));
        assert_eq!(
            MlpSpec::new(2, &[0], 1).validate(),
            Err(SpecError::EmptyLayer {
                layer: 0,
                inputs: 2,
                outputs: 0
            })
        );
        assert_eq!(
            MlpSpec::new(2, &[3], 1).with_skip(3).validate(),
            Err(SpecError::Skip { skip: 3, inputs: 2 })
        );
    }

    #[test]
    fn a_change_of_parameters_changes_the_version() {
        let mut mlp = network();
        let copy = mlp.clone();
        let before = mlp.version();
        mlp.bias_mut(0)[0] += 1.0;
        assert_ne!(mlp.version(), before);
        assert_eq!(copy.version(), before);
    }
}
