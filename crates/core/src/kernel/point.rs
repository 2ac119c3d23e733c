//! A layer on a single row: no tiles, and as little as possible around the sums. The order of every
//! sum is that of [`product`](super::product) and [`narrow`](super::narrow), so that the bits are
//! those of a batch.
//!
//! A whole network is one task, so that it becomes one function: the call of a layer would take as long
//! as a small layer.

use super::dispatch::Task;
use super::elementwise::activate_all;
use super::lanes::{LANES, Lanes};
use super::layers::check;
use super::narrow::{NARROW, partial_sums};
use super::product::PAIRED;
use super::{Dense, Kernel, padded};
use crate::weights::Activation;

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
        let part = Outputs::new(layer, x, activation, out, width);
        // SAFETY: passed on to the caller.
        unsafe {
            self.run(LayerOnPoint {
                part,
                outputs: layer.outputs,
                activation,
            })
        }
    }

    /// Layers on a single row, each on what the one before it wrote, in one call. They write the two
    /// buffers in turn, the first one the first, in whole blocks.
    ///
    /// # Panics
    /// If a slice is too short for that.
    #[inline]
    pub(crate) fn network_on_point<'a>(
        self,
        layers: impl ExactSizeIterator<Item = Dense<'a>>,
        activations: (Activation, Activation),
        x: &[f32],
        buffers: [&mut [f32]; 2],
    ) {
        // SAFETY: the task checks all lengths.
        unsafe {
            self.run(NetworkOnPoint {
                layers,
                hidden: activations.0,
                output: activations.1,
                x,
                buffers,
            })
        }
    }
}

struct LayerOnPoint<'a> {
    part: Outputs<'a>,
    outputs: usize,
    activation: Activation,
}

impl Task for LayerOnPoint<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { self.part.layer::<V>(self.outputs, self.activation) }
    }
}

struct NetworkOnPoint<'b, L> {
    layers: L,
    hidden: Activation,
    output: Activation,
    x: &'b [f32],
    buffers: [&'b mut [f32]; 2],
}

impl<'a, L: ExactSizeIterator<Item = Dense<'a>>> Task for NetworkOnPoint<'_, L> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        let mut activation = self.hidden;
        let mut left = self.layers.len();
        let (mut x, mut x_length) = (self.x.as_ptr(), self.x.len());
        let [next, spare] = self.buffers;
        let (mut out, mut out_length) = (next.as_mut_ptr(), next.len());
        let (mut spare, mut spare_length) = (spare.as_mut_ptr(), spare.len());
        for layer in self.layers {
            left -= 1;
            if left == 0 {
                activation = self.output;
            }
            let width = padded(layer.outputs);
            check(layer);
            assert!(
                layer.inputs <= x_length && width <= out_length,
                "network_on_point"
            );
            // SAFETY: the lengths were just checked; what is read and what is written are different
            // buffers.
            unsafe {
                let inputs = core::slice::from_raw_parts(x, layer.inputs);
                Outputs::new(&layer, inputs, activation, out, width)
                    .layer::<V>(layer.outputs, activation);
            }
            (x, x_length) = (out, width);
            core::mem::swap(&mut out, &mut spare);
            core::mem::swap(&mut out_length, &mut spare_length);
        }
    }
}

impl<'a> Outputs<'a> {
    /// All outputs of a layer.
    #[inline(always)]
    fn new(
        layer: &Dense<'_>,
        x: &'a [f32],
        activation: Activation,
        out: *mut f32,
        width: usize,
    ) -> Self {
        let relu = activation == Activation::Relu;
        let narrow = layer.outputs <= NARROW;
        Self {
            weights: layer.weights.as_ptr(),
            bias: match layer.bias {
                [] => core::ptr::null(),
                bias => bias.as_ptr(),
            },
            x,
            step: padded(if narrow { x.len() } else { layer.outputs }),
            floor: if relu { 0.0 } else { f32::NEG_INFINITY },
            out,
            width,
        }
    }

    /// Computes the `outputs` of a layer.
    ///
    /// # Safety
    /// The instruction set must be there, and every pointer valid for the layer.
    #[inline(always)]
    unsafe fn layer<V: Lanes>(mut self, outputs: usize, activation: Activation) {
        let out = self.out;
        // SAFETY: passed on to the caller.
        unsafe {
            match outputs {
                0 => {}
                1 => self.narrow::<V, 1>(),
                2 => self.narrow::<V, 2>(),
                3 => self.narrow::<V, 3>(),
                4 => self.narrow::<V, 4>(),
                _ if outputs <= NARROW => self.narrow_in_parts::<V>(outputs),
                _ if outputs <= LANES => self.blocks::<V, 1, 2>(),
                _ if outputs <= PAIRED => self.blocks::<V, 2, 2>(),
                _ => self.blocks_in_parts::<V>(outputs.div_ceil(LANES)),
            }
            if let Activation::Tanh | Activation::Silu = activation {
                let values = core::slice::from_raw_parts_mut(out, outputs);
                activate_all::<V>(activation, values);
            }
        }
    }

    #[inline(always)]
    unsafe fn narrow_in_parts<V: Lanes>(&mut self, outputs: usize) {
        // SAFETY: passed on to the caller; five to eight outputs are four and one to four.
        unsafe {
            self.narrow::<V, 4>();
            self.advance(4, 4 * self.step);
            match outputs - 4 {
                1 => self.narrow::<V, 1>(),
                2 => self.narrow::<V, 2>(),
                3 => self.narrow::<V, 3>(),
                _ => self.narrow::<V, 4>(),
            }
        }
    }

    #[inline(always)]
    unsafe fn blocks_in_parts<V: Lanes>(&mut self, blocks: usize) {
        let mut left = blocks;
        while left > 0 {
            // SAFETY: passed on to the caller; there are as many blocks as are left.
            unsafe {
                let done = match left {
                    1 => {
                        self.blocks::<V, 1, 1>();
                        1
                    }
                    2 | 3 => {
                        self.blocks::<V, 2, 1>();
                        2
                    }
                    _ => {
                        self.blocks::<V, 4, 1>();
                        4
                    }
                };
                left -= done;
                if left > 0 {
                    self.advance(done * LANES, done * LANES);
                }
            }
        }
    }

    /// Goes on to later outputs.
    ///
    /// # Safety
    /// There must be more than `outputs` left, `weights` floats on.
    #[inline(always)]
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

    /// Some outputs of a [narrow](super::narrow) layer.
    #[inline(always)]
    unsafe fn narrow<V: Lanes, const OUTPUTS: usize>(&self) {
        let Outputs {
            weights,
            bias,
            x,
            floor,
            out,
            width,
            ..
        } = *self;
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

    /// Whole blocks of outputs; with two chains, even and odd terms are added up apart.
    #[inline(always)]
    unsafe fn blocks<V: Lanes, const BLOCKS: usize, const CHAINS: usize>(&self) {
        let Outputs {
            weights,
            bias,
            x,
            step,
            floor,
            out,
            width,
        } = *self;
        // SAFETY: passed on to the caller.
        unsafe {
            let mut start = [V::splat(0.0); BLOCKS];
            if !bias.is_null() {
                for (index, start) in start.iter_mut().enumerate() {
                    *start = V::load(bias.add(index * LANES));
                }
            }
            let sums = sums::<V, BLOCKS, CHAINS>(start, weights, x, step);
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
    start: [V; BLOCKS],
    mut row: *const f32,
    x: &[f32],
    step: usize,
) -> [V; BLOCKS] {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut sums = start;
        if CHAINS == 1 {
            for &value in x {
                add_term(value, row, &mut sums);
                row = row.wrapping_add(step);
            }
            return sums;
        }
        let mut odd = [V::splat(0.0); BLOCKS];
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
