//! Activations and their derivatives, on whole slices.

use super::lanes::{LANES, Lanes, sigmoid, tanh};
use crate::weights::Activation;

/// The derivative of an activation, from the values that tell it.
#[derive(Clone, Copy, Debug)]
pub enum Slope<'a> {
    /// 1
    Identity,
    /// 1 where the value after the activation is positive, else 0.
    Relu(&'a [f32]),
    /// 1 - h², from h after the activation.
    Tanh(&'a [f32]),
    /// From the value before the activation.
    Silu(&'a [f32]),
}

impl<'a> Slope<'a> {
    /// From the values after and (for SiLU only) before the activation.
    pub fn new(activation: Activation, after: &'a [f32], before: &'a [f32]) -> Self {
        match activation {
            Activation::Identity => Self::Identity,
            Activation::Relu => Self::Relu(after),
            Activation::Tanh => Self::Tanh(after),
            Activation::Silu => Self::Silu(before),
        }
    }

    /// The slope of the entries from `start` on.
    ///
    /// # Panics
    /// If there are fewer values than that.
    #[inline]
    pub fn starting_at(self, start: usize) -> Self {
        match self {
            Self::Identity => self,
            Self::Relu(values) => Self::Relu(&values[start..]),
            Self::Tanh(values) => Self::Tanh(&values[start..]),
            Self::Silu(values) => Self::Silu(&values[start..]),
        }
    }

    /// The values that tell the derivative; empty where it is 1.
    #[inline]
    pub(super) fn values(&self) -> &'a [f32] {
        match self {
            Self::Identity => &[],
            Self::Relu(values) | Self::Tanh(values) | Self::Silu(values) => values,
        }
    }
}

/// One block of an activation.
///
/// # Safety
/// The instruction set must be there.
#[inline(always)]
pub(super) unsafe fn activate<V: Lanes>(activation: Activation, x: V) -> V {
    // SAFETY: passed on to the caller.
    unsafe {
        match activation {
            Activation::Identity => x,
            Activation::Relu => x.at_least(V::splat(0.0)),
            Activation::Tanh => tanh(x),
            Activation::Silu => x.mul(sigmoid(x)),
        }
    }
}

/// One block of a first derivative times `delta`.
///
/// # Safety
/// The instruction set must be there.
#[inline(always)]
pub(super) unsafe fn times_slope<V: Lanes>(slope: Slope<'_>, delta: V, value: V) -> V {
    // SAFETY: passed on to the caller.
    unsafe {
        let one = V::splat(1.0);
        match slope {
            Slope::Identity => delta,
            Slope::Relu(_) => delta.where_positive(value),
            Slope::Tanh(_) => delta.mul(one.sub(value.mul(value))),
            Slope::Silu(_) => {
                let s = sigmoid(value);
                delta.mul(s.mul(value.mul_add(one.sub(s), one)))
            }
        }
    }
}

/// One block of a second derivative.
///
/// # Safety
/// The instruction set must be there.
#[inline(always)]
unsafe fn curvature<V: Lanes>(slope: Slope<'_>, value: V) -> V {
    // SAFETY: passed on to the caller.
    unsafe {
        let (one, two) = (V::splat(1.0), V::splat(2.0));
        match slope {
            Slope::Identity | Slope::Relu(_) => V::splat(0.0),
            Slope::Tanh(_) => value.mul(V::splat(-2.0)).mul(one.sub(value.mul(value))),
            Slope::Silu(_) => {
                let s = sigmoid(value);
                let inner = value.mul_add(one.sub(two.mul(s)), two);
                s.mul(one.sub(s)).mul(inner)
            }
        }
    }
}

/// Floats of the block at `at` of a slice of `length`.
#[inline(always)]
fn block_length(length: usize, at: usize) -> usize {
    (length - at).min(LANES)
}

#[inline(always)]
unsafe fn read<V: Lanes>(from: &[f32], at: usize, count: usize) -> V {
    debug_assert!(at + count <= from.len());
    // SAFETY: the caller's block lies inside the slice.
    unsafe {
        match count {
            LANES => V::load(from.as_ptr().add(at)),
            _ => V::load_first(from.as_ptr().add(at), count),
        }
    }
}

#[inline(always)]
unsafe fn write<V: Lanes>(value: V, to: &mut [f32], at: usize, count: usize) {
    debug_assert!(at + count <= to.len());
    // SAFETY: the caller's block lies inside the slice.
    unsafe {
        match count {
            LANES => value.store(to.as_mut_ptr().add(at)),
            _ => value.store_first(to.as_mut_ptr().add(at), count),
        }
    }
}

/// values = activation(values)
///
/// # Safety
/// The instruction set must be there.
#[inline(always)]
pub(super) unsafe fn activate_all<V: Lanes>(activation: Activation, values: &mut [f32]) {
    for at in (0..values.len()).step_by(LANES) {
        let count = block_length(values.len(), at);
        // SAFETY: passed on to the caller; the block lies inside the slice.
        unsafe {
            write(
                activate(activation, read::<V>(values, at, count)),
                values,
                at,
                count,
            )
        }
    }
}

/// delta = delta · slope
///
/// # Safety
/// The instruction set must be there.
#[inline(always)]
pub(super) unsafe fn times_slope_all<V: Lanes>(slope: Slope<'_>, delta: &mut [f32]) {
    if let Slope::Identity = slope {
        return;
    }
    let values = slope.values();
    assert!(
        values.len() >= delta.len(),
        "times_slope: fewer values than derivatives"
    );
    for at in (0..delta.len()).step_by(LANES) {
        let count = block_length(delta.len(), at);
        // SAFETY: passed on to the caller; the block lies inside both slices.
        unsafe {
            let value = read::<V>(values, at, count);
            write(
                times_slope(slope, read(delta, at, count), value),
                delta,
                at,
                count,
            );
        }
    }
}

/// sum += delta · tangent · (second derivative)
///
/// # Safety
/// The instruction set must be there.
#[inline(always)]
pub(super) unsafe fn add_curvature_all<V: Lanes>(
    slope: Slope<'_>,
    delta: &[f32],
    tangent: &[f32],
    sum: &mut [f32],
) {
    if let Slope::Identity | Slope::Relu(_) = slope {
        return;
    }
    let (values, length) = (slope.values(), sum.len());
    assert!(values.len() >= length && delta.len() >= length && tangent.len() >= length);
    for at in (0..length).step_by(LANES) {
        let count = block_length(length, at);
        // SAFETY: passed on to the caller; the block lies inside the four slices.
        unsafe {
            let product = read::<V>(delta, at, count).mul(read(tangent, at, count));
            let curvature = curvature(slope, read::<V>(values, at, count));
            write(
                product.mul_add(curvature, read(sum, at, count)),
                sum,
                at,
                count,
            );
        }
    }
}

/// sums[n] += Σ_r values[r · stride + n], in the order of the rows.
///
/// # Safety
/// The instruction set must be there.
#[inline(always)]
pub(super) unsafe fn add_rows<V: Lanes>(
    sums: &mut [f32],
    values: &[f32],
    stride: usize,
    rows: usize,
) {
    assert!(rows == 0 || values.len() >= (rows - 1) * stride + sums.len());
    for at in (0..sums.len()).step_by(LANES) {
        let count = block_length(sums.len(), at);
        // SAFETY: passed on to the caller; the assertion keeps all reads inside `values`.
        unsafe {
            let mut total = read::<V>(sums, at, count);
            for row in 0..rows {
                total = total.add(read(values, row * stride + at, count));
            }
            write(total, sums, at, count);
        }
    }
}
