//! The vector-Jacobian product of a projection: what training through a frozen projector needs.

use alloc::vec;
use alloc::vec::Vec;

use super::tape::{Tape, Tile, TileTapes};
use super::{CallError, PackedChart, Projector, call};
use crate::buffer::Buffer;
use crate::dense::{PackedNetwork, Scratch};
use crate::kernel::padded;
use crate::outcome::RawOutcome;
use crate::real::{Real, all_finite};
use crate::workspace::{BLOCK, Layout};

/// Gradients of a tile on their way back.
#[derive(Clone, Debug)]
pub(super) struct GradientBuffers {
    /// With respect to the decode.
    output: Buffer,
    /// The share of it that one decoder gets.
    share: Buffer,
    /// With respect to the gate's outputs.
    logits: Buffer,
    /// With respect to `[z, x]`.
    latent: Buffer,
    /// With respect to the raw latent, as the encoder's output.
    encoded: Buffer,
}

impl GradientBuffers {
    pub(super) fn new(layout: Layout) -> Self {
        let tile = layout.tile;
        Self {
            output: Buffer::zeros(tile * layout.output_stride),
            share: Buffer::zeros(tile * layout.output_stride),
            logits: Buffer::zeros(tile * padded(layout.decoders)),
            latent: Buffer::zeros(tile * layout.latent_gradient_stride),
            encoded: Buffer::zeros(tile * layout.encoded_stride),
        }
    }
}

/// Gradients with respect to the outputs, and where those with respect to the inputs go; rows in the
/// caller's order.
struct Gradients<'a, T> {
    cotangent: &'a [T],
    y: &'a mut [T],
    /// Empty if it is not wanted.
    x: &'a mut [T],
}

impl Projector {
    /// The gradients of a loss with respect to the rows of y and x, from `cotangent`, its gradient with
    /// respect to the projections.
    ///
    /// A training that also needs the projections uses [`forward`](Self::forward) and
    /// [`pullback`](Self::pullback), which do not allocate either.
    ///
    /// ```
    /// use fabproj_core::{LatentSet, Projector, Weights};
    ///
    /// let disc = LatentSet::Ball { radius: 0.5, smooth: None };
    /// let projector = Projector::new(&Weights::identity(2, disc))?;
    /// let (d_y, d_x) = projector.vjp(&[2.0, 0.0], &[], &[1.0, 1.0])?;
    /// assert_eq!((d_y, d_x), (vec![0.0, 0.25], vec![]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length.
    pub fn vjp<T: Real>(
        &self,
        y: &[T],
        x: &[T],
        cotangent: &[T],
    ) -> Result<(Vec<T>, Vec<T>), CallError> {
        let rows = self.check_rows(y, x)?;
        call::length("cotangent", cotangent.len(), y.len())?;
        let (mut d_y, mut d_x) = (vec![T::default(); y.len()], vec![T::default(); x.len()]);
        let mut tape = self.tape(rows.min(BLOCK));
        let mut out = vec![T::default(); rows.min(BLOCK) * self.layout.dim];
        let mut outcomes = vec![RawOutcome::NotFinite; rows.min(BLOCK)];
        // Block by block: activations of more rows would leave the cache.
        for begin in (0..rows).step_by(BLOCK) {
            let count = BLOCK.min(rows - begin);
            let of_y = begin * self.layout.dim..(begin + count) * self.layout.dim;
            let of_x = begin * self.x_dim..(begin + count) * self.x_dim;
            let out = &mut out[..of_y.len()];
            let outcomes = &mut outcomes[..count];
            self.forward(&y[of_y.clone()], &x[of_x.clone()], out, outcomes, &mut tape)?;
            let cotangent = &cotangent[of_y.clone()];
            self.pullback(cotangent, &mut d_y[of_y], &mut d_x[of_x], &mut tape)?;
        }
        Ok((d_y, d_x))
    }

    /// Pulls `cotangent`, the gradient of a loss with respect to the outputs of the last
    /// [`forward`](Self::forward) pass on this tape, back to y and x. `d_x` is empty if it is not wanted.
    ///
    /// The chart counts as constant. The gradient is zero for rows with [`RawOutcome::NotFinite`], and
    /// where it would not be finite. No allocation.
    ///
    /// # Errors
    /// [`CallError`] when there was no forward pass, a slice has the wrong length for its rows, or the
    /// tape belongs to another projector; nothing is written then.
    pub fn pullback<T: Real>(
        &self,
        cotangent: &[T],
        d_y: &mut [T],
        d_x: &mut [T],
        tape: &mut Tape,
    ) -> Result<(), CallError> {
        self.check_tape(tape)?;
        let rows = tape.rows.ok_or(CallError::NoForward)?;
        call::length("cotangent", cotangent.len(), rows * self.layout.dim)?;
        call::length("d_y", d_y.len(), rows * self.layout.dim)?;
        if !d_x.is_empty() {
            call::length("d_x", d_x.len(), rows * self.x_dim)?;
        }
        let mut gradients = Gradients {
            cotangent,
            y: d_y,
            x: d_x,
        };
        for index in 0..tape.kept.tiles.len() {
            self.pullback_tile(tape.kept.tiles[index], &mut gradients, tape);
        }
        Ok(())
    }

    fn pullback_tile<T: Real>(
        &self,
        tile: Tile,
        gradients: &mut Gradients<'_, T>,
        tape: &mut Tape,
    ) {
        let (chart, rows) = (&self.charts[tile.chart], tile.rows);
        let (buffers, scratch) = (&mut tape.gradient, &mut tape.run.scratch);
        let tapes = tape.kept.tapes(tile.begin);
        let sources = &tape.kept.sources[tile.begin..][..rows];
        for (row, source) in sources.iter().enumerate() {
            let cotangent = &gradients.cotangent[source * self.layout.dim..][..self.layout.dim];
            let output = &mut buffers.output[row * self.layout.output_stride..];
            self.load_cotangent(chart, cotangent, &mut tape.run.reduced, output);
        }
        self.decoders_backward(chart, rows, &tapes, buffers, scratch);
        self.clamp_backward(chart, rows, tapes.encoder, buffers);
        let (encoded, encoder) = (&buffers.encoded, tapes.encoder);
        let joined = chart.encoder.backward(encoded, rows, encoder, scratch);
        for (row, source) in sources.iter().enumerate() {
            let known = tape.kept.outcomes[tile.begin + row] != RawOutcome::NotFinite;
            let joined = &joined[row * chart.encoder.gradient_stride()..];
            let latent = &buffers.latent[row * self.layout.latent_gradient_stride..];
            let parts = Parts { joined, latent };
            self.store_gradient(
                chart,
                (*source, known),
                parts,
                &mut tape.run.reduced,
                gradients,
            );
        }
    }

    /// A cotangent in the chart's units.
    #[inline]
    fn load_cotangent<T: Real>(
        &self,
        chart: &PackedChart,
        cotangent: &[T],
        reduced: &mut [f64],
        output: &mut [f32],
    ) {
        let scale = &chart.frame.scale;
        match &self.equations {
            None => times(cotangent, scale, output),
            Some(equations) => {
                equations.lower_direction(cotangent, reduced);
                times(reduced, scale, output);
            }
        }
    }

    /// From `output` to `latent`.
    fn decoders_backward(
        &self,
        chart: &PackedChart,
        rows: usize,
        tapes: &TileTapes<&[f32]>,
        buffers: &mut GradientBuffers,
        scratch: &mut Scratch,
    ) {
        let stride = self.layout.latent_gradient_stride;
        buffers.latent[..rows * stride].fill(0.0);
        if let Some(gate) = &chart.gate {
            return self.blend_backward(chart, gate, rows, tapes, buffers, scratch);
        }
        let decoder = &chart.decoders[0];
        let back = decoder.backward(&buffers.output, rows, tapes.decoders, scratch);
        add_rows(
            back,
            decoder.gradient_stride(),
            stride,
            rows,
            &mut buffers.latent,
        );
    }

    /// With weights α = softmax of the gate and decodes u_i: the decoder gets α_i·c, and the gate's
    /// output i gets α_i (u_i·c − Σ_j α_j u_j·c).
    fn blend_backward(
        &self,
        chart: &PackedChart,
        gate: &PackedNetwork,
        rows: usize,
        tapes: &TileTapes<&[f32]>,
        buffers: &mut GradientBuffers,
        scratch: &mut Scratch,
    ) {
        let stride = self.layout.latent_gradient_stride;
        let (dim, width) = (self.layout.inner_dim, self.layout.output_stride);
        let (count, gate_stride) = (chart.decoders.len(), gate.output_stride());
        for (index, decoder, tape) in chart.tapes(rows, tapes.decoders) {
            let decoded = decoder.output(tape, rows);
            for row in 0..rows {
                let weight = tapes.weights[row * count + index];
                let cotangent = &buffers.output[row * width..][..dim];
                let share = &mut buffers.share[row * width..][..dim];
                let decoded = &decoded[row * width..][..dim];
                buffers.logits[row * gate_stride + index] =
                    decoded.iter().zip(cotangent).map(|(u, c)| u * c).sum();
                for (share, cotangent) in share.iter_mut().zip(cotangent) {
                    *share = weight * cotangent;
                }
            }
            let back = decoder.backward(&buffers.share, rows, tape, scratch);
            add_rows(
                back,
                decoder.gradient_stride(),
                stride,
                rows,
                &mut buffers.latent,
            );
        }
        softmax_backward(
            tapes.weights,
            (rows, count),
            gate_stride,
            &mut buffers.logits,
        );
        let back = gate.backward(&buffers.logits, rows, tapes.gate, scratch);
        add_rows(
            back,
            gate.gradient_stride(),
            stride,
            rows,
            &mut buffers.latent,
        );
    }

    /// From `latent` to `encoded`, through the latent set's map.
    fn clamp_backward(
        &self,
        chart: &PackedChart,
        rows: usize,
        encoder_tape: &[f32],
        buffers: &mut GradientBuffers,
    ) {
        let (dim, width) = (chart.latent_dim(), chart.encoder.output_stride());
        let raw = chart.encoder.output(encoder_tape, rows);
        for row in 0..rows {
            let latent = &buffers.latent[row * self.layout.latent_gradient_stride..][..dim];
            let encoded = &mut buffers.encoded[row * width..][..dim];
            encoded.copy_from_slice(latent);
            chart.latent.clamp_vjp(&raw[row * width..][..dim], encoded);
        }
    }

    /// Writes one row's gradients in raw units.
    #[inline]
    fn store_gradient<T: Real>(
        &self,
        chart: &PackedChart,
        (source, known): (usize, bool),
        parts: Parts<'_>,
        reduced: &mut [f64],
        gradients: &mut Gradients<'_, T>,
    ) {
        let (dim, inner_dim) = (self.layout.dim, self.layout.inner_dim);
        let y = &mut gradients.y[source * dim..][..dim];
        match &self.equations {
            None => over(parts.joined, &chart.frame.scale, y),
            Some(equations) => {
                over(parts.joined, &chart.frame.scale, reduced);
                equations.raise_direction(reduced, y);
            }
        }
        if !known || !all_finite(y) {
            y.fill(T::default());
        }
        if gradients.x.is_empty() {
            return;
        }
        // x enters twice: beside y into the encoder, beside z into the decoder.
        let (encoder, decoder) = (
            &parts.joined[inner_dim..],
            &parts.latent[chart.latent_dim()..],
        );
        let x = &mut gradients.x[source * self.x_dim..][..self.x_dim];
        let both = encoder.iter().zip(decoder);
        for ((x, (encoder, decoder)), scale) in x.iter_mut().zip(both).zip(&self.x_frame.scale) {
            *x = (T::from_f32(*encoder) + T::from_f32(*decoder)) / T::from_f32(*scale);
        }
        if let Some(equations) = &self.equations {
            // And by the foot of the solutions: out of y, into the output.
            let cotangent = &gradients.cotangent[source * dim..][..dim];
            equations.add_by_x(cotangent, y, x);
        }
        if !known || !all_finite(x) {
            x.fill(T::default());
        }
    }
}

/// Gradients of one row with respect to the inputs of the encoder and of the decoders.
struct Parts<'a> {
    joined: &'a [f32],
    latent: &'a [f32],
}

/// From gradients with respect to the softmax `weights` to those with respect to what it was taken of:
/// α_i (d_i − Σ_j α_j d_j), row by row.
fn softmax_backward(
    weights: &[f32],
    (rows, count): (usize, usize),
    stride: usize,
    gradients: &mut [f32],
) {
    for row in 0..rows {
        let weights = &weights[row * count..][..count];
        let gradients = &mut gradients[row * stride..][..count];
        let products = weights.iter().zip(gradients.iter());
        let mean: f32 = products.map(|(weight, d)| weight * d).sum();
        for (gradient, weight) in gradients.iter_mut().zip(weights) {
            *gradient = weight * (*gradient - mean);
        }
    }
}

/// out = values · scale
#[inline]
fn times<T: Real>(values: &[T], scale: &[f32], out: &mut [f32]) {
    for ((out, value), scale) in out.iter_mut().zip(values).zip(scale) {
        *out = (*value * T::from_f32(*scale)).to_f32();
    }
}

/// out = values / scale
#[inline]
fn over<T: Real>(values: &[f32], scale: &[f32], out: &mut [T]) {
    for ((out, value), scale) in out.iter_mut().zip(values).zip(scale) {
        *out = T::from_f32(*value) / T::from_f32(*scale);
    }
}

/// Adds rows of `source` to those of `target`.
fn add_rows(
    source: &[f32],
    source_stride: usize,
    target_stride: usize,
    rows: usize,
    target: &mut [f32],
) {
    let width = target_stride.min(source_stride);
    let targets = target.chunks_exact_mut(target_stride);
    for (source, target) in source.chunks_exact(source_stride).zip(targets).take(rows) {
        for (target, source) in target[..width].iter_mut().zip(source) {
            *target += source;
        }
    }
}
