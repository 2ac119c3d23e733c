//! Activations with their first and second derivatives.

use fabproj_core::Activation;

/// Whether the second derivative is not zero everywhere.
pub(super) fn is_curved(activation: Activation) -> bool {
    matches!(activation, Activation::Tanh | Activation::Silu)
}

/// Whether derivatives need the value before the activation, not only the one after it.
pub(super) fn needs_before(activation: Activation) -> bool {
    activation == Activation::Silu
}

/// Applies the activation in place; `before` receives the values before it, where they are needed.
pub(super) fn apply(activation: Activation, values: &mut [f32], before: &mut [f32]) {
    match activation {
        Activation::Identity => {}
        Activation::Relu => values
            .iter_mut()
            .for_each(|v| *v = if *v < 0.0 { 0.0 } else { *v }),
        Activation::Tanh => values.iter_mut().for_each(|v| *v = libm_tanh(*v)),
        Activation::Silu => {
            before.copy_from_slice(values);
            values.iter_mut().for_each(|v| *v *= sigmoid(*v));
        }
    }
}

fn libm_tanh(value: f32) -> f32 {
    value.tanh()
}

fn sigmoid(value: f32) -> f32 {
    1.0 / (1.0 + (-value).exp())
}

/// Multiplies `delta` by the first derivative.
pub(super) fn times_slope(
    activation: Activation,
    delta: &mut [f32],
    after: &[f32],
    before: &[f32],
) {
    match activation {
        Activation::Identity => {}
        Activation::Relu => {
            delta
                .iter_mut()
                .zip(after)
                .for_each(|(d, &h)| *d = if h > 0.0 { *d } else { 0.0 });
        }
        Activation::Tanh => delta
            .iter_mut()
            .zip(after)
            .for_each(|(d, &h)| *d *= 1.0 - h * h),
        Activation::Silu => delta.iter_mut().zip(before).for_each(|(d, &a)| {
            let s = sigmoid(a);
            *d *= s * (1.0 + a * (1.0 - s));
        }),
    }
}

/// Adds `delta · tangent · (second derivative)` to `sum`.
pub(super) fn add_curvature(
    activation: Activation,
    sum: &mut [f32],
    delta: &[f32],
    tangent: &[f32],
    after: &[f32],
    before: &[f32],
) {
    let products = delta.iter().zip(tangent).map(|(d, t)| d * t);
    match activation {
        Activation::Identity | Activation::Relu => {}
        Activation::Tanh => sum
            .iter_mut()
            .zip(products)
            .zip(after)
            .for_each(|((total, p), &h)| {
                *total += p * (-2.0 * h * (1.0 - h * h));
            }),
        Activation::Silu => {
            sum.iter_mut()
                .zip(products)
                .zip(before)
                .for_each(|((total, p), &a)| {
                    let s = sigmoid(a);
                    *total += p * s * (1.0 - s) * (2.0 + a * (1.0 - 2.0 * s));
                })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(activation: Activation, x: f32) -> f32 {
        let mut values = [x];
        apply(activation, &mut values, &mut [0.0]);
        values[0]
    }

    fn slope(activation: Activation, x: f32) -> f32 {
        let mut delta = [1.0];
        times_slope(activation, &mut delta, &[value(activation, x)], &[x]);
        delta[0]
    }

    #[test]
    fn derivatives_are_those_of_finite_differences() {
        for activation in [
            Activation::Identity,
            Activation::Relu,
            Activation::Tanh,
            Activation::Silu,
        ] {
            for x in [-3.0f32, -0.7, -0.1, 0.2, 1.3, 4.0] {
                let h = 1e-2;
                let first = (value(activation, x + h) - value(activation, x - h)) / (2.0 * h);
                assert!(
                    (first - slope(activation, x)).abs() < 1e-4,
                    "{activation:?} at {x}"
                );
                let second = (slope(activation, x + h) - slope(activation, x - h)) / (2.0 * h);
                let mut sum = [1.0];
                add_curvature(
                    activation,
                    &mut sum,
                    &[2.0],
                    &[0.5],
                    &[value(activation, x)],
                    &[x],
                );
                assert!(
                    (sum[0] - 1.0 - second).abs() < 1e-4,
                    "{activation:?} at {x}"
                );
            }
        }
    }

    #[test]
    fn not_a_number_stays_visible() {
        for activation in [
            Activation::Identity,
            Activation::Relu,
            Activation::Tanh,
            Activation::Silu,
        ] {
            assert!(value(activation, f32::NAN).is_nan(), "{activation:?}");
        }
    }
}
