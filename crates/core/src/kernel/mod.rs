//! Dense arithmetic, with the instruction set chosen at run time.
//!
//! Weights are *packed*: `[input][output]` with each input's row of outputs padded with zeros to a
//! multiple of [`LANES`]. Every output is accumulated in the same order whatever the number of rows,
//! so that one point and a batch give the same bits.

use crate::model::Activation;

/// Outputs of a packed layer are padded to a multiple of this.
pub const LANES: usize = 16;

/// The padded number of outputs.
pub const fn padded(outputs: usize) -> usize {
    outputs.div_ceil(LANES) * LANES
}

/// `out[r][o] = activation(bias[o] + Σ_i x[r][i] · weights[i][o])`.
///
/// `x` has `x_stride` floats per row, `out` has `padded(outputs)`; padding lanes of `out` are zero.
#[allow(clippy::too_many_arguments)]
pub fn affine(
    x: &[f32],
    x_stride: usize,
    rows: usize,
    weights: &[f32],
    bias: &[f32],
    inputs: usize,
    outputs: usize,
    activation: Activation,
    out: &mut [f32],
) {
    let width = padded(outputs);
    for row in 0..rows {
        let out = &mut out[row * width..(row + 1) * width];
        out.copy_from_slice(&bias[..width]);
        for input in 0..inputs {
            let value = x[row * x_stride + input];
            for (o, w) in out.iter_mut().zip(&weights[input * width..]) {
                *o += value * w;
            }
        }
        for o in &mut out[..outputs] {
            *o = match activation {
                Activation::Identity => *o,
                Activation::Relu => o.max(0.0),
                Activation::Tanh => libm::tanhf(*o),
                Activation::Silu => *o / (1.0 + libm::expf(-*o)),
            };
        }
    }
}
