//! Sixteen floats at once, on every instruction set, and the functions that need nothing else.

/// Floats that are computed together. Every instruction set works on sixteen, in as many registers
/// as that takes, so that sums are built in the same order everywhere.
pub const LANES: usize = 16;

/// How many sums a tile may keep in registers.
#[derive(Clone, Copy)]
pub(super) struct Registers {
    /// 32 registers of 16 floats.
    pub(super) wide: bool,
    /// That, or 16 registers of 8 floats, or 32 of 4.
    pub(super) many: bool,
}

/// [`LANES`] floats.
///
/// # Safety
/// Every function may only be called on a machine that has the instruction set of the type; those
/// that take pointers need them to be valid for the number of floats that they read or write.
pub(super) trait Lanes: Copy {
    const REGISTERS: Registers;

    unsafe fn splat(value: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    /// The first `count` (at most 16) floats; the other lanes are zero and their memory is not read.
    unsafe fn load_first(from: *const f32, count: usize) -> Self;
    /// Stores the first `count` (at most 16) floats.
    unsafe fn store_first(self, to: *mut f32, count: usize);

    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    /// self · factor + summand, rounded once where the machine can.
    unsafe fn mul_add(self, factor: Self, summand: Self) -> Self;
    /// `floor` where less; what is not a number stays.
    unsafe fn at_least(self, floor: Self) -> Self;
    /// 0 where `other` is not positive.
    unsafe fn where_positive(self, other: Self) -> Self;
    /// Into ±limit; what is not a number stays.
    unsafe fn clamp(self, limit: f32) -> Self;
    /// 2^self for whole numbers from -126 to 127.
    unsafe fn power_of_two(self) -> Self;

    /// The sum of all lanes: of halves of eight, then four, two, one.
    unsafe fn sum(self) -> f32;
    /// Lane i is the [`sum`](Self::sum) of `rows[i]`, with the same bits.
    unsafe fn sums(rows: [Self; LANES]) -> Self;
    /// Lane j of result i is lane i of `rows[j]`.
    unsafe fn transpose(rows: [Self; LANES]) -> [Self; LANES];

    /// [`product::strip`](super::product::strip), compiled for this instruction set.
    unsafe fn strip<const ROWS: usize, const BLOCKS: usize, const CHAINS: usize>(
        task: &super::product::Product,
        first: usize,
        end: usize,
        block: usize,
    ) -> usize;
}

/// 1.5 · 2²³: adding it to a small float leaves the nearest whole number in the lowest bits.
const ROUND: f32 = 12_582_912.0;

/// For |x| ≤ 87: (2ⁿ, p) with exp(x) = 2ⁿ (1 + p), n whole and |p| < 0.42.
///
/// # Safety
/// The instruction set must be there.
#[inline(always)]
unsafe fn exponential<V: Lanes>(x: V) -> (V, V) {
    // ln 2 in two parts, so that n · high is exact.
    const HIGH: f32 = 0.693_359_4;
    const LOW: f32 = -2.121_944_4e-4;
    // SAFETY: passed on to the caller.
    unsafe {
        let round = V::splat(ROUND);
        let n = x
            .mul_add(V::splat(core::f32::consts::LOG2_E), round)
            .sub(round);
        let r = n.mul_add(V::splat(-HIGH), x);
        let r = n.mul_add(V::splat(-LOW), r);
        // exp(r) - 1 for |r| ≤ ln 2 / 2: the Taylor series to r⁷ is exact to a float's rounding.
        let mut p = V::splat(1.0 / 5040.0);
        for coefficient in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0] {
            p = p.mul_add(r, V::splat(coefficient));
        }
        (n.power_of_two(), p.mul(r))
    }
}

/// tanh x = e / (e + 2) with e = exp(2x) - 1.
///
/// # Safety
/// The instruction set must be there.
#[inline(always)]
pub(super) unsafe fn tanh<V: Lanes>(x: V) -> V {
    // SAFETY: passed on to the caller.
    unsafe {
        // tanh 10 is 1 in f32.
        let (scale, p) = exponential(x.clamp(10.0).mul(V::splat(2.0)));
        let e = scale.mul_add(p, scale.sub(V::splat(1.0)));
        e.div(e.add(V::splat(2.0)))
    }
}

/// 1 / (1 + exp(-x)).
///
/// # Safety
/// The instruction set must be there.
#[inline(always)]
pub(super) unsafe fn sigmoid<V: Lanes>(x: V) -> V {
    // SAFETY: passed on to the caller.
    unsafe {
        let one = V::splat(1.0);
        let (scale, p) = exponential(x.clamp(87.0).mul(V::splat(-1.0)));
        one.div(scale.mul_add(p, scale).add(one))
    }
}
