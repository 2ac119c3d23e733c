//! The few vector operations that the sets share.

/// How far a nearest point is pulled inward, relative to the size of the set, so that it passes the
/// membership test in spite of rounding.
pub(super) const PULL: f64 = 1e-9;

/// Σ (a_i - b_i)²
#[inline]
pub(super) fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// ‖a - b‖ without overflow or underflow.
#[inline]
pub(super) fn distance(a: &[f64], b: &[f64]) -> f64 {
    let squared = squared_distance(a, b);
    if squared > 1e-200 && squared < 1e200 {
        squared.sqrt()
    } else {
        let differences = a.iter().zip(b).map(|(a, b)| a - b);
        differences.fold(0.0_f64, |length, difference| length.hypot(difference))
    }
}

/// ‖a‖ without overflow or underflow.
#[inline]
pub(super) fn norm(a: &[f64]) -> f64 {
    let squared = dot(a, a);
    if squared > 1e-200 && squared < 1e200 {
        squared.sqrt()
    } else {
        a.iter().fold(0.0_f64, |length, value| length.hypot(*value))
    }
}

/// Σ a_i b_i
#[inline]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Whether all coordinates are numbers.
#[inline]
pub(super) fn is_finite(y: &[f64]) -> bool {
    y.iter().all(|value| value.is_finite())
}

/// A violation outside the set is positive even where rounding makes the formula zero.
#[inline]
pub(super) fn positive(violation: f64) -> f64 {
    violation.max(f64::MIN_POSITIVE)
}

/// Writes factor · (y - centre) into `out`.
#[inline]
pub(super) fn scaled_offset(y: &[f64], centre: &[f64], factor: f64, out: &mut [f64]) {
    for ((out, y), centre) in out.iter_mut().zip(y).zip(centre) {
        *out = factor * (y - centre);
    }
}

/// Writes the point at `radius` from `centre` in the direction of y, or in the direction of the
/// first coordinate where y is the centre itself (every direction is then equally near).
pub(super) fn at_radius(y: &[f64], centre: &[f64], radius: f64, out: &mut [f64]) {
    let length = distance(y, centre);
    if length > 0.0 {
        for ((out, y), centre) in out.iter_mut().zip(y).zip(centre) {
            *out = centre + (y - centre) / length * radius;
        }
    } else {
        out.copy_from_slice(centre);
        out[0] += radius;
    }
}

/// Calls `use_buffer` with scratch space: on the stack for the usual dimensions.
#[inline]
pub(super) fn with_buffer<T>(length: usize, use_buffer: impl FnOnce(&mut [f64]) -> T) -> T {
    const ON_STACK: usize = 32;
    if length <= ON_STACK {
        use_buffer(&mut [0.0; ON_STACK][..length])
    } else {
        use_buffer(&mut vec![0.0; length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_neither_overflow_nor_underflow() {
        for scale in [1e200, 1e-200] {
            let length = distance(&[3.0 * scale, 0.0], &[0.0, -4.0 * scale]);
            assert!((length / scale - 5.0).abs() < 1e-14);
            assert!((norm(&[3.0 * scale, -4.0 * scale]) / scale - 5.0).abs() < 1e-14);
        }
        assert_eq!(distance(&[1.0, 2.0], &[1.0, 2.0]), 0.0);
    }

    #[test]
    fn the_centre_has_a_direction() {
        let mut out = [0.0; 2];
        at_radius(&[1.0, 1.0], &[1.0, 1.0], 0.5, &mut out);
        assert_eq!(out, [1.5, 1.0]);
    }
}
