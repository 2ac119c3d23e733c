//! From an instruction set chosen at run time to code compiled for it.

use super::Kernel;
#[cfg(target_arch = "x86_64")]
use super::avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use super::avx512::Avx512;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::instruction_set::InstructionSet;
use super::lanes::Lanes;
#[cfg(target_arch = "aarch64")]
use super::neon::Neon;
use super::portable::Portable;

/// Work that is written once for all instruction sets.
pub(super) trait Task {
    type Output;

    /// Must be `#[inline(always)]`, so that it is compiled as part of a function that has the
    /// instructions.
    ///
    /// # Safety
    /// The instruction set must be there; the pointers in the task must be valid.
    unsafe fn run<V: Lanes>(self) -> Self::Output;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn run_avx512<T: Task>(task: T) -> T::Output {
    // SAFETY: passed on to the caller.
    unsafe { task.run::<Avx512>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn run_avx2<T: Task>(task: T) -> T::Output {
    // SAFETY: passed on to the caller.
    unsafe { task.run::<Avx2>() }
}

impl Kernel {
    /// Runs a task with this kernel's instructions.
    ///
    /// # Safety
    /// The pointers in the task must be valid.
    #[inline]
    pub(super) unsafe fn run<T: Task>(self, task: T) -> T::Output {
        // SAFETY: a kernel exists only for instruction sets that the machine has.
        unsafe {
            match self.set {
                #[cfg(target_arch = "x86_64")]
                InstructionSet::Avx512 => run_avx512(task),
                #[cfg(target_arch = "x86_64")]
                InstructionSet::Avx2 => run_avx2(task),
                #[cfg(target_arch = "aarch64")]
                InstructionSet::Neon => task.run::<Neon>(),
                _ => task.run::<Portable>(),
            }
        }
    }
}
