//! The most multiply-adds that one core can make with the kernel's instructions: independent sums in
//! registers, no memory.

use std::hint::black_box;

use fabproj_core::kernel::{InstructionSet, Kernel};

/// Sums in flight; enough to hide a latency of 4 cycles on two units.
const SUMS: usize = 12;
const TURNS: usize = 2_000;

pub struct MultiplyAdds {
    lanes: usize,
    run: fn(f32) -> f32,
}

impl MultiplyAdds {
    /// With the instruction set that the engine uses.
    pub fn new() -> Self {
        let (lanes, run): (usize, fn(f32) -> f32) = match Kernel::detect().instruction_set() {
            // SAFETY: the kernel found the instruction set on this machine.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => (16, |x| unsafe { x86::avx512(x) }),
            // SAFETY: the kernel found the instruction set on this machine.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => (8, |x| unsafe { x86::avx2(x) }),
            #[cfg(target_arch = "aarch64")]
            InstructionSet::Neon => (4, arm::neon),
            _ => (4, portable),
        };
        Self { lanes, run }
    }

    pub fn run(&self) {
        black_box((self.run)(black_box(1e-9)));
    }

    /// Operations of one run: two for each multiply-add.
    pub fn flops(&self) -> f64 {
        (2 * TURNS * SUMS * self.lanes) as f64
    }
}

/// Multiplications and additions apart, in registers of four.
fn portable(x: f32) -> f32 {
    let mut sums = [[x; 4]; SUMS];
    for _ in 0..TURNS {
        for sum in sums.as_flattened_mut() {
            *sum = *sum * x + x;
        }
    }
    sums.as_flattened().iter().sum()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{SUMS, TURNS};

    #[target_feature(enable = "avx512f")]
    pub fn avx512(x: f32) -> f32 {
        let factor = _mm512_set1_ps(x);
        let mut sums = [factor; SUMS];
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
        let mut sums = [factor; SUMS];
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

    use super::{SUMS, TURNS};

    pub fn neon(x: f32) -> f32 {
        // SAFETY: NEON is part of every AArch64.
        unsafe {
            let factor = vdupq_n_f32(x);
            let mut sums = [factor; SUMS];
            for _ in 0..TURNS {
                for sum in &mut sums {
                    *sum = vfmaq_f32(factor, *sum, factor);
                }
            }
            sums.into_iter().map(|sum| vaddvq_f32(sum)).sum()
        }
    }
}
