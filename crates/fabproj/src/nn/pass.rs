//! Forward and backward through a network.

use fabproj_core::kernel::padded;

use super::activation::{apply, needs_before, times_slope};
use super::matrix::{View, add_rows, multiply};
use super::mlp::Mlp;
use super::tape::{Tape, stride_of};

/// Rows per piece of [`Mlp::evaluate`]: few enough that two layers of 64 stay in the first-level cache.
const EVALUATED_ROWS: usize = 72;

impl Mlp {
    /// Outputs for `rows` inputs that lie one after the other; what [`backward`](Self::backward)
    /// needs stays on the tape. Returns rows × outputs values, one row after the other.
    ///
    /// # Panics
    /// If `input` does not hold rows × inputs values.
    pub fn forward<'t>(&self, input: &[f32], rows: usize, tape: &'t mut Tape) -> &'t [f32] {
        let spec = self.spec();
        assert_eq!(input.len(), rows * spec.inputs, "forward: rows × inputs");
        tape.prepare(self, rows);
        tape.input.first_mut(input.len()).copy_from_slice(input);
        let last = spec.layer_count() - 1;
        for layer in 0..=last {
            self.forward_layer(layer, tape);
        }
        tape.layers[last].after.first(rows * spec.outputs)
    }

    /// Outputs for any number of rows, in pieces that stay in cache: nothing but the last piece
    /// remains on the tape.
    ///
    /// # Panics
    /// If `input` does not hold rows × inputs values, or `output` not rows × outputs.
    pub fn evaluate(&self, input: &[f32], rows: usize, tape: &mut Tape, output: &mut [f32]) {
        let spec = self.spec();
        assert_eq!(input.len(), rows * spec.inputs, "evaluate: rows × inputs");
        assert_eq!(
            output.len(),
            rows * spec.outputs,
            "evaluate: rows × outputs"
        );
        let inputs = input.chunks(EVALUATED_ROWS * spec.inputs);
        for (input, output) in inputs.zip(output.chunks_mut(EVALUATED_ROWS * spec.outputs)) {
            output.copy_from_slice(self.forward(input, input.len() / spec.inputs, tape));
        }
    }

    fn forward_layer(&self, layer: usize, tape: &mut Tape) {
        let spec = self.spec();
        let (inputs, outputs) = spec.layer_shape(layer);
        let (rows, stride) = (tape.rows, stride_of(self, layer));
        let mut values = std::mem::take(&mut tape.layers[layer]);
        let after = values.after.first_mut(rows * stride);
        let bias = &tape.packed.biases[layer].first(padded(outputs))[..stride];
        after
            .chunks_exact_mut(stride)
            .for_each(|row| row.copy_from_slice(bias));
        let weights = View::rows(
            tape.packed.weights[layer].first(inputs * padded(outputs)),
            padded(outputs),
        );
        multiply(
            (rows, stride, inputs),
            tape.input_of(self, layer),
            weights,
            after,
            stride,
            true,
        );
        if let (true, Some(skip)) = (layer + 1 == spec.layer_count(), self.skip()) {
            let width = skip.len() / outputs;
            let input = View::rows(tape.input.first(rows * spec.inputs), spec.inputs);
            multiply(
                (rows, outputs, width),
                input,
                View::rows(skip, width).transposed(),
                after,
                stride,
                true,
            );
        }
        let before = match needs_before(spec.activation(layer)) {
            true => values.before.first_mut(rows * stride),
            false => &mut [],
        };
        apply(spec.activation(layer), after, before);
        tape.layers[layer] = values;
    }

    /// Propagates the derivative of a loss with respect to the outputs of the latest
    /// [`forward`](Self::forward) on this tape: *adds* to `gradient` (the layout of the parameters)
    /// and *writes* `d_input` (rows × inputs).
    ///
    /// # Panics
    /// If a slice has the wrong length, or the tape holds another network's pass.
    pub fn backward(
        &self,
        tape: &mut Tape,
        d_output: &[f32],
        mut gradient: Option<&mut [f32]>,
        mut d_input: Option<&mut [f32]>,
    ) {
        let (spec, rows) = (self.spec(), tape.rows);
        assert_eq!(
            d_output.len(),
            rows * spec.outputs,
            "backward: rows × outputs"
        );
        self.check_lengths(rows, gradient.as_deref(), d_input.as_deref());
        let last = spec.layer_count() - 1;
        tape.delta
            .first_mut(d_output.len())
            .copy_from_slice(d_output);
        self.times_slope_of(last, tape);
        self.backward_skip(tape, gradient.as_deref_mut(), d_input.as_deref_mut());
        for layer in (0..=last).rev() {
            if let Some(gradient) = gradient.as_deref_mut() {
                let delta = View::rows(
                    tape.delta.first(rows * stride_of(self, layer)),
                    stride_of(self, layer),
                );
                self.add_gradient(layer, rows, delta, tape.input_of(self, layer), gradient);
                add_rows(
                    &mut gradient[self.bias_range(layer)],
                    delta.values,
                    rows,
                    delta.row_stride,
                );
            }
            if layer > 0 {
                self.backward_layer(layer, tape);
                self.times_slope_of(layer - 1, tape);
            }
        }
        if let Some(d_input) = d_input {
            let (inputs, outputs) = spec.layer_shape(0);
            let delta = View::rows(
                tape.delta.first(rows * stride_of(self, 0)),
                stride_of(self, 0),
            );
            let weights = View::rows(self.weights(0), inputs);
            multiply(
                (rows, inputs, outputs),
                delta,
                weights,
                d_input,
                inputs,
                self.skip().is_some(),
            );
        }
    }

    pub(super) fn check_lengths(
        &self,
        rows: usize,
        gradient: Option<&[f32]>,
        d_input: Option<&[f32]>,
    ) {
        if let Some(gradient) = gradient {
            assert_eq!(
                gradient.len(),
                self.parameters().len(),
                "backward: gradient"
            );
        }
        if let Some(d_input) = d_input {
            assert_eq!(
                d_input.len(),
                rows * self.spec().inputs,
                "backward: rows × inputs"
            );
        }
    }

    /// The skip's gradient, and its part of the input's; the rest of `d_input` becomes zero.
    fn backward_skip(
        &self,
        tape: &Tape,
        gradient: Option<&mut [f32]>,
        d_input: Option<&mut [f32]>,
    ) {
        let (Some(skip), Some(range)) = (self.skip(), self.skip_range()) else {
            return;
        };
        let (inputs, outputs, rows) = (self.spec().inputs, self.spec().outputs, tape.rows);
        let width = skip.len() / outputs;
        let delta = View::rows(tape.delta.first(rows * outputs), outputs);
        if let Some(gradient) = gradient {
            let input = View::rows(tape.input.first(rows * inputs), inputs);
            multiply(
                (outputs, width, rows),
                delta.transposed(),
                input,
                &mut gradient[range],
                width,
                true,
            );
        }
        if let Some(d_input) = d_input {
            d_input.fill(0.0);
            multiply(
                (rows, width, outputs),
                delta,
                View::rows(skip, width),
                d_input,
                inputs,
                true,
            );
        }
    }

    /// gradient of the weights += deltaᵀ · input
    pub(super) fn add_gradient(
        &self,
        layer: usize,
        rows: usize,
        delta: View<'_>,
        input: View<'_>,
        gradient: &mut [f32],
    ) {
        let (inputs, outputs) = self.spec().layer_shape(layer);
        let target = &mut gradient[self.weights_range(layer)];
        multiply(
            (outputs, inputs, rows),
            delta.transposed(),
            input,
            target,
            inputs,
            true,
        );
    }

    /// delta of the layer before = delta · weights
    fn backward_layer(&self, layer: usize, tape: &mut Tape) {
        let (inputs, outputs) = self.spec().layer_shape(layer);
        let (rows, stride, target_stride) = (
            tape.rows,
            stride_of(self, layer),
            stride_of(self, layer - 1),
        );
        let delta = View::rows(tape.delta.first(rows * stride), stride);
        let target = tape.next_delta.first_mut(rows * target_stride);
        target.fill(0.0);
        multiply(
            (rows, inputs, outputs),
            delta,
            View::rows(self.weights(layer), inputs),
            target,
            target_stride,
            false,
        );
        std::mem::swap(&mut tape.delta, &mut tape.next_delta);
    }

    fn times_slope_of(&self, layer: usize, tape: &mut Tape) {
        let (activation, length) = (
            self.spec().activation(layer),
            tape.rows * stride_of(self, layer),
        );
        let before = match needs_before(activation) {
            true => tape.layers[layer].before.first(length),
            false => &[],
        };
        let after = tape.layers[layer].after.first(length);
        times_slope(activation, tape.delta.first_mut(length), after, before);
    }
}
