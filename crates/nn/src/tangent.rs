//! Directional derivatives pushed forward with a pass, and their derivatives pulled back.
//!
//! With a = W h + b and h' = f(a), a tangent ḣ becomes f'(a) ⊙ W ḣ. Pulling back cotangents of the
//! outputs and of their tangents therefore treats tangents as ordinary rows, and adds
//! f''(a) ⊙ ȧ ⊙ (cotangent of the tangent) to the primal's derivative with respect to a. For ReLU
//! that last term is zero.

use fabproj_core::Activation;
use fabproj_core::kernel::{Dense, LANES, Slope};

use super::mlp::Mlp;
use super::tape::{Tape, is_curved, stride_of};

/// Tangents that make [`Mlp::forward_tangents`] return the Jacobian with respect to the first
/// `columns` inputs: for each row the unit vectors e_0 … e_(columns-1).
///
/// ```
/// assert_eq!(fabproj_nn::unit_tangents(1, 3, 2), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
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
    /// use fabproj_nn::{Mlp, MlpSpec, Tape, unit_tangents};
    /// let mut network = Mlp::zeros(MlpSpec::new(2, &[], 1))?;
    /// network.weights_mut(0).copy_from_slice(&[3.0, 4.0]);
    /// let mut tape = Tape::new();
    /// network.forward(&[0.5, 0.5], 1, &mut tape);
    /// assert_eq!(network.forward_tangents(&mut tape, &unit_tangents(1, 2, 2), 2), [3.0, 4.0]);
    /// # Ok::<(), fabproj_nn::SpecError>(())
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
            rows <= tape.rows(),
            "forward_tangents: {rows} rows, but the pass had {}",
            tape.rows()
        );
        tape.columns = columns;
        tape.tangents.start(self, tangents, rows * columns);
        for layer in 0..spec.layer_count() {
            self.push_layer(layer, tape);
        }
        let last = &tape.tangents.layers[spec.layer_count() - 1];
        last.after.first(rows * columns * spec.outputs)
    }

    fn push_layer(&self, layer: usize, tape: &mut Tape) {
        let (spec, stride, rows) = (self.spec(), stride_of(self, layer), tape.tangents.count);
        let mut values = std::mem::take(&mut tape.tangents.layers[layer]);
        let after = values.after.first_mut(rows * stride + LANES);
        let input = tape.tangents.input_of(self, layer);
        let dense = Dense {
            bias: &[],
            ..tape.packed.layer(self, layer)
        };
        tape.kernel.affine(
            dense,
            input.values,
            input.stride,
            rows,
            Activation::Identity,
            after,
            stride,
        );
        if let (true, Some(skip)) = (layer + 1 == spec.layer_count(), tape.packed.skip(self)) {
            let input = tape.tangents.input_of(self, 0);
            tape.kernel
                .add_linear(skip, input.values, input.stride, rows, after, stride);
        }
        let after = &mut after[..rows * stride];
        if is_curved(spec.activation(layer)) {
            values.before.first_mut(after.len()).copy_from_slice(after);
        }
        self.tangents_times_slope(layer, tape, after);
        tape.tangents.layers[layer] = values;
    }

    /// Multiplies each tangent row by the slope of its primal row.
    fn tangents_times_slope(&self, layer: usize, tape: &Tape, tangents: &mut [f32]) {
        let stride = stride_of(self, layer);
        let slope = tape.slope(self, layer);
        for (row, tangents) in tangents.chunks_exact_mut(tape.columns * stride).enumerate() {
            let slope = slope.starting_at(row * stride);
            for tangent in tangents.chunks_exact_mut(stride) {
                tape.kernel.times_slope(slope, tangent);
            }
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
        let (spec, rows) = (self.spec(), tape.rows());
        assert_eq!(
            d_tangents.len(),
            tape.tangents.count * spec.outputs,
            "backward_tangents: rows × columns × outputs"
        );
        self.check_lengths(rows, gradient.as_deref(), d_input.as_deref());
        tape.transposed.update_transposed(self, tape.kernel);
        tape.tangents.start_delta(d_tangents);
        self.start_primal(tape, d_output);
        let last = spec.layer_count() - 1;
        self.pull_through_activation(last, tape);
        tape.primal.keep_output_delta(self);
        tape.tangents.keep_output_delta(self);
        for layer in (0..=last).rev() {
            if let Some(gradient) = gradient.as_deref_mut() {
                self.add_gradients(layer, tape, gradient);
            }
            if layer > 0 {
                self.pull_layer(layer, tape);
                self.pull_through_activation(layer - 1, tape);
            }
        }
        if let Some(gradient) = gradient {
            self.add_skip_gradient(tape.kernel, &tape.primal, gradient);
            self.add_skip_gradient(tape.kernel, &tape.tangents, gradient);
        }
        if let Some(d_input) = d_input {
            let (live, zero) = d_input.split_at_mut(tape.primal.live * spec.inputs);
            self.backward_input(tape.kernel, &tape.transposed, &tape.primal, live);
            zero.fill(0.0);
        }
        if let Some(d_tangent_input) = d_tangent_input {
            assert_eq!(
                d_tangent_input.len(),
                tape.tangents.count * spec.inputs,
                "backward_tangents: rows × columns × inputs"
            );
            self.backward_input(
                tape.kernel,
                &tape.transposed,
                &tape.tangents,
                d_tangent_input,
            );
        }
    }

    /// Starts the primal's derivative, without the rows for which it is zero.
    fn start_primal(&self, tape: &mut Tape, d_output: Option<&[f32]>) {
        let spec = self.spec();
        if let Some(d_output) = d_output {
            let length = tape.rows() * spec.outputs;
            assert_eq!(d_output.len(), length, "backward_tangents: rows × outputs");
            return tape.primal.start_delta(d_output);
        }
        let curved = (0..spec.layer_count()).any(|layer| is_curved(spec.activation(layer)));
        let rows = if curved {
            tape.tangents.count / tape.columns
        } else {
            0
        };
        tape.primal
            .delta
            .first_mut(rows * spec.outputs + LANES)
            .fill(0.0);
        tape.primal.live = rows;
    }

    /// From derivatives with respect to h' = f(a) to those with respect to a, for both kinds of row.
    fn pull_through_activation(&self, layer: usize, tape: &mut Tape) {
        let (stride, columns) = (stride_of(self, layer), tape.columns);
        let mut primal = std::mem::take(&mut tape.primal.delta);
        let mut tangents = std::mem::take(&mut tape.tangents.delta);
        let delta = primal.first_mut(tape.primal.live * stride);
        let pulled = tangents.first_mut(tape.tangents.count * stride);
        let slope = tape.slope(self, layer);
        tape.kernel.times_slope(slope, delta);
        if is_curved(self.spec().activation(layer)) {
            let pushed = tape.tangents.layers[layer].before.first(pulled.len());
            let per_row = pulled
                .chunks_exact(columns * stride)
                .zip(pushed.chunks_exact(columns * stride));
            for (row, (pulled, pushed)) in per_row.enumerate() {
                let slope = slope.starting_at(row * stride);
                let delta = &mut delta[row * stride..(row + 1) * stride];
                for (pulled, pushed) in pulled.chunks_exact(stride).zip(pushed.chunks_exact(stride))
                {
                    tape.kernel.add_curvature(slope, pulled, pushed, delta);
                }
            }
        }
        self.tangents_times_slope(layer, tape, pulled);
        tape.primal.delta = primal;
        tape.tangents.delta = tangents;
    }

    fn add_gradients(&self, layer: usize, tape: &mut Tape, gradient: &mut [f32]) {
        let Tape {
            kernel,
            primal,
            tangents,
            sums,
            ..
        } = tape;
        self.add_gradient(layer, *kernel, primal, sums, gradient);
        self.add_gradient(layer, *kernel, tangents, sums, gradient);
        let (delta, range) = (primal.delta_of(self, layer), self.bias_range(layer));
        kernel.add_rows(
            &mut gradient[range],
            delta.values,
            delta.stride,
            primal.live,
        );
    }

    fn pull_layer(&self, layer: usize, tape: &mut Tape) {
        let Tape {
            kernel,
            primal,
            tangents,
            transposed,
            ..
        } = tape;
        let dense = transposed.transposed_layer(self, layer);
        let stride = stride_of(self, layer - 1);
        for rows in [primal, tangents] {
            let mut target = std::mem::take(&mut rows.next_delta);
            let out = target.first_mut(rows.live * stride + LANES);
            let delta = rows.delta_of(self, layer);
            kernel.pull_back(
                dense,
                delta.values,
                delta.stride,
                rows.live,
                Slope::Identity,
                out,
                stride,
            );
            rows.next_delta = std::mem::replace(&mut rows.delta, target);
        }
    }
}
