//! Which instructions this machine has.

use core::sync::atomic::{AtomicU8, Ordering};

/// Instructions that the kernels can be built of, the plainest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum InstructionSet {
    /// What every machine has.
    Portable,
    /// AArch64's vectors of four floats.
    Neon,
    /// x86-64's vectors of eight floats, with fused multiply-add.
    Avx2,
    /// x86-64's vectors of sixteen floats.
    Avx512,
}

/// The place of the fastest in [`InstructionSet::ALL`], once it is known.
static FOUND: AtomicU8 = AtomicU8::new(u8::MAX);

impl InstructionSet {
    const ALL: [Self; 4] = [Self::Portable, Self::Neon, Self::Avx2, Self::Avx512];

    /// The fastest that this machine has; found once, then remembered.
    #[inline]
    pub(super) fn best() -> Self {
        let found = FOUND.load(Ordering::Relaxed);
        match Self::ALL.get(usize::from(found)) {
            Some(set) => *set,
            None => Self::find(),
        }
    }

    #[cold]
    fn find() -> Self {
        let mut best = 0;
        for (index, set) in (0..).zip(Self::ALL) {
            if set.is_available() {
                best = index;
            }
        }
        FOUND.store(best, Ordering::Relaxed);
        Self::ALL[usize::from(best)]
    }

    /// All that this machine has.
    pub(super) fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|set| set.is_available())
    }

    fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            Self::Neon => cfg!(all(target_arch = "aarch64", target_feature = "neon")),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => x86::has_avx2(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => x86::has_avx512(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::asm;
    use core::arch::x86_64::{__cpuid, __cpuid_count, CpuidResult};

    // Calling `cpuid` was unsafe in older compilers that are still supported.
    #[allow(unused_unsafe)]
    fn leaf(number: u32) -> CpuidResult {
        // SAFETY: every x86-64 processor has the instruction.
        unsafe {
            if number == 7 {
                __cpuid_count(7, 0)
            } else {
                __cpuid(number)
            }
        }
    }

    /// Which registers the operating system saves when it switches threads.
    fn saved_registers() -> u64 {
        const OSXSAVE: u32 = 1 << 27;
        if leaf(1).ecx & OSXSAVE == 0 {
            return 0;
        }
        let (low, high): (u32, u32);
        // SAFETY: the bit above says that the instruction exists and that programs may use it.
        unsafe {
            asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags))
        };
        u64::from(high) << 32 | u64::from(low)
    }

    pub(super) fn has_avx2() -> bool {
        const FMA: u32 = 1 << 12;
        const AVX: u32 = 1 << 28;
        const AVX2: u32 = 1 << 5;
        // The lower and upper halves of the eight-float registers.
        const REGISTERS: u64 = 0b110;
        leaf(0).eax >= 7
            && leaf(1).ecx & (FMA | AVX) == FMA | AVX
            && leaf(7).ebx & AVX2 != 0
            && saved_registers() & REGISTERS == REGISTERS
    }

    pub(super) fn has_avx512() -> bool {
        const AVX512F: u32 = 1 << 16;
        // As above, with the mask registers, their upper halves and the upper sixteen.
        const REGISTERS: u64 = 0b1110_0110;
        has_avx2() && leaf(7).ebx & AVX512F != 0 && saved_registers() & REGISTERS == REGISTERS
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn the_best_is_available_and_remembered() {
        assert_eq!(InstructionSet::best(), InstructionSet::best());
        assert!(InstructionSet::best().is_available());
        assert!(InstructionSet::available().all(|set| set <= InstructionSet::best()));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn detection_agrees_with_the_standard_library() {
        let avx2 = std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
        assert_eq!(InstructionSet::Avx2.is_available(), avx2);
        let avx512 = avx2 && std::is_x86_feature_detected!("avx512f");
        assert_eq!(InstructionSet::Avx512.is_available(), avx512);
    }
}
