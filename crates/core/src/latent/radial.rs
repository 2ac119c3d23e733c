//! Ball and shell: maps z ↦ z·g(‖z‖) that keep the direction.

use super::{LatentSet, sigmoid, softplus};

/// Added to ‖z‖ in the smooth ball's map, as in the paper's released code.
const NORM_OFFSET: f64 = 1e-8;

/// Below this a latent has no direction; a shell then takes the first axis.
const NO_DIRECTION: f64 = 1e-12;

/// A set that is described by ‖z‖ alone; a ball has `inner` 0.
#[derive(Clone, Copy)]
pub(super) struct Radial {
    inner: f64,
    outer: f64,
    smooth: Option<f64>,
}

/// How a point at distance ρ from the origin is scaled.
struct Gain {
    /// g(ρ)
    value: f64,
    /// g'(ρ)
    slope: f64,
}

/// ‖z‖ in f64, where squares of f32 cannot overflow.
pub(super) fn norm(latent: &[f32]) -> f64 {
    let square: f64 = latent.iter().map(|z| f64::from(*z) * f64::from(*z)).sum();
    libm::sqrt(square)
}

impl Radial {
    #[inline]
    pub(super) fn of(set: &LatentSet) -> Option<Self> {
        let (inner, outer, smooth) = match *set {
            LatentSet::Ball { radius, smooth } => (0.0, radius, smooth),
            LatentSet::Shell {
                inner,
                outer,
                smooth,
            } => (inner, outer, smooth),
            _ => return None,
        };
        Some(Self {
            inner: f64::from(inner),
            outer: f64::from(outer),
            smooth: smooth.map(f64::from),
        })
    }

    fn is_ball(&self) -> bool {
        self.inner == 0.0
    }

    #[inline]
    pub(super) fn clamp(&self, latent: &mut [f32]) -> bool {
        let radius = norm(latent);
        if self.is_ball() && self.smooth.is_none() {
            // A factor of exactly 1 inside, and no branch that half of the points would take.
            let gain = self.outer / radius.max(self.outer);
            latent
                .iter_mut()
                .for_each(|z| *z = (f64::from(*z) * gain) as f32);
            return radius <= self.outer;
        }
        let inside = radius >= self.inner && radius <= self.outer;
        if inside && self.smooth.is_none() {
            return true;
        }
        if radius < NO_DIRECTION && !self.is_ball() {
            latent.fill(0.0);
            if let Some(first) = latent.first_mut() {
                *first = self.target(0.0).0 as f32;
            }
            return inside;
        }
        let gain = self.gain(radius).value;
        latent
            .iter_mut()
            .for_each(|z| *z = (f64::from(*z) * gain) as f32);
        inside
    }

    /// J = g I + (g'/ρ) z zᵀ is symmetric, so that the product with its transpose is the product.
    pub(super) fn vjp(&self, latent: &[f32], cotangent: &mut [f32]) {
        let radius = norm(latent);
        if radius < NO_DIRECTION && !self.is_ball() {
            cotangent.fill(0.0);
            return;
        }
        let gain = self.gain(radius);
        let dot: f64 = latent
            .iter()
            .zip(cotangent.iter())
            .map(|(z, c)| f64::from(*z) * f64::from(*c))
            .sum();
        // z zᵀ vanishes faster than ρ, so nothing is lost where the quotient has no value.
        let along = if radius > 0.0 {
            gain.slope * dot / radius
        } else {
            0.0
        };
        for (z, c) in latent.iter().zip(cotangent) {
            *c = (gain.value * f64::from(*c) + along * f64::from(*z)) as f32;
        }
    }

    /// The new distance ρ' and its derivative.
    fn target(&self, radius: f64) -> (f64, f64) {
        let Some(smooth) = self.smooth else {
            return match radius {
                _ if radius > self.outer => (self.outer, 0.0),
                _ if radius < self.inner => (self.inner, 0.0),
                _ => (radius, 1.0),
            };
        };
        let above = smooth * (radius - self.outer);
        // Above the outer radius ρ and most of softplus cancel: keep what is left of them.
        let mut value = if above > 0.0 {
            self.outer - libm::log1p(libm::exp(-above)) / smooth
        } else {
            radius - softplus(above) / smooth
        };
        let mut slope = 1.0 - sigmoid(above);
        if !self.is_ball() {
            let below = smooth * (self.inner - radius);
            value += softplus(below) / smooth;
            slope -= sigmoid(below);
        }
        (value, slope)
    }

    fn gain(&self, radius: f64) -> Gain {
        let (target, slope) = self.target(radius);
        if self.smooth.is_none() && slope == 1.0 {
            return Gain {
                value: 1.0,
                slope: 0.0,
            };
        }
        let divisor = if self.smooth.is_some() && self.is_ball() {
            radius + NORM_OFFSET
        } else {
            radius
        };
        Gain {
            value: target / divisor,
            slope: (slope * divisor - target) / (divisor * divisor),
        }
    }
}
