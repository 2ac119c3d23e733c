//! Affine equations that every output obeys: reduced coordinates, and back.

use alloc::format;
use alloc::vec::Vec;

use crate::projector::CallError;
use crate::projector::call::length;
use crate::real::Real;
use crate::validate::{MAX_EQUATIONS_DIM, WeightsError, dimension, limit};

/// How far the columns of a basis may be from orthonormal.
const ORTHONORMAL: f64 = 1e-9;

/// The solutions of affine equations A y = c + D x: y = origin + by_x · x + basis · z.
///
/// The networks work on the reduced coordinates z, which obey no equation. A
/// [`Projector`](crate::Projector) applies this by itself, in f64, so that the equations hold far beyond
/// the precision of the networks.
///
/// ```
/// use fabproj_core::{Equations, LatentSet, Projector, Weights};
///
/// // y0 + y1 = 1
/// let half = 0.5_f64.sqrt();
/// let equations = Equations { origin: vec![0.5; 2], basis: vec![half, -half], by_x: vec![] };
/// let segment = LatentSet::Box { half: 0.5, smooth: None };
/// let mut weights = Weights::identity(1, segment);
/// weights.equations = Some(equations);
/// let projector = Projector::new(&weights)?;
/// assert_eq!(projector.dim(), 2);
/// let (y, _) = projector.project(&[9.0, 4.0], &[])?;
/// assert!((y[0] + y[1] - 1.0_f64).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Equations {
    /// One number for each coordinate of y.
    pub origin: Vec<f64>,
    /// `[y][z]`; the columns are orthonormal and solve A y = 0.
    pub basis: Vec<f64>,
    /// `[y][x]`
    pub by_x: Vec<f64>,
}

impl Equations {
    /// Dimension of y.
    pub fn dim(&self) -> usize {
        self.origin.len()
    }

    /// Dimension of z, the reduced coordinates.
    pub fn reduced_dim(&self) -> usize {
        self.basis.len() / self.dim().max(1)
    }

    /// Dimension of x.
    pub fn x_dim(&self) -> usize {
        self.by_x.len() / self.dim().max(1)
    }

    /// The reduced coordinates z of the point nearest to y that obeys the equations at x.
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length; nothing is written then.
    pub fn lower(&self, y: &[f64], x: &[f64], z: &mut [f64]) -> Result<(), CallError> {
        self.check(y.len(), x.len(), z.len())?;
        self.lower_point(y, x, z);
        Ok(())
    }

    /// The point y with the reduced coordinates z, which obeys the equations at x.
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length; nothing is written then.
    pub fn raise(&self, z: &[f64], x: &[f64], y: &mut [f64]) -> Result<(), CallError> {
        self.check(y.len(), x.len(), z.len())?;
        self.raise_point(z, x, y);
        Ok(())
    }

    /// [`lower`](Self::lower) with lengths that have been checked: z = basisᵀ (y − foot(x)).
    pub(crate) fn lower_point<T: Real>(&self, y: &[T], x: &[T], z: &mut [f64]) {
        z.fill(0.0);
        for (row, y) in y.iter().enumerate() {
            let offset = y.to_f64() - self.foot(row, x);
            self.add_row(row, offset, z);
        }
    }

    /// [`raise`](Self::raise) with lengths that have been checked: y = foot(x) + basis z. Whether y is
    /// finite.
    pub(crate) fn raise_point<Z: Real, T: Real>(&self, z: &[Z], x: &[T], y: &mut [T]) -> bool {
        let mut finite = true;
        for (row, y) in y.iter_mut().enumerate() {
            *y = T::from_f64(self.point(row, z, x));
            finite &= y.finite();
        }
        finite
    }

    /// One coordinate of [`raise_point`](Self::raise_point).
    #[inline]
    pub(crate) fn point<Z: Real, T: Real>(&self, row: usize, z: &[Z], x: &[T]) -> f64 {
        self.foot(row, x) + self.along(row, z)
    }

    /// z = basisᵀ y, for directions instead of points.
    pub(crate) fn lower_direction<T: Real>(&self, y: &[T], z: &mut [f64]) {
        z.fill(0.0);
        for (row, y) in y.iter().enumerate() {
            self.add_row(row, y.to_f64(), z);
        }
    }

    /// y = basis z, for directions instead of points.
    pub(crate) fn raise_direction<T: Real>(&self, z: &[f64], y: &mut [T]) {
        for (row, y) in y.iter_mut().enumerate() {
            *y = T::from_f64(self.along(row, z));
        }
    }

    /// x += by_xᵀ (plus − minus)
    pub(crate) fn add_by_x<T: Real>(&self, plus: &[T], minus: &[T], x: &mut [T]) {
        let weights = self.by_x.chunks_exact(x.len().max(1));
        for (weights, (plus, minus)) in weights.zip(plus.iter().zip(minus)) {
            let difference = plus.to_f64() - minus.to_f64();
            for (x, weight) in x.iter_mut().zip(weights) {
                *x = T::from_f64(x.to_f64() + weight * difference);
            }
        }
    }

    /// z += value · (a row of the basis)
    #[inline]
    fn add_row(&self, row: usize, value: f64, z: &mut [f64]) {
        let basis = &self.basis[row * z.len()..][..z.len()];
        for (z, basis) in z.iter_mut().zip(basis) {
            *z += basis * value;
        }
    }

    /// A coordinate of basis z.
    #[inline]
    fn along<Z: Real>(&self, row: usize, z: &[Z]) -> f64 {
        let basis = &self.basis[row * z.len()..][..z.len()];
        let products = basis.iter().zip(z);
        products.map(|(basis, z)| basis * z.to_f64()).sum()
    }

    /// A coordinate of origin + by_x · x.
    #[inline]
    fn foot<T: Real>(&self, row: usize, x: &[T]) -> f64 {
        let weights = &self.by_x[row * x.len()..][..x.len()];
        let products = weights.iter().zip(x);
        let moved: f64 = products.map(|(weight, x)| weight * x.to_f64()).sum();
        self.origin[row] + moved
    }

    fn check(&self, y: usize, x: usize, z: usize) -> Result<(), CallError> {
        length("y", y, self.dim())?;
        length("x", x, self.x_dim())?;
        length("z", z, self.reduced_dim())
    }

    /// Checks sizes and numbers for networks of z and x.
    pub(crate) fn validate(&self, reduced: usize, x_dim: usize) -> Result<(), WeightsError> {
        let dim = self.dim();
        limit(|| "equations' dim".into(), dim, MAX_EQUATIONS_DIM)?;
        limit(|| "equations' reduced dim".into(), reduced, dim)?;
        let parts = [
            ("equations.origin", &self.origin, dim),
            ("equations.basis", &self.basis, dim * reduced),
            ("equations.by_x", &self.by_x, dim * x_dim),
        ];
        for (part, values, expected) in parts {
            dimension(|| format!("the length of {part}"), values.len(), expected)?;
            if let Some(index) = values.iter().position(|value| !value.is_finite()) {
                return Err(WeightsError::NotFinite {
                    part: part.into(),
                    index,
                    value: values[index] as f32,
                });
            }
        }
        self.validate_basis(reduced)
    }

    fn validate_basis(&self, reduced: usize) -> Result<(), WeightsError> {
        for first in 0..reduced {
            for second in 0..=first {
                let rows = self.basis.chunks_exact(reduced);
                let product: f64 = rows.map(|row| row[first] * row[second]).sum();
                let expected = if first == second { 1.0 } else { 0.0 };
                let close = (product - expected).abs() <= ORTHONORMAL;
                if !close {
                    return Err(WeightsError::Basis {
                        first,
                        second,
                        product,
                    });
                }
            }
        }
        Ok(())
    }
}
