//! Sixteen floats in four NEON registers.

// Where NEON is always there, newer compilers take these functions for safe, older ones do not.
#![allow(unused_unsafe)]

use core::arch::aarch64::*;

use super::lanes::{LANES, Lanes, Registers};
use super::product::{Product, strip};

/// Sixteen floats in four registers.
#[derive(Clone, Copy)]
pub(super) struct Neon([float32x4_t; 4]);

/// Applies an expression of one register (and one of `other`) to all four.
macro_rules! each {
    ($a:expr, |$x:ident| $body:expr) => {{
        let mut out = $a.0;
        for part in 0..4 {
            let $x = $a.0[part];
            out[part] = $body;
        }
        Self(out)
    }};
    ($a:expr, $b:expr, |$x:ident, $y:ident| $body:expr) => {{
        let mut out = $a.0;
        for part in 0..4 {
            let ($x, $y) = ($a.0[part], $b.0[part]);
            out[part] = $body;
        }
        Self(out)
    }};
}

// SAFETY, for all functions below: the caller vouches for the pointers; NEON is part of AArch64.
impl Lanes for Neon {
    const REGISTERS: Registers = Registers {
        wide: false,
        many: true,
    };

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self([unsafe { vdupq_n_f32(value) }; 4])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe {
            let halves = [vld1q_f32(from), vld1q_f32(from.add(4))];
            Self([
                halves[0],
                halves[1],
                vld1q_f32(from.add(8)),
                vld1q_f32(from.add(12)),
            ])
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        for part in 0..4 {
            unsafe { vst1q_f32(to.add(4 * part), self.0[part]) };
        }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        let mut lanes = [0.0; LANES];
        unsafe {
            core::ptr::copy_nonoverlapping(from, lanes.as_mut_ptr(), count);
            Self::load(lanes.as_ptr())
        }
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        let mut lanes = [0.0; LANES];
        unsafe {
            self.store(lanes.as_mut_ptr());
            core::ptr::copy_nonoverlapping(lanes.as_ptr(), to, count);
        }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { each!(self, other, |a, b| vaddq_f32(a, b)) }
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        unsafe { each!(self, other, |a, b| vsubq_f32(a, b)) }
    }

    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        unsafe { each!(self, other, |a, b| vmulq_f32(a, b)) }
    }

    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        unsafe { each!(self, other, |a, b| vdivq_f32(a, b)) }
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, summand: Self) -> Self {
        let mut out = summand.0;
        for part in 0..4 {
            out[part] = unsafe { vfmaq_f32(summand.0[part], self.0[part], factor.0[part]) };
        }
        Self(out)
    }

    #[inline(always)]
    unsafe fn at_least(self, floor: Self) -> Self {
        unsafe { each!(self, floor, |a, b| vbslq_f32(vcltq_f32(a, b), b, a)) }
    }

    #[inline(always)]
    unsafe fn where_positive(self, other: Self) -> Self {
        unsafe {
            each!(self, other, |a, b| vbslq_f32(
                vcgtzq_f32(b),
                a,
                vdupq_n_f32(0.0)
            ))
        }
    }

    #[inline(always)]
    unsafe fn clamp(self, limit: f32) -> Self {
        unsafe {
            each!(self, |a| vminq_f32(
                vdupq_n_f32(limit),
                vmaxq_f32(vdupq_n_f32(-limit), a)
            ))
        }
    }

    #[inline(always)]
    unsafe fn power_of_two(self) -> Self {
        unsafe {
            each!(self, |a| {
                let exponent = vaddq_s32(vcvtq_s32_f32(a), vdupq_n_s32(127));
                vreinterpretq_f32_s32(vshlq_n_s32::<23>(exponent))
            })
        }
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        unsafe {
            let (a, b) = (
                vaddq_f32(self.0[0], self.0[2]),
                vaddq_f32(self.0[1], self.0[3]),
            );
            let four = vaddq_f32(a, b);
            let two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
            vget_lane_f32::<0>(two) + vget_lane_f32::<1>(two)
        }
    }

    #[inline(always)]
    unsafe fn sums(rows: [Self; LANES]) -> Self {
        let mut totals = [0.0; LANES];
        for (total, row) in totals.iter_mut().zip(rows) {
            *total = unsafe { row.sum() };
        }
        unsafe { Self::load(totals.as_ptr()) }
    }

    #[inline(always)]
    unsafe fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        let mut memory = [0.0; LANES * LANES];
        for (i, row) in rows.iter().enumerate() {
            unsafe { row.store(memory.as_mut_ptr().add(i * LANES)) };
        }
        let mut out = rows;
        for (i, out) in out.iter_mut().enumerate() {
            let mut column = [0.0; LANES];
            for (j, value) in column.iter_mut().enumerate() {
                *value = memory[j * LANES + i];
            }
            *out = unsafe { Self::load(column.as_ptr()) };
        }
        out
    }

    unsafe fn strip<const ROWS: usize, const BLOCKS: usize, const CHAINS: usize>(
        task: &Product,
        first: usize,
        end: usize,
        block: usize,
    ) -> usize {
        unsafe { strip::<Self, ROWS, BLOCKS, CHAINS>(task, first, end, block) }
    }
}
