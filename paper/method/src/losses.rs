//! The losses that are sums over rows, with their derivatives.

use serde::{Deserialize, Serialize};

/// Losses of one step of phase 2, before their weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Losses {
    /// Mean squared error of R(E(y)) (equation 4).
    pub reconstruction: f64,
    /// Cross-entropy of D(R(E(y))) and the labels; in the released code only.
    pub feasibility: f64,
    /// Cross-entropy of D(R(z)) and "feasible", z in the ball (equation 8).
    pub latent: f64,
    /// Variance of log det(J Jᵀ + ε I) (equation 9).
    pub geometry: f64,
    /// How far encodings are on the wrong side of the ball's surface (equation 7).
    pub hinge: f64,
    /// Cross-entropy of the discriminator, mean over its steps (equation 5).
    pub discriminator: f64,
}

impl Losses {
    pub(super) const COUNT: usize = 6;

    /// The losses by name.
    pub fn named(&self) -> [(&'static str, f64); Self::COUNT] {
        [
            ("reconstruction", self.reconstruction),
            ("feasibility", self.feasibility),
            ("latent", self.latent),
            ("geometry", self.geometry),
            ("hinge", self.hinge),
            ("discriminator", self.discriminator),
        ]
    }

    pub(super) fn add(&mut self, other: &Self, factor: f64) {
        self.reconstruction += factor * other.reconstruction;
        self.feasibility += factor * other.feasibility;
        self.latent += factor * other.latent;
        self.geometry += factor * other.geometry;
        self.hinge += factor * other.hinge;
        self.discriminator += factor * other.discriminator;
    }
}

/// −[w t log σ(l) + (1 − t) log(1 − σ(l))] and its derivative with respect to the logit l, without
/// overflow or cancellation for any finite l.
pub(super) fn cross_entropy(logit: f32, target: bool, positive_weight: f32) -> (f32, f32) {
    // The loss is softplus(x) and its slope in x is σ(x), with x = −l for t = 1 and x = l for t = 0.
    let x = if target { -logit } else { logit };
    let small = (-x.abs()).exp();
    let softplus = x.max(0.0) + small.ln_1p();
    let sigmoid = if x >= 0.0 { 1.0 } else { small } / (1.0 + small);
    if target {
        (positive_weight * softplus, -positive_weight * sigmoid)
    } else {
        (softplus, sigmoid)
    }
}

/// What the released code replaces a logit by that is not finite; `None` for a finite one.
pub(super) fn replaced_logit(logit: f32) -> Option<f32> {
    if logit.is_finite() {
        None
    } else if logit.is_nan() {
        Some(0.0)
    } else {
        Some(50.0_f32.copysign(logit))
    }
}

/// The hinge of one encoding: feasible points belong inside the ball, infeasible ones outside. Adds
/// `weight` times its derivative.
pub(super) fn hinge(
    latent: &[f32],
    feasible: bool,
    radius: f32,
    weight: f32,
    derivative: &mut [f32],
) -> f32 {
    let norm = latent.iter().map(|z| z * z).sum::<f32>().sqrt();
    let beyond = if feasible {
        norm - radius
    } else {
        radius - norm
    };
    if beyond > 0.0 && norm > 0.0 {
        let slope = weight * if feasible { 1.0 } else { -1.0 } / norm;
        for (d, z) in derivative.iter_mut().zip(latent) {
            *d += slope * z;
        }
    }
    beyond.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cross_entropy_is_that_of_the_definition(logit in -12.0f32..12.0, target: bool, weight in 0.01f32..5.0) {
            let probability = |l: f64| 1.0 / (1.0 + (-l).exp());
            let definition = |l: f64| if target {
                -f64::from(weight) * probability(l).ln()
            } else {
                -(1.0 - probability(l)).ln()
            };
            let (loss, slope) = cross_entropy(logit, target, weight);
            let wide = f64::from(logit);
            let expected = definition(wide);
            prop_assert!((f64::from(loss) - expected).abs() < 1e-5 * (1.0 + expected));
            let difference = (definition(wide + 1e-5) - definition(wide - 1e-5)) / 2e-5;
            prop_assert!((f64::from(slope) - difference).abs() < 1e-4 * (1.0 + difference.abs()));
        }

        #[test]
        fn hinge_has_the_slope_of_its_differences(z in prop::array::uniform3(-1.0f32..1.0), feasible: bool) {
            let mut derivative = [0.5; 3];
            hinge(&z, feasible, 0.5, 2.0, &mut derivative);
            let norm = z.iter().map(|v| v * v).sum::<f32>().sqrt();
            prop_assume!((norm - 0.5).abs() > 0.01 && norm > 0.02);
            for index in 0..3 {
                let at = |h: f32| {
                    let mut moved = z;
                    moved[index] += h;
                    hinge(&moved, feasible, 0.5, 0.0, &mut [0.0; 3])
                };
                let slope = 2.0 * (at(1e-3) - at(-1e-3)) / 2e-3;
                prop_assert!((derivative[index] - 0.5 - slope).abs() < 1e-2);
            }
        }
    }

    #[test]
    fn extreme_logits_stay_finite() {
        for logit in [-1e30, -200.0, 200.0, 1e30] {
            for target in [false, true] {
                let (loss, slope) = cross_entropy(logit, target, 1.0);
                assert!(loss.is_finite() && slope.abs() <= 1.0, "{logit}");
            }
        }
        assert_eq!(cross_entropy(-200.0, true, 2.0), (400.0, -2.0));
        assert_eq!(replaced_logit(f32::NAN), Some(0.0));
        assert_eq!(replaced_logit(f32::NEG_INFINITY), Some(-50.0));
        assert_eq!(replaced_logit(1e30), None);
    }

    #[test]
    fn a_latent_at_the_centre_has_no_direction() {
        let mut derivative = [0.0; 2];
        assert_eq!(hinge(&[0.0; 2], false, 0.5, 1.0, &mut derivative), 0.5);
        assert_eq!(derivative, [0.0; 2]);
    }
}
