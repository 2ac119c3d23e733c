//! Sixteen floats in two AVX registers, with fused multiply-add.

use core::arch::x86_64::*;

use super::lanes::{LANES, Lanes, Registers};
use super::product::{Product, strip};

/// Sixteen floats in two registers.
#[derive(Clone, Copy)]
pub(super) struct Avx2(__m256, __m256);

/// Ones, then zeros: eight entries from 16 - count on select the first `count` lanes of 16.
static MASK: [i32; 32] = {
    let mut mask = [0; 32];
    let mut lane = 0;
    while lane < 16 {
        mask[lane] = -1;
        lane += 1;
    }
    mask
};

#[inline(always)]
unsafe fn masks(count: usize) -> (__m256i, __m256i) {
    // SAFETY: count ≤ 16, so that the 16 entries read lie inside the table.
    unsafe {
        let start = MASK.as_ptr().add(16 - count);
        (
            _mm256_loadu_si256(start.cast()),
            _mm256_loadu_si256(start.add(8).cast()),
        )
    }
}

#[target_feature(enable = "avx2,fma")]
unsafe fn strip_avx2<const ROWS: usize, const BLOCKS: usize, const CHAINS: usize>(
    task: &Product,
    first: usize,
    end: usize,
    block: usize,
) -> usize {
    // SAFETY: passed on to the caller.
    unsafe { strip::<Avx2, ROWS, BLOCKS, CHAINS>(task, first, end, block) }
}

/// The transpose of an 8 × 8 block.
#[inline(always)]
unsafe fn transpose8(rows: [__m256; 8]) -> [__m256; 8] {
    // SAFETY: the caller vouches for the instruction set.
    unsafe {
        let mut t = rows;
        for g in [0, 4] {
            let (a, b, c, d) = (rows[g], rows[g + 1], rows[g + 2], rows[g + 3]);
            let low = [_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d)];
            let high = [_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d)];
            t[g] = _mm256_shuffle_ps::<0b01_00_01_00>(low[0], low[1]);
            t[g + 1] = _mm256_shuffle_ps::<0b11_10_11_10>(low[0], low[1]);
            t[g + 2] = _mm256_shuffle_ps::<0b01_00_01_00>(high[0], high[1]);
            t[g + 3] = _mm256_shuffle_ps::<0b11_10_11_10>(high[0], high[1]);
        }
        let mut out = t;
        for j in 0..4 {
            out[j] = _mm256_permute2f128_ps::<0x20>(t[j], t[4 + j]);
            out[4 + j] = _mm256_permute2f128_ps::<0x31>(t[j], t[4 + j]);
        }
        out
    }
}

// SAFETY, for all functions below: the caller vouches for the instruction set and the pointers.
impl Lanes for Avx2 {
    const REGISTERS: Registers = Registers {
        wide: false,
        many: true,
    };

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        unsafe { Self(_mm256_set1_ps(value), _mm256_set1_ps(value)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { Self(_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe {
            _mm256_storeu_ps(to, self.0);
            _mm256_storeu_ps(to.add(8), self.1);
        }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        unsafe {
            let (low, high) = masks(count);
            // The upper address may lie outside the caller's memory; its mask is then all zero.
            Self(
                _mm256_maskload_ps(from, low),
                _mm256_maskload_ps(from.wrapping_add(8), high),
            )
        }
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        unsafe {
            let (low, high) = masks(count);
            _mm256_maskstore_ps(to, low, self.0);
            _mm256_maskstore_ps(to.wrapping_add(8), high, self.1);
        }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe {
            Self(
                _mm256_add_ps(self.0, other.0),
                _mm256_add_ps(self.1, other.1),
            )
        }
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        unsafe {
            Self(
                _mm256_sub_ps(self.0, other.0),
                _mm256_sub_ps(self.1, other.1),
            )
        }
    }

    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        unsafe {
            Self(
                _mm256_mul_ps(self.0, other.0),
                _mm256_mul_ps(self.1, other.1),
            )
        }
    }

    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        unsafe {
            Self(
                _mm256_div_ps(self.0, other.0),
                _mm256_div_ps(self.1, other.1),
            )
        }
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, summand: Self) -> Self {
        unsafe {
            let low = _mm256_fmadd_ps(self.0, factor.0, summand.0);
            Self(low, _mm256_fmadd_ps(self.1, factor.1, summand.1))
        }
    }

    #[inline(always)]
    unsafe fn at_least(self, floor: Self) -> Self {
        // The second operand is what comes out when one of them is not a number.
        unsafe {
            Self(
                _mm256_max_ps(floor.0, self.0),
                _mm256_max_ps(floor.1, self.1),
            )
        }
    }

    #[inline(always)]
    unsafe fn where_positive(self, other: Self) -> Self {
        unsafe {
            let zero = _mm256_setzero_ps();
            let low = _mm256_cmp_ps::<_CMP_GT_OQ>(other.0, zero);
            let high = _mm256_cmp_ps::<_CMP_GT_OQ>(other.1, zero);
            Self(_mm256_and_ps(low, self.0), _mm256_and_ps(high, self.1))
        }
    }

    #[inline(always)]
    unsafe fn clamp(self, limit: f32) -> Self {
        unsafe {
            let (lower, upper) = (_mm256_set1_ps(-limit), _mm256_set1_ps(limit));
            let low = _mm256_min_ps(upper, _mm256_max_ps(lower, self.0));
            Self(low, _mm256_min_ps(upper, _mm256_max_ps(lower, self.1)))
        }
    }

    #[inline(always)]
    unsafe fn power_of_two(self) -> Self {
        unsafe {
            let bias = _mm256_set1_epi32(127);
            let low = _mm256_add_epi32(_mm256_cvtps_epi32(self.0), bias);
            let high = _mm256_add_epi32(_mm256_cvtps_epi32(self.1), bias);
            let low = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(low));
            Self(low, _mm256_castsi256_ps(_mm256_slli_epi32::<23>(high)))
        }
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        unsafe {
            let v = _mm256_add_ps(self.0, self.1);
            let v = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let v = _mm_add_ps(v, _mm_movehl_ps(v, v));
            _mm_cvtss_f32(_mm_add_ss(v, _mm_movehdup_ps(v)))
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
        unsafe {
            let mut out = rows;
            for upper in [0, 8] {
                let (mut left, mut right) = ([rows[0].0; 8], [rows[0].0; 8]);
                for j in 0..8 {
                    left[j] = rows[upper + j].0;
                    right[j] = rows[upper + j].1;
                }
                let (left, right) = (transpose8(left), transpose8(right));
                for j in 0..8 {
                    if upper == 0 {
                        out[j].0 = left[j];
                        out[8 + j].0 = right[j];
                    } else {
                        out[j].1 = left[j];
                        out[8 + j].1 = right[j];
                    }
                }
            }
            out
        }
    }

    unsafe fn strip<const ROWS: usize, const BLOCKS: usize, const CHAINS: usize>(
        task: &Product,
        first: usize,
        end: usize,
        block: usize,
    ) -> usize {
        unsafe { strip_avx2::<ROWS, BLOCKS, CHAINS>(task, first, end, block) }
    }
}
