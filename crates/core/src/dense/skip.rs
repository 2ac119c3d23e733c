//! The linear path around all layers of a network.

use alloc::vec::Vec;

use super::{PackedLayer, Rows};
use crate::kernel::Kernel;

/// Up to this many weights a skip is added by a plain loop: calling a kernel would take longer than the
/// sums. The choice depends on the shape alone, so that bits do not depend on the number of rows.
const FEW_WEIGHTS: usize = 36;

#[derive(Clone, Debug)]
pub(super) struct Skip {
    /// A layer without bias.
    layer: PackedLayer,
    /// `[outputs][inputs]`, if they are few.
    few: Option<Vec<f32>>,
}

impl Skip {
    pub(super) fn new(kernel: Kernel, weights: &[f32], inputs: usize, outputs: usize) -> Self {
        Self {
            layer: PackedLayer::new(kernel, weights, &[], inputs, outputs),
            few: (weights.len() <= FEW_WEIGHTS).then(|| weights.to_vec()),
        }
    }

    /// Adds the skip's share to the sums of the last layer, rows of `width`.
    #[inline]
    pub(super) fn add(
        &self,
        kernel: Kernel,
        x: Rows<'_>,
        rows: usize,
        out: &mut [f32],
        width: usize,
    ) {
        let Some(few) = &self.few else {
            let layer = self.layer.dense();
            return kernel.add_linear(layer, x.values, x.stride, rows, out, width);
        };
        let inputs = self.layer.inputs;
        for row in 0..rows {
            let x = &x.values[row * x.stride..][..inputs];
            let out = &mut out[row * width..][..self.layer.outputs];
            for (out, weights) in out.iter_mut().zip(few.chunks_exact(inputs)) {
                for (x, weight) in x.iter().zip(weights) {
                    *out += x * weight;
                }
            }
        }
    }

    /// Adds the skip's share to the gradient of the inputs, rows of `width`.
    pub(super) fn add_transposed(
        &self,
        kernel: Kernel,
        delta: Rows<'_>,
        rows: usize,
        gradient: &mut [f32],
        width: usize,
    ) {
        let layer = self.layer.dense_transposed();
        kernel.add_linear(layer, delta.values, delta.stride, rows, gradient, width);
    }
}
