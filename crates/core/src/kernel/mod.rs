//! Dense arithmetic, with the instruction set chosen at run time. For the training engine: no promise of
//! stability, unlike the rest of this crate.
//!
//! A [`Kernel`] is a handle on the fastest instructions of the machine. Weights are
//! [packed](Kernel::pack) into the order in which it reads them. Every output is accumulated in an
//! order that depends on the shape of the layer alone, so that one point and a batch give the same
//! bits; with fused multiply-add (all but the portable kernel), so do all instruction sets.
//!
//! ```
//! use fabproj_core::Activation;
//! use fabproj_core::kernel::{Dense, Kernel, packed_length};
//!
//! let kernel = Kernel::detect();
//! let mut weights = [0.0; packed_length(2, 1)];
//! kernel.pack(&[3.0, 4.0], 2, 1, &mut weights);
//! let layer = Dense { weights: &weights, bias: &[0.5], inputs: 2, outputs: 1 };
//! let mut out = [0.0; 3];
//! // Three points, one after the other.
//! kernel.affine(layer, &[1.0, 0.0, 0.0, 1.0, -1.0, -1.0], 2, 3, Activation::Relu, &mut out, 1);
//! assert_eq!(out, [3.5, 4.5, 0.0]);
//! ```

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod dispatch;
mod elementwise;
mod instruction_set;
mod lanes;
mod layers;
mod narrow;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pack;
mod point;
mod portable;
mod product;
mod shallow;
mod tasks;
#[cfg(test)]
mod tests;

pub use elementwise::Slope;
pub use instruction_set::InstructionSet;
pub use lanes::LANES;
pub use narrow::NARROW;
pub use pack::packed_length;

use crate::weights::Activation;
use pack::Pack;
use tasks::{After, AfterTask, CurvatureTask, LoopTask, PackTask, RowsTask};

/// The length rounded up to whole blocks of [`LANES`].
pub const fn padded(length: usize) -> usize {
    length.next_multiple_of(LANES)
}

/// Dense arithmetic with one of the instruction sets of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Private, so that a kernel cannot be made for instructions that the machine lacks.
    set: InstructionSet,
}

/// A layer as the kernels read it.
#[derive(Clone, Copy, Debug)]
pub struct Dense<'a> {
    /// From [`Kernel::pack`] (or [`Kernel::pack_transposed`] with inputs and outputs exchanged); at
    /// least [`packed_length`].
    pub weights: &'a [f32],
    /// At least one per output, padded with zeros to whole blocks if there are more than
    /// [`NARROW`]; or empty, for no bias.
    pub bias: &'a [f32],
    /// Number of inputs.
    pub inputs: usize,
    /// Number of outputs.
    pub outputs: usize,
}

/// Work without explicit vectors that the compiler vectorises for the kernel's instructions.
pub trait Loop {
    /// What comes out.
    type Output;

    /// The work. Mark it `#[inline(always)]`, or it is compiled for the plainest machine.
    fn run(self) -> Self::Output;
}

impl Kernel {
    /// The fastest of this machine; found at the first call, remembered afterwards.
    #[inline]
    pub fn detect() -> Self {
        Self {
            set: InstructionSet::best(),
        }
    }

    /// One for each instruction set of this machine, the fastest last.
    pub fn all() -> impl Iterator<Item = Self> {
        InstructionSet::available().map(|set| Self { set })
    }

    /// The instructions that it uses.
    pub fn instruction_set(self) -> InstructionSet {
        self.set
    }

    /// Packs weights `[outputs][inputs]` for [`affine`](Self::affine).
    ///
    /// # Panics
    /// If `weights` does not hold inputs × outputs values or `packed` not [`packed_length`].
    pub fn pack(self, weights: &[f32], inputs: usize, outputs: usize, packed: &mut [f32]) {
        let transpose = outputs > NARROW;
        self.pack_any(
            weights,
            inputs,
            outputs,
            packed,
            packed_length(inputs, outputs),
            transpose,
        );
    }

    /// Packs the transpose of weights `[outputs][inputs]`: a layer with `outputs` inputs and
    /// `inputs` outputs, which maps gradients back.
    ///
    /// # Panics
    /// If `weights` does not hold inputs × outputs values or `packed` not
    /// `packed_length(outputs, inputs)`.
    pub fn pack_transposed(
        self,
        weights: &[f32],
        inputs: usize,
        outputs: usize,
        packed: &mut [f32],
    ) {
        let transpose = inputs <= NARROW;
        self.pack_any(
            weights,
            inputs,
            outputs,
            packed,
            packed_length(outputs, inputs),
            transpose,
        );
    }

    fn pack_any(
        self,
        weights: &[f32],
        inputs: usize,
        outputs: usize,
        packed: &mut [f32],
        length: usize,
        transpose: bool,
    ) {
        assert_eq!(weights.len(), inputs * outputs, "pack: inputs × outputs");
        let to = &mut packed[..length];
        if weights.is_empty() {
            return;
        }
        let task = Pack {
            rows: outputs,
            columns: inputs,
            from: weights,
            to,
            transpose,
        };
        // SAFETY: a `Pack` holds no pointers.
        unsafe { self.run(PackTask(task)) }
    }

    /// `sums[n] += Σ_r values[r · stride + n]`.
    ///
    /// # Panics
    /// If `values` is too short for that.
    pub fn add_rows(self, sums: &mut [f32], values: &[f32], stride: usize, rows: usize) {
        // SAFETY: the task holds no pointers.
        unsafe {
            self.run(RowsTask {
                sums,
                values,
                stride,
                rows,
            })
        }
    }

    /// values = activation(values).
    pub fn activate(self, activation: Activation, values: &mut [f32]) {
        // SAFETY: the task holds no pointers.
        unsafe {
            self.run(AfterTask {
                after: After::Activate(activation),
                values,
            })
        }
    }

    /// delta = delta · slope, entry by entry.
    ///
    /// # Panics
    /// If the slope has fewer values than `delta`.
    pub fn times_slope(self, slope: Slope<'_>, delta: &mut [f32]) {
        // SAFETY: the task holds no pointers.
        unsafe {
            self.run(AfterTask {
                after: After::TimesSlope(slope),
                values: delta,
            })
        }
    }

    /// sum += delta · tangent · (the derivative of the slope), entry by entry.
    ///
    /// # Panics
    /// If another slice is shorter than `sum`.
    pub fn add_curvature(self, slope: Slope<'_>, delta: &[f32], tangent: &[f32], sum: &mut [f32]) {
        // SAFETY: the task holds no pointers.
        unsafe {
            self.run(CurvatureTask {
                slope,
                delta,
                tangent,
                sum,
            })
        }
    }

    /// Runs a plain loop, compiled for the kernel's instructions.
    #[inline]
    pub fn vectorise<L: Loop>(self, work: L) -> L::Output {
        // SAFETY: the task holds no pointers.
        unsafe { self.run(LoopTask(work)) }
    }
}
