//! The shape of a network, and what can be wrong with it.

use fabproj_core::Activation;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The shape of an [`Mlp`](super::Mlp).
///
/// ```
/// use fabproj_core::Activation;
/// use fabproj_nn::MlpSpec;
///
/// // The paper's encoder for two coordinates.
/// let spec = MlpSpec::new(2, &[64; 4], 2).with_output(Activation::Tanh);
/// assert_eq!(spec.parameter_count(), 2 * 64 + 64 + 3 * (64 * 64 + 64) + 64 * 2 + 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MlpSpec {
    /// Number of inputs.
    pub inputs: usize,
    /// Widths of the hidden layers; may be empty (one affine layer).
    pub hidden: Vec<usize>,
    /// Number of outputs.
    pub outputs: usize,
    /// Applied after every layer but the last.
    pub hidden_activation: Activation,
    /// Applied to the sum of the last layer and the skip.
    pub output_activation: Activation,
    /// `Some(k)`: a linear path without bias from the first k inputs to the outputs.
    pub skip: Option<usize>,
}

/// A shape of which no network can be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SpecError {
    /// A layer without inputs or outputs.
    #[error("layer {layer} has {inputs} inputs and {outputs} outputs: both must be at least 1")]
    EmptyLayer {
        /// Index of the layer, from 0.
        layer: usize,
        /// Its inputs.
        inputs: usize,
        /// Its outputs.
        outputs: usize,
    },
    /// The skip does not read between 1 and all inputs.
    #[error("the skip reads {skip} inputs, but the network has {inputs}: choose 1 to {inputs}")]
    Skip {
        /// What was asked for.
        skip: usize,
        /// Inputs of the network.
        inputs: usize,
    },
    /// A stored network without layers.
    #[error("a network needs at least one layer")]
    NoLayers,
    /// A stored network whose layer does not read what the layer before writes.
    #[error("layer {layer} reads {inputs} values, but the layer before it writes {before}")]
    Mismatch {
        /// Index of the layer, from 0.
        layer: usize,
        /// Its inputs.
        inputs: usize,
        /// Outputs of the layer before.
        before: usize,
    },
    /// A stored tensor of the wrong length.
    #[error("the {part} of layer {layer} holds {found} values, not {expected}")]
    Length {
        /// `"weights"`, `"bias"` or `"skip"`.
        part: &'static str,
        /// Index of the layer, from 0.
        layer: usize,
        /// Values found.
        found: usize,
        /// Values expected.
        expected: usize,
    },
}

impl MlpSpec {
    /// ReLU hidden layers, linear outputs, no skip.
    pub fn new(inputs: usize, hidden: &[usize], outputs: usize) -> Self {
        Self {
            inputs,
            hidden: hidden.to_vec(),
            outputs,
            hidden_activation: Activation::Relu,
            output_activation: Activation::Identity,
            skip: None,
        }
    }

    /// Sets the activation of the hidden layers.
    pub fn with_hidden(mut self, activation: Activation) -> Self {
        self.hidden_activation = activation;
        self
    }

    /// Sets the activation of the outputs.
    pub fn with_output(mut self, activation: Activation) -> Self {
        self.output_activation = activation;
        self
    }

    /// Adds a linear path from the first `inputs` inputs to the outputs.
    pub fn with_skip(mut self, inputs: usize) -> Self {
        self.skip = Some(inputs);
        self
    }

    /// Number of affine layers.
    pub fn layer_count(&self) -> usize {
        self.hidden.len() + 1
    }

    /// (inputs, outputs) of layer `layer`.
    ///
    /// # Panics
    /// If there is no such layer.
    pub fn layer_shape(&self, layer: usize) -> (usize, usize) {
        let inputs = if layer == 0 {
            self.inputs
        } else {
            self.hidden[layer - 1]
        };
        let outputs = if layer == self.hidden.len() {
            self.outputs
        } else {
            self.hidden[layer]
        };
        (inputs, outputs)
    }

    /// Length of the flat parameter vector.
    pub fn parameter_count(&self) -> usize {
        let layers: usize = (0..self.layer_count())
            .map(|layer| self.layer_shape(layer))
            .map(|(inputs, outputs)| (inputs + 1) * outputs)
            .sum();
        layers + self.skip.unwrap_or(0) * self.outputs
    }

    /// The activation after layer `layer`.
    pub fn activation(&self, layer: usize) -> Activation {
        if layer == self.hidden.len() {
            self.output_activation
        } else {
            self.hidden_activation
        }
    }

    /// Whether a network can be made of it.
    pub fn validate(&self) -> Result<(), SpecError> {
        for layer in 0..self.layer_count() {
            let (inputs, outputs) = self.layer_shape(layer);
            if inputs == 0 || outputs == 0 {
                return Err(SpecError::EmptyLayer {
                    layer,
                    inputs,
                    outputs,
                });
            }
        }
        match self.skip {
            Some(skip) if skip == 0 || skip > self.inputs => Err(SpecError::Skip {
                skip,
                inputs: self.inputs,
            }),
            _ => Ok(()),
        }
    }
}
