//! Gradient clipping by norm.

/// Scales a gradient down to norm `max` if it is longer, and returns the norm it had.
///
/// A gradient that is not finite is left as it is: the caller sees that from the norm.
///
/// ```
/// let mut gradient = [3.0, 4.0];
/// assert_eq!(fabproj_nn::clip_norm(&mut gradient, 1.0), 5.0);
/// assert!((gradient[1] - 0.8f32).abs() < 1e-5);
/// ```
pub fn clip_norm(gradient: &mut [f32], max: f32) -> f32 {
    clip_norm_all(&mut [gradient], max)
}

/// As [`clip_norm`], for a gradient that lies in several vectors.
pub fn clip_norm_all(gradients: &mut [&mut [f32]], max: f32) -> f32 {
    let squares: f64 = gradients.iter().map(|gradient| square_sum(gradient)).sum();
    let norm = squares.sqrt() as f32;
    // The small constant is PyTorch's.
    let scale = max / (norm + 1e-6);
    if norm.is_finite() && scale < 1.0 {
        for gradient in gradients {
            gradient.iter_mut().for_each(|value| *value *= scale);
        }
    }
    norm
}

/// In lanes, so that the sum vectorises; in f64, so that its order matters little.
fn square_sum(values: &[f32]) -> f64 {
    let mut lanes = [0.0f64; 16];
    let (chunks, rest) = values.as_chunks::<16>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += f64::from(*value) * f64::from(*value);
        }
    }
    let tail: f64 = rest
        .iter()
        .map(|value| f64::from(*value) * f64::from(*value))
        .sum();
    lanes.iter().sum::<f64>() + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_vectors_share_one_norm() {
        let (mut a, mut b) = (vec![2.0f32; 33], vec![-1.0f32; 7]);
        let expected = (33.0f32 * 4.0 + 7.0).sqrt();
        assert!((clip_norm_all(&mut [&mut a, &mut b], 0.5) - expected).abs() < 1e-5);
        let left: f32 = a.iter().chain(&b).map(|v| v * v).sum::<f32>().sqrt();
        assert!((left - 0.5).abs() < 1e-5);
        assert!((a[0] / b[0] + 2.0).abs() < 1e-6);
    }

    #[test]
    fn short_and_non_finite_gradients_are_left_alone() {
        let mut short = [0.3, 0.4];
        clip_norm(&mut short, 1.0);
        assert_eq!(short, [0.3, 0.4]);
        let mut bad = [1.0, f32::INFINITY];
        assert!(clip_norm(&mut bad, 1.0).is_infinite());
        assert_eq!(bad, [1.0, f32::INFINITY]);
    }
}
