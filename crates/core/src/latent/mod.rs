//! Latent sets S: simple sets with a closed-form map onto them, hard and smooth.
//!
//! The scalar part of every map is computed in f64: latents of any finite size are mapped without
//! overflow, and the cost is a few nanoseconds.

mod exact;
mod radial;
mod spread;

use serde::{Deserialize, Serialize};

use radial::Radial;
pub(crate) use spread::spread_step;

/// A set in latent space. The hard map is the Euclidean projection (for the simplex: softmax).
///
/// ```
/// use fabproj_core::LatentSet;
///
/// let ball = LatentSet::Ball { radius: 0.5, smooth: None };
/// let mut latent = [3.0, 4.0];
/// let was_inside = ball.clamp(&mut latent);
/// assert!(!was_inside);
/// assert_eq!(latent, [0.3, 0.4]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LatentSet {
    /// ‖z‖ ≤ radius.
    Ball {
        /// Radius of the ball.
        #[serde(with = "exact")]
        radius: f32,
        /// `None`: the hard radial clamp. `Some(β)`: the smooth one, ρ − softplus(β(ρ − radius))/β.
        #[serde(default, with = "exact::optional")]
        smooth: Option<f32>,
    },
    /// inner ≤ ‖z‖ ≤ outer.
    Shell {
        /// Inner radius.
        #[serde(with = "exact")]
        inner: f32,
        /// Outer radius.
        #[serde(with = "exact")]
        outer: f32,
        /// As for the ball, at both radii.
        #[serde(default, with = "exact::optional")]
        smooth: Option<f32>,
    },
    /// |z_j| ≤ half for every j.
    Box {
        /// Half the side.
        #[serde(with = "exact")]
        half: f32,
        /// `None`: clamp. `Some(β)`: smooth in each coordinate.
        #[serde(default, with = "exact::optional")]
        smooth: Option<f32>,
    },
    /// z_j ≥ 0 and Σ z_j = 1, reached by softmax(β z).
    Simplex {
        /// The softmax's inverse temperature β.
        #[serde(with = "exact")]
        sharpness: f32,
    },
}

/// Why a latent set cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LatentError {
    /// A size or a sharpness that is not a positive number.
    #[error("{quantity} is {value}; it must be a positive, finite number")]
    NotPositive {
        /// Which field.
        quantity: &'static str,
        /// Its value.
        value: f32,
    },
    /// A shell whose radii are in the wrong order.
    #[error("the inner radius {inner} is not below the outer radius {outer}")]
    Radii {
        /// The inner radius.
        inner: f32,
        /// The outer radius.
        outer: f32,
    },
    /// A smooth ball so soft that its map leaves the ball near the centre.
    #[error("smooth {smooth} is too soft for radius {radius}: their product must be at least 1")]
    TooSoft {
        /// The sharpness β.
        smooth: f32,
        /// The ball's radius.
        radius: f32,
    },
    /// Fewer latent dimensions than the set needs.
    #[error("the latent dimension is {dim}; this latent set needs at least {minimum}")]
    Dimension {
        /// The latent dimension.
        dim: usize,
        /// The smallest that the set allows.
        minimum: usize,
    },
}

impl LatentSet {
    /// The smallest latent dimension in which the set is more than one point.
    pub fn minimum_dim(&self) -> usize {
        match self {
            Self::Simplex { .. } => 2,
            _ => 1,
        }
    }

    /// Checks the set's sizes and that it can live in `dim` dimensions.
    ///
    /// # Errors
    /// [`LatentError`], which carries the offending value.
    pub fn validate(&self, dim: usize) -> Result<(), LatentError> {
        match *self {
            Self::Ball { radius, smooth } => {
                positive("radius", radius)?;
                if let Some(smooth) = smooth {
                    positive("smooth", smooth)?;
                    // Below a product of about 0.5, |ρ'| at ρ = 0 exceeds the radius.
                    if smooth * radius < 1.0 {
                        return Err(LatentError::TooSoft { smooth, radius });
                    }
                }
            }
            Self::Shell {
                inner,
                outer,
                smooth,
            } => {
                positive("inner", inner)?;
                positive("outer", outer)?;
                if inner >= outer {
                    return Err(LatentError::Radii { inner, outer });
                }
                smooth.map_or(Ok(()), |value| positive("smooth", value))?;
            }
            Self::Box { half, smooth } => {
                positive("half", half)?;
                smooth.map_or(Ok(()), |value| positive("smooth", value))?;
            }
            Self::Simplex { sharpness } => positive("sharpness", sharpness)?,
        }
        let minimum = self.minimum_dim();
        if dim < minimum {
            return Err(LatentError::Dimension { dim, minimum });
        }
        Ok(())
    }

    /// Maps `latent` into the set, and says whether it was inside before.
    ///
    /// A hard map leaves points of the set alone, bit for bit; a smooth one moves all points a
    /// little. Softmax moves everything, so that nothing counts as inside a simplex. At the centre of
    /// a shell, where every direction is as good, the first axis is taken.
    #[inline]
    pub fn clamp(&self, latent: &mut [f32]) -> bool {
        if let Some(radial) = Radial::of(self) {
            return radial.clamp(latent);
        }
        match *self {
            Self::Box { half, smooth } => {
                let inside = latent.iter().all(|z| z.abs() <= half);
                match smooth {
                    None if inside => {}
                    None => latent.iter_mut().for_each(|z| *z = hard_interval(*z, half)),
                    Some(smooth) => latent
                        .iter_mut()
                        .for_each(|z| *z = smooth_interval(*z, half, smooth).0),
                }
                inside
            }
            Self::Simplex { sharpness } => {
                softmax(latent, sharpness);
                false
            }
            // Both were handled as radial sets.
            Self::Ball { .. } | Self::Shell { .. } => false,
        }
    }

    /// The vector-Jacobian product of [`clamp`](Self::clamp) at the unclamped `latent`: replaces
    /// `cotangent` by Jᵀ·cotangent. At kinks the derivative from inside is taken; at the centre of a
    /// shell it is zero.
    pub fn clamp_vjp(&self, latent: &[f32], cotangent: &mut [f32]) {
        if let Some(radial) = Radial::of(self) {
            return radial.vjp(latent, cotangent);
        }
        match *self {
            Self::Box { half, smooth } => {
                for (z, c) in latent.iter().zip(cotangent) {
                    *c *= match smooth {
                        None => f32::from(z.abs() <= half),
                        Some(smooth) => smooth_interval(*z, half, smooth).1,
                    };
                }
            }
            Self::Simplex { sharpness } => softmax_vjp(latent, sharpness, cotangent),
            Self::Ball { .. } | Self::Shell { .. } => {}
        }
    }

    /// Whether `latent` lies in the set, give or take `tolerance` in each radius or coordinate. NaN
    /// never does.
    pub fn contains(&self, latent: &[f32], tolerance: f32) -> bool {
        let tolerance = f64::from(tolerance);
        let norm = radial::norm(latent);
        match *self {
            Self::Ball { radius, .. } => norm <= f64::from(radius) + tolerance,
            Self::Shell { inner, outer, .. } => {
                norm >= f64::from(inner) - tolerance && norm <= f64::from(outer) + tolerance
            }
            Self::Box { half, .. } => latent
                .iter()
                .all(|z| f64::from(z.abs()) <= f64::from(half) + tolerance),
            Self::Simplex { .. } => {
                let sum: f64 = latent.iter().copied().map(f64::from).sum();
                (sum - 1.0).abs() <= tolerance && latent.iter().all(|z| f64::from(*z) >= -tolerance)
            }
        }
    }

    /// Moves `latent` into the set by the hard map even where [`clamp`](Self::clamp) is smooth.
    ///
    /// For points that were in the set up to rounding, or that lie on a segment between two of its
    /// points: only a shell moves the latter. On a simplex negative parts are cut and the sum restored.
    pub fn restrict(&self, latent: &mut [f32]) {
        match *self {
            Self::Ball { radius, .. } => {
                let hard = Self::Ball {
                    radius,
                    smooth: None,
                };
                hard.clamp(latent);
            }
            Self::Shell { inner, outer, .. } => {
                let hard = Self::Shell {
                    inner,
                    outer,
                    smooth: None,
                };
                hard.clamp(latent);
            }
            Self::Box { half, .. } => {
                let hard = Self::Box { half, smooth: None };
                hard.clamp(latent);
            }
            Self::Simplex { .. } => {
                latent.iter_mut().for_each(|z| *z = z.max(0.0));
                let sum: f64 = latent.iter().copied().map(f64::from).sum();
                let even = 1.0 / latent.len() as f32;
                for z in latent {
                    *z = if sum > 0.0 {
                        (f64::from(*z) / sum) as f32
                    } else {
                        even
                    };
                }
            }
        }
    }
}

fn positive(quantity: &'static str, value: f32) -> Result<(), LatentError> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(LatentError::NotPositive { quantity, value })
    }
}

/// log(1 + e^t) without overflow.
fn softplus(t: f64) -> f64 {
    t.max(0.0) + libm::log1p(libm::exp(-t.abs()))
}

fn sigmoid(t: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-t))
}

/// Comparisons, not `f32::clamp`: NaN passes through and an invalid set cannot panic.
fn hard_interval(z: f32, half: f32) -> f32 {
    if z > half {
        half
    } else if z < -half {
        -half
    } else {
        z
    }
}

/// The smooth clamp of one coordinate to [-half, half], and its derivative.
fn smooth_interval(z: f32, half: f32, smooth: f32) -> (f32, f32) {
    let (z, half, smooth) = (f64::from(z), f64::from(half), f64::from(smooth));
    let (above, below) = (smooth * (z - half), smooth * (-half - z));
    let value = if above > 0.0 {
        // The same sum with the large parts cancelled by hand: no loss far outside.
        half - libm::log1p(libm::exp(-above)) / smooth + softplus(below) / smooth
    } else if below > 0.0 {
        -half - softplus(above) / smooth + libm::log1p(libm::exp(-below)) / smooth
    } else {
        z - softplus(above) / smooth + softplus(below) / smooth
    };
    (value as f32, (1.0 - sigmoid(above) - sigmoid(below)) as f32)
}

fn softmax(latent: &mut [f32], sharpness: f32) {
    let largest = latent.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let (sharpness, largest) = (f64::from(sharpness), f64::from(largest));
    let weight = |z: f32| libm::exp(sharpness * (f64::from(z) - largest));
    let sum: f64 = latent.iter().map(|z| weight(*z)).sum();
    latent
        .iter_mut()
        .for_each(|z| *z = (weight(*z) / sum) as f32);
}

/// Jᵀc = β s ⊙ (c − s·c) with s = softmax(βz).
fn softmax_vjp(latent: &[f32], sharpness: f32, cotangent: &mut [f32]) {
    let largest = latent.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let (sharpness, largest) = (f64::from(sharpness), f64::from(largest));
    let weight = |z: f32| libm::exp(sharpness * (f64::from(z) - largest));
    let (mut sum, mut dot) = (0.0, 0.0);
    for (z, c) in latent.iter().zip(cotangent.iter()) {
        sum += weight(*z);
        dot += weight(*z) * f64::from(*c);
    }
    for (z, c) in latent.iter().zip(cotangent) {
        *c = (sharpness * (weight(*z) / sum) * (f64::from(*c) - dot / sum)) as f32;
    }
}
