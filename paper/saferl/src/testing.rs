//! Helpers of the tests: random numbers and finite differences.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Uniform numbers in [-1, 1).
pub(crate) fn random_values(length: usize, seed: u64) -> Vec<f32> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..length)
        .map(|_| random.random_range(-1.0..1.0))
        .collect()
}

/// Compares a gradient with central differences of `loss`, which computes in f32: the step is wide
/// and the tolerance loose.
pub(crate) fn assert_gradient(
    parameters: &[f32],
    gradient: &[f32],
    mut loss: impl FnMut(&[f32]) -> f64,
) {
    const STEP: f32 = 4e-3;
    let scale = gradient
        .iter()
        .fold(1e-2f64, |m, g| m.max(f64::from(g.abs())));
    let mut moved = parameters.to_vec();
    for index in 0..parameters.len() {
        moved[index] = parameters[index] + STEP;
        let above = loss(&moved);
        moved[index] = parameters[index] - STEP;
        let below = loss(&moved);
        moved[index] = parameters[index];
        let width = f64::from(parameters[index] + STEP) - f64::from(parameters[index] - STEP);
        let expected = (above - below) / width;
        let found = f64::from(gradient[index]);
        assert!(
            (found - expected).abs() < 3e-3 * scale,
            "gradient[{index}]: {found}, expected {expected} (scale {scale})"
        );
    }
}
