//! What a forward pass leaves behind for the passes that follow it.

use fabproj_core::Activation;
use fabproj_core::kernel::{Kernel, LANES, Slope, padded};

use super::buffer::Buffer;
use super::mlp::Mlp;
use super::packed::Packed;

/// Activations and scratch memory of one network and one batch.
///
/// A tape may be used again for other batches and other networks; it grows to the largest it has
/// seen and allocates nothing after that.
#[derive(Clone, Debug)]
pub struct Tape {
    pub(super) kernel: Kernel,
    pub(super) primal: Rows,
    pub(super) tangents: Rows,
    /// Tangents per row; they belong to the first `tangents.count / columns` rows.
    pub(super) columns: usize,
    pub(super) packed: Packed,
    pub(super) transposed: Packed,
    /// Sums on their way to a gradient.
    pub(super) sums: Buffer,
}

/// Values of all layers for rows that go through the network together.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub(super) count: usize,
    /// The first rows, whose derivatives are not all zero: `delta` holds these only.
    pub(super) live: usize,
    pub(super) input: Buffer,
    pub(super) layers: Vec<Values>,
    /// Derivatives with respect to the sums of the layer at hand, and of the one before it.
    pub(super) delta: Buffer,
    pub(super) next_delta: Buffer,
    /// `delta` of the last layer, which the skip needs at the end.
    pub(super) output_delta: Buffer,
}

/// Values of one layer, row by row.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    /// After the activation.
    pub(super) after: Buffer,
    /// Before the activation, where derivatives need it.
    pub(super) before: Buffer,
}

/// Rows of floats at a stride.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    /// All rows, and at least a block of [`LANES`] after the start of the last.
    pub(super) values: &'a [f32],
    pub(super) stride: usize,
}

/// Whether derivatives need the value before the activation, not only the one after it.
pub(super) fn needs_before(activation: Activation) -> bool {
    activation == Activation::Silu
}

/// Whether the second derivative is not zero everywhere.
pub(super) fn is_curved(activation: Activation) -> bool {
    matches!(activation, Activation::Tanh | Activation::Silu)
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

impl Default for Tape {
    fn default() -> Self {
        Self::with_kernel(Kernel::detect())
    }
}

impl Tape {
    /// An empty tape.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty tape whose passes use the given kernel instead of the machine's fastest.
    pub fn with_kernel(kernel: Kernel) -> Self {
        Self {
            kernel,
            primal: Rows::default(),
            tangents: Rows::default(),
            columns: 1,
            packed: Packed::default(),
            transposed: Packed::default(),
            sums: Buffer::default(),
        }
    }

    /// Rows of the latest forward pass.
    pub fn rows(&self) -> usize {
        self.primal.count
    }

    /// The slope of the activation after a layer, for all rows of the pass.
    pub(super) fn slope(&self, network: &Mlp, layer: usize) -> Slope<'_> {
        self.primal.slope(network, layer)
    }
}

impl Rows {
    /// Takes the inputs and makes room for all layers.
    pub(super) fn start(&mut self, network: &Mlp, input: &[f32], count: usize) {
        self.count = count;
        self.input.first_mut(input.len() + LANES)[..input.len()].copy_from_slice(input);
        let layers = network.spec().layer_count().max(self.layers.len());
        self.layers.resize_with(layers, Values::default);
    }

    /// What layer `layer` reads: the inputs or the values of the layer before.
    pub(super) fn input_of(&self, network: &Mlp, layer: usize) -> View<'_> {
        let (values, stride) = match layer {
            0 => (&self.input, network.spec().inputs),
            _ => (&self.layers[layer - 1].after, stride_of(network, layer - 1)),
        };
        View {
            values: values.first(self.count * stride + LANES),
            stride,
        }
    }

    /// The derivatives with respect to the sums of the layer at hand.
    pub(super) fn delta_of(&self, network: &Mlp, layer: usize) -> View<'_> {
        let stride = stride_of(network, layer);
        View {
            values: self.delta.first(self.live * stride + LANES),
            stride,
        }
    }

    /// Takes the derivatives with respect to the outputs of all rows.
    pub(super) fn start_delta(&mut self, d_output: &[f32]) {
        self.live = self.count;
        self.delta.first_mut(d_output.len() + LANES)[..d_output.len()].copy_from_slice(d_output);
    }

    /// Keeps the derivatives with respect to the output's sums for the skip.
    pub(super) fn keep_output_delta(&mut self, network: &Mlp) {
        if network.spec().skip.is_some() {
            let length = self.live * network.spec().outputs;
            let delta = self.delta.first(length);
            self.output_delta.first_mut(length).copy_from_slice(delta);
        }
    }

    /// The slope of the activation after a layer.
    pub(super) fn slope(&self, network: &Mlp, layer: usize) -> Slope<'_> {
        let (activation, length) = (
            network.spec().activation(layer),
            self.count * stride_of(network, layer),
        );
        let values = &self.layers[layer];
        let before = if needs_before(activation) {
            values.before.first(length)
        } else {
            &[]
        };
        Slope::new(activation, values.after.first(length), before)
    }
}
