//! A layer on a single row: no tiles, and as little as possible around the sums. The order of every
//! sum is that of [`product`](super::product) and [`narrow`](super::narrow), so that the bits are
//! those of a batch.
//!
//! Each shape is a task of its own, so that it becomes a short function of its own.

use super::dispatch::Task;
use super::lanes::{LANES, Lanes};
use super::narrow::{NARROW, partial_sums};
use super::product::PAIRED;
use super::tasks::{After, AfterTask};
use super::{Dense, Kernel, padded};
use crate::model::Activation;

/// `out[o] = activation(bias[o] + Σ_i x[i] · weights[o][i])` for some of the outputs.
struct Outputs<'a> {
    /// The first of the weights of these outputs.
    weights: *const f32,
    /// The bias of the first of these outputs; null if there is none.
    bias: *const f32,
    x: &'a [f32],
    /// Floats from one row of weights to the next.
    step: usize,
    /// The least value that is stored: ReLU is a cut at zero, no activation one at -∞.
    floor: f32,
    /// The first of these outputs.
    out: *mut f32,
    /// Floats that are written from there on: a whole block for narrow outputs means that the lanes
    /// after them become zero.
    width: usize,
}

impl Kernel {
    /// A layer on a single row, of which `width` outputs are written: as many as there are, or whole
    /// blocks.
    ///
    /// # Safety
    /// The slices of the layer must be as long as its shape says, `x` must hold its inputs and
    /// nothing more, and `out` be valid for `width` floats.
    pub(super) unsafe fn point(
        self,
        layer: &Dense<'_>,
        x: &[f32],
        activation: Activation,
        out: *mut f32,
        width: usize,
    ) {
        let outputs = layer.outputs;
        let relu = activation == Activation::Relu;
        let mut part = Outputs {
            weights: layer.weights.as_ptr(),
            bias: if layer.bias.is_empty() {
                core::ptr::null()
            } else {
                layer.bias.as_ptr()
            },
            x,
            step: if outputs <= NARROW {
                padded(x.len())
            } else {
                padded(outputs)
            },
            floor: if relu { 0.0 } else { f32::NEG_INFINITY },
            out,
            width,
        };
        // SAFETY: passed on to the caller.
        unsafe {
            match outputs {
                1 => self.run(&Narrow::<1>(&part)),
                2 => self.run(&Narrow::<2>(&part)),
                3 => self.run(&Narrow::<3>(&part)),
                4 => self.run(&Narrow::<4>(&part)),
                _ if outputs <= NARROW => self.narrow_in_parts(&mut part, outputs),
                _ if outputs <= LANES => self.run(&Blocks::<1, 2>(&part)),
                _ if outputs <= PAIRED => self.run(&Blocks::<2, 2>(&part)),
                _ => self.blocks_in_parts(&mut part, outputs),
            }
            if let Activation::Tanh | Activation::Silu = activation {
                let values = core::slice::from_raw_parts_mut(out, outputs);
                self.run(AfterTask {
                    after: After::Activate(activation),
                    values,
                });
            }
        }
    }

    unsafe fn narrow_in_parts(self, part: &mut Outputs<'_>, outputs: usize) {
        // SAFETY: passed on to the caller; five to eight outputs are four and one to four.
        unsafe {
            self.run(&Narrow::<4>(part));
            part.advance(4, 4 * part.step);
            match outputs - 4 {
                1 => self.run(&Narrow::<1>(part)),
                2 => self.run(&Narrow::<2>(part)),
                3 => self.run(&Narrow::<3>(part)),
                _ => self.run(&Narrow::<4>(part)),
            }
        }
    }

    unsafe fn blocks_in_parts(self, part: &mut Outputs<'_>, outputs: usize) {
        let mut left = outputs.div_ceil(LANES);
        while left > 0 {
            // SAFETY: passed on to the caller; there are as many blocks as are left.
            unsafe {
                let blocks = match left {
                    1 => {
                        self.run(&Blocks::<1, 1>(part));
                        1
                    }
                    2 | 3 => {
                        self.run(&Blocks::<2, 1>(part));
                        2
                    }
                    _ => {
                        self.run(&Blocks::<4, 1>(part));
                        4
                    }
                };
                left -= blocks;
                if left > 0 {
                    part.advance(blocks * LANES, blocks * LANES);
                }
            }
        }
    }
}

impl Outputs<'_> {
    /// Goes on to later outputs.
    ///
    /// # Safety
    /// There must be more than `outputs` left, `weights` floats on.
    unsafe fn advance(&mut self, outputs: usize, weights: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            self.weights = self.weights.add(weights);
            self.out = self.out.add(outputs);
            if !self.bias.is_null() {
                self.bias = self.bias.add(outputs);
            }
        }
        self.width -= outputs;
    }
}

/// Some outputs of a [narrow](super::narrow) layer.
struct Narrow<'a, const OUTPUTS: usize>(&'a Outputs<'a>);

impl<const OUTPUTS: usize> Task for &Narrow<'_, OUTPUTS> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        let Outputs {
            weights,
            bias,
            x,
            floor,
            out,
            width,
            ..
        } = *self.0;
        // SAFETY: passed on to the caller.
        unsafe {
            let [sums] = partial_sums::<V, 1, OUTPUTS>(x.as_ptr(), 0, weights, x.len());
            if width == LANES {
                V::splat(0.0).store(out);
            }
            for (index, sum) in sums.iter().enumerate() {
                let bias = if bias.is_null() {
                    0.0
                } else {
                    *bias.add(index)
                };
                let total = sum.sum() + bias;
                *out.add(index) = if total < floor { floor } else { total };
            }
        }
    }
}

/// Whole blocks of outputs; with two chains, even and odd terms are added up apart.
struct Blocks<'a, const BLOCKS: usize, const CHAINS: usize>(&'a Outputs<'a>);

impl<const BLOCKS: usize, const CHAINS: usize> Task for &Blocks<'_, BLOCKS, CHAINS> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        let Outputs {
            weights,
            bias,
            x,
            step,
            floor,
            out,
            width,
        } = *self.0;
        // SAFETY: passed on to the caller.
        unsafe {
            let mut sums = sums::<V, BLOCKS, CHAINS>(weights, x, step);
            if !bias.is_null() {
                for (index, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load(bias.add(index * LANES)).add(*sum);
                }
            }
            let whole = width >= BLOCKS * LANES;
            for (index, sum) in sums.iter().enumerate() {
                let (result, out) = (sum.at_least(V::splat(floor)), out.add(index * LANES));
                match whole {
                    true => result.store(out),
                    false => result.store_first(out, (width - index * LANES).min(LANES)),
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn sums<V: Lanes, const BLOCKS: usize, const CHAINS: usize>(
    mut row: *const f32,
    x: &[f32],
    step: usize,
) -> [V; BLOCKS] {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut sums = [V::splat(0.0); BLOCKS];
        if CHAINS == 1 {
            for &value in x {
                add_term(value, row, &mut sums);
                row = row.wrapping_add(step);
            }
            return sums;
        }
        let mut odd = sums;
        let (pairs, rest) = x.as_chunks::<2>();
        for pair in pairs {
            add_term(pair[0], row, &mut sums);
            add_term(pair[1], row.wrapping_add(step), &mut odd);
            row = row.wrapping_add(2 * step);
        }
        if let [value] = rest {
            add_term(*value, row, &mut sums);
        }
        for (sum, odd) in sums.iter_mut().zip(odd) {
            *sum = sum.add(odd);
        }
        sums
    }
}

#[inline(always)]
unsafe fn add_term<V: Lanes, const BLOCKS: usize>(x: f32, row: *const f32, sums: &mut [V; BLOCKS]) {
    // SAFETY: passed on to the caller.
    unsafe {
        let value = V::splat(x);
        for (index, sum) in sums.iter_mut().enumerate() {
            *sum = value.mul_add(V::load(row.add(index * LANES)), *sum);
        }
    }
}
