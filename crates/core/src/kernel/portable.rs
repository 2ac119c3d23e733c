//! Sixteen floats in plain Rust, for machines without a faster set.

use super::lanes::{LANES, Lanes, Registers};
use super::product::{Product, strip};

/// Sixteen floats, left to the compiler.
#[derive(Clone, Copy)]
pub(super) struct Portable([f32; LANES]);

impl Portable {
    #[inline(always)]
    fn map(self, f: impl Fn(f32) -> f32) -> Self {
        Self(core::array::from_fn(|lane| f(self.0[lane])))
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        Self(core::array::from_fn(|lane| f(self.0[lane], other.0[lane])))
    }
}

impl Lanes for Portable {
    const REGISTERS: Registers = Registers {
        wide: false,
        many: false,
    };

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self([value; LANES])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller's pointer is valid for 16 floats.
        Self(unsafe { from.cast::<[f32; LANES]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller's pointer is valid for 16 floats.
        unsafe { to.cast::<[f32; LANES]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        let mut lanes = [0.0; LANES];
        // SAFETY: the caller's pointer is valid for `count` floats, and count ≤ 16.
        unsafe { core::ptr::copy_nonoverlapping(from, lanes.as_mut_ptr(), count) };
        Self(lanes)
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        // SAFETY: the caller's pointer is valid for `count` floats, and count ≤ 16.
        unsafe { core::ptr::copy_nonoverlapping(self.0.as_ptr(), to, count) };
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }

    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }

    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, summand: Self) -> Self {
        // Two roundings: without the instruction, one rounding costs a function call.
        Self(core::array::from_fn(|lane| {
            self.0[lane] * factor.0[lane] + summand.0[lane]
        }))
    }

    #[inline(always)]
    unsafe fn at_least(self, floor: Self) -> Self {
        self.zip(
            floor,
            |value, floor| if value < floor { floor } else { value },
        )
    }

    #[inline(always)]
    unsafe fn where_positive(self, other: Self) -> Self {
        self.zip(other, |value, other| if other > 0.0 { value } else { 0.0 })
    }

    #[inline(always)]
    unsafe fn clamp(self, limit: f32) -> Self {
        self.map(|value| value.clamp(-limit, limit))
    }

    #[inline(always)]
    unsafe fn power_of_two(self) -> Self {
        self.map(|value| f32::from_bits(((value as i32 + 127) as u32) << 23))
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        let mut lanes = self.0;
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                lanes[lane] += lanes[lane + half];
            }
        }
        lanes[0]
    }

    #[inline(always)]
    unsafe fn sums(rows: [Self; LANES]) -> Self {
        // SAFETY: plain Rust runs everywhere.
        Self(rows.map(|row| unsafe { row.sum() }))
    }

    #[inline(always)]
    unsafe fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        core::array::from_fn(|i| Self(core::array::from_fn(|j| rows[j].0[i])))
    }

    unsafe fn strip<const ROWS: usize, const BLOCKS: usize, const CHAINS: usize>(
        task: &Product,
        first: usize,
        end: usize,
        block: usize,
    ) -> usize {
        // SAFETY: passed on to the caller.
        unsafe { strip::<Self, ROWS, BLOCKS, CHAINS>(task, first, end, block) }
    }
}
