//! The image of a set under an affine map.

use fabproj_core::Membership;
use std::sync::Arc;

use crate::set::delegate::same_coordinates;
use crate::set::rows::narrow;
use crate::set::vector::{dot, with_buffer};
use crate::set::{Description, Equation, Interval, Result, Set, SetError};

/// A pivot smaller than this part of the largest entry makes a matrix singular.
const SMALLEST_PIVOT: f64 = 1e-12;

/// How far from a multiple of a rotation a matrix may be to count as one.
const SIMILAR: f64 = 1e-12;

/// {A y + b : y in C(x)} for an invertible matrix A.
pub(crate) struct Affine {
    set: Arc<dyn Set>,
    matrix: Vec<f64>,
    inverse: Vec<f64>,
    offset: Vec<f64>,
    similarity: bool,
}

impl Affine {
    pub(crate) fn new(set: Arc<dyn Set>, matrix: Vec<f64>, offset: Vec<f64>) -> Result<Self> {
        let dim = set.dim();
        for (what, expected, found) in [
            ("matrix of an affine map", dim * dim, matrix.len()),
            ("offset of an affine map", dim, offset.len()),
        ] {
            if expected != found {
                return Err(SetError::Length {
                    what,
                    expected,
                    found,
                });
            }
        }
        if let Some(&found) = matrix
            .iter()
            .chain(&offset)
            .find(|value| !value.is_finite())
        {
            return Err(SetError::Value {
                what: "an entry of an affine map",
                must_be: "finite",
                found,
            });
        }
        let inverse = inverse(&matrix, dim)?;
        let similarity = is_similarity(&matrix, dim);
        Ok(Self {
            set,
            matrix,
            inverse,
            offset,
            similarity,
        })
    }

    /// Writes A⁻¹(y - b).
    #[inline]
    fn pull_back(&self, y: &[f64], origin: &mut [f64]) {
        let dim = y.len();
        for (row, origin) in origin.iter_mut().enumerate() {
            let weights = &self.inverse[row * dim..(row + 1) * dim];
            let terms = weights.iter().zip(y.iter().zip(&self.offset));
            *origin = terms.map(|(weight, (y, b))| weight * (y - b)).sum();
        }
    }

    /// Writes A origin + b.
    fn push_forward(&self, origin: &[f64], y: &mut [f64]) {
        let dim = origin.len();
        for (row, y) in y.iter_mut().enumerate() {
            *y = self.offset[row] + dot(&self.matrix[row * dim..(row + 1) * dim], origin);
        }
    }
}

impl Membership for Affine {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        with_buffer(y.len(), |origin| {
            self.pull_back(y, origin);
            self.set.contains(origin, x)
        })
    }

    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        inside.fill(true);
        narrow(self.set.as_ref(), y, x, inside, |y, _, points| {
            let start = points.len();
            points.resize(start + y.len(), 0.0);
            self.pull_back(y, &mut points[start..]);
            true
        });
    }

    fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let dim = y.len();
        gradient.fill(0.0);
        with_buffer(2 * dim, |buffer| {
            let (origin, inner) = buffer.split_at_mut(dim);
            self.pull_back(y, origin);
            let violation = self.set.violation(origin, x, inner)?;
            // Chain rule: A⁻ᵀ times the gradient at the origin.
            for (row, inner) in inner.iter().enumerate() {
                for (gradient, weight) in gradient.iter_mut().zip(&self.inverse[row * dim..]) {
                    *gradient += inner * weight;
                }
            }
            Some(violation)
        })
    }
}

impl Set for Affine {
    same_coordinates!(self => self.set);

    fn nearest(&self, y: &[f64], x: &[f64], nearest: &mut [f64]) -> bool {
        if !self.similarity {
            return false;
        }
        if self.contains(y, x) {
            nearest.copy_from_slice(y);
            return true;
        }
        let dim = y.len();
        with_buffer(2 * dim, |buffer| {
            let (origin, found) = buffer.split_at_mut(dim);
            self.pull_back(y, origin);
            if !self.set.nearest(origin, x, found) {
                return false;
            }
            self.push_forward(found, nearest);
            self.contains(nearest, x)
        })
    }

    /// The smallest box that holds the image of the set's own box.
    fn bounds(&self) -> Vec<Interval> {
        let dim = self.dim();
        let bounds = self.set.bounds();
        (0..dim)
            .map(|row| {
                let weights = &self.matrix[row * dim..(row + 1) * dim];
                let (mut low, mut high) = (self.offset[row], self.offset[row]);
                for (weight, bound) in weights.iter().zip(&bounds) {
                    let (a, b) = (weight * bound.0, weight * bound.1);
                    low += a.min(b);
                    high += a.max(b);
                }
                (low, high)
            })
            .collect()
    }

    /// With y = A u + b, normal · u = c + s · x becomes (A⁻ᵀ normal) · y = c + (A⁻ᵀ normal) · b + s · x.
    fn equations(&self) -> Vec<Equation> {
        let dim = self.dim();
        let image = |equation: Equation| {
            let column = |j: usize| (0..dim).map(move |row| self.inverse[row * dim + j]);
            let normal: Vec<f64> = (0..dim)
                .map(|j| column(j).zip(&equation.normal).map(|(a, n)| a * n).sum())
                .collect();
            Equation {
                constant: equation.constant + dot(&normal, &self.offset),
                normal,
                slopes: equation.slopes,
            }
        };
        self.set.equations().into_iter().map(image).collect()
    }

    fn description(&self) -> Description {
        Description::Affine {
            set: Box::new(self.set.description()),
            matrix: self.matrix.clone(),
            offset: self.offset.clone(),
        }
    }
}

/// Gauss–Jordan elimination with partial pivoting.
fn inverse(matrix: &[f64], dim: usize) -> Result<Vec<f64>> {
    let largest = matrix
        .iter()
        .fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let mut rest = matrix.to_vec();
    let mut inverse = vec![0.0; dim * dim];
    for i in 0..dim {
        inverse[i * dim + i] = 1.0;
    }
    for column in 0..dim {
        let size = |row: usize| rest[row * dim + column].abs();
        let best = (column..dim)
            .max_by(|&a, &b| size(a).total_cmp(&size(b)))
            .unwrap_or(column);
        let pivot = rest[best * dim + column];
        if pivot.abs() <= SMALLEST_PIVOT * largest {
            return Err(SetError::Singular { pivot, column });
        }
        for table in [&mut rest, &mut inverse] {
            for i in 0..dim {
                table.swap(column * dim + i, best * dim + i);
                table[column * dim + i] /= pivot;
            }
        }
        for row in (0..dim).filter(|&row| row != column) {
            let factor = rest[row * dim + column];
            for table in [&mut rest, &mut inverse] {
                for i in 0..dim {
                    table[row * dim + i] -= factor * table[column * dim + i];
                }
            }
        }
    }
    Ok(inverse)
}

/// Whether AᵀA is a multiple of the identity.
fn is_similarity(matrix: &[f64], dim: usize) -> bool {
    let gram = |i: usize, j: usize| -> f64 {
        (0..dim)
            .map(|row| matrix[row * dim + i] * matrix[row * dim + j])
            .sum()
    };
    let scale = gram(0, 0);
    let pairs = (0..dim).flat_map(|i| (i..dim).map(move |j| (i, j)));
    pairs.into_iter().all(|(i, j)| {
        let expected = if i == j { scale } else { 0.0 };
        (gram(i, j) - expected).abs() <= SIMILAR * scale
    })
}
