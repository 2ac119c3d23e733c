//! The vector-Jacobian product of a projection: what training through a frozen projector needs.

use super::batch::Rows;
use super::tile::{all_finite, choose, soft_weights};
use super::{CallError, PackedChart, Points, Projector, call};
use crate::dense::{PackedNetwork, Scratch};
use crate::model::Blend;
use crate::status::{Status, Tally};
use crate::workspace::{DecodeBuffers, GradientBuffers, Workspace};

/// Where a vector-Jacobian product is written.
#[derive(Debug)]
pub struct Gradient<'a> {
    /// cotangentᵀ ∂φ/∂y: as long as y.
    pub y: &'a mut [f32],
    /// cotangentᵀ ∂φ/∂x: as long as x, or empty if it is not wanted.
    pub x: &'a mut [f32],
}

impl Gradient<'_> {
    fn check(&self, y: usize, x: usize) -> Result<(), CallError> {
        call::length("gradient.y", self.y.len(), y)?;
        if self.x.is_empty() {
            return Ok(());
        }
        call::length("gradient.x", self.x.len(), x)
    }
}

impl Projector {
    /// Projects y and pulls `cotangent`, a gradient with respect to the output, back to y and x.
    ///
    /// `out` and the status are those of [`project`](Self::project), bit for bit. The chart and a hard
    /// decoder gate count as constant. The gradient is zero with [`Status::NotFinite`], and where it
    /// would not be finite.
    ///
    /// ```
    /// # use fabproj_core::*;
    /// # let model = Model {
    /// #     dim: 2,
    /// #     parameter_dim: 0,
    /// #     frame: Frame::unit(2),
    /// #     parameter_frame: Frame::unit(0),
    /// #     gate: None,
    /// #     charts: vec![Chart {
    /// #         frame: Frame::unit(2),
    /// #         encoder: Network::identity(2),
    /// #         latent: LatentSet::Ball { radius: 0.5, smooth: None },
    /// #         decoders: vec![Network::identity(2)],
    /// #         decoder_gate: None,
    /// #         blend: Blend::Soft,
    /// #     }],
    /// #     discriminator: None,
    /// #     anchors: Vec::new(),
    /// #     lift: None,
    /// # };
    /// # let projector = Projector::new(&model)?;
    /// // Beyond the disc of radius 0.5 only what is across the direction to it comes back.
    /// let (mut out, mut y) = ([0.0; 2], [0.0; 2]);
    /// let gradient = Gradient { y: &mut y, x: &mut [] };
    /// let mut workspace = projector.workspace();
    /// projector.vjp(&[2.0, 0.0], &[], &[1.0, 1.0], &mut out, gradient, &mut workspace)?;
    /// assert_eq!(y, [0.0, 0.25]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length or the workspace belongs to another projector;
    /// nothing is written then.
    pub fn vjp(
        &self,
        y: &[f32],
        x: &[f32],
        cotangent: &[f32],
        out: &mut [f32],
        gradient: Gradient<'_>,
        workspace: &mut Workspace,
    ) -> Result<Status, CallError> {
        self.check_point(y, x, workspace)?;
        call::length("cotangent", cotangent.len(), self.dim)?;
        call::length("out", out.len(), self.dim)?;
        gradient.check(y.len(), x.len())?;
        let points = Points { y, x };
        let chart = &self.charts[self.choose_one(points, workspace)];
        workspace.rows[0] = 0;
        let mut results = Results { out, gradient };
        self.vjp_tile(chart, points, cotangent, 1, &mut results, workspace);
        Ok(workspace.statuses[0])
    }

    /// [`vjp`](Self::vjp) of rows of points, with counts of the statuses.
    ///
    /// # Errors
    /// As for [`vjp`](Self::vjp).
    pub fn vjp_batch(
        &self,
        y: &[f32],
        x: &[f32],
        cotangent: &[f32],
        out: &mut [f32],
        gradient: Gradient<'_>,
        workspace: &mut Workspace,
    ) -> Result<Tally, CallError> {
        let count = self.check_batch(y, x, workspace)?;
        call::length("cotangent", cotangent.len(), y.len())?;
        call::length("out", out.len(), y.len())?;
        gradient.check(y.len(), x.len())?;
        let points = Points { y, x };
        let mut results = Results { out, gradient };
        let mut tally = Tally::default();
        let tile = self.layout.gradient_tile;
        self.for_each_tile(
            Rows::All(count),
            points,
            tile,
            workspace,
            |chart, rows, work| {
                self.vjp_tile(chart, points, cotangent, rows, &mut results, work);
                work.statuses[..rows]
                    .iter()
                    .for_each(|status| tally.record(*status));
            },
        );
        Ok(tally)
    }

    fn vjp_tile(
        &self,
        chart: &PackedChart,
        points: Points<'_>,
        cotangent: &[f32],
        rows: usize,
        results: &mut Results<'_>,
        work: &mut Workspace,
    ) {
        self.load(&chart.frame, points, rows, work);
        let stride = self.layout.input_stride;
        let tape = &mut work.gradient.encoder_tape;
        let encoded = chart.encoder.forward_taped(&work.input, stride, rows, tape);
        let (statuses, latent) = (&mut work.statuses, &mut work.decode.latent);
        self.clamp_tile(chart, encoded, &work.input, rows, statuses, latent);
        let decoded = self.decode_taped(chart, rows, &mut work.decode, &mut work.gradient);
        let (statuses, sources) = (&mut work.statuses[..rows], &work.rows[..rows]);
        self.store(chart, decoded, statuses, sources, results.out);

        let output = &mut work.gradient.output;
        for (row, source) in sources.iter().enumerate() {
            let cotangent = &cotangent[source * self.dim..][..self.dim];
            let output = &mut output[row * self.layout.output_stride..];
            for ((output, cotangent), scale) in
                output.iter_mut().zip(cotangent).zip(&chart.frame.scale)
            {
                *output = cotangent * scale;
            }
        }
        self.decoders_backward(chart, rows, work);
        self.clamp_backward(chart, rows, &mut work.gradient);
        let buffers = &work.gradient;
        let tape = &buffers.encoder_tape;
        let joined = chart
            .encoder
            .backward(&buffers.encoded, rows, tape, &mut work.scratch);
        for row in 0..rows {
            let source = (work.rows[row], work.statuses[row]);
            self.store_gradient(chart, row, source, joined, &buffers.latent, results);
        }
    }

    /// The decoders' outputs blended as in `decode_tile`, activations kept.
    fn decode_taped<'w>(
        &self,
        chart: &PackedChart,
        rows: usize,
        buffers: &'w mut DecodeBuffers,
        kept: &'w mut GradientBuffers,
    ) -> &'w [f32] {
        let (stride, width) = (self.layout.latent_stride, self.layout.output_stride);
        let Some(gate) = &chart.gate else {
            let tape = &mut kept.decoder_tapes;
            return chart.decoders[0].forward_taped(&buffers.latent, stride, rows, tape);
        };
        let logits = gate.forward_taped(&buffers.latent, stride, rows, &mut kept.gate_tape);
        let decoders = chart.tapes_mut(rows, &mut kept.decoder_tapes);
        match chart.blend {
            Blend::Soft => {
                soft_weights(gate, logits, rows, &mut buffers.weights);
                buffers.blended[..rows * width].fill(0.0);
                let count = chart.decoders.len();
                for (index, decoder, tape) in decoders {
                    let decoded = decoder.forward_taped(&buffers.latent, stride, rows, tape);
                    let (weights, blended) = (&buffers.weights, &mut buffers.blended);
                    super::tile::add_weighted(decoded, weights, (index, count), width, blended);
                }
            }
            Blend::Hard => {
                choose(gate, logits, rows, &mut buffers.choices);
                for (index, decoder, tape) in decoders {
                    let count = buffers.gather(index, rows, stride);
                    let decoded = decoder.forward_taped(&buffers.gathered, stride, count, tape);
                    for (decoded, row) in decoded.chunks_exact(width).zip(&buffers.members) {
                        buffers.blended[row * width..][..width].copy_from_slice(decoded);
                    }
                }
            }
        }
        &buffers.blended
    }

    /// From `gradient.output` to `gradient.latent`.
    fn decoders_backward(&self, chart: &PackedChart, rows: usize, work: &mut Workspace) {
        let (kept, scratch) = (&mut work.gradient, &mut work.scratch);
        let stride = self.layout.latent_gradient_stride;
        kept.latent[..rows * stride].fill(0.0);
        match (&chart.gate, chart.blend) {
            (None, _) => {
                let decoder = &chart.decoders[0];
                let tape = &kept.decoder_tapes;
                let back = decoder.backward(&kept.output, rows, tape, scratch);
                add_rows(
                    back,
                    decoder.gradient_stride(),
                    stride,
                    0..rows,
                    &mut kept.latent,
                );
            }
            (Some(gate), Blend::Soft) => {
                self.soft_backward(chart, gate, &work.decode.weights, rows, kept, scratch);
            }
            (Some(_), Blend::Hard) => {
                self.hard_backward(chart, &mut work.decode, rows, kept, scratch);
            }
        }
    }

    /// With weights α = softmax of the gate and decodes u_i: the decoder gets α_i·c, and the gate's
    /// output i gets α_i (u_i·c − Σ_j α_j u_j·c).
    fn soft_backward(
        &self,
        chart: &PackedChart,
        gate: &PackedNetwork,
        weights: &[f32],
        rows: usize,
        kept: &mut GradientBuffers,
        scratch: &mut Scratch,
    ) {
        let (stride, width) = (
            self.layout.latent_gradient_stride,
            self.layout.output_stride,
        );
        let (count, gate_stride) = (chart.decoders.len(), gate.output_stride());
        for (index, decoder, tape) in chart.tapes(rows, &kept.decoder_tapes) {
            let decoded = decoder.output(tape, rows);
            for row in 0..rows {
                let weight = weights[row * count + index];
                let cotangent = &kept.output[row * width..][..self.dim];
                let share = &mut kept.share[row * width..][..self.dim];
                let decoded = &decoded[row * width..][..self.dim];
                kept.logits[row * gate_stride + index] =
                    decoded.iter().zip(cotangent).map(|(u, c)| u * c).sum();
                for (share, cotangent) in share.iter_mut().zip(cotangent) {
                    *share = weight * cotangent;
                }
            }
            let back = decoder.backward(&kept.share, rows, tape, scratch);
            add_rows(
                back,
                decoder.gradient_stride(),
                stride,
                0..rows,
                &mut kept.latent,
            );
        }
        for row in 0..rows {
            let weights = &weights[row * count..][..count];
            let logits = &mut kept.logits[row * gate_stride..][..count];
            let mean: f32 = weights.iter().zip(logits.iter()).map(|(w, d)| w * d).sum();
            for (logit, weight) in logits.iter_mut().zip(weights) {
                *logit = weight * (*logit - mean);
            }
        }
        let back = gate.backward(&kept.logits, rows, &kept.gate_tape, scratch);
        add_rows(
            back,
            gate.gradient_stride(),
            stride,
            0..rows,
            &mut kept.latent,
        );
    }

    fn hard_backward(
        &self,
        chart: &PackedChart,
        buffers: &mut DecodeBuffers,
        rows: usize,
        kept: &mut GradientBuffers,
        scratch: &mut Scratch,
    ) {
        let (stride, width) = (
            self.layout.latent_gradient_stride,
            self.layout.output_stride,
        );
        for (index, decoder, tape) in chart.tapes(rows, &kept.decoder_tapes) {
            let count = buffers.gather(index, rows, self.layout.latent_stride);
            let members = &buffers.members[..count];
            for (share, row) in kept.share.chunks_exact_mut(width).zip(members) {
                share.copy_from_slice(&kept.output[row * width..][..width]);
            }
            let back = decoder.backward(&kept.share, count, tape, scratch);
            let members = members.iter().copied();
            add_rows(
                back,
                decoder.gradient_stride(),
                stride,
                members,
                &mut kept.latent,
            );
        }
    }

    /// From `gradient.latent` to `gradient.encoded`, through the latent set's map.
    fn clamp_backward(&self, chart: &PackedChart, rows: usize, kept: &mut GradientBuffers) {
        let (dim, width) = (chart.latent_dim(), chart.encoder.output_stride());
        let raw = chart.encoder.output(&kept.encoder_tape, rows);
        for row in 0..rows {
            let latent = &kept.latent[row * self.layout.latent_gradient_stride..][..dim];
            let encoded = &mut kept.encoded[row * width..][..dim];
            encoded.copy_from_slice(latent);
            chart.latent.clamp_vjp(&raw[row * width..][..dim], encoded);
        }
    }

    /// Writes one row's gradients in raw units.
    fn store_gradient(
        &self,
        chart: &PackedChart,
        row: usize,
        (source, status): (usize, Status),
        joined: &[f32],
        latent: &[f32],
        results: &mut Results<'_>,
    ) {
        let joined = &joined[row * chart.encoder.gradient_stride()..];
        let y = &mut results.gradient.y[source * self.dim..][..self.dim];
        for ((y, joined), scale) in y.iter_mut().zip(joined).zip(&chart.frame.scale) {
            *y = joined / scale;
        }
        if status == Status::NotFinite || !all_finite(y) {
            y.fill(0.0);
        }
        if results.gradient.x.is_empty() {
            return;
        }
        // x enters twice: beside y into the encoder, beside z into the decoder.
        let latent = &latent[row * self.layout.latent_gradient_stride + chart.latent_dim()..];
        let x = &mut results.gradient.x[source * self.parameter_dim..][..self.parameter_dim];
        let parts = joined[self.dim..].iter().zip(latent);
        for ((x, (encoder, decoder)), scale) in
            x.iter_mut().zip(parts).zip(&self.parameter_frame.scale)
        {
            *x = (encoder + decoder) / scale;
        }
        if status == Status::NotFinite || !all_finite(x) {
            x.fill(0.0);
        }
    }
}

impl PackedChart {
    /// Each decoder with its index and its part of a chart's tapes for `rows` rows.
    fn tapes<'t>(
        &'t self,
        rows: usize,
        mut rest: &'t [f32],
    ) -> impl Iterator<Item = (usize, &'t PackedNetwork, &'t [f32])> {
        self.decoders
            .iter()
            .enumerate()
            .map(move |(index, decoder)| {
                let (tape, tail) = rest.split_at(rows * decoder.tape_width());
                rest = tail;
                (index, decoder, tape)
            })
    }

    fn tapes_mut<'t>(
        &'t self,
        rows: usize,
        mut rest: &'t mut [f32],
    ) -> impl Iterator<Item = (usize, &'t PackedNetwork, &'t mut [f32])> {
        self.decoders
            .iter()
            .enumerate()
            .map(move |(index, decoder)| {
                let whole = core::mem::take(&mut rest);
                let (tape, tail) = whole.split_at_mut(rows * decoder.tape_width());
                rest = tail;
                (index, decoder, tape)
            })
    }
}

/// What a call writes, rows in the caller's order.
struct Results<'a> {
    out: &'a mut [f32],
    gradient: Gradient<'a>,
}

/// Adds row i of `source` to the i-th of the given rows of `target`.
fn add_rows(
    source: &[f32],
    source_stride: usize,
    target_stride: usize,
    rows: impl Iterator<Item = usize>,
    target: &mut [f32],
) {
    for (source, row) in source.chunks_exact(source_stride).zip(rows) {
        let target = &mut target[row * target_stride..][..target_stride.min(source_stride)];
        for (target, source) in target.iter_mut().zip(source) {
            *target += source;
        }
    }
}
