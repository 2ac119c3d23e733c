//! What a forward pass leaves behind for the passes that follow it.

use fabproj_core::kernel::padded;

use super::activation::needs_before;
use super::buffer::Buffer;
use super::matrix::View;
use super::mlp::Mlp;

/// Activations and scratch memory of one network and one batch.
///
/// A tape may be used again for other batches and other networks; it grows to the largest it has
/// seen and allocates nothing after that.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    pub(super) rows: usize,
    pub(super) input: Buffer,
    pub(super) layers: Vec<Values>,
    /// Derivatives with respect to what a layer adds up, of the layer at hand and the one before it.
    pub(super) delta: Buffer,
    pub(super) next_delta: Buffer,
    pub(super) tangents: Tangents,
    pub(super) packed: Packed,
}

/// Values of one layer, row by row.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    /// After the activation.
    pub(super) after: Buffer,
    /// Before the activation, where derivatives need it.
    pub(super) before: Buffer,
}

/// Tangents of a forward pass: `columns` of them for each of the first `rows` rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Tangents {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) input: Buffer,
    pub(super) layers: Vec<Values>,
    pub(super) delta: Buffer,
    pub(super) next_delta: Buffer,
}

/// Weights rearranged for the forward pass, `[inputs][padded outputs]`, and padded biases.
#[derive(Clone, Debug, Default)]
pub(super) struct Packed {
    version: u64,
    pub(super) weights: Vec<Buffer>,
    pub(super) biases: Vec<Buffer>,
}

/// Floats from one row of a layer's values to the next: padded inside the network, contiguous for
/// its outputs, which callers read.
pub(super) fn stride_of(network: &Mlp, layer: usize) -> usize {
    let (_, outputs) = network.spec().layer_shape(layer);
    if layer + 1 == network.spec().layer_count() {
        outputs
    } else {
        padded(outputs)
    }
}

impl Tape {
    /// An empty tape.
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows of the latest forward pass.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Makes room for a batch and brings the rearranged weights up to date.
    pub(super) fn prepare(&mut self, network: &Mlp, rows: usize) {
        self.rows = rows;
        self.tangents.rows = 0;
        let count = network.spec().layer_count();
        self.layers
            .resize_with(count.max(self.layers.len()), Values::default);
        for (layer, values) in self.layers.iter_mut().enumerate().take(count) {
            let length = rows * stride_of(network, layer);
            values.after.reserve(length);
            if needs_before(network.spec().activation(layer)) {
                values.before.reserve(length);
            }
        }
        self.packed.update(network);
    }

    /// What layer `layer` reads: the inputs or the values of the layer before.
    pub(super) fn input_of(&self, network: &Mlp, layer: usize) -> View<'_> {
        match layer {
            0 => View::rows(
                self.input.first(self.rows * network.spec().inputs),
                network.spec().inputs,
            ),
            _ => {
                let stride = stride_of(network, layer - 1);
                View::rows(
                    self.layers[layer - 1].after.first(self.rows * stride),
                    stride,
                )
            }
        }
    }
}

impl Packed {
    fn update(&mut self, network: &Mlp) {
        if self.version == network.version() {
            return;
        }
        self.version = network.version();
        let count = network.spec().layer_count();
        self.weights
            .resize_with(count.max(self.weights.len()), Buffer::default);
        self.biases
            .resize_with(count.max(self.biases.len()), Buffer::default);
        for layer in 0..count {
            let (inputs, outputs) = network.spec().layer_shape(layer);
            let width = padded(outputs);
            let bias = self.biases[layer].first_mut(width);
            bias[..outputs].copy_from_slice(network.bias(layer));
            bias[outputs..].fill(0.0);
            let packed = self.weights[layer].first_mut(inputs * width);
            let weights = network.weights(layer);
            for (input, row) in packed.chunks_exact_mut(width).enumerate() {
                let column = weights[input..].iter().step_by(inputs);
                row.iter_mut()
                    .zip(column)
                    .for_each(|(value, weight)| *value = *weight);
                row[outputs..].fill(0.0);
            }
        }
    }
}
