//! Sixteen floats in one AVX-512 register.

use core::arch::x86_64::*;

use super::lanes::{LANES, Lanes, Registers};
use super::product::{Product, strip};

/// Sixteen floats in one register.
#[derive(Clone, Copy)]
pub(super) struct Avx512(__m512);

#[inline(always)]
fn mask(count: usize) -> __mmask16 {
    ((1u32 << count) - 1) as __mmask16
}

#[target_feature(enable = "avx512f")]
unsafe fn strip_avx512<const ROWS: usize, const BLOCKS: usize, const CHAINS: usize>(
    task: &Product,
    first: usize,
    end: usize,
    block: usize,
) -> usize {
    // SAFETY: passed on to the caller.
    unsafe { strip::<Avx512, ROWS, BLOCKS, CHAINS>(task, first, end, block) }
}

/// One step of a tree of sums: the halves of `a` added in the lower half of the result, those of `b`
/// in the upper; a half is 8, 4, 2 or 1 lanes of each group of twice as many.
macro_rules! fold {
    (8, $a:expr, $b:expr) => {
        _mm512_add_ps(
            _mm512_shuffle_f32x4::<0b01_00_01_00>($a, $b),
            _mm512_shuffle_f32x4::<0b11_10_11_10>($a, $b),
        )
    };
    (4, $a:expr, $b:expr) => {
        _mm512_add_ps(
            _mm512_shuffle_f32x4::<0b10_00_10_00>($a, $b),
            _mm512_shuffle_f32x4::<0b11_01_11_01>($a, $b),
        )
    };
    (2, $a:expr, $b:expr) => {
        _mm512_add_ps(
            _mm512_shuffle_ps::<0b01_00_01_00>($a, $b),
            _mm512_shuffle_ps::<0b11_10_11_10>($a, $b),
        )
    };
    (1, $a:expr, $b:expr) => {
        _mm512_add_ps(
            _mm512_shuffle_ps::<0b10_00_10_00>($a, $b),
            _mm512_shuffle_ps::<0b11_01_11_01>($a, $b),
        )
    };
}

// SAFETY, for all functions below: the caller vouches for the instruction set and the pointers.
impl Lanes for Avx512 {
    const REGISTERS: Registers = Registers {
        wide: true,
        many: true,
    };

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self(unsafe { _mm512_set1_ps(value) })
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        Self(unsafe { _mm512_loadu_ps(from) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { _mm512_storeu_ps(to, self.0) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        Self(unsafe { _mm512_maskz_loadu_ps(mask(count), from) })
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        unsafe { _mm512_mask_storeu_ps(to, mask(count), self.0) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self(unsafe { _mm512_add_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        Self(unsafe { _mm512_sub_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        Self(unsafe { _mm512_mul_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        Self(unsafe { _mm512_div_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, summand: Self) -> Self {
        Self(unsafe { _mm512_fmadd_ps(self.0, factor.0, summand.0) })
    }

    #[inline(always)]
    unsafe fn at_least(self, floor: Self) -> Self {
        // The second operand is what comes out when one of them is not a number.
        Self(unsafe { _mm512_max_ps(floor.0, self.0) })
    }

    #[inline(always)]
    unsafe fn where_positive(self, other: Self) -> Self {
        unsafe {
            let positive = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(other.0, _mm512_setzero_ps());
            Self(_mm512_maskz_mov_ps(positive, self.0))
        }
    }

    #[inline(always)]
    unsafe fn clamp(self, limit: f32) -> Self {
        unsafe {
            let raised = _mm512_max_ps(_mm512_set1_ps(-limit), self.0);
            Self(_mm512_min_ps(_mm512_set1_ps(limit), raised))
        }
    }

    #[inline(always)]
    unsafe fn power_of_two(self) -> Self {
        unsafe {
            let exponent = _mm512_add_epi32(_mm512_cvtps_epi32(self.0), _mm512_set1_epi32(127));
            Self(_mm512_castsi512_ps(_mm512_slli_epi32::<23>(exponent)))
        }
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        unsafe {
            let v = self.0;
            let v = _mm512_add_ps(v, _mm512_shuffle_f32x4::<0b11_10_11_10>(v, v));
            let v = _mm512_castps512_ps256(v);
            let v = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let v = _mm_add_ps(v, _mm_movehl_ps(v, v));
            _mm_cvtss_f32(_mm_add_ss(v, _mm_movehdup_ps(v)))
        }
    }

    #[inline(always)]
    unsafe fn sums(rows: [Self; LANES]) -> Self {
        unsafe {
            let mut four = [rows[0].0; 4];
            for (j, sums) in four.iter_mut().enumerate() {
                let lower = fold!(8, rows[j].0, rows[j + 4].0);
                let upper = fold!(8, rows[j + 8].0, rows[j + 12].0);
                *sums = fold!(4, lower, upper);
            }
            Self(fold!(
                1,
                fold!(2, four[0], four[1]),
                fold!(2, four[2], four[3])
            ))
        }
    }

    #[inline(always)]
    unsafe fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        unsafe {
            // 4 × 4 transposes inside each group of four lanes of four rows.
            let mut t = [rows[0].0; LANES];
            for g in [0, 4, 8, 12] {
                let (a, b, c, d) = (rows[g].0, rows[g + 1].0, rows[g + 2].0, rows[g + 3].0);
                let low = [_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d)];
                let high = [_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d)];
                t[g] = _mm512_shuffle_ps::<0b01_00_01_00>(low[0], low[1]);
                t[g + 1] = _mm512_shuffle_ps::<0b11_10_11_10>(low[0], low[1]);
                t[g + 2] = _mm512_shuffle_ps::<0b01_00_01_00>(high[0], high[1]);
                t[g + 3] = _mm512_shuffle_ps::<0b11_10_11_10>(high[0], high[1]);
            }
            // Then a 4 × 4 transpose of those groups.
            let mut out = [Self(t[0]); LANES];
            for j in 0..4 {
                let (a, b, c, d) = (t[j], t[4 + j], t[8 + j], t[12 + j]);
                let ab = [
                    _mm512_shuffle_f32x4::<0b10_00_10_00>(a, b),
                    _mm512_shuffle_f32x4::<0b11_01_11_01>(a, b),
                ];
                let cd = [
                    _mm512_shuffle_f32x4::<0b10_00_10_00>(c, d),
                    _mm512_shuffle_f32x4::<0b11_01_11_01>(c, d),
                ];
                out[j] = Self(_mm512_shuffle_f32x4::<0b10_00_10_00>(ab[0], cd[0]));
                out[4 + j] = Self(_mm512_shuffle_f32x4::<0b10_00_10_00>(ab[1], cd[1]));
                out[8 + j] = Self(_mm512_shuffle_f32x4::<0b11_01_11_01>(ab[0], cd[0]));
                out[12 + j] = Self(_mm512_shuffle_f32x4::<0b11_01_11_01>(ab[1], cd[1]));
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
        unsafe { strip_avx512::<ROWS, BLOCKS, CHAINS>(task, first, end, block) }
    }
}
