//! Weights rearranged for the kernels, kept until the network changes.

use fabproj_core::kernel::{Dense, Kernel, NARROW, packed_length, padded};

use super::buffer::Buffer;
use super::mlp::Mlp;

/// One direction of all layers and of the skip, packed.
#[derive(Clone, Debug, Default)]
pub(super) struct Packed {
    version: u64,
    weights: Vec<Buffer>,
    biases: Vec<Buffer>,
    skip: Buffer,
}

impl Packed {
    /// Brings the forward direction up to date.
    pub(super) fn update(&mut self, network: &Mlp, kernel: Kernel) {
        let Some(count) = self.start(network) else {
            return;
        };
        self.biases
            .resize_with(count.max(self.biases.len()), Buffer::default);
        for layer in 0..count {
            let (inputs, outputs) = network.spec().layer_shape(layer);
            let packed = self.weights[layer].first_mut(packed_length(inputs, outputs));
            kernel.pack(network.weights(layer), inputs, outputs, packed);
            let bias = self.biases[layer].first_mut(padded(outputs));
            bias[..outputs].copy_from_slice(network.bias(layer));
            bias[outputs..].fill(0.0);
        }
        if let Some((inputs, outputs, skip)) = skip_of(network) {
            let packed = self.skip.first_mut(packed_length(inputs, outputs));
            kernel.pack(skip, inputs, outputs, packed);
        }
    }

    /// Brings the backward direction up to date.
    pub(super) fn update_transposed(&mut self, network: &Mlp, kernel: Kernel) {
        let Some(count) = self.start(network) else {
            return;
        };
        for layer in 0..count {
            let (inputs, outputs) = network.spec().layer_shape(layer);
            if is_packed_already(inputs) {
                continue;
            }
            let packed = self.weights[layer].first_mut(packed_length(outputs, inputs));
            kernel.pack_transposed(network.weights(layer), inputs, outputs, packed);
        }
        if let Some((inputs, outputs, skip)) = skip_of(network) {
            let packed = self.skip.first_mut(packed_length(outputs, inputs));
            kernel.pack_transposed(skip, inputs, outputs, packed);
        }
    }

    /// The number of layers to pack, or `None` if nothing has changed.
    fn start(&mut self, network: &Mlp) -> Option<usize> {
        if self.version == network.version() {
            return None;
        }
        self.version = network.version();
        let count = network.spec().layer_count();
        self.weights
            .resize_with(count.max(self.weights.len()), Buffer::default);
        Some(count)
    }

    /// A layer, forward.
    pub(super) fn layer(&self, network: &Mlp, layer: usize) -> Dense<'_> {
        let (inputs, outputs) = network.spec().layer_shape(layer);
        let weights = self.weights[layer].first(packed_length(inputs, outputs));
        Dense {
            weights,
            bias: self.biases[layer].first(padded(outputs)),
            inputs,
            outputs,
        }
    }

    /// A layer, backward: from its outputs to its inputs.
    pub(super) fn transposed_layer<'a>(&'a self, network: &'a Mlp, layer: usize) -> Dense<'a> {
        let (inputs, outputs) = network.spec().layer_shape(layer);
        let weights = match is_packed_already(inputs) {
            true => network.weights(layer),
            false => self.weights[layer].first(packed_length(outputs, inputs)),
        };
        Dense {
            weights,
            bias: &[],
            inputs: outputs,
            outputs: inputs,
        }
    }

    /// The skip, forward.
    pub(super) fn skip(&self, network: &Mlp) -> Option<Dense<'_>> {
        let (inputs, outputs, _) = skip_of(network)?;
        let weights = self.skip.first(packed_length(inputs, outputs));
        Some(Dense {
            weights,
            bias: &[],
            inputs,
            outputs,
        })
    }

    /// The skip, backward.
    pub(super) fn transposed_skip(&self, network: &Mlp) -> Option<Dense<'_>> {
        let (inputs, outputs, _) = skip_of(network)?;
        let weights = self.skip.first(packed_length(outputs, inputs));
        Some(Dense {
            weights,
            bias: &[],
            inputs: outputs,
            outputs: inputs,
        })
    }
}

/// Whether `[outputs][inputs]` is how the kernels want to read the transposed weights.
fn is_packed_already(inputs: usize) -> bool {
    inputs > NARROW && inputs == padded(inputs)
}

fn skip_of(network: &Mlp) -> Option<(usize, usize, &[f32])> {
    Some((
        network.spec().skip?,
        network.spec().outputs,
        network.skip()?,
    ))
}
