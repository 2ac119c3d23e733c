//! One tile of rows through one chart. Every public call, of one point or of many, ends here, which is
//! why their bits agree.

use super::{PackedChart, Projector};
use crate::dense::{PackedNetwork, Scratch};
use crate::model::{Blend, Frame};
use crate::status::Status;
use crate::workspace::{DecodeBuffers, Workspace};

/// Rows of y and of x as the caller gave them.
#[derive(Clone, Copy)]
pub(crate) struct Points<'a> {
    pub y: &'a [f32],
    pub x: &'a [f32],
}

/// `inner = (outer - centre) / scale`; whether `outer` was finite. Not folded into the first layer: with an
/// offset of thousands the folded bias would swallow the digits that matter.
#[inline]
pub(super) fn enter(frame: &Frame, outer: &[f32], inner: &mut [f32]) -> bool {
    let mut finite = true;
    let units = frame.centre.iter().zip(&frame.scale);
    for ((inner, outer), (centre, scale)) in inner.iter_mut().zip(outer).zip(units) {
        *inner = (outer - centre) / scale;
        finite &= outer.is_finite();
    }
    finite
}

/// `outer = centre + scale · inner`; whether it is finite.
#[inline]
pub(super) fn leave(frame: &Frame, inner: &[f32], outer: &mut [f32]) -> bool {
    let mut finite = true;
    let units = frame.centre.iter().zip(&frame.scale);
    for ((inner, outer), (centre, scale)) in inner.iter().zip(outer).zip(units) {
        *outer = centre + scale * inner;
        finite &= outer.is_finite();
    }
    finite
}

/// `to = from`; whether it is finite. For a few floats, of which a call to copy them takes longer.
#[inline]
fn copy(from: &[f32], to: &mut [f32]) -> bool {
    let mut finite = true;
    for (from, to) in from.iter().zip(to) {
        *to = *from;
        finite &= from.is_finite();
    }
    finite
}

#[inline]
pub(crate) fn all_finite(values: &[f32]) -> bool {
    values.iter().all(|value| value.is_finite())
}

/// Index of the largest value; the first of equals, and 0 where nothing compares.
#[inline]
pub(super) fn largest(values: &[f32]) -> usize {
    let mut best = 0;
    for (index, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = index;
        }
    }
    best
}

impl Projector {
    /// Copies the tile's rows into the workspace as `[y in frame, x in the parameter frame]`. Rows that
    /// are not finite become zeros and are marked, so that they cannot hurt.
    #[inline]
    pub(super) fn load(
        &self,
        frame: &Frame,
        points: Points<'_>,
        rows: usize,
        work: &mut Workspace,
    ) {
        let (dim, stride) = (self.dim, self.layout.input_stride);
        for row in 0..rows {
            let source = work.rows[row];
            let y = &points.y[source * dim..][..dim];
            let x = &points.x[source * self.parameter_dim..][..self.parameter_dim];
            let input = &mut work.input[row * stride..][..stride];
            let (inner_y, inner_x) = input.split_at_mut(dim);
            let finite = enter(frame, y, inner_y) & enter(&self.parameter_frame, x, inner_x);
            work.statuses[row] = Status::Inside;
            if !finite {
                input.fill(0.0);
                work.statuses[row] = Status::NotFinite;
            }
        }
    }

    /// The chart of the point in row 0 of `points`.
    #[inline]
    pub(crate) fn choose_one(&self, points: Points<'_>, work: &mut Workspace) -> usize {
        let Some(gate) = &self.gate else { return 0 };
        work.rows[0] = 0;
        self.load(&self.frame, points, 1, work);
        let logits = gate.forward(&work.input, self.layout.input_stride, 1, &mut work.scratch);
        largest(&logits[..gate.outputs()])
    }

    /// Projects the tile's rows, all of one chart, into their places in `out`.
    #[inline]
    pub(super) fn project_tile(
        &self,
        chart: &PackedChart,
        points: Points<'_>,
        rows: usize,
        out: &mut [f32],
        work: &mut Workspace,
    ) {
        self.load(&chart.frame, points, rows, work);
        let stride = self.layout.input_stride;
        let encoded = chart
            .encoder
            .forward(&work.input, stride, rows, &mut work.scratch);
        let (statuses, latent) = (&mut work.statuses, &mut work.decode.latent);
        self.clamp_tile(chart, encoded, &work.input, rows, statuses, latent);
        let decoded = self.decode_tile(chart, rows, &mut work.decode, &mut work.scratch);
        let (statuses, sources) = (&mut work.statuses[..rows], &work.rows[..rows]);
        self.store(chart, decoded, statuses, sources, out);
    }

    /// Writes `[clamped latent, x]` rows and what the clamp did.
    #[inline]
    pub(super) fn clamp_tile(
        &self,
        chart: &PackedChart,
        encoded: &[f32],
        input: &[f32],
        rows: usize,
        statuses: &mut [Status],
        latent: &mut [f32],
    ) {
        let (dim, stride) = (chart.latent_dim(), self.layout.latent_stride);
        for row in 0..rows {
            let target = &mut latent[row * stride..][..dim + self.parameter_dim];
            let (z, x) = target.split_at_mut(dim);
            let finite = copy(&encoded[row * chart.encoder.output_stride()..][..dim], z);
            let joined = &input[row * self.layout.input_stride..][..self.layout.input_stride];
            copy(&joined[self.dim..], x);
            if statuses[row] == Status::NotFinite {
                continue;
            }
            statuses[row] = if !finite {
                z.fill(0.0);
                Status::NotFinite
            } else if chart.latent.clamp(z) {
                Status::Inside
            } else {
                Status::Projected
            };
        }
    }

    /// Decodes the rows of `buffers.latent`; the result is in the chart's units.
    #[inline]
    pub(super) fn decode_tile<'w>(
        &self,
        chart: &PackedChart,
        rows: usize,
        buffers: &'w mut DecodeBuffers,
        scratch: &'w mut Scratch,
    ) -> &'w [f32] {
        let stride = self.layout.latent_stride;
        let Some(gate) = &chart.gate else {
            return chart.decoders[0].forward(&buffers.latent, stride, rows, scratch);
        };
        let logits = gate.forward(&buffers.latent, stride, rows, scratch);
        match chart.blend {
            Blend::Soft => {
                soft_weights(gate, logits, rows, &mut buffers.weights);
                self.decode_soft(chart, rows, buffers, scratch);
            }
            Blend::Hard => {
                choose(gate, logits, rows, &mut buffers.choices);
                self.decode_hard(chart, rows, buffers, scratch);
            }
        }
        &buffers.blended
    }

    fn decode_soft(
        &self,
        chart: &PackedChart,
        rows: usize,
        buffers: &mut DecodeBuffers,
        scratch: &mut Scratch,
    ) {
        let (decoders, width) = (chart.decoders.len(), self.layout.output_stride);
        buffers.blended[..rows * width].fill(0.0);
        for (index, decoder) in chart.decoders.iter().enumerate() {
            let decoded =
                decoder.forward(&buffers.latent, self.layout.latent_stride, rows, scratch);
            add_weighted(
                decoded,
                &buffers.weights,
                (index, decoders),
                width,
                &mut buffers.blended,
            );
        }
    }

    fn decode_hard(
        &self,
        chart: &PackedChart,
        rows: usize,
        buffers: &mut DecodeBuffers,
        scratch: &mut Scratch,
    ) {
        let (stride, width) = (self.layout.latent_stride, self.layout.output_stride);
        for (index, decoder) in chart.decoders.iter().enumerate() {
            let count = buffers.gather(index, rows, stride);
            if count == 0 {
                continue;
            }
            let decoded = decoder.forward(&buffers.gathered, stride, count, scratch);
            for (decoded, row) in decoded.chunks_exact(width).zip(&buffers.members) {
                buffers.blended[row * width..][..width].copy_from_slice(decoded);
            }
        }
    }

    /// Writes decodes to their places in raw units, or the fallback where they are not finite.
    #[inline]
    pub(super) fn store(
        &self,
        chart: &PackedChart,
        decoded: &[f32],
        statuses: &mut [Status],
        sources: &[usize],
        out: &mut [f32],
    ) {
        let (dim, stride) = (self.dim, self.layout.output_stride);
        for ((row, status), source) in statuses.iter_mut().enumerate().zip(sources) {
            let out = &mut out[source * dim..][..dim];
            let finite = leave(&chart.frame, &decoded[row * stride..][..dim], out);
            if *status == Status::NotFinite || !finite {
                *status = Status::NotFinite;
                out.copy_from_slice(&self.fallback);
            }
        }
    }
}

impl DecodeBuffers {
    /// Gathers the latents of the rows that chose decoder `index`, and counts them.
    pub(super) fn gather(&mut self, index: usize, rows: usize, stride: usize) -> usize {
        let mut count = 0;
        for row in (0..rows).filter(|row| self.choices[*row] == index) {
            self.members[count] = row;
            let latent = &self.latent[row * stride..][..stride];
            self.gathered[count * stride..][..stride].copy_from_slice(latent);
            count += 1;
        }
        count
    }
}

/// `blended += weight · decoded`, row by row; `(index, decoders)` finds the weight.
pub(super) fn add_weighted(
    decoded: &[f32],
    weights: &[f32],
    (index, decoders): (usize, usize),
    width: usize,
    blended: &mut [f32],
) {
    let rows = decoded
        .chunks_exact(width)
        .zip(blended.chunks_exact_mut(width));
    for (row, (decoded, blended)) in rows.enumerate() {
        let weight = weights[row * decoders + index];
        for (blended, decoded) in blended.iter_mut().zip(decoded) {
            *blended += weight * decoded;
        }
    }
}

/// Softmax of each row of the gate's outputs.
pub(super) fn soft_weights(gate: &PackedNetwork, logits: &[f32], rows: usize, weights: &mut [f32]) {
    let choices = gate.outputs();
    for row in 0..rows {
        let logits = &logits[row * gate.output_stride()..][..choices];
        let weights = &mut weights[row * choices..][..choices];
        let top = logits[largest(logits)];
        for (weight, logit) in weights.iter_mut().zip(logits) {
            *weight = libm::expf(logit - top);
        }
        let sum: f32 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= sum);
    }
}

/// The largest of each row of the gate's outputs.
pub(super) fn choose(gate: &PackedNetwork, logits: &[f32], rows: usize, choices: &mut [usize]) {
    for (row, choice) in choices[..rows].iter_mut().enumerate() {
        *choice = largest(&logits[row * gate.output_stride()..][..gate.outputs()]);
    }
}
