//! The latent set of a chart and the linear start of its networks, fitted to the chart's rows.

use fabproj_core::LatentSet;
use fabproj_nn::Eigen;
use serde::{Deserialize, Serialize};

use crate::data::Regime;
use crate::data::pool::radius_quantile;

/// From this [`hole`] on, a shell is thin.
const THIN_SHELL: f32 = 0.9;

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
pub(crate) struct Fit {
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
pub(crate) fn hole(inner: &[f32], dim: usize) -> f32 {
    radius_quantile(inner, dim, 0.005) / radius_quantile(inner, dim, 0.995).max(f32::MIN_POSITIVE)
}

/// Moves the centre of thin shells to where all rows are equally far from it: the mean of rows strays by
/// more than such a shell is thick. Other rows keep theirs.
pub(crate) fn centre_of_shell(rows: &[f32], dim: usize, centre: &mut [f32]) {
    let count = (rows.len() / dim).max(1) as f64;
    let offsets = |centre: &[f32]| -> Vec<f32> {
        let from_centre = rows.iter().zip(centre.iter().cycle());
        from_centre.map(|(v, c)| v - c).collect()
    };
    if hole(&offsets(centre), dim) < THIN_SHELL {
        return;
    }
    // Each turn leaves the share 1 − 1/dim of the error.
    for _ in 0..20 * dim {
        let inner = offsets(centre);
        let (mut length, mut mean, mut direction) = (0.0, vec![0.0; dim], vec![0.0; dim]);
        for row in inner.chunks_exact(dim) {
            let norm = row.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>();
            let norm = norm.sqrt().max(f64::MIN_POSITIVE);
            length += norm / count;
            for (j, v) in row.iter().enumerate() {
                mean[j] += f64::from(*v) / count;
                direction[j] += f64::from(*v) / (norm * count);
            }
        }
        for (j, c) in centre.iter_mut().enumerate() {
            *c += (mean[j] - length * direction[j]) as f32;
        }
    }
}

impl Fit {
    /// Fits a latent set of the given kind to rows in chart units. `smooth` as in [`LatentSet`].
    pub(crate) fn new(kind: LatentKind, smooth: Option<f32>, inner: &[f32], dim: usize) -> Self {
        if Regime::fixed(dim).low_dimensional() {
            return Self::isotropic(kind, smooth, inner, dim);
        }
        // A thin slab in many dimensions is far from any ball or box of one size.
        if kind == LatentKind::Box {
            return Self::tightest_box(smooth, inner, dim);
        }
        if kind == LatentKind::Ball {
            let (root, inverse) = Spread::of(inner, dim).roots();
            let levelled = multiply(inner, &inverse, dim);
            let level = Self::isotropic(kind, smooth, &levelled, dim);
            return Self {
                encoder_skip: multiply(&level.encoder_skip, &inverse, dim),
                decoder_skip: multiply(&root, &level.decoder_skip, dim),
                ..level
            };
        }
        Self::isotropic(kind, smooth, inner, dim)
    }

    fn isotropic(kind: LatentKind, smooth: Option<f32>, inner: &[f32], dim: usize) -> Self {
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
                // A thin shell starts as its middle: networks can bend it, but hardly make it thinner.
                let (low, high) = match hole(inner, dim) < THIN_SHELL {
                    true => (0.005, 0.995),
                    false => (0.25, 0.75),
                };
                let extent = radius_quantile(inner, dim, high);
                let share = radius_quantile(inner, dim, low) / extent.max(f32::MIN_POSITIVE);
                let latent = LatentSet::Shell {
                    inner: SIZE * share.clamp(0.01, 0.999),
                    outer: SIZE,
                    smooth,
                };
                Self::scaled(latent, extent, dim)
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

    /// A box along the coordinates or along the principal axes of the rows, whichever is smaller, with
    /// sides of their own.
    fn tightest_box(smooth: Option<f32>, inner: &[f32], dim: usize) -> Self {
        let spread = Spread::of(inner, dim);
        let boxes = [identity(1.0, dim), spread.axes()].map(|axes| {
            let turned = multiply(inner, &axes, dim);
            let side = |j: usize| {
                let column: Vec<f32> = turned.chunks_exact(dim).map(|row| row[j]).collect();
                radius_quantile(&column, 1, BOX_SHARE).max(1e-6)
            };
            (axes, (0..dim).map(side).collect::<Vec<f32>>())
        });
        let volume = |sides: &[f32]| sides.iter().map(|side| side.ln()).sum::<f32>();
        let [along, turned] = boxes;
        // Axes from samples are a little off those of a set that has its sides along the coordinates.
        let (axes, sides) = if volume(&turned.1) < volume(&along.1) - 0.05 * dim as f32 {
            turned
        } else {
            along
        };
        let mut encoder_skip = vec![0.0; dim * dim];
        let mut decoder_skip = vec![0.0; dim * dim];
        for i in 0..dim {
            for (axis, side) in sides.iter().enumerate() {
                encoder_skip[axis * dim + i] = axes[i * dim + axis] * SIZE / side;
                decoder_skip[i * dim + axis] = axes[i * dim + axis] * side / SIZE;
            }
        }
        Self {
            latent: LatentSet::Box { half: SIZE, smooth },
            latent_dim: dim,
            encoder_skip,
            decoder_skip,
        }
    }

    /// Multiples of the identity: the latent set starts as the set of the given extent.
    fn scaled(latent: LatentSet, extent: f32, dim: usize) -> Self {
        let factor = SIZE / extent.max(1e-6);
        Self {
            latent,
            latent_dim: dim,
            encoder_skip: identity(factor, dim),
            decoder_skip: identity(1.0 / factor, dim),
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

/// Share of the rows between two opposite sides of a box at the start.
const BOX_SHARE: f64 = 0.98;
/// Smaller spreads, relative to the largest, are raised to this.
const THINNEST: f64 = 0.003;

/// Principal axes of rows, and how far they spread along them.
struct Spread {
    dim: usize,
    /// Standard deviations.
    deviations: Vec<f64>,
    /// Axes in rows.
    vectors: Vec<f64>,
}

impl Spread {
    fn of(rows: &[f32], dim: usize) -> Self {
        let count = (rows.len() / dim).max(1) as f64;
        let mut covariance = vec![0.0f64; dim * dim];
        for row in rows.chunks_exact(dim) {
            for i in 0..dim {
                for j in 0..dim {
                    covariance[i * dim + j] += f64::from(row[i]) * f64::from(row[j]) / count;
                }
            }
        }
        let Eigen { values, vectors } = Eigen::new(covariance, dim);
        let largest = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let deviation =
            |value: &f64| (value.max(0.0) / largest).sqrt().max(THINNEST) * largest.sqrt();
        Self {
            dim,
            deviations: values.iter().map(deviation).collect(),
            vectors,
        }
    }

    /// The axes, in columns.
    fn axes(&self) -> Vec<f32> {
        let entry = |index: usize| self.vectors[index % self.dim * self.dim + index / self.dim];
        (0..self.vectors.len())
            .map(|index| entry(index) as f32)
            .collect()
    }

    /// The root of the covariance and its inverse, both symmetric.
    fn roots(&self) -> (Vec<f32>, Vec<f32>) {
        let (dim, vectors) = (self.dim, &self.vectors);
        let compose = |scale: &dyn Fn(f64) -> f64| -> Vec<f32> {
            let entry = |index: usize| {
                let (i, j) = (index / dim, index % dim);
                let term = |k: usize| {
                    vectors[k * dim + i] * scale(self.deviations[k]) * vectors[k * dim + j]
                };
                (0..dim).map(term).sum::<f64>() as f32
            };
            (0..dim * dim).map(entry).collect()
        };
        (compose(&|deviation| deviation), compose(&f64::recip))
    }
}

fn identity(value: f32, dim: usize) -> Vec<f32> {
    (0..dim * dim)
        .map(|index| {
            if index / dim == index % dim {
                value
            } else {
                0.0
            }
        })
        .collect()
}

/// The product of two matrices, row by row; the second is square.
fn multiply(left: &[f32], right: &[f32], dim: usize) -> Vec<f32> {
    let entry = |row: &[f32], j: usize| (0..dim).map(|k| row[k] * right[k * dim + j]).sum::<f32>();
    left.chunks_exact(dim)
        .flat_map(|row| (0..dim).map(|j| entry(row, j)).collect::<Vec<_>>())
        .collect()
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

    /// Rows on a part-filled ring around (0.3, −0.2), off by at most `half` from radius 2.
    fn ring(half: f32) -> Vec<f32> {
        let row = |i: usize| {
            let (s, t) = (
                (i as f32 * 0.618_034).fract(),
                (i as f32 * 0.754_877).fract(),
            );
            // More rows on one side: their mean is far from the centre.
            let angle = std::f32::consts::TAU * s * s;
            let radius = 2.0 + half * (2.0 * t - 1.0);
            [0.3 + radius * angle.cos(), -0.2 + radius * angle.sin()]
        };
        (0..4000).flat_map(row).collect()
    }

    #[test]
    fn the_centre_of_a_thin_shell_is_found() {
        let mut centre = [0.31, -0.19];
        centre_of_shell(&ring(0.01), 2, &mut centre);
        let error = (centre[0] - 0.3).hypot(centre[1] + 0.2);
        assert!(error < 1e-3, "{centre:?}");
    }

    #[test]
    fn the_centre_of_a_thick_shell_stays() {
        let mut centre = [0.31, -0.19];
        centre_of_shell(&ring(0.5), 2, &mut centre);
        assert_eq!(centre, [0.31, -0.19]);
    }

    #[test]
    fn a_thin_shell_starts_inside_of_the_rows() {
        let mut rows = ring(0.01);
        for row in rows.chunks_exact_mut(2) {
            row[0] -= 0.3;
            row[1] += 0.2;
        }
        let fit = Fit::new(LatentKind::Shell, None, &rows, 2);
        let LatentSet::Shell { inner, outer, .. } = fit.latent else {
            panic!("{:?}", fit.latent);
        };
        let decoded = [inner, outer].map(|radius| radius * fit.decoder_skip[0]);
        assert!(decoded[0] > 1.992 && decoded[1] < 2.008, "{decoded:?}");
    }

    #[test]
    fn roots_of_covariances_are_roots() {
        let dim = 5;
        // Rows in a thin, tilted slab.
        let rows: Vec<f32> = (0..4000)
            .flat_map(|i| {
                let t = |k: f32| (i as f32 * k).sin();
                let thin = 0.01 * t(0.37);
                [
                    t(0.11),
                    t(0.23),
                    thin + 0.3 * t(0.11),
                    t(0.71),
                    0.02 * t(0.53),
                ]
            })
            .collect();
        let (root, inverse) = Spread::of(&rows, dim).roots();
        let identity = multiply(&root, &inverse, dim);
        for (index, value) in identity.iter().enumerate() {
            let expected = f32::from(u8::from(index / dim == index % dim));
            assert!((value - expected).abs() < 1e-3, "{identity:?}");
        }
        let levelled = multiply(&rows, &inverse, dim);
        for j in 0..dim {
            let square: f32 = levelled.chunks_exact(dim).map(|row| row[j] * row[j]).sum();
            assert!((square / 4000.0 - 1.0).abs() < 0.02, "{j}: {square}");
        }
    }

    #[test]
    fn boxes_start_along_the_rows() {
        let dim = 5;
        let t = |i: usize, k: f32| (i as f32 * k).sin();
        // A plate of five dimensions, thin along (1, 1, 0, 0, 0) and (0, 0, 1, -1, 0).
        let plate: Vec<f32> = (0..4000)
            .flat_map(|i| {
                let (a, b) = (0.01 * t(i, 0.37), 0.02 * t(i, 0.53));
                let (u, v) = (t(i, 0.11), 0.8 * t(i, 0.23));
                [a + u, a - u, b + v, v - b, t(i, 0.71)]
            })
            .collect();
        let cube: Vec<f32> = (0..4000)
            .flat_map(|i| [0.11, 0.23, 0.37, 0.53, 0.71].map(|k| t(i, k)))
            .collect();
        for (rows, turned) in [(plate, true), (cube, false)] {
            let fit = Fit::new(LatentKind::Box, None, &rows, dim);
            let latents: Vec<f32> = rows
                .chunks_exact(dim)
                .flat_map(|row| {
                    let entry = |weights: &[f32]| weights.iter().zip(row).map(|(w, y)| w * y).sum();
                    fit.encoder_skip
                        .chunks_exact(dim)
                        .map(entry)
                        .collect::<Vec<f32>>()
                })
                .collect();
            let outside = latents.iter().filter(|z| z.abs() > SIZE).count();
            let share = outside as f64 / latents.len() as f64;
            assert!((0.005..0.03).contains(&share), "{share} of the coordinates");
            let identity = multiply(&fit.decoder_skip, &fit.encoder_skip, dim);
            for (index, value) in identity.iter().enumerate() {
                let expected = f32::from(u8::from(index / dim == index % dim));
                assert!((value - expected).abs() < 1e-3, "{identity:?}");
            }
            // Along the coordinates, the skips of a cube are diagonal.
            assert_eq!(fit.encoder_skip[1] != 0.0, turned);
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
