//! Sums and products of f64 in wide registers, chosen at run time: for the [functions](crate::Functions) of a
//! problem, which a program for any x86-64 would compile for the plainest.
//!
//! Sums have a fixed order and nothing is fused, so that all instruction sets give the same bits.
//!
//! ```
//! let matrix = [1.0, 2.0, 3.0, 4.0];
//! let mut out = [0.0; 2];
//! fabproj_core::vector::times(&matrix, &[1.0, -1.0], &mut out);
//! assert_eq!(out, [-1.0, -1.0]);
//! ```

use crate::kernel::{Kernel, Loop};

/// Partial sums of a dot product, so that it need not wait for each addition.
const LANES: usize = 8;

/// Rows of a matrix that are read side by side.
const BLOCK: usize = 4;
/// Below this length, choosing instructions takes longer than it saves.
const SHORT: usize = 2 * LANES;

/// Σ a_i b_i
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    if a.len() < SHORT {
        return dot_here(a, b);
    }
    Kernel::detect().vectorise(Dot(a, b))
}

/// Σ a_i b_i c_i
#[inline]
pub fn dot3(a: &[f64], b: &[f64], c: &[f64]) -> f64 {
    Kernel::detect().vectorise(Dot3(a, b, c))
}

/// a += factor · b
#[inline]
pub fn add(a: &mut [f64], factor: f64, b: &[f64]) {
    if a.len() < SHORT {
        return add_here(a, factor, b);
    }
    Kernel::detect().vectorise(Add(a, factor, b));
}

/// out = matrix · vector, the matrix row after row.
#[inline]
pub fn times(matrix: &[f64], vector: &[f64], out: &mut [f64]) {
    Kernel::detect().vectorise(Times(matrix, vector, out));
}

/// out = constant + matrix · vector
#[inline]
pub fn affine(constant: &[f64], matrix: &[f64], vector: &[f64], out: &mut [f64]) {
    times(matrix, vector, out);
    for (out, constant) in out.iter_mut().zip(constant) {
        *out += constant;
    }
}

/// out += matrixᵀ · vector, the matrix row after row. Rows whose weight is zero are not read.
#[inline]
pub fn add_transposed_times(matrix: &[f64], vector: &[f64], out: &mut [f64]) {
    Kernel::detect().vectorise(AddTransposedTimes(matrix, vector, out));
}

/// The largest absolute value; NaN is passed over.
#[inline]
pub fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| {
        let value = value.abs();
        if value > most { value } else { most }
    })
}

#[inline(always)]
fn dot_here(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    total(sums) + rest
}

/// The same for [`BLOCK`] rows, whose sums do not wait for each other.
#[inline(always)]
fn dots_here(rows: &[f64], vector: &[f64]) -> [f64; BLOCK] {
    let (vector, vector_rest) = vector.as_chunks::<LANES>();
    let width = vector.len() * LANES + vector_rest.len();
    let row = |row: usize| rows[row * width..][..width].as_chunks::<LANES>();
    let all: [_; BLOCK] = core::array::from_fn(row);
    let mut sums = [[0.0; LANES]; BLOCK];
    for (place, vector) in vector.iter().enumerate() {
        for (sums, (row, _)) in sums.iter_mut().zip(&all) {
            for lane in 0..LANES {
                sums[lane] += row[place][lane] * vector[lane];
            }
        }
    }
    core::array::from_fn(|row| {
        let pairs = all[row].1.iter().zip(vector_rest);
        total(sums[row]) + pairs.map(|(a, b)| a * b).sum::<f64>()
    })
}

#[inline(always)]
fn total(sums: [f64; LANES]) -> f64 {
    let halves = |i: usize| sums[i] + sums[i + 4];
    (halves(0) + halves(2)) + (halves(1) + halves(3))
}

#[inline(always)]
fn add_here(a: &mut [f64], factor: f64, b: &[f64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += factor * b;
    }
}

struct Dot<'a>(&'a [f64], &'a [f64]);

impl Loop for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        dot_here(self.0, self.1)
    }
}

struct Dot3<'a>(&'a [f64], &'a [f64], &'a [f64]);

impl Loop for Dot3<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let (a, a_rest) = self.0.as_chunks::<LANES>();
        let (b, b_rest) = self.1.as_chunks::<LANES>();
        let (c, c_rest) = self.2.as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for ((a, b), c) in a.iter().zip(b).zip(c) {
            for lane in 0..LANES {
                sums[lane] += a[lane] * b[lane] * c[lane];
            }
        }
        let rest = a_rest.iter().zip(b_rest).zip(c_rest);
        total(sums) + rest.map(|((a, b), c)| a * b * c).sum::<f64>()
    }
}

struct Add<'a>(&'a mut [f64], f64, &'a [f64]);

impl Loop for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        add_here(self.0, self.1, self.2);
    }
}

struct Times<'a>(&'a [f64], &'a [f64], &'a mut [f64]);

impl Loop for Times<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(matrix, vector, out) = self;
        if vector.is_empty() {
            return out.fill(0.0);
        }
        let blocks = matrix.chunks_exact(BLOCK * vector.len());
        let rest = blocks.remainder().chunks_exact(vector.len());
        let (outs, out_rest) = out.as_chunks_mut::<BLOCK>();
        for (out, rows) in outs.iter_mut().zip(blocks) {
            *out = dots_here(rows, vector);
        }
        for (out, row) in out_rest.iter_mut().zip(rest) {
            *out = dot_here(row, vector);
        }
    }
}

struct AddTransposedTimes<'a>(&'a [f64], &'a [f64], &'a mut [f64]);

impl Loop for AddTransposedTimes<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(matrix, vector, out) = self;
        if out.is_empty() {
            return;
        }
        for (weight, row) in vector.iter().zip(matrix.chunks_exact(out.len())) {
            // Not only faster: an infinite weight must not reach entries with zeros.
            if *weight != 0.0 {
                add_here(out, *weight, row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    fn numbers(count: usize, seed: f64) -> Vec<f64> {
        (0..count)
            .map(|i| libm::sin(seed + 1.7 * i as f64))
            .collect()
    }

    #[test]
    fn products_agree_with_plain_loops_at_all_lengths() {
        for length in 0..40 {
            let (a, b, c) = (
                numbers(length, 0.3),
                numbers(length, 1.1),
                numbers(length, 2.0),
            );
            let plain: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            assert!((dot(&a, &b) - plain).abs() < 1e-13);
            let plain: f64 = a.iter().zip(&b).zip(&c).map(|((a, b), c)| a * b * c).sum();
            assert!((dot3(&a, &b, &c) - plain).abs() < 1e-13);
            let matrix = numbers(7 * length, 0.7);
            let (mut out, mut back) = (vec![f64::NAN; 7], b.clone());
            times(&matrix, &a, &mut out);
            add_transposed_times(&matrix[..3 * length], &[2.0, 0.0, -1.0], &mut back);
            for (row, out) in out.iter().enumerate() {
                assert_eq!(*out, dot(&matrix[row * length..][..length], &a));
            }
            for (column, back) in back.iter().enumerate() {
                let expected = b[column] + 2.0 * matrix[column] - matrix[2 * length + column];
                assert!((back - expected).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn all_instruction_sets_give_the_same_bits() {
        let (a, b, c) = (numbers(107, 0.3), numbers(107, 1.1), numbers(107, 2.0));
        for kernel in Kernel::all() {
            assert_eq!(kernel.vectorise(Dot(&a, &b)), dot_here(&a, &b));
            assert_eq!(kernel.vectorise(Dot3(&a, &b, &c)), Dot3(&a, &b, &c).run());
            let (mut wide, mut plain) = (c.clone(), c.clone());
            kernel.vectorise(Add(&mut wide, 0.37, &a));
            add_here(&mut plain, 0.37, &a);
            assert_eq!(wide, plain);
        }
    }

    #[test]
    fn infinite_weights_do_not_reach_rows_without_weight() {
        let mut out = vec![1.0, 2.0];
        add_transposed_times(&[f64::INFINITY, f64::NAN, 1.0, 1.0], &[0.0, 1.0], &mut out);
        assert_eq!(out, [2.0, 3.0]);
    }
}
