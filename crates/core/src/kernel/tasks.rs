//! The tasks that a [`Kernel`](super::Kernel) runs.

use super::dispatch::Task;
use super::elementwise::{Slope, activate_all, add_curvature_all, add_rows, times_slope_all};
use super::lanes::Lanes;
use super::narrow::{Dots, NARROW, dots};
use super::pack::{Pack, pack};
use super::product::{Ending, PAIRED, Product, product};
use super::shallow::{is_shallow, shallow};
use super::{Dense, Loop, padded};
use crate::weights::Activation;

/// What is done to the entries of a result after it was stored.
#[derive(Clone, Copy)]
pub(super) enum After<'a> {
    Nothing,
    Activate(Activation),
    TimesSlope(Slope<'a>),
}

/// A layer on some rows; its lengths have been checked.
pub(super) struct LayerTask<'a> {
    pub(super) layer: Dense<'a>,
    pub(super) x: *const f32,
    pub(super) x_stride: usize,
    pub(super) rows: usize,
    /// Narrow layers know no ending but [`Ending::Add`] and storing; they add the layer's bias.
    pub(super) ending: Ending,
    pub(super) after: After<'a>,
    pub(super) out: *mut f32,
    pub(super) out_stride: usize,
    /// Floats written per row of `out`.
    pub(super) width: usize,
}

impl Task for LayerTask<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe {
            if self.layer.outputs <= NARROW {
                dots::<V>(&self.dots());
            } else {
                let task = self.product();
                match is_shallow(&task) {
                    true => shallow::<V>(&task),
                    false => product::<V>(&task),
                }
            }
            if let After::Nothing = self.after {
                return;
            }
            // Contiguous rows are one long one, with fewer partial blocks.
            let (rows, width) = match self.out_stride == self.width {
                true => (1, self.rows * self.width),
                false => (self.rows, self.width),
            };
            for row in 0..rows {
                let start = row * self.out_stride;
                let values = core::slice::from_raw_parts_mut(self.out.add(start), width);
                let after = match self.after {
                    After::TimesSlope(slope) => After::TimesSlope(slope.starting_at(start)),
                    other => other,
                };
                AfterTask { after, values }.run::<V>();
            }
        }
    }
}

impl LayerTask<'_> {
    #[inline(always)]
    fn product(&self) -> Product {
        Product {
            rows: self.rows,
            depth: self.layer.inputs,
            columns: self.width,
            a: self.x,
            a_row: self.x_stride,
            a_step: 1,
            b: self.layer.weights.as_ptr(),
            b_step: padded(self.layer.outputs),
            bias: match self.layer.bias {
                [] => core::ptr::null(),
                bias => bias.as_ptr(),
            },
            c: self.out,
            c_row: self.out_stride,
            paired: self.layer.outputs <= PAIRED,
            ending: self.ending,
        }
    }

    #[inline(always)]
    fn dots(&self) -> Dots {
        let Dense {
            weights,
            bias,
            inputs,
            outputs,
        } = self.layer;
        let mut all = [0.0; NARROW];
        for (entry, bias) in all.iter_mut().zip(bias).take(outputs) {
            *entry = *bias;
        }
        Dots {
            rows: self.rows,
            inputs,
            outputs,
            x: self.x,
            x_row: self.x_stride,
            weights: weights.as_ptr(),
            bias: all,
            out: self.out,
            out_row: self.out_stride,
            padded: self.width > outputs,
            accumulate: matches!(self.ending, Ending::Add),
        }
    }
}

pub(super) struct ProductTask(pub(super) Product);

impl Task for ProductTask {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { product::<V>(&self.0) }
    }
}

pub(super) struct PackTask<'a>(pub(super) Pack<'a>);

impl Task for PackTask<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { pack::<V>(self.0) }
    }
}

pub(super) struct AfterTask<'a> {
    pub(super) after: After<'a>,
    pub(super) values: &'a mut [f32],
}

impl Task for AfterTask<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe {
            match self.after {
                After::Nothing => {}
                After::Activate(activation) => activate_all::<V>(activation, self.values),
                After::TimesSlope(slope) => times_slope_all::<V>(slope, self.values),
            }
        }
    }
}

pub(super) struct CurvatureTask<'a> {
    pub(super) slope: Slope<'a>,
    pub(super) delta: &'a [f32],
    pub(super) tangent: &'a [f32],
    pub(super) sum: &'a mut [f32],
}

impl Task for CurvatureTask<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { add_curvature_all::<V>(self.slope, self.delta, self.tangent, self.sum) }
    }
}

pub(super) struct RowsTask<'a> {
    pub(super) sums: &'a mut [f32],
    pub(super) values: &'a [f32],
    pub(super) stride: usize,
    pub(super) rows: usize,
}

impl Task for RowsTask<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { add_rows::<V>(self.sums, self.values, self.stride, self.rows) }
    }
}

pub(super) struct LoopTask<L>(pub(super) L);

impl<L: Loop> Task for LoopTask<L> {
    type Output = L::Output;

    #[inline(always)]
    unsafe fn run<V: Lanes>(self) -> L::Output {
        self.0.run()
    }
}
