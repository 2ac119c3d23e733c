//! Forward and backward through a network.

use fabproj_core::Activation;
use fabproj_core::kernel::{Kernel, LANES, Loop, NARROW, Slope, padded};

use super::buffer::Buffer;
use super::mlp::Mlp;
use super::packed::Packed;
use super::tape::{Rows, Tape, View, needs_before, stride_of};

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
        let Tape {
            kernel,
            primal,
            tangents,
            packed,
            ..
        } = tape;
        tangents.count = 0;
        packed.update(self, *kernel);
        primal.start(self, input, rows);
        for layer in 0..spec.layer_count() {
            self.forward_layer(layer, *kernel, packed, primal);
        }
        primal.layers[spec.layer_count() - 1]
            .after
            .first(rows * spec.outputs)
    }

    /// Outputs for any number of rows, in pieces that stay in cache: nothing but the last piece
    /// remains on the tape. The same bits as [`forward`](Self::forward).
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

    fn forward_layer(&self, layer: usize, kernel: Kernel, packed: &Packed, rows: &mut Rows) {
        let (spec, stride) = (self.spec(), stride_of(self, layer));
        let (activation, count) = (spec.activation(layer), rows.count);
        let mut values = std::mem::take(&mut rows.layers[layer]);
        let after = values.after.first_mut(count * stride + LANES);
        let input = rows.input_of(self, layer);
        let skip = packed
            .skip(self)
            .filter(|_| layer + 1 == spec.layer_count());
        let fused = skip.is_none() && !needs_before(activation);
        let first = if fused {
            activation
        } else {
            Activation::Identity
        };
        let dense = packed.layer(self, layer);
        kernel.affine(
            dense,
            input.values,
            input.stride,
            count,
            first,
            after,
            stride,
        );
        if let Some(skip) = skip {
            let input = rows.input_of(self, 0);
            kernel.add_linear(skip, input.values, input.stride, count, after, stride);
        }
        if !fused {
            let after = &mut after[..count * stride];
            if needs_before(activation) {
                values.before.first_mut(after.len()).copy_from_slice(after);
            }
            kernel.activate(activation, after);
        }
        rows.layers[layer] = values;
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
        d_input: Option<&mut [f32]>,
    ) {
        let (spec, rows) = (self.spec(), tape.primal.count);
        assert_eq!(
            d_output.len(),
            rows * spec.outputs,
            "backward: rows × outputs"
        );
        self.check_lengths(rows, gradient.as_deref(), d_input.as_deref());
        let last = spec.layer_count() - 1;
        if last > 0 || d_input.is_some() {
            tape.transposed.update_transposed(self, tape.kernel);
        }
        tape.primal.start_delta(d_output);
        let mut delta = std::mem::take(&mut tape.primal.delta);
        tape.kernel
            .times_slope(tape.slope(self, last), delta.first_mut(d_output.len()));
        tape.primal.delta = delta;
        tape.primal.keep_output_delta(self);
        if let Some(gradient) = gradient.as_deref_mut() {
            let delta = tape.primal.delta_of(self, last);
            let sums = &mut gradient[self.bias_range(last)];
            tape.kernel.add_rows(sums, delta.values, delta.stride, rows);
        }
        for layer in (0..=last).rev() {
            if let Some(gradient) = gradient.as_deref_mut() {
                let Tape {
                    kernel,
                    primal,
                    sums,
                    ..
                } = tape;
                self.add_gradient(layer, *kernel, primal, sums, gradient);
            }
            if layer > 0 {
                self.backward_layer(layer, tape, gradient.as_deref_mut());
            }
        }
        if let Some(gradient) = gradient {
            self.add_skip_gradient(tape.kernel, &tape.primal, gradient);
        }
        if let Some(d_input) = d_input {
            self.backward_input(tape.kernel, &tape.transposed, &tape.primal, d_input);
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

    /// gradient of the weights += deltaᵀ · input
    pub(super) fn add_gradient(
        &self,
        layer: usize,
        kernel: Kernel,
        rows: &Rows,
        scratch: &mut Buffer,
        gradient: &mut [f32],
    ) {
        let (inputs, outputs) = self.spec().layer_shape(layer);
        let (delta, input) = (rows.delta_of(self, layer), rows.input_of(self, layer));
        let target = &mut gradient[self.weights_range(layer)];
        // Few inputs would leave most lanes idle: make the transpose, which is small, and add that.
        let transpose = inputs <= NARROW && outputs > inputs;
        let (m, n) = if transpose {
            (inputs, outputs)
        } else {
            (outputs, inputs)
        };
        let (a, b) = if transpose {
            (input, delta)
        } else {
            (delta, input)
        };
        if n == padded(n) && !transpose {
            return add_outer_products(kernel, (rows.live, m, n), a, b, target, n);
        }
        // Summed up on cache lines of its own: the target's rows would straddle them.
        let sums = scratch.first_mut(m * padded(n));
        sums.fill(0.0);
        add_outer_products(kernel, (rows.live, m, n), a, b, sums, padded(n));
        if transpose {
            for (row, sums) in sums.chunks_exact(padded(n)).enumerate() {
                for (column, sum) in sums.iter().enumerate().take(n) {
                    target[column * inputs + row] += sum;
                }
            }
        } else {
            kernel.vectorise(AddPadded {
                target,
                width: n,
                sums,
            });
        }
    }

    pub(super) fn add_skip_gradient(&self, kernel: Kernel, rows: &Rows, gradient: &mut [f32]) {
        let (Some(width), Some(range)) = (self.spec().skip, self.skip_range()) else {
            return;
        };
        let outputs = self.spec().outputs;
        let delta = View {
            values: rows.output_delta.first(rows.live * outputs),
            stride: outputs,
        };
        let input = rows.input_of(self, 0);
        let shape = (rows.live, outputs, width);
        add_outer_products(kernel, shape, delta, input, &mut gradient[range], width);
    }

    /// d_input = delta of the first layer · its weights, plus the skip's part.
    pub(super) fn backward_input(
        &self,
        kernel: Kernel,
        transposed: &Packed,
        rows: &Rows,
        d_input: &mut [f32],
    ) {
        let (inputs, outputs) = (self.spec().inputs, self.spec().outputs);
        let delta = rows.delta_of(self, 0);
        let layer = transposed.transposed_layer(self, 0);
        kernel.pull_back(
            layer,
            delta.values,
            delta.stride,
            rows.live,
            Slope::Identity,
            d_input,
            inputs,
        );
        if let Some(skip) = transposed.transposed_skip(self) {
            let delta = rows.output_delta.first(rows.live * outputs);
            kernel.add_linear(skip, delta, outputs, rows.live, d_input, inputs);
        }
    }

    /// delta of the layer before = delta · weights · slope of the layer before; with its sum, the
    /// gradient of that layer's bias.
    fn backward_layer(&self, layer: usize, tape: &mut Tape, gradient: Option<&mut [f32]>) {
        let (rows, stride) = (tape.primal.count, stride_of(self, layer - 1));
        let mut target = std::mem::take(&mut tape.primal.next_delta);
        let out = target.first_mut(rows * stride + LANES);
        let View {
            values: delta,
            stride: delta_stride,
        } = tape.primal.delta_of(self, layer);
        let dense = tape.transposed.transposed_layer(self, layer);
        let slope = tape.primal.slope(self, layer - 1);
        if let Some(gradient) = gradient {
            let sums = tape.sums.first_mut(stride);
            sums.fill(0.0);
            tape.kernel.pull_back_summed(
                dense,
                delta,
                delta_stride,
                rows,
                slope,
                out,
                stride,
                sums,
            );
            let bias = &mut gradient[self.bias_range(layer - 1)];
            bias.iter_mut()
                .zip(sums)
                .for_each(|(bias, sum)| *bias += *sum);
        } else {
            tape.kernel
                .pull_back(dense, delta, delta_stride, rows, slope, out, stride);
        }
        tape.primal.next_delta = std::mem::replace(&mut tape.primal.delta, target);
    }
}

/// Row r of the target += Σ over the rows of a's entry r times b's row.
fn add_outer_products(
    kernel: Kernel,
    shape: (usize, usize, usize),
    a: View<'_>,
    b: View<'_>,
    target: &mut [f32],
    stride: usize,
) {
    kernel.add_outer_products(
        shape, a.values, a.stride, b.values, b.stride, target, stride,
    );
}

/// target += sums, row by row; rows of `sums` are padded.
struct AddPadded<'a> {
    target: &'a mut [f32],
    width: usize,
    sums: &'a [f32],
}

impl Loop for AddPadded<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.sums.chunks_exact(padded(self.width));
        for (target, sums) in self.target.chunks_exact_mut(self.width).zip(rows) {
            target
                .iter_mut()
                .zip(sums)
                .for_each(|(target, sum)| *target += sum);
        }
    }
}
