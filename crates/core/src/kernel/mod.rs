//! Dense arithmetic, with the instruction set chosen at run time.
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
mod narrow;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pack;
mod portable;
mod product;
mod tasks;
#[cfg(test)]
mod tests;

pub use elementwise::Slope;
pub use instruction_set::InstructionSet;
pub use lanes::LANES;
pub use narrow::NARROW;
pub use pack::packed_length;

use crate::model::Activation;
use pack::Pack;
use product::{Finish, Product, Start};
use tasks::{
    After, AfterTask, CurvatureTask, LayerTask, LoopTask, PackTask, ProductTask, RowsTask,
};

/// The length rounded up to whole blocks of [`LANES`].
pub const fn padded(length: usize) -> usize {
    length.div_ceil(LANES).saturating_mul(LANES)
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

    /// `out[r][o] = activation(bias[o] + Σ_i x[r][i] · weights[o][i])` for `rows` rows of `x` and `out`
    /// that are `x_stride` and `out_stride` apart. Where rows of `out` have room for whole blocks
    /// (`out_stride` at least the [`padded`] outputs), their lanes after the outputs become zero.
    ///
    /// # Panics
    /// If a slice is too short for that.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub fn affine(
        self,
        layer: Dense<'_>,
        x: &[f32],
        x_stride: usize,
        rows: usize,
        activation: Activation,
        out: &mut [f32],
        out_stride: usize,
    ) {
        let finish = match activation {
            Activation::Relu => Finish::Relu,
            _ => Finish::Plain,
        };
        let after = match activation {
            Activation::Identity | Activation::Relu => None,
            curved => Some(After::Activate(curved)),
        };
        self.layer(
            layer,
            x,
            x_stride,
            rows,
            (false, finish, after),
            out,
            out_stride,
        );
    }

    /// `out[r][o] += Σ_i x[r][i] · weights[o][i]`: as [`affine`](Self::affine) without bias and
    /// activation, added to what is there.
    ///
    /// # Panics
    /// If a slice is too short for that, or there is a bias.
    pub fn add_linear(
        self,
        layer: Dense<'_>,
        x: &[f32],
        x_stride: usize,
        rows: usize,
        out: &mut [f32],
        out_stride: usize,
    ) {
        assert!(layer.bias.is_empty(), "add_linear: bias");
        let plain = (true, Finish::Plain, None);
        self.layer(layer, x, x_stride, rows, plain, out, out_stride);
    }

    /// `out[r][i] = slope[r][i] · Σ_o delta[r][o] · weights[o][i]`: the gradient with respect to the
    /// sums of the layer before, from [transposed](Self::pack_transposed) weights. The values that
    /// tell the slope have the stride of `out`.
    ///
    /// # Panics
    /// If a slice is too short for that.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub fn pull_back(
        self,
        transposed: Dense<'_>,
        delta: &[f32],
        delta_stride: usize,
        rows: usize,
        slope: Slope<'_>,
        out: &mut [f32],
        out_stride: usize,
    ) {
        let length = span(rows, out_stride, width(transposed.outputs, out_stride));
        let (finish, after) = match slope {
            Slope::Identity => (Finish::Plain, None),
            Slope::Relu(values)
                if transposed.outputs > NARROW && out_stride >= padded(transposed.outputs) =>
            {
                assert!(values.len() >= length, "pull_back: values of the slope");
                (Finish::WherePositive(values.as_ptr()), None)
            }
            other => (Finish::Plain, Some(After::TimesSlope(other))),
        };
        let ending = (false, finish, after);
        self.layer(
            transposed,
            delta,
            delta_stride,
            rows,
            ending,
            out,
            out_stride,
        );
    }

    #[inline]
    #[allow(clippy::too_many_arguments)]
    fn layer(
        self,
        layer: Dense<'_>,
        x: &[f32],
        x_stride: usize,
        rows: usize,
        (accumulate, finish, after): (bool, Finish, Option<After<'_>>),
        out: &mut [f32],
        out_stride: usize,
    ) {
        let Dense {
            weights,
            bias,
            inputs,
            outputs,
        } = layer;
        if rows == 0 || outputs == 0 {
            return;
        }
        let width = if accumulate {
            outputs
        } else {
            width(outputs, out_stride)
        };
        assert!(
            x_stride >= inputs && x.len() >= span(rows, x_stride, inputs),
            "affine: x"
        );
        assert!(
            out_stride >= outputs && out.len() >= span(rows, out_stride, width),
            "affine: out"
        );
        assert!(
            weights.len() >= packed_length(inputs, outputs),
            "affine: weights"
        );
        let bias_length = if outputs <= NARROW {
            outputs
        } else {
            padded(outputs)
        };
        assert!(bias.is_empty() || bias.len() >= bias_length, "affine: bias");
        let (x, out) = (x.as_ptr(), out.as_mut_ptr());
        let task = LayerTask {
            layer,
            x,
            x_stride,
            rows,
            accumulate,
            finish,
            after,
            out,
            out_stride,
            width,
        };
        // SAFETY: the assertions above bound every read and write of the task.
        unsafe { self.run(task) }
    }

    /// `out[m][n] += Σ_r a[r][m] · b[r][n]`: the gradient of weights, for `shape` = (rows, m, n).
    ///
    /// # Panics
    /// If a slice is too short for that; rows of `b` must have room for whole blocks of n.
    #[allow(clippy::too_many_arguments)]
    pub fn add_outer_products(
        self,
        shape: (usize, usize, usize),
        a: &[f32],
        a_stride: usize,
        b: &[f32],
        b_stride: usize,
        out: &mut [f32],
        out_stride: usize,
    ) {
        let (rows, m, n) = shape;
        if rows == 0 || m == 0 || n == 0 {
            return;
        }
        assert!(a.len() >= span(rows, a_stride, m), "add_outer_products: a");
        assert!(
            b.len() >= span(rows, b_stride, padded(n)),
            "add_outer_products: b"
        );
        assert!(
            out_stride >= n && out.len() >= span(m, out_stride, n),
            "add_outer_products: out"
        );
        let mut first = 0;
        while first < rows {
            let depth = (rows - first).min(OUTER_ROWS);
            let task = Product {
                rows: m,
                depth,
                columns: n,
                a: a[first * a_stride..].as_ptr(),
                a_row: 1,
                a_step: a_stride,
                b: b[first * b_stride..].as_ptr(),
                b_step: b_stride,
                c: out.as_mut_ptr(),
                c_row: out_stride,
                start: Start::Old,
                finish: Finish::Plain,
            };
            // SAFETY: the assertions above bound every read and write of the task.
            unsafe { self.run(ProductTask(task)) };
            first += depth;
        }
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
    pub fn vectorise<L: Loop>(self, work: L) -> L::Output {
        // SAFETY: the task holds no pointers.
        unsafe { self.run(LoopTask(work)) }
    }
}

/// Rows of a gradient's sum that are added up before they go to memory: few enough that both factors
/// stay in the first-level cache while all tiles of the result pass over them.
const OUTER_ROWS: usize = 64;

/// Floats from the start of the first of `rows` rows to the end of the last.
#[inline]
fn span(rows: usize, stride: usize, width: usize) -> usize {
    if rows == 0 {
        0
    } else {
        (rows - 1).saturating_mul(stride).saturating_add(width)
    }
}

/// Floats that are written per row: whole blocks if they fit.
#[inline]
fn width(outputs: usize, stride: usize) -> usize {
    if stride >= padded(outputs) {
        padded(outputs)
    } else {
        outputs
    }
}

/// `out[r][o] = activation(bias[o] + Σ_i x[r][i] · weights[i][o])`, for weights `[inputs][padded outputs]`
/// whatever the number of outputs.
#[allow(clippy::too_many_arguments)]
pub fn affine(
    x: &[f32],
    x_stride: usize,
    rows: usize,
    weights: &[f32],
    bias: &[f32],
    inputs: usize,
    outputs: usize,
    activation: Activation,
    out: &mut [f32],
) {
    let width = padded(outputs);
    assert!(x.len() >= span(rows, x_stride, inputs) && out.len() >= rows * width);
    assert!(weights.len() >= inputs * width && bias.len() >= width);
    let task = Product {
        rows,
        depth: inputs,
        columns: width,
        a: x.as_ptr(),
        a_row: x_stride,
        a_step: 1,
        b: weights.as_ptr(),
        b_step: width,
        c: out.as_mut_ptr(),
        c_row: width,
        start: Start::Bias(bias.as_ptr()),
        finish: Finish::Plain,
    };
    // SAFETY: the assertions above bound every read and write of the task.
    unsafe { Kernel::detect().run(ProductTask(task)) };
    Kernel::detect().activate(activation, &mut out[..rows * width]);
}
