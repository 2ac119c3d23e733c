//! The latent set of a chart and the linear start of its networks, fitted to the chart's rows.

use fabproj_core::LatentSet;
use serde::{Deserialize, Serialize};

use crate::data::pool::radius_quantile;

/// Radius of latent balls and shells, and half side of boxes.
const SIZE: f32 = 0.5;

/// The kind of a latent set; its sizes follow from the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LatentKind {
    /// ‖z‖ ≤ r.
    Ball,
    /// A ball with a hole as large, relatively, as the one around the centre of the rows.
    Shell,
    /// |z_j| ≤ h.
    Box,
    /// Non-negative coordinates with sum one, reached by softmax; one dimension more than the rows.
    Simplex,
}

/// A latent set, and the linear maps that carry the rows to it and back at the start of training.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// S
    pub latent: LatentSet,
    /// Dimension of z.
    pub latent_dim: usize,
    /// `[latent_dim][dim]`: the encoder's skip.
    pub encoder_skip: Vec<f32>,
    /// `[dim][latent_dim]`: the decoder's skip.
    pub decoder_skip: Vec<f32>,
}

/// The relative size of the hole around the centre of rows in chart units: the distance that nearly
/// all rows keep from it, over the distance that nearly none exceeds.
pub fn hole(inner: &[f32], dim: usize) -> f32 {
    radius_quantile(inner, dim, 0.005) / radius_quantile(inner, dim, 0.995).max(f32::MIN_POSITIVE)
}

impl Fit {
    /// Fits a latent set of the given kind to rows in chart units. `smooth` as in [`LatentSet`].
    pub fn new(kind: LatentKind, smooth: Option<f32>, inner: &[f32], dim: usize) -> Self {
        match kind {
            LatentKind::Ball => {
                let extent = radius_quantile(inner, dim, 0.9);
                Self::scaled(
                    LatentSet::Ball {
                        radius: SIZE,
                        smooth,
                    },
                    extent,
                    dim,
                )
            }
            LatentKind::Shell => {
                let inner_radius = SIZE * hole(inner, dim).clamp(0.01, 0.99);
                let latent = LatentSet::Shell {
                    inner: inner_radius,
                    outer: SIZE,
                    smooth,
                };
                Self::scaled(latent, radius_quantile(inner, dim, 0.995), dim)
            }
            LatentKind::Box => {
                let largest: Vec<f32> = inner
                    .chunks_exact(dim)
                    .map(|row| row.iter().fold(0.0f32, |most, v| most.max(v.abs())))
                    .collect();
                let extent = radius_quantile(&largest, 1, 0.999);
                Self::scaled(LatentSet::Box { half: SIZE, smooth }, extent, dim)
            }
            LatentKind::Simplex => Self::simplex(radius_quantile(inner, dim, 0.9), dim),
        }
    }

    /// Multiples of the identity: the latent set starts as the set of the given extent.
    fn scaled(latent: LatentSet, extent: f32, dim: usize) -> Self {
        let factor = SIZE / extent.max(1e-6);
        let identity = |value: f32| -> Vec<f32> {
            (0..dim * dim)
                .map(|index| {
                    if index / dim == index % dim {
                        value
                    } else {
                        0.0
                    }
                })
                .collect()
        };
        Self {
            latent,
            latent_dim: dim,
            encoder_skip: identity(factor),
            decoder_skip: identity(1.0 / factor),
        }
    }

    /// The corners decode to a regular simplex around the rows; near its middle, decoding the softmax
    /// of the encoding gives back the point.
    fn simplex(extent: f32, dim: usize) -> Self {
        let corners = regular_simplex(dim);
        let radius = 1.5 * extent.max(1e-6);
        let latent_dim = dim + 1;
        let mut decoder_skip = vec![0.0; dim * latent_dim];
        for (corner, point) in corners.chunks_exact(dim).enumerate() {
            for (j, value) in point.iter().enumerate() {
                decoder_skip[j * latent_dim + corner] = radius * value;
            }
        }
        let slope = dim as f32 / radius;
        Self {
            latent: LatentSet::Simplex { sharpness: 1.0 },
            latent_dim,
            encoder_skip: corners.iter().map(|value| slope * value).collect(),
            decoder_skip,
        }
    }
}

/// The dim + 1 corners of a regular simplex on the unit sphere, row by row.
fn regular_simplex(dim: usize) -> Vec<f32> {
    let mut corners = vec![0.0f32; (dim + 1) * dim];
    let dot = |corners: &[f32], a: usize, b: usize, upto: usize| -> f32 {
        (0..upto)
            .map(|k| corners[a * dim + k] * corners[b * dim + k])
            .sum()
    };
    for axis in 0..dim {
        let height = (1.0 - dot(&corners, axis, axis, axis)).max(0.0).sqrt();
        corners[axis * dim + axis] = height;
        for other in axis + 1..=dim {
            let value = (-1.0 / dim as f32 - dot(&corners, axis, other, axis)) / height;
            corners[other * dim + axis] = value;
        }
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_of_a_simplex_are_unit_vectors_at_equal_angles() {
        for dim in [1, 2, 3, 7] {
            let corners = regular_simplex(dim);
            for a in 0..=dim {
                for b in 0..=dim {
                    let dot: f32 = (0..dim)
                        .map(|k| corners[a * dim + k] * corners[b * dim + k])
                        .sum();
                    let expected = if a == b { 1.0 } else { -1.0 / dim as f32 };
                    assert!((dot - expected).abs() < 1e-5, "dim {dim}: {a}·{b} = {dot}");
                }
            }
        }
    }

    #[test]
    fn every_kind_starts_as_the_identity_near_the_middle() {
        let rows: Vec<f32> = (0..2000).map(|i| (i as f32 * 0.61).sin() * 1.3).collect();
        for kind in [LatentKind::Ball, LatentKind::Box, LatentKind::Simplex] {
            let fit = Fit::new(kind, None, &rows, 2);
            let y = [0.05f32, -0.03];
            let mut latent: Vec<f32> = fit
                .encoder_skip
                .chunks_exact(2)
                .map(|row| row[0] * y[0] + row[1] * y[1])
                .collect();
            fit.latent.clamp(&mut latent);
            for (j, row) in fit.decoder_skip.chunks_exact(fit.latent_dim).enumerate() {
                let back: f32 = row.iter().zip(&latent).map(|(w, z)| w * z).sum();
                assert!((back - y[j]).abs() < 5e-3, "{kind:?}: {back} for {}", y[j]);
            }
        }
    }
}
