//! Directional derivatives pushed forward with a pass, and their derivatives pulled back.
//!
//! With a = W h + b and h' = f(a), a tangent ḣ becomes f'(a) ⊙ W ḣ. Pulling back cotangents of the
//! outputs and of their tangents therefore treats tangents as ordinary rows, and adds
//! f''(a) ⊙ ȧ ⊙ (cotangent of the tangent) to the primal's derivative with respect to a. For ReLU
//! that last term is zero.

use fabproj_core::kernel::padded;

use super::activation::{add_curvature, is_curved, needs_before, times_slope};
use super::matrix::{View, add_rows, multiply};
use super::mlp::Mlp;
use super::tape::{Tape, Values, stride_of};

/// Tangents that make [`Mlp::forward_tangents`] return the Jacobian with respect to the first
/// `columns` inputs: for each row the unit vectors e_0 … e_(columns-1).
///
/// ```
/// assert_eq!(fabproj::nn::unit_tangents(1, 3, 2), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
/// ```
pub fn unit_tangents(rows: usize, inputs: usize, columns: usize) -> Vec<f32> {
    let mut tangents = vec![0.0; rows * columns * inputs];
    for (index, tangent) in tangents.chunks_exact_mut(inputs).enumerate() {
        if let Some(entry) = tangent.get_mut(index % columns) {
            *entry = 1.0;
        }
    }
    tangents
}

impl Mlp {
    /// Pushes `columns` tangents for each of the first rows of the latest
    /// [`forward`](Self::forward) through the network. `tangents` is `[rows'][columns][inputs]` with
    /// any rows' up to the pass's rows; returns `[rows'][columns][outputs]`.
    ///
    /// ```
    /// use fabproj::nn::{Mlp, MlpSpec, Tape, unit_tangents};
    /// let mut network = Mlp::zeros(MlpSpec::new(2, &[], 1))?;
    /// network.weights_mut(0).copy_from_slice(&[3.0, 4.0]);
    /// let mut tape = Tape::new();
    /// network.forward(&[0.5, 0.5], 1, &mut tape);
    /// assert_eq!(network.forward_tangents(&mut tape, &unit_tangents(1, 2, 2), 2), [3.0, 4.0]);
    /// # Ok::<(), fabproj::nn::SpecError>(())
    /// ```
    ///
    /// # Panics
    /// If `tangents` is not a whole number of rows, or more rows than the pass had.
    pub fn forward_tangents<'t>(
        &self,
        tape: &'t mut Tape,
        tangents: &[f32],
        columns: usize,
    ) -> &'t [f32] {
        let spec = self.spec();
        let per_row = columns * spec.inputs;
        assert!(
            columns > 0 && tangents.len().is_multiple_of(per_row),
            "forward_tangents: rows × columns × inputs"
        );
        let rows = tangents.len() / per_row;
        assert!(
            rows <= tape.rows,
            "forward_tangents: {rows} rows, but the pass had {}",
            tape.rows
        );
        tape.tangents.rows = rows;
        tape.tangents.columns = columns;
        tape.tangents
            .input
            .first_mut(tangents.len())
            .copy_from_slice(tangents);
        let count = spec.layer_count();
        let stored = count.max(tape.tangents.layers.len());
        tape.tangents.layers.resize_with(stored, Values::default);
        for layer in 0..count {
            self.push_layer(layer, tape);
        }
        tape.tangents.layers[count - 1]
            .after
            .first(rows * columns * spec.outputs)
    }

    fn push_layer(&self, layer: usize, tape: &mut Tape) {
        let spec = self.spec();
        let (inputs, outputs) = spec.layer_shape(layer);
        let stride = stride_of(self, layer);
        let rows = tape.tangents.rows * tape.tangents.columns;
        let mut values = std::mem::take(&mut tape.tangents.layers[layer]);
        let after = values.after.first_mut(rows * stride);
        let weights = View::rows(
            tape.packed.weights[layer].first(inputs * padded(outputs)),
            padded(outputs),
        );
        multiply(
            (rows, stride, inputs),
            self.tangent_input_of(layer, tape),
            weights,
            after,
            stride,
            false,
        );
        if let (true, Some(skip)) = (layer + 1 == spec.layer_count(), self.skip()) {
            let width = skip.len() / outputs;
            let input = View::rows(tape.tangents.input.first(rows * spec.inputs), spec.inputs);
            multiply(
                (rows, outputs, width),
                input,
                View::rows(skip, width).transposed(),
                after,
                stride,
                true,
            );
        }
        if is_curved(spec.activation(layer)) {
            values
                .before
                .first_mut(rows * stride)
                .copy_from_slice(after);
        }
        self.tangents_times_slope(layer, tape, after);
        tape.tangents.layers[layer] = values;
    }

    fn tangent_input_of<'t>(&self, layer: usize, tape: &'t Tape) -> View<'t> {
        let rows = tape.tangents.rows * tape.tangents.columns;
        match layer {
            0 => {
                let inputs = self.spec().inputs;
                View::rows(tape.tangents.input.first(rows * inputs), inputs)
            }
            _ => {
                let stride = stride_of(self, layer - 1);
                View::rows(
                    tape.tangents.layers[layer - 1].after.first(rows * stride),
                    stride,
                )
            }
        }
    }

    /// Multiplies each tangent row by the slope of its primal row.
    fn tangents_times_slope(&self, layer: usize, tape: &Tape, tangents: &mut [f32]) {
        let (activation, stride) = (self.spec().activation(layer), stride_of(self, layer));
        for (index, tangent) in tangents.chunks_exact_mut(stride).enumerate() {
            let (after, before) = primal_row(self, layer, tape, index / tape.tangents.columns);
            times_slope(activation, tangent, after, before);
        }
    }

    /// Propagates derivatives of a loss with respect to the outputs (`d_output`, rows × outputs of
    /// the pass; `None`: zero) and their tangents (`d_tangents`, as
    /// [`forward_tangents`](Self::forward_tangents) returned them). *Adds* to `gradient`, *writes*
    /// `d_input` (rows × inputs of the pass) and `d_tangent_input` (the layout of the tangents).
    ///
    /// # Panics
    /// If a slice has the wrong length, or the tape holds another network's pass.
    pub fn backward_tangents(
        &self,
        tape: &mut Tape,
        d_output: Option<&[f32]>,
        d_tangents: &[f32],
        mut gradient: Option<&mut [f32]>,
        d_input: Option<&mut [f32]>,
        d_tangent_input: Option<&mut [f32]>,
    ) {
        let spec = self.spec();
        let rows = tape.tangents.rows * tape.tangents.columns;
        assert_eq!(
            d_tangents.len(),
            rows * spec.outputs,
            "backward_tangents: rows × columns × outputs"
        );
        self.check_lengths(tape.rows, gradient.as_deref(), d_input.as_deref());
        let primal_rows = self.start_primal(tape, d_output);
        let last = spec.layer_count() - 1;
        tape.tangents
            .delta
            .first_mut(d_tangents.len())
            .copy_from_slice(d_tangents);
        self.pull_through_activation(last, tape, primal_rows);
        self.pull_skip_gradient(tape, primal_rows, gradient.as_deref_mut());
        let skip_deltas = self
            .skip()
            .map(|_| keep_output_deltas(tape, primal_rows, spec.outputs));
        for layer in (0..=last).rev() {
            if let Some(gradient) = gradient.as_deref_mut() {
                self.add_gradients(layer, tape, primal_rows, gradient);
            }
            if layer > 0 {
                self.pull_layer(layer, tape, primal_rows);
                self.pull_through_activation(layer - 1, tape, primal_rows);
            }
        }
        let (skip_primal, skip_tangents) = skip_deltas.unwrap_or_default();
        let stride = stride_of(self, 0);
        if let Some(d_input) = d_input {
            let delta = tape.delta.first(primal_rows * stride);
            d_input.fill(0.0);
            self.pull_input(primal_rows, delta, &skip_primal, d_input);
        }
        if let Some(d_tangent_input) = d_tangent_input {
            assert_eq!(
                d_tangent_input.len(),
                rows * spec.inputs,
                "backward_tangents: rows × columns × inputs"
            );
            self.pull_input(
                rows,
                tape.tangents.delta.first(rows * stride),
                &skip_tangents,
                d_tangent_input,
            );
        }
    }

    /// Puts the primal's derivative into `tape.delta` and returns for how many rows it is not zero.
    fn start_primal(&self, tape: &mut Tape, d_output: Option<&[f32]>) -> usize {
        let spec = self.spec();
        if let Some(d_output) = d_output {
            assert_eq!(
                d_output.len(),
                tape.rows * spec.outputs,
                "backward_tangents: rows × outputs"
            );
            tape.delta
                .first_mut(d_output.len())
                .copy_from_slice(d_output);
            return tape.rows;
        }
        if !(0..spec.layer_count()).any(|layer| is_curved(spec.activation(layer))) {
            return 0;
        }
        let rows = tape.tangents.rows;
        tape.delta.first_mut(rows * spec.outputs).fill(0.0);
        rows
    }

    /// From derivatives with respect to h' = f(a) to those with respect to a, for both kinds of row.
    fn pull_through_activation(&self, layer: usize, tape: &mut Tape, primal_rows: usize) {
        let (activation, stride) = (self.spec().activation(layer), stride_of(self, layer));
        let (rows, columns) = (tape.tangents.rows, tape.tangents.columns);
        let mut primal_delta = std::mem::take(&mut tape.delta);
        let mut tangent_delta = std::mem::take(&mut tape.tangents.delta);
        for (row, delta) in primal_delta
            .first_mut(primal_rows * stride)
            .chunks_exact_mut(stride)
            .enumerate()
        {
            let (after, before) = primal_row(self, layer, tape, row);
            times_slope(activation, delta, after, before);
            if row < rows && is_curved(activation) {
                for index in row * columns..(row + 1) * columns {
                    let range = index * stride..(index + 1) * stride;
                    let pushed =
                        &tape.tangents.layers[layer].before.first(range.end)[range.clone()];
                    let pulled = &tangent_delta.first(range.end)[range];
                    add_curvature(activation, delta, pulled, pushed, after, before);
                }
            }
        }
        self.tangents_times_slope(
            layer,
            tape,
            tangent_delta.first_mut(rows * columns * stride),
        );
        tape.delta = primal_delta;
        tape.tangents.delta = tangent_delta;
    }

    fn add_gradients(&self, layer: usize, tape: &Tape, primal_rows: usize, gradient: &mut [f32]) {
        let (stride, rows) = (
            stride_of(self, layer),
            tape.tangents.rows * tape.tangents.columns,
        );
        if primal_rows > 0 {
            let delta = View::rows(tape.delta.first(primal_rows * stride), stride);
            self.add_gradient(
                layer,
                primal_rows,
                delta,
                tape.input_of(self, layer),
                gradient,
            );
            add_rows(
                &mut gradient[self.bias_range(layer)],
                delta.values,
                primal_rows,
                stride,
            );
        }
        let delta = View::rows(tape.tangents.delta.first(rows * stride), stride);
        self.add_gradient(
            layer,
            rows,
            delta,
            self.tangent_input_of(layer, tape),
            gradient,
        );
    }

    fn pull_layer(&self, layer: usize, tape: &mut Tape, primal_rows: usize) {
        let (inputs, outputs) = self.spec().layer_shape(layer);
        let (stride, target_stride) = (stride_of(self, layer), stride_of(self, layer - 1));
        let tangent_rows = tape.tangents.rows * tape.tangents.columns;
        let weights = View::rows(self.weights(layer), inputs);
        let tangents = &mut tape.tangents;
        for (rows, delta, target) in [
            (primal_rows, &tape.delta, &mut tape.next_delta),
            (tangent_rows, &tangents.delta, &mut tangents.next_delta),
        ] {
            let delta = View::rows(delta.first(rows * stride), stride);
            let target = target.first_mut(rows * target_stride);
            target.fill(0.0);
            multiply(
                (rows, inputs, outputs),
                delta,
                weights,
                target,
                target_stride,
                false,
            );
        }
        std::mem::swap(&mut tape.delta, &mut tape.next_delta);
        std::mem::swap(&mut tangents.delta, &mut tangents.next_delta);
    }

    fn pull_skip_gradient(&self, tape: &Tape, primal_rows: usize, gradient: Option<&mut [f32]>) {
        let (Some(range), Some(gradient)) = (self.skip_range(), gradient) else {
            return;
        };
        let (inputs, outputs) = (self.spec().inputs, self.spec().outputs);
        let (width, rows) = (
            range.len() / outputs,
            tape.tangents.rows * tape.tangents.columns,
        );
        let target = &mut gradient[range];
        let pairs = [
            (primal_rows, &tape.delta, &tape.input),
            (rows, &tape.tangents.delta, &tape.tangents.input),
        ];
        for (rows, delta, input) in pairs {
            let delta = View::rows(delta.first(rows * outputs), outputs).transposed();
            let input = View::rows(input.first(rows * inputs), inputs);
            multiply((outputs, width, rows), delta, input, target, width, true);
        }
    }

    /// d_input = delta of the first layer · its weights, plus the skip's part.
    fn pull_input(&self, rows: usize, delta: &[f32], skip_delta: &[f32], d_input: &mut [f32]) {
        let (inputs, outputs) = self.spec().layer_shape(0);
        let delta = View::rows(delta, stride_of(self, 0));
        multiply(
            (rows, inputs, outputs),
            delta,
            View::rows(self.weights(0), inputs),
            d_input,
            inputs,
            false,
        );
        if let Some(skip) = self.skip() {
            let outputs = self.spec().outputs;
            let width = skip.len() / outputs;
            let skip_delta = View::rows(skip_delta, outputs);
            multiply(
                (rows, width, outputs),
                skip_delta,
                View::rows(skip, width),
                d_input,
                inputs,
                true,
            );
        }
    }
}

fn primal_row<'t>(
    network: &Mlp,
    layer: usize,
    tape: &'t Tape,
    row: usize,
) -> (&'t [f32], &'t [f32]) {
    let stride = stride_of(network, layer);
    let range = row * stride..(row + 1) * stride;
    let values = &tape.layers[layer];
    let before = match needs_before(network.spec().activation(layer)) {
        true => &values.before.first(range.end)[range.clone()],
        false => &[],
    };
    (&values.after.first(range.end)[range], before)
}

fn keep_output_deltas(tape: &Tape, primal_rows: usize, outputs: usize) -> (Vec<f32>, Vec<f32>) {
    let rows = tape.tangents.rows * tape.tangents.columns;
    let tangents = tape.tangents.delta.first(rows * outputs).to_vec();
    (tape.delta.first(primal_rows * outputs).to_vec(), tangents)
}
