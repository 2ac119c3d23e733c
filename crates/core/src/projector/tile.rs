//! One tile of rows through one chart. Every public call, of one point or of many, ends here, which is
//! why their bits agree.

use super::{PackedChart, Projector};
use crate::dense::{PackedNetwork, Scratch};
use crate::outcome::RawOutcome;
use crate::real::{Real, all_finite, saturate};
use crate::weights::Frame;
use crate::workspace::{DecodeBuffers, RunBuffers};

/// Rows of y and of x as the caller gave them.
#[derive(Clone, Copy)]
pub(crate) struct Points<'a, T> {
    pub y: &'a [T],
    pub x: &'a [T],
}

/// `inner = (outer - centre) / scale`; whether it is finite in f32. Not folded into the first layer: with
/// an offset of thousands the folded bias would swallow the digits that matter.
#[inline]
pub(super) fn enter<T: Real>(frame: &Frame, outer: &[T], inner: &mut [f32]) -> bool {
    let mut finite = true;
    let units = frame.centre.iter().zip(&frame.scale);
    for ((inner, outer), (centre, scale)) in inner.iter_mut().zip(outer).zip(units) {
        *inner = ((*outer - T::from_f32(*centre)) / T::from_f32(*scale)).to_f32();
        finite &= inner.is_finite();
    }
    finite
}

/// `outer = centre + scale · inner`; whether it is finite.
#[inline]
pub(super) fn leave<T: Real>(frame: &Frame, inner: &[f32], outer: &mut [T]) -> bool {
    let mut finite = true;
    let units = frame.centre.iter().zip(&frame.scale);
    for ((inner, outer), (centre, scale)) in inner.iter().zip(outer).zip(units) {
        *outer = T::from_f32(*centre) + T::from_f32(*scale) * T::from_f32(*inner);
        finite &= outer.finite();
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
    /// Copies the tile's rows into the buffers as `[y in frame, x in the x frame]`. Rows that are not
    /// finite become zeros and are marked, so that they cannot hurt.
    #[inline]
    pub(super) fn load<T: Real>(
        &self,
        frame: &Frame,
        points: Points<'_, T>,
        rows: usize,
        run: &mut RunBuffers,
    ) {
        let (dim, stride) = (self.layout.dim, self.layout.input_stride);
        for row in 0..rows {
            let source = run.rows[row];
            let y = &points.y[source * dim..][..dim];
            let x = &points.x[source * self.x_dim..][..self.x_dim];
            let input = &mut run.input[row * stride..][..stride];
            let (inner_y, inner_x) = input.split_at_mut(self.layout.inner_dim);
            let finite = match &self.equations {
                None => enter(frame, y, inner_y),
                Some(equations) => {
                    equations.lower_point(y, x, &mut run.reduced);
                    enter(frame, &run.reduced, inner_y)
                }
            };
            let finite = finite & enter(&self.x_frame, x, inner_x);
            run.outcomes[row] = RawOutcome::Inside;
            if !finite {
                input.fill(0.0);
                run.outcomes[row] = RawOutcome::NotFinite;
            }
        }
    }

    /// The chart of the point in row 0 of `points`.
    #[inline]
    pub(crate) fn choose_one<T: Real>(&self, points: Points<'_, T>, run: &mut RunBuffers) -> usize {
        let Some(gate) = &self.gate else { return 0 };
        run.rows[0] = 0;
        self.load(&self.frame, points, 1, run);
        let logits = gate.forward(&run.input, self.layout.input_stride, 1, &mut run.scratch);
        largest(&logits[..gate.outputs()])
    }

    /// Projects the tile's rows, all of one chart, into their places in `out`.
    #[inline]
    pub(super) fn project_tile<T: Real>(
        &self,
        chart: &PackedChart,
        points: Points<'_, T>,
        rows: usize,
        out: &mut [T],
        run: &mut RunBuffers,
    ) {
        self.load(&chart.frame, points, rows, run);
        let stride = self.layout.input_stride;
        let encoded = chart
            .encoder
            .forward(&run.input, stride, rows, &mut run.scratch);
        let (outcomes, latent) = (&mut run.outcomes, &mut run.decode.latent);
        self.clamp_tile(chart, encoded, &run.input, rows, outcomes, latent);
        let decoded = self.decode_tile(chart, rows, &mut run.decode, &mut run.scratch);
        let mut stored = Stored {
            outcomes: &mut run.outcomes[..rows],
            sources: &run.rows[..rows],
            reduced: &mut run.reduced,
        };
        self.store(chart, decoded, points.x, out, &mut stored);
    }

    /// Writes `[clamped latent, x]` rows and what the clamp did.
    #[inline]
    pub(super) fn clamp_tile(
        &self,
        chart: &PackedChart,
        encoded: &[f32],
        input: &[f32],
        rows: usize,
        outcomes: &mut [RawOutcome],
        latent: &mut [f32],
    ) {
        let (dim, stride) = (chart.latent_dim(), self.layout.latent_stride);
        for row in 0..rows {
            let target = &mut latent[row * stride..][..dim + self.x_dim];
            let (z, x) = target.split_at_mut(dim);
            let finite = copy(&encoded[row * chart.encoder.output_stride()..][..dim], z);
            let joined = &input[row * self.layout.input_stride..][..self.layout.input_stride];
            copy(&joined[self.layout.inner_dim..], x);
            if outcomes[row] == RawOutcome::NotFinite {
                continue;
            }
            outcomes[row] = if !finite {
                z.fill(0.0);
                RawOutcome::NotFinite
            } else if chart.latent.clamp(z) {
                RawOutcome::Inside
            } else {
                RawOutcome::Clamped
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
        soft_weights(gate, logits, rows, &mut buffers.weights);
        self.decode_blended(chart, rows, buffers, scratch);
        &buffers.blended
    }

    fn decode_blended(
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

    /// Writes decodes to their places in raw units, or the fallback where they are not finite.
    #[inline]
    pub(super) fn store<T: Real>(
        &self,
        chart: &PackedChart,
        decoded: &[f32],
        x: &[T],
        out: &mut [T],
        stored: &mut Stored<'_>,
    ) {
        let (dim, stride) = (self.layout.dim, self.layout.output_stride);
        for ((row, outcome), source) in stored.outcomes.iter_mut().enumerate().zip(stored.sources) {
            let out = &mut out[source * dim..][..dim];
            let decoded = &decoded[row * stride..][..self.layout.inner_dim];
            let of_row = || &x[source * self.x_dim..][..self.x_dim];
            let finite = match &self.equations {
                None => leave(&chart.frame, decoded, out),
                Some(equations) => {
                    leave(&chart.frame, decoded, stored.reduced);
                    equations.raise_point(stored.reduced, of_row(), out)
                }
            };
            if *outcome == RawOutcome::NotFinite || !finite {
                *outcome = RawOutcome::NotFinite;
                self.fall_back(of_row(), out);
            }
        }
    }

    /// Writes what is returned with [`RawOutcome::NotFinite`]: the first anchor's point or, without
    /// anchors, the centre of the frame.
    #[cold]
    pub(crate) fn fall_back<T: Real>(&self, x: &[T], out: &mut [T]) {
        let Some(equations) = &self.equations else {
            let values = out.iter_mut().zip(&self.fallback);
            return values.for_each(|(out, value)| *out = T::from_f32(*value));
        };
        if self.raise(&self.fallback, x, out) {
            return;
        }
        // There is no solution at this x that is a number: take the one at the centre of x.
        for (row, out) in out.iter_mut().enumerate() {
            *out = saturate(equations.point(row, &self.fallback, &self.x_frame.centre));
        }
    }

    /// The point of the caller that has these coordinates for the networks, raw units; whether it is
    /// finite.
    pub(crate) fn raise<T: Real, I: Real>(&self, inner: &[I], x: &[T], out: &mut [T]) -> bool {
        if let Some(equations) = &self.equations {
            return equations.raise_point(inner, x, out);
        }
        let values = out.iter_mut().zip(inner);
        values.for_each(|(out, inner)| *out = T::from_f64(inner.to_f64()));
        all_finite(out)
    }
}

/// Where [`Projector::store`] puts rows, and what became of them.
pub(super) struct Stored<'a> {
    pub outcomes: &'a mut [RawOutcome],
    pub sources: &'a [usize],
    pub reduced: &'a mut [f64],
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
