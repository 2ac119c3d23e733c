//! A problem without its equations.

use fabproj_core::Functions;
use fabproj_core::vector::dot;

use super::linear::{Cholesky, complement};
use super::problem::Problem;
use crate::set::{Interval, SetError, independent};

/// Step of differences of gradients, as a part of the size of y.
const DIFFERENCE: f64 = 1e-5;

/// y = origin + by_x · x + Σ z_i basis_i, and the functions along these coordinates.
pub(super) struct Reduced<'a> {
    functions: &'a (dyn Functions + Send + Sync),
    pub(super) bounds: &'a [Interval],
    pub(super) dim: usize,
    pub(super) x_dim: usize,
    origin: Vec<f64>,
    by_x: Vec<f64>,
    /// Orthonormal directions, one after the other.
    pub(super) basis: Vec<Vec<f64>>,
}

/// Values at a point, and the functions' memory.
pub(super) struct Point {
    pub(super) y: Vec<f64>,
    pub(super) objective: f64,
    /// c, bounds included.
    pub(super) constraints: Vec<f64>,
    memory: Vec<f64>,
}

impl Point {
    /// The largest constraint, or zero; infinite where a value does not exist.
    pub(super) fn violation(&self) -> f64 {
        if !self.objective.is_finite() || self.constraints.iter().any(|value| value.is_nan()) {
            return f64::INFINITY;
        }
        self.constraints
            .iter()
            .fold(0.0, |most, value| most.max(*value))
    }
}

impl<'a> Reduced<'a> {
    pub(super) fn of(problem: &'a Problem) -> Result<Self, SetError> {
        problem.check()?;
        let (dim, x_dim) = (problem.dim(), problem.x_dim());
        let equations = independent(problem.equations().to_vec())?;
        let mut origin = vec![0.0; dim];
        let mut by_x = vec![0.0; dim * x_dim];
        for equation in &equations {
            for (row, normal) in equation.normal.iter().enumerate() {
                origin[row] += equation.constant * normal;
                for (by_x, slope) in by_x[row * x_dim..].iter_mut().zip(&equation.slopes) {
                    *by_x += normal * slope;
                }
            }
        }
        let normals: Vec<Vec<f64>> = equations.into_iter().map(|one| one.normal).collect();
        if normals.len() >= dim {
            return Err(SetError::NothingLeft { dim });
        }
        Ok(Self {
            functions: &**problem.functions(),
            bounds: problem.bounds().unwrap_or(&[]),
            dim,
            x_dim,
            origin,
            by_x,
            basis: complement(&normals, dim),
        })
    }

    /// Number of constraints, bounds included.
    pub(super) fn rows(&self) -> usize {
        self.functions.rows() + 2 * self.bounds.len()
    }

    /// Dimension of z.
    pub(super) fn free(&self) -> usize {
        self.basis.len()
    }

    /// The point at x whose coordinates z are 0.
    pub(super) fn foot(&self, x: &[f64]) -> Vec<f64> {
        let rows = (0..self.dim).map(|row| &self.by_x[row * self.x_dim..][..self.x_dim]);
        let moved = self.origin.iter().zip(rows);
        moved.map(|(origin, row)| origin + dot(row, x)).collect()
    }

    /// The point that obeys the equations at x and differs from y as little as possible.
    pub(super) fn nearest(&self, y: &[f64], x: &[f64]) -> Vec<f64> {
        let mut point = self.foot(x);
        let offset: Vec<f64> = y.iter().zip(&point).map(|(y, foot)| y - foot).collect();
        self.add(&mut point, &self.along(&offset));
        point
    }

    /// z of a direction.
    pub(super) fn along(&self, direction: &[f64]) -> Vec<f64> {
        self.basis
            .iter()
            .map(|basis| dot(basis, direction))
            .collect()
    }

    /// y += Σ z_i basis_i
    pub(super) fn add(&self, y: &mut [f64], z: &[f64]) {
        for (basis, z) in self.basis.iter().zip(z) {
            y.iter_mut()
                .zip(basis)
                .for_each(|(y, basis)| *y += z * basis);
        }
    }

    pub(super) fn point(&self, y: Vec<f64>, x: &[f64]) -> Point {
        let mut point = Point {
            y,
            objective: 0.0,
            constraints: vec![0.0; self.rows()],
            memory: vec![0.0; self.functions.memory()],
        };
        self.evaluate(&mut point, x);
        point
    }

    /// The values at a point's y.
    pub(super) fn evaluate(&self, point: &mut Point, x: &[f64]) {
        let (own, bounds) = point.constraints.split_at_mut(self.functions.rows());
        point.objective = self.functions.values(&point.y, x, own, &mut point.memory);
        let pairs = bounds.chunks_exact_mut(2);
        for ((pair, (low, high)), y) in pairs.zip(self.bounds).zip(&point.y) {
            (pair[0], pair[1]) = (y - high, low - y);
        }
    }

    /// ∇f + Σ weights_i ∇c_i at an evaluated point, in the coordinates of y.
    pub(super) fn gradient(&self, point: &mut Point, x: &[f64], weights: &[f64]) -> Vec<f64> {
        let (own, bounds) = weights.split_at(self.functions.rows());
        let mut gradient = vec![0.0; self.dim];
        let memory = &mut point.memory;
        self.functions
            .gradient(&point.y, x, own, &mut gradient, memory);
        for (gradient, pair) in gradient.iter_mut().zip(bounds.chunks_exact(2)) {
            *gradient += pair[0] - pair[1];
        }
        gradient
    }

    /// The Jacobian of c at an evaluated point along z, `[row][z]`.
    pub(super) fn jacobian(&self, point: &mut Point, x: &[f64]) -> Vec<f64> {
        let (own, free) = (self.functions.rows(), self.free());
        let mut jacobian = vec![0.0; self.rows() * free];
        let mut slopes = vec![0.0; own];
        for (column, basis) in self.basis.iter().enumerate() {
            let memory = &mut point.memory;
            self.functions
                .slopes(&point.y, x, basis, &mut slopes, memory);
            for (row, slope) in slopes.iter().enumerate() {
                jacobian[row * free + column] = *slope;
            }
            for (i, basis) in basis.iter().enumerate().take(self.bounds.len()) {
                jacobian[(own + 2 * i) * free + column] = *basis;
                jacobian[(own + 2 * i + 1) * free + column] = -basis;
            }
        }
        jacobian
    }

    /// The Hessian of the Lagrangian along z at y, by differences of its gradient.
    pub(super) fn hessian(&self, y: &[f64], x: &[f64], weights: &[f64]) -> Vec<f64> {
        let free = self.free();
        let size = y.iter().fold(1.0_f64, |most, value| most.max(value.abs()));
        let step = DIFFERENCE * size;
        let mut hessian = vec![0.0; free * free];
        for (row, basis) in self.basis.iter().enumerate() {
            let at = |sign: f64| {
                let moved = y
                    .iter()
                    .zip(basis)
                    .map(|(y, basis)| y + sign * step * basis);
                let mut point = self.point(moved.collect(), x);
                self.along(&self.gradient(&mut point, x, weights))
            };
            for (column, (above, below)) in at(1.0).into_iter().zip(at(-1.0)).enumerate() {
                let second = 0.5 * (above - below) / (2.0 * step);
                hessian[row * free + column] += second;
                hessian[column * free + row] += second;
            }
        }
        hessian
    }
}

/// A metric along z, and constraints seen in it.
pub(super) struct Metric {
    pub(super) factor: Cholesky,
}

impl Metric {
    pub(super) fn of(hessian: &[f64], free: usize) -> Self {
        Self {
            factor: Cholesky::shifted(hessian, free),
        }
    }

    /// The Jacobian in coordinates in which the metric is the identity: each row w = L⁻¹ j.
    pub(super) fn whiten(&self, jacobian: &[f64], free: usize) -> Vec<f64> {
        let mut white = jacobian.to_vec();
        white
            .chunks_exact_mut(free)
            .for_each(|row| self.factor.forward(row));
        white
    }

    /// L⁻¹ Zᵀ: the whitened coordinates as rows over y.
    pub(super) fn directions(&self, reduced: &Reduced<'_>) -> Vec<Vec<f64>> {
        let free = reduced.free();
        let mut rows = vec![vec![0.0; reduced.dim]; free];
        for i in 0..reduced.dim {
            let mut column: Vec<f64> = reduced.basis.iter().map(|basis| basis[i]).collect();
            self.factor.forward(&mut column);
            rows.iter_mut()
                .zip(column)
                .for_each(|(row, value)| row[i] = value);
        }
        rows
    }
}

/// W Wᵀ of whitened rows.
pub(super) fn gram(white: &[f64], free: usize) -> Vec<f64> {
    let count = white.len() / free;
    let mut gram = vec![0.0; count * count];
    for (i, a) in white.chunks_exact(free).enumerate() {
        for (j, b) in white.chunks_exact(free).enumerate().take(i + 1) {
            let product = dot(a, b);
            gram[i * count + j] = product;
            gram[j * count + i] = product;
        }
    }
    gram
}
