//! A layer on a single row: no tiles, and as little as possible around the sums. The order of every
//! sum is that of [`product`](super::product) and [`narrow`](super::narrow), so that the bits are
//! those of a batch.

use super::Dense;
use super::dispatch::Task;
use super::elementwise::activate_all;
use super::lanes::{LANES, Lanes, Registers};
use super::narrow::{NARROW, partial_sums};
use super::padded;
use crate::model::Activation;

/// `out[o] = activation(bias[o] + Σ_i x[i] · weights[o][i])`; the lengths have been checked.
pub(super) struct PointTask<'a> {
    pub(super) layer: Dense<'a>,
    pub(super) x: *const f32,
    pub(super) activation: Activation,
    pub(super) out: *mut f32,
    /// Floats written: the outputs, or whole blocks of them.
    pub(super) width: usize,
}

impl Task for PointTask<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe {
            match self.layer.outputs {
                ..=NARROW => self.narrow::<V>(),
                _ => self.wide::<V>(),
            }
            if let Activation::Tanh | Activation::Silu = self.activation {
                let out = core::slice::from_raw_parts_mut(self.out, self.layer.outputs);
                activate_all::<V>(self.activation, out);
            }
        }
    }
}

impl PointTask<'_> {
    /// The least value that is stored: ReLU is a cut at zero, no activation one at -∞.
    #[inline(always)]
    fn floor(&self) -> f32 {
        if self.activation == Activation::Relu {
            0.0
        } else {
            f32::NEG_INFINITY
        }
    }

    #[inline(always)]
    unsafe fn wide<V: Lanes>(&self) {
        let blocks = self.layer.outputs.div_ceil(LANES);
        let mut block = 0;
        while block < blocks {
            // Each sum waits for its last term, so that many columns at a time cost no more.
            // SAFETY: passed on to the caller; all blocks lie inside the layer.
            block += unsafe {
                match (V::REGISTERS, blocks - block) {
                    (Registers::Wide | Registers::Medium, 4..) => self.blocks::<V, 4>(block),
                    (_, 2..) => self.blocks::<V, 2>(block),
                    _ => self.blocks::<V, 1>(block),
                }
            };
        }
    }

    #[inline(always)]
    unsafe fn blocks<V: Lanes, const BLOCKS: usize>(&self, block: usize) -> usize {
        let Dense {
            weights,
            bias,
            inputs,
            outputs,
        } = self.layer;
        // SAFETY: passed on to the caller.
        unsafe {
            let step = padded(outputs);
            let mut row = weights.as_ptr().add(block * LANES);
            let mut sums = [V::splat(0.0); BLOCKS];
            for input in 0..inputs {
                let value = V::splat(*self.x.add(input));
                for (index, sum) in sums.iter_mut().enumerate() {
                    *sum = value.mul_add(V::load(row.add(index * LANES)), *sum);
                }
                row = row.wrapping_add(step);
            }
            if !bias.is_empty() {
                for (index, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load(bias.as_ptr().add((block + index) * LANES)).add(*sum);
                }
            }
            let floor = V::splat(self.floor());
            let out = self.out.add(block * LANES);
            for (index, sum) in sums.iter().enumerate() {
                let result = sum.at_least(floor);
                match self.width - (block + index) * LANES {
                    LANES.. => result.store(out.add(index * LANES)),
                    count => result.store_first(out.add(index * LANES), count),
                }
            }
        }
        BLOCKS
    }

    #[inline(always)]
    unsafe fn narrow<V: Lanes>(&self) {
        let outputs = self.layer.outputs;
        // SAFETY: passed on to the caller; all outputs lie inside the layer.
        unsafe {
            if self.width > outputs {
                V::splat(0.0).store(self.out);
            }
            let mut output = 0;
            while output < outputs {
                output += match outputs - output {
                    1 => self.outputs::<V, 1>(output),
                    2 => self.outputs::<V, 2>(output),
                    3 => self.outputs::<V, 3>(output),
                    _ => self.outputs::<V, 4>(output),
                };
            }
        }
    }

    #[inline(always)]
    unsafe fn outputs<V: Lanes, const OUTPUTS: usize>(&self, first: usize) -> usize {
        let Dense {
            weights,
            bias,
            inputs,
            ..
        } = self.layer;
        // SAFETY: passed on to the caller.
        unsafe {
            let rows = weights.as_ptr().add(first * padded(inputs));
            let [sums] = partial_sums::<V, 1, OUTPUTS>(self.x, 0, rows, inputs);
            for (index, sum) in sums.iter().enumerate() {
                let bias = if bias.is_empty() {
                    0.0
                } else {
                    *bias.as_ptr().add(first + index)
                };
                let total = sum.sum() + bias;
                let floor = self.floor();
                *self.out.add(first + index) = if total < floor { floor } else { total };
            }
        }
        OUTPUTS
    }
}
