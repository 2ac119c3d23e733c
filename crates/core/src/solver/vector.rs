//! Sums and products that the compiler can put into wide registers.

/// How many partial sums a dot product has.
const LANES: usize = 8;

/// Σ a_i b_i
#[inline]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    let halves = |i: usize| sums[i] + sums[i + 4];
    (halves(0) + halves(2)) + (halves(1) + halves(3)) + rest
}

/// a += factor · b
#[inline]
pub(super) fn add(a: &mut [f64], factor: f64, b: &[f64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += factor * b;
    }
}

/// out = constant + matrix · x
#[inline]
pub(super) fn affine(constant: &[f64], matrix: &[f64], x: &[f64], out: &mut [f64]) {
    if x.is_empty() {
        return out.copy_from_slice(constant);
    }
    let rows = matrix.chunks_exact(x.len());
    for ((out, constant), row) in out.iter_mut().zip(constant).zip(rows) {
        *out = constant + dot(row, x);
    }
}

/// The largest absolute value.
#[inline]
pub(super) fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| {
        let value = value.abs();
        if value > most { value } else { most }
    })
}
