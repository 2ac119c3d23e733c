//! Layers forward and backward: lengths are checked here, and nowhere below.

use super::elementwise::Slope;
use super::narrow::NARROW;
use super::pack::packed_length;
use super::product::{Ending, Product};
use super::tasks::{After, LayerTask, ProductTask};
use super::{Dense, Kernel, padded};
use crate::weights::Activation;

/// Floats of both factors of a gradient that are read again and again while all tiles of the result
/// pass over them: two thirds of a first-level cache of 48 kB, or all of one of 32 kB.
const FACTORS: usize = 8192;

/// Floats from the start of the first of `rows` rows to the end of the last.
fn span(rows: usize, stride: usize, width: usize) -> usize {
    (rows.saturating_sub(1))
        .saturating_mul(stride)
        .saturating_add(width)
}

/// Floats that are written per row: whole blocks if they fit.
fn written(outputs: usize, stride: usize) -> usize {
    if stride >= padded(outputs) {
        padded(outputs)
    } else {
        outputs
    }
}

/// Whether a layer's slices are as long as its shape says.
#[inline(always)]
pub(super) fn check(layer: Dense<'_>) {
    let Dense {
        weights,
        bias,
        inputs,
        outputs,
    } = layer;
    assert!(
        weights.len() >= packed_length(inputs, outputs),
        "affine: weights"
    );
    let bias_length = if outputs <= NARROW {
        outputs
    } else {
        padded(outputs)
    };
    assert!(bias.is_empty() || bias.len() >= bias_length, "affine: bias");
}

/// Rows that a layer reads.
struct Input<'a> {
    values: &'a [f32],
    stride: usize,
    rows: usize,
}

/// What becomes of a layer's sums.
struct Fate<'a> {
    ending: Ending,
    after: After<'a>,
    /// Floats written per row.
    width: usize,
}

impl Kernel {
    /// `out[r][o] = activation(bias[o] + Σ_i x[r][i] · weights[o][i])` for `rows` rows of `x` and
    /// `out` that are `x_stride` and `out_stride` apart. Where rows of `out` have room for whole blocks
    /// (`out_stride` at least the [`padded`] outputs), their lanes after the outputs become zero.
    ///
    /// # Panics
    /// If a slice is too short for that.
    #[allow(clippy::too_many_arguments)]
    pub fn affine(
        self,
        layer: Dense<'_>,
        x: &[f32],
        x_stride: usize,
        rows: usize,
        activation: Activation,
        out: &mut [f32],
        out_stride: usize,
    ) {
        if rows == 1 && layer.outputs > 0 {
            let width = written(layer.outputs, out_stride);
            check(layer);
            assert!(x.len() >= layer.inputs, "affine: x");
            assert!(
                out_stride >= layer.outputs && out.len() >= width,
                "affine: out"
            );
            let (x, out) = (&x[..layer.inputs], out.as_mut_ptr());
            // SAFETY: the assertions above bound every read and write.
            return unsafe { self.point(&layer, x, activation, out, width) };
        }
        let (ending, after) = match activation {
            Activation::Identity => (Ending::Store, After::Nothing),
            Activation::Relu if layer.outputs > NARROW => (Ending::Positive, After::Nothing),
            other => (Ending::Store, After::Activate(other)),
        };
        let fate = Fate {
            ending,
            after,
            width: written(layer.outputs, out_stride),
        };
        self.layer(
            layer,
            Input {
                values: x,
                stride: x_stride,
                rows,
            },
            fate,
            out,
            out_stride,
        );
    }

    /// `out[r][o] += Σ_i x[r][i] · weights[o][i]`: as [`affine`](Self::affine) without bias and
    /// activation, added to what is there.
    ///
    /// # Panics
    /// If a slice is too short for that, or there is a bias.
    pub fn add_linear(
        self,
        layer: Dense<'_>,
        x: &[f32],
        x_stride: usize,
        rows: usize,
        out: &mut [f32],
        out_stride: usize,
    ) {
        assert!(layer.bias.is_empty(), "add_linear: bias");
        let fate = Fate {
            ending: Ending::Add,
            after: After::Nothing,
            width: layer.outputs,
        };
        self.layer(
            layer,
            Input {
                values: x,
                stride: x_stride,
                rows,
            },
            fate,
            out,
            out_stride,
        );
    }

    /// `out[r][i] = slope[r][i] · Σ_o delta[r][o] · weights[o][i]`: the gradient with respect to the
    /// sums of the layer before, from [transposed](Self::pack_transposed) weights. The values that
    /// tell the slope have the stride of `out`.
    ///
    /// # Panics
    /// If a slice is too short for that.
    #[allow(clippy::too_many_arguments)]
    pub fn pull_back(
        self,
        transposed: Dense<'_>,
        delta: &[f32],
        delta_stride: usize,
        rows: usize,
        slope: Slope<'_>,
        out: &mut [f32],
        out_stride: usize,
    ) {
        let input = Input {
            values: delta,
            stride: delta_stride,
            rows,
        };
        self.pull(
            transposed,
            input,
            slope,
            out,
            out_stride,
            core::ptr::null_mut(),
        );
    }

    /// As [`pull_back`](Self::pull_back), and adds the sum of all rows of `out` to `sums`: the
    /// gradient of the bias of the layer before.
    ///
    /// # Panics
    /// If a slice is too short for that; `sums` and rows of `out` must have room for whole blocks.
    #[allow(clippy::too_many_arguments)]
    pub fn pull_back_summed(
        self,
        transposed: Dense<'_>,
        delta: &[f32],
        delta_stride: usize,
        rows: usize,
        slope: Slope<'_>,
        out: &mut [f32],
        out_stride: usize,
        sums: &mut [f32],
    ) {
        let outputs = transposed.outputs;
        assert!(out_stride >= padded(outputs), "pull_back_summed: stride");
        assert!(sums.len() >= padded(outputs), "pull_back_summed: sums");
        let input = Input {
            values: delta,
            stride: delta_stride,
            rows,
        };
        let fused = matches!(slope, Slope::Relu(_)) && outputs > NARROW;
        let totals = if fused {
            sums.as_mut_ptr()
        } else {
            core::ptr::null_mut()
        };
        self.pull(transposed, input, slope, out, out_stride, totals);
        if !fused {
            self.add_rows(&mut sums[..outputs], out, out_stride, rows);
        }
    }

    /// `totals` must be null, or valid for whole blocks of outputs.
    fn pull(
        self,
        transposed: Dense<'_>,
        delta: Input<'_>,
        slope: Slope<'_>,
        out: &mut [f32],
        out_stride: usize,
        totals: *mut f32,
    ) {
        let outputs = transposed.outputs;
        let width = written(outputs, out_stride);
        let (ending, after) = match slope {
            Slope::Identity => (Ending::Store, After::Nothing),
            Slope::Relu(values) if outputs > NARROW && width == padded(outputs) => {
                let needed = if delta.rows == 0 {
                    0
                } else {
                    span(delta.rows, out_stride, width)
                };
                assert!(values.len() >= needed, "pull_back: values of the slope");
                (
                    Ending::WherePositive(values.as_ptr(), totals),
                    After::Nothing,
                )
            }
            other => (Ending::Store, After::TimesSlope(other)),
        };
        self.layer(
            transposed,
            delta,
            Fate {
                ending,
                after,
                width,
            },
            out,
            out_stride,
        );
    }

    fn layer(
        self,
        layer: Dense<'_>,
        x: Input<'_>,
        fate: Fate<'_>,
        out: &mut [f32],
        out_stride: usize,
    ) {
        let Fate {
            ending,
            after,
            width,
        } = fate;
        if x.rows == 0 || layer.outputs == 0 {
            return;
        }
        check(layer);
        let (x_needed, out_needed) = (
            span(x.rows, x.stride, layer.inputs),
            span(x.rows, out_stride, width),
        );
        assert!(
            x.stride >= layer.inputs && x.values.len() >= x_needed,
            "affine: x"
        );
        assert!(
            out_stride >= layer.outputs && out.len() >= out_needed,
            "affine: out"
        );
        let task = LayerTask {
            layer,
            x: x.values.as_ptr(),
            x_stride: x.stride,
            rows: x.rows,
            ending,
            after,
            out: out.as_mut_ptr(),
            out_stride,
            width,
        };
        // SAFETY: the assertions above, and those of the callers for what the ending points to, bound
        // every read and write of the task.
        unsafe { self.run(task) }
    }

    /// `out[m][n] += Σ_r a[r][m] · b[r][n]`: the gradient of weights, for `shape` = (rows, m, n).
    ///
    /// # Panics
    /// If a slice is too short for that; rows of `b` must have room for whole blocks of n.
    #[allow(clippy::too_many_arguments)]
    pub fn add_outer_products(
        self,
        shape: (usize, usize, usize),
        a: &[f32],
        a_stride: usize,
        b: &[f32],
        b_stride: usize,
        out: &mut [f32],
        out_stride: usize,
    ) {
        let (rows, m, n) = shape;
        if rows == 0 || m == 0 || n == 0 {
            return;
        }
        assert!(a.len() >= span(rows, a_stride, m), "add_outer_products: a");
        assert!(
            b.len() >= span(rows, b_stride, padded(n)),
            "add_outer_products: b"
        );
        assert!(
            out_stride >= n && out.len() >= span(m, out_stride, n),
            "add_outer_products: out"
        );
        let piece = (FACTORS / (padded(m) + padded(n))).clamp(16, 256);
        for first in (0..rows).step_by(piece) {
            let task = Product {
                rows: m,
                depth: (rows - first).min(piece),
                columns: n,
                a: a[first * a_stride..].as_ptr(),
                a_row: 1,
                a_step: a_stride,
                b: b[first * b_stride..].as_ptr(),
                b_step: b_stride,
                bias: core::ptr::null(),
                c: out.as_mut_ptr(),
                c_row: out_stride,
                paired: false,
                ending: Ending::Add,
            };
            // SAFETY: the assertions above bound every read and write of the task.
            unsafe { self.run(ProductTask(task)) };
        }
    }
}
