//! Networks in the form that runs: weights packed for the [kernels](crate::kernel).
//!
//! All functions take rows that follow each other at a given stride, and every row is computed
//! independently and in the same order: the bits of a row do not depend on its neighbours.

use alloc::vec::Vec;

use crate::buffer::Buffer;
use crate::kernel::{self, padded};
use crate::model::{Activation, Layer, Network};

/// One layer, packed twice: as it is for the forward pass, transposed for the backward pass.
#[derive(Clone, Debug)]
struct PackedLayer {
    inputs: usize,
    outputs: usize,
    weights: Buffer,
    bias: Buffer,
    transposed: Buffer,
}

/// The linear path around all layers, small enough for plain loops.
#[derive(Clone, Debug)]
struct Skip {
    inputs: usize,
    /// `[outputs][inputs]`
    weights: Vec<f32>,
}

/// A [`Network`] packed for the kernels.
#[derive(Clone, Debug)]
pub(crate) struct PackedNetwork {
    layers: Vec<PackedLayer>,
    hidden: Activation,
    output: Activation,
    skip: Option<Skip>,
    /// The bias of the backward pass.
    zeros: Buffer,
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
    fn new(layer: &Layer) -> Self {
        let (inputs, outputs) = (layer.inputs, layer.outputs);
        let mut weights = Buffer::zeros(inputs * padded(outputs));
        let mut transposed = Buffer::zeros(outputs * padded(inputs));
        for output in 0..outputs {
            for input in 0..inputs {
                let weight = layer.weights[output * inputs + input];
                weights[input * padded(outputs) + output] = weight;
                transposed[output * padded(inputs) + input] = weight;
            }
        }
        let mut bias = Buffer::zeros(padded(outputs));
        bias[..outputs].copy_from_slice(&layer.bias);
        Self {
            inputs,
            outputs,
            weights,
            bias,
            transposed,
        }
    }

    fn width(&self) -> usize {
        padded(self.outputs)
    }

    #[inline]
    fn apply(&self, x: &[f32], stride: usize, rows: usize, act: Activation, out: &mut [f32]) {
        let (inputs, outputs) = (self.inputs, self.outputs);
        kernel::affine(
            x,
            stride,
            rows,
            &self.weights,
            &self.bias,
            inputs,
            outputs,
            act,
            out,
        );
    }

    /// d_input = d_output · Wᵀ: the same kernel on the transposed weights.
    fn apply_transposed(&self, d_out: &[f32], rows: usize, zeros: &[f32], d_in: &mut [f32]) {
        let (inputs, outputs) = (self.inputs, self.outputs);
        let identity = Activation::Identity;
        let stride = self.width();
        let weights = &self.transposed;
        kernel::affine(
            d_out, stride, rows, weights, zeros, outputs, inputs, identity, d_in,
        );
    }
}

impl PackedNetwork {
    /// Packs a network whose shapes have been [checked](crate::Model::validate).
    pub(crate) fn new(network: &Network) -> Self {
        let layers: Vec<_> = network.layers.iter().map(PackedLayer::new).collect();
        let widest_input = layers.iter().map(|layer| layer.inputs).max().unwrap_or(0);
        let skip = network.skip.as_ref().map(|weights| Skip {
            inputs: weights.len() / network.outputs().max(1),
            weights: weights.clone(),
        });
        Self {
            layers,
            hidden: network.hidden,
            output: network.output,
            skip,
            zeros: Buffer::zeros(padded(widest_input)),
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
        padded(self.outputs())
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
            .map(|index| self.layers[index].width() * self.records(index))
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

    /// Runs one layer, the skip and its activation included.
    #[inline]
    fn layer(&self, index: usize, x: Rows<'_>, first: Rows<'_>, rows: usize, out: &mut [f32]) {
        let layer = &self.layers[index];
        let activation = self.activation(index);
        match &self.skip {
            Some(skip) if index + 1 == self.layers.len() => {
                layer.apply(x.values, x.stride, rows, Activation::Identity, out);
                skip.add(first, rows, layer.width(), out);
                activate(activation, layer, rows, out);
            }
            _ => layer.apply(x.values, x.stride, rows, activation, out),
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
        let first = Rows {
            values: input,
            stride,
        };
        let (mut current, mut next) = (&mut *scratch.ping, &mut *scratch.pong);
        for index in 0..self.layers.len() {
            let x = if index == 0 {
                first
            } else {
                Rows {
                    values: current,
                    stride: self.layers[index].inputs_stride(),
                }
            };
            self.layer(index, x, first, rows, next);
            core::mem::swap(&mut current, &mut next);
        }
        &mut current[..rows * self.output_stride()]
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
        for index in 0..self.layers.len() {
            let layer = &self.layers[index];
            let length = rows * layer.width();
            if self.records(index) == 2 {
                let (sums, tail) = rest.split_at_mut(length);
                layer.apply(x.values, x.stride, rows, Activation::Identity, sums);
                if let (Some(skip), true) = (&self.skip, index + 1 == self.layers.len()) {
                    skip.add(first, rows, layer.width(), sums);
                }
                rest = tail;
            }
            let (out, tail) = rest.split_at_mut(length);
            self.layer(index, x, first, rows, out);
            if index + 1 == self.layers.len() {
                return out;
            }
            x = Rows {
                values: out,
                stride: layer.width(),
            };
            rest = tail;
        }
        rest
    }

    /// The outputs that [`forward_taped`](Self::forward_taped) left on `tape`.
    pub(crate) fn output<'t>(&self, tape: &'t [f32], rows: usize) -> &'t [f32] {
        let end = rows * self.tape_width();
        &tape[end - rows * self.output_stride()..end]
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
        let (mut current, mut next) = (&mut *scratch.ping, &mut *scratch.pong);
        let mut end = rows * self.tape_width();
        let length = rows * self.output_stride();
        current[..length].copy_from_slice(&cotangent[..length]);
        let output_tape = &tape[..end];
        for (index, layer) in self.layers.iter().enumerate().rev() {
            let length = rows * layer.width();
            let recorded = &tape[..end];
            apply_slope(
                self.activation(index),
                recorded,
                length,
                &mut current[..length],
            );
            layer.apply_transposed(current, rows, &self.zeros, next);
            end -= length * self.records(index);
            core::mem::swap(&mut current, &mut next);
        }
        if let Some(skip) = &self.skip {
            // The cotangent before the output's activation was overwritten: it is short, make it again.
            let before = &mut next[..length];
            before.copy_from_slice(&cotangent[..length]);
            apply_slope(self.output, output_tape, length, before);
            skip.add_transposed(
                before,
                self.output_stride(),
                rows,
                self.gradient_stride(),
                current,
            );
        }
        &mut current[..rows * self.gradient_stride()]
    }
}

impl PackedLayer {
    /// Floats between rows that a previous layer wrote.
    fn inputs_stride(&self) -> usize {
        padded(self.inputs)
    }
}

/// Rows of floats at a stride.
#[derive(Clone, Copy)]
struct Rows<'a> {
    values: &'a [f32],
    stride: usize,
}

impl Skip {
    fn add(&self, x: Rows<'_>, rows: usize, width: usize, out: &mut [f32]) {
        for row in 0..rows {
            let x = &x.values[row * x.stride..][..self.inputs];
            let out = &mut out[row * width..];
            for (out, weights) in out.iter_mut().zip(self.weights.chunks_exact(self.inputs)) {
                for (x, weight) in x.iter().zip(weights) {
                    *out += x * weight;
                }
            }
        }
    }

    fn add_transposed(
        &self,
        d_out: &[f32],
        width: usize,
        rows: usize,
        gradient_stride: usize,
        d_in: &mut [f32],
    ) {
        for row in 0..rows {
            let d_out = &d_out[row * width..];
            let d_in = &mut d_in[row * gradient_stride..][..self.inputs];
            for (d, weights) in d_out.iter().zip(self.weights.chunks_exact(self.inputs)) {
                for (gradient, weight) in d_in.iter_mut().zip(weights) {
                    *gradient += d * weight;
                }
            }
        }
    }
}

/// For outputs with a skip, whose sum is complete only after the kernel.
fn activate(activation: Activation, layer: &PackedLayer, rows: usize, out: &mut [f32]) {
    if activation == Activation::Identity {
        return;
    }
    for row in 0..rows {
        for value in &mut out[row * layer.width()..][..layer.outputs] {
            *value = match activation {
                Activation::Identity => *value,
                Activation::Relu => value.max(0.0),
                Activation::Tanh => libm::tanhf(*value),
                Activation::Silu => *value * sigmoid(*value),
            };
        }
    }
}

/// Multiplies `d` by the activation's slope at what the tape's end recorded.
fn apply_slope(activation: Activation, recorded: &[f32], length: usize, d: &mut [f32]) {
    let values = &recorded[recorded.len() - length..];
    match activation {
        Activation::Identity => {}
        Activation::Relu => {
            for (d, value) in d.iter_mut().zip(values) {
                *d = if *value > 0.0 { *d } else { 0.0 };
            }
        }
        Activation::Tanh => {
            for (d, value) in d.iter_mut().zip(values) {
                *d *= 1.0 - value * value;
            }
        }
        Activation::Silu => {
            let sums = &recorded[recorded.len() - 2 * length..][..length];
            for (d, sum) in d.iter_mut().zip(sums) {
                let gate = sigmoid(*sum);
                *d *= gate * (1.0 + sum * (1.0 - gate));
            }
        }
    }
}

fn sigmoid(t: f32) -> f32 {
    1.0 / (1.0 + libm::expf(-t))
}

#[cfg(test)]
mod tests;
