//! Networks in the form that runs: weights packed for the [kernels](crate::kernel).
//!
//! All functions take rows that follow each other at a given stride, and every row is computed
//! independently and in the same order: the bits of a row do not depend on its neighbours.

mod skip;

use alloc::vec::Vec;

use crate::buffer::Buffer;
use crate::kernel::{Dense, Kernel, Slope, packed_length, padded};
use crate::weights::{Activation, Layer, Network};
use skip::Skip;

/// One layer, packed twice: as it is for the forward pass, transposed for the backward pass.
#[derive(Clone, Debug)]
struct PackedLayer {
    inputs: usize,
    outputs: usize,
    /// Outputs in whole blocks: floats between two rows of them.
    width: usize,
    weights: Buffer,
    bias: Buffer,
    transposed: Buffer,
}

/// A [`Network`] packed for the kernels.
#[derive(Clone, Debug)]
pub(crate) struct PackedNetwork {
    kernel: Kernel,
    layers: Vec<PackedLayer>,
    hidden: Activation,
    output: Activation,
    skip: Option<Skip>,
}

/// Two buffers that the layers write in turn.
#[derive(Clone, Debug)]
pub(crate) struct Scratch {
    ping: Buffer,
    pong: Buffer,
}

impl Scratch {
    /// For `rows` rows through networks of [`scratch_width`](PackedNetwork::scratch_width) at most `width`.
    pub(crate) fn new(rows: usize, width: usize) -> Self {
        Self {
            ping: Buffer::zeros(rows * width),
            pong: Buffer::zeros(rows * width),
        }
    }
}

impl PackedLayer {
    fn new(kernel: Kernel, weights: &[f32], bias: &[f32], inputs: usize, outputs: usize) -> Self {
        let mut packed = Buffer::zeros(packed_length(inputs, outputs));
        kernel.pack(weights, inputs, outputs, &mut packed);
        let mut transposed = Buffer::zeros(packed_length(outputs, inputs));
        kernel.pack_transposed(weights, inputs, outputs, &mut transposed);
        // No bias stays none: the kernels take an empty one for that.
        let length = if bias.is_empty() { 0 } else { padded(outputs) };
        let mut padded_bias = Buffer::zeros(length);
        padded_bias[..bias.len()].copy_from_slice(bias);
        Self {
            inputs,
            outputs,
            width: padded(outputs),
            weights: packed,
            bias: padded_bias,
            transposed,
        }
    }

    #[inline]
    fn dense(&self) -> Dense<'_> {
        Dense {
            weights: &self.weights,
            bias: &self.bias,
            inputs: self.inputs,
            outputs: self.outputs,
        }
    }

    /// The layer that maps gradients back.
    #[inline]
    fn dense_transposed(&self) -> Dense<'_> {
        Dense {
            weights: &self.transposed,
            bias: &[],
            inputs: self.outputs,
            outputs: self.inputs,
        }
    }
}

impl PackedNetwork {
    /// Packs a network whose shapes have been [checked](crate::Weights::validate).
    pub(crate) fn new(network: &Network) -> Self {
        let kernel = Kernel::detect();
        let layers = network.layers.iter().map(|layer| {
            let Layer {
                inputs,
                outputs,
                weights,
                bias,
            } = layer;
            PackedLayer::new(kernel, weights, bias, *inputs, *outputs)
        });
        let outputs = network.outputs();
        let skip = network.skip.as_ref().map(|weights| {
            let inputs = weights.len() / outputs.max(1);
            Skip::new(kernel, weights, inputs, outputs)
        });
        Self {
            kernel,
            layers: layers.collect(),
            hidden: network.hidden,
            output: network.output,
            skip,
        }
    }

    /// Number of inputs.
    pub(crate) fn inputs(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.inputs)
    }

    /// Number of outputs.
    pub(crate) fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.outputs)
    }

    /// Floats between two rows of an output.
    pub(crate) fn output_stride(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.width)
    }

    /// Floats between two rows of an input's gradient.
    pub(crate) fn gradient_stride(&self) -> usize {
        padded(self.inputs())
    }

    /// Floats per row that each half of a [`Scratch`] needs.
    pub(crate) fn scratch_width(&self) -> usize {
        self.layers
            .iter()
            .map(|layer| padded(layer.inputs.max(layer.outputs)))
            .max()
            .unwrap_or(0)
    }

    /// Floats per row that a tape needs.
    pub(crate) fn tape_width(&self) -> usize {
        (0..self.layers.len())
            .map(|index| self.layers[index].width * self.records(index))
            .sum()
    }

    fn activation(&self, index: usize) -> Activation {
        if index + 1 == self.layers.len() {
            self.output
        } else {
            self.hidden
        }
    }

    /// How many values per output a tape holds: SiLU's slope cannot be told from its value.
    fn records(&self, index: usize) -> usize {
        if self.activation(index) == Activation::Silu {
            2
        } else {
            1
        }
    }

    /// Sums of one layer, the skip included, before its activation.
    #[inline]
    fn sums(&self, index: usize, x: Rows<'_>, first: Rows<'_>, rows: usize, out: &mut [f32]) {
        let layer = &self.layers[index];
        let (kernel, identity, width) = (self.kernel, Activation::Identity, layer.width);
        kernel.affine(
            layer.dense(),
            x.values,
            x.stride,
            rows,
            identity,
            out,
            width,
        );
        if let (Some(skip), true) = (&self.skip, index + 1 == self.layers.len()) {
            skip.add(kernel, first, rows, out, width);
        }
    }

    /// Runs one layer, the skip and its activation included.
    fn layer(&self, index: usize, x: Rows<'_>, first: Rows<'_>, rows: usize, out: &mut [f32]) {
        let layer = &self.layers[index];
        if index + 1 == self.layers.len() {
            return self.last(layer, x, first, rows, out);
        }
        let (dense, width) = (layer.dense(), layer.width);
        self.kernel
            .affine(dense, x.values, x.stride, rows, self.hidden, out, width);
    }

    /// Runs the last layer: with a skip, the activation waits for its share of the sums.
    #[inline]
    fn last(
        &self,
        layer: &PackedLayer,
        x: Rows<'_>,
        first: Rows<'_>,
        rows: usize,
        out: &mut [f32],
    ) {
        let (kernel, width) = (self.kernel, layer.width);
        let Some(skip) = &self.skip else {
            let (dense, output) = (layer.dense(), self.output);
            return kernel.affine(dense, x.values, x.stride, rows, output, out, width);
        };
        let (dense, identity) = (layer.dense(), Activation::Identity);
        kernel.affine(dense, x.values, x.stride, rows, identity, out, width);
        skip.add(kernel, first, rows, out, width);
        if self.output != Activation::Identity {
            kernel.activate(self.output, &mut out[..rows * width]);
        }
    }

    /// Runs `rows` rows of `input`; the result has [`output_stride`](Self::output_stride).
    #[inline]
    pub(crate) fn forward<'s>(
        &self,
        input: &[f32],
        stride: usize,
        rows: usize,
        scratch: &'s mut Scratch,
    ) -> &'s mut [f32] {
        if rows == 1 {
            return self.forward_point(input, scratch);
        }
        let (mut current, mut next) = (&mut *scratch.pong, &mut *scratch.ping);
        let first = Rows {
            values: input,
            stride,
        };
        for (index, layer) in self.layers.iter().enumerate() {
            let x = match index.checked_sub(1) {
                None => first,
                Some(before) => Rows {
                    values: current,
                    stride: self.layers[before].width,
                },
            };
            self.layer(index, x, first, rows, next);
            if index + 1 == self.layers.len() {
                return &mut next[..rows * layer.width];
            }
            core::mem::swap(&mut current, &mut next);
        }
        &mut []
    }

    /// Runs one row: the same bits as [`forward`](Self::forward), with all layers in one call.
    #[inline]
    fn forward_point<'s>(&self, input: &[f32], scratch: &'s mut Scratch) -> &'s mut [f32] {
        let output = match self.skip {
            None => self.output,
            Some(_) => Activation::Identity,
        };
        let (even, odd) = (&mut *scratch.ping, &mut *scratch.pong);
        let layers = self.layers.iter().map(PackedLayer::dense);
        let activations = (self.hidden, output);
        let buffers = [&mut *even, &mut *odd];
        self.kernel
            .network_on_point(layers, activations, input, buffers);
        let last = if self.layers.len() % 2 == 1 {
            even
        } else {
            odd
        };
        let (out, width) = (&mut last[..self.output_stride()], self.output_stride());
        if let Some(skip) = &self.skip {
            let first = Rows {
                values: input,
                stride: input.len(),
            };
            skip.add(self.kernel, first, 1, out, width);
            if self.output != Activation::Identity {
                self.kernel.activate(self.output, out);
            }
        }
        out
    }

    /// As [`forward`](Self::forward), keeping on `tape` what [`backward`](Self::backward) needs.
    pub(crate) fn forward_taped<'t>(
        &self,
        input: &[f32],
        stride: usize,
        rows: usize,
        tape: &'t mut [f32],
    ) -> &'t mut [f32] {
        let first = Rows {
            values: input,
            stride,
        };
        let mut rest = tape;
        let mut x = first;
        for (index, layer) in self.layers.iter().enumerate() {
            let length = rows * layer.width;
            let out;
            if self.records(index) == 2 {
                let (sums, tail) = rest.split_at_mut(length);
                self.sums(index, x, first, rows, sums);
                (out, rest) = tail.split_at_mut(length);
                out.copy_from_slice(sums);
                self.kernel.activate(self.activation(index), out);
            } else {
                (out, rest) = rest.split_at_mut(length);
                self.layer(index, x, first, rows, out);
            }
            if index + 1 == self.layers.len() {
                return out;
            }
            x = Rows {
                values: out,
                stride: layer.width,
            };
        }
        rest
    }

    /// The outputs that [`forward_taped`](Self::forward_taped) left on `tape`.
    pub(crate) fn output<'t>(&self, tape: &'t [f32], rows: usize) -> &'t [f32] {
        let end = rows * self.tape_width();
        &tape[end - rows * self.output_stride()..end]
    }

    /// The slope of a layer's activation, from the records that end the tape.
    fn slope<'t>(&self, index: usize, rows: usize, tape: &'t [f32]) -> Slope<'t> {
        let length = rows * self.layers[index].width;
        let records = &tape[tape.len() - length * self.records(index)..];
        // With one record per output both are the same.
        let (before, after) = (&records[..length], &records[records.len() - length..]);
        Slope::new(self.activation(index), after, before)
    }

    /// The gradient with respect to the inputs, rows at [`gradient_stride`](Self::gradient_stride),
    /// from `cotangent`, rows at [`output_stride`](Self::output_stride).
    pub(crate) fn backward<'s>(
        &self,
        cotangent: &[f32],
        rows: usize,
        tape: &[f32],
        scratch: &'s mut Scratch,
    ) -> &'s mut [f32] {
        let (kernel, last) = (self.kernel, self.layers.len() - 1);
        let (mut delta, mut next) = (&mut *scratch.ping, &mut *scratch.pong);
        let tape = &tape[..rows * self.tape_width()];
        let length = rows * self.output_stride();
        let output_slope = self.slope(last, rows, tape);
        delta[..length].copy_from_slice(&cotangent[..length]);
        kernel.times_slope(output_slope, &mut delta[..length]);
        let mut tape = tape;
        for (index, layer) in self.layers.iter().enumerate().rev() {
            tape = &tape[..tape.len() - rows * layer.width * self.records(index)];
            let slope = match index {
                0 => Slope::Identity,
                _ => self.slope(index - 1, rows, tape),
            };
            let (transposed, width) = (layer.dense_transposed(), padded(layer.inputs));
            kernel.pull_back(transposed, delta, layer.width, rows, slope, next, width);
            core::mem::swap(&mut delta, &mut next);
        }
        if let Some(skip) = &self.skip {
            // The cotangent of the output's sums was overwritten: it is short, make it again.
            next[..length].copy_from_slice(&cotangent[..length]);
            kernel.times_slope(output_slope, &mut next[..length]);
            let (stride, width) = (self.output_stride(), self.gradient_stride());
            skip.add_transposed(
                kernel,
                Rows {
                    values: next,
                    stride,
                },
                rows,
                delta,
                width,
            );
        }
        &mut delta[..rows * self.gradient_stride()]
    }
}

/// Rows of floats at a stride.
#[derive(Clone, Copy)]
struct Rows<'a> {
    values: &'a [f32],
    stride: usize,
}

#[cfg(test)]
mod tests;
