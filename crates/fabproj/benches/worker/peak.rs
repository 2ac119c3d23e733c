//! The most multiply-adds that one core can make: independent accumulators in registers, no memory.

use std::hint::black_box;

use crate::{Case, Outcome};

/// Multiply-adds in flight; enough to hide their latency (4 cycles, two units) on every known core.
const ACCUMULATORS: usize = 12;
const TURNS: usize = 2_000;

struct Peak {
    lanes: usize,
    run: fn(f32) -> f32,
}

pub fn case() -> Outcome<Box<dyn Case>> {
    let (lanes, run) = widest();
    Ok(Box::new(Peak { lanes, run }))
}

impl Case for Peak {
    fn call(&mut self) -> Outcome<u64> {
        black_box((self.run)(black_box(1e-9)));
        Ok(1)
    }

    fn flops(&self) -> f64 {
        (2 * TURNS * ACCUMULATORS * self.lanes) as f64
    }
}

/// The widest vectors of this machine, as lanes and the loop over them.
fn widest() -> (usize, fn(f32) -> f32) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the feature was just found.
            return (16, |x| unsafe { x86::avx512(x) });
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: both features were just found.
            return (8, |x| unsafe { x86::avx2(x) });
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        // SAFETY: NEON is part of every aarch64.
        return (4, |x| unsafe { arm::neon(x) });
    }
    #[allow(unreachable_code)]
    (1, |x| {
        let mut sums = [x; ACCUMULATORS];
        for _ in 0..TURNS {
            sums = sums.map(|sum| sum * x + x);
        }
        sums.iter().sum()
    })
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{ACCUMULATORS, TURNS};

    #[target_feature(enable = "avx512f")]
    pub fn avx512(x: f32) -> f32 {
        let factor = _mm512_set1_ps(x);
        let mut sums = [factor; ACCUMULATORS];
        for _ in 0..TURNS {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, factor, factor);
            }
        }
        sums.into_iter().map(|sum| _mm512_reduce_add_ps(sum)).sum()
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn avx2(x: f32) -> f32 {
        let factor = _mm256_set1_ps(x);
        let mut sums = [factor; ACCUMULATORS];
        for _ in 0..TURNS {
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, factor, factor);
            }
        }
        sums.into_iter().map(|sum| _mm256_cvtss_f32(sum)).sum()
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::*;

    use super::{ACCUMULATORS, TURNS};

    #[target_feature(enable = "neon")]
    pub fn neon(x: f32) -> f32 {
        let factor = vdupq_n_f32(x);
        let mut sums = [factor; ACCUMULATORS];
        for _ in 0..TURNS {
            for sum in &mut sums {
                *sum = vfmaq_f32(factor, *sum, factor);
            }
        }
        sums.into_iter().map(|sum| vaddvq_f32(sum)).sum()
    }
}
