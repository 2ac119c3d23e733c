//! Affine equations that every point of a set obeys, and the coordinates that they leave.

use fabproj_core::Equations;

use super::vector::{dot, norm};
use super::{Interval, Result, SetError};

/// The most coordinates of a y that obeys equations.
pub(super) const MAX_DIM: usize = fabproj_core::Weights::MAX_EQUATIONS_DIM;
/// A row that is this near to others (of length 1) is a combination of them.
const DEPENDENT: f64 = 1e-10;
/// How far the right-hand sides of dependent rows may differ, relative to their terms.
pub(super) const SAME: f64 = 1e-9;

/// An equation that every point of a set obeys: normal · y = constant + slopes · x.
#[derive(Clone, Debug, PartialEq)]
pub struct Equation {
    /// One number for each coordinate of y.
    pub normal: Vec<f64>,
    /// The right-hand side at x = 0.
    pub constant: f64,
    /// One number for each coordinate of x.
    pub slopes: Vec<f64>,
}

impl Equation {
    /// Subtracts a multiple of another equation.
    fn subtract(&mut self, factor: f64, other: &Self) {
        let subtract = |values: &mut [f64], others: &[f64]| {
            for (value, other) in values.iter_mut().zip(others) {
                *value -= factor * other;
            }
        };
        subtract(&mut self.normal, &other.normal);
        subtract(&mut self.slopes, &other.slopes);
        self.constant -= factor * other.constant;
    }

    pub(super) fn scale(&mut self, factor: f64) {
        let parts = self.normal.iter_mut().chain(&mut self.slopes);
        parts.for_each(|value| *value *= factor);
        self.constant *= factor;
    }

    /// The normal and the negative slopes: all coefficients on one side.
    pub(super) fn coefficients(&self) -> impl Iterator<Item = f64> {
        let slopes = self.slopes.iter().map(|slope| -slope);
        self.normal.iter().copied().chain(slopes)
    }
}

/// Equations with orthonormal normals that say the same.
///
/// # Errors
/// [`SetError::Equations`] when two of them contradict each other.
pub(crate) fn independent(equations: Vec<Equation>) -> Result<Vec<Equation>> {
    let mut kept: Vec<Equation> = Vec::new();
    for (index, mut equation) in equations.into_iter().enumerate() {
        let length = norm(&equation.normal);
        equation.scale(1.0 / length.max(f64::MIN_POSITIVE));
        match beyond(equation, &kept) {
            Ok(new) => kept.extend(new),
            Err(Contradiction) => return Err(SetError::Equations { index }),
        }
    }
    Ok(kept)
}

/// Two equations that no point obeys.
pub(super) struct Contradiction;

/// What an equation with a normal of length 1 says beyond those before it; `None` if it says nothing new.
pub(super) fn beyond(
    mut equation: Equation,
    before: &[Equation],
) -> std::result::Result<Option<Equation>, Contradiction> {
    let right = equation.slopes.iter().chain([&equation.constant]);
    let size = right.fold(1.0_f64, |size, value| size.max(value.abs()));
    // Twice: the second pass removes what rounding has left.
    for _ in 0..2 {
        for other in before {
            equation.subtract(dot(&equation.normal, &other.normal), other);
        }
    }
    let length = norm(&equation.normal);
    if length > DEPENDENT {
        equation.scale(1.0 / length);
        return Ok(Some(equation));
    }
    let mut right = equation.slopes.iter().chain([&equation.constant]);
    if right.all(|value| value.abs() <= SAME * size) {
        return Ok(None);
    }
    Err(Contradiction)
}

/// The origin is the point nearest to the middle of the bounds that obeys the equations, so that z is
/// small; the basis follows the axes of y, the widest first, so that units that differ stay apart.
pub(super) fn eliminate(equations: &[Equation], bounds: &[Interval], x_dim: usize) -> Equations {
    let dim = bounds.len();
    let mut origin: Vec<f64> = bounds
        .iter()
        .map(|(low, high)| 0.5 * low + 0.5 * high)
        .collect();
    let mut by_x = vec![0.0; dim * x_dim];
    let lacking: Vec<f64> = equations
        .iter()
        .map(|equation| equation.constant - dot(&equation.normal, &origin))
        .collect();
    for (equation, lacking) in equations.iter().zip(lacking) {
        for (row, normal) in equation.normal.iter().enumerate() {
            origin[row] += lacking * normal;
            for (column, slope) in equation.slopes.iter().enumerate() {
                by_x[row * x_dim + column] += normal * slope;
            }
        }
    }
    let columns = null_space(equations, bounds);
    let rows = (0..dim).flat_map(|row| columns.iter().map(move |column| column[row]));
    Equations {
        origin,
        basis: rows.collect(),
        by_x,
    }
}

/// An orthonormal basis of the directions in which all equations stay true.
fn null_space(equations: &[Equation], bounds: &[Interval]) -> Vec<Vec<f64>> {
    let dim = bounds.len();
    let mut axes: Vec<usize> = (0..dim).collect();
    let width = |axis: usize| bounds[axis].1 - bounds[axis].0;
    axes.sort_by(|a, b| width(*b).total_cmp(&width(*a)));
    // Of the axes that are left, one is at least this long after all else is taken out of it.
    let enough = 0.5 / (dim as f64).sqrt();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for axis in axes {
        if columns.len() + equations.len() == dim {
            break;
        }
        let column = remainder(axis, equations, &columns, dim);
        let length = norm(&column);
        // An axis that is too short now is no longer later: further columns take more out of it.
        if length >= enough {
            columns.push(column.iter().map(|value| value / length).collect());
        }
    }
    columns
}

/// What is left of an axis at right angles to all normals and columns.
fn remainder(axis: usize, equations: &[Equation], columns: &[Vec<f64>], dim: usize) -> Vec<f64> {
    let mut rest = vec![0.0; dim];
    rest[axis] = 1.0;
    for _ in 0..2 {
        let normals = equations.iter().map(|equation| &equation.normal);
        for other in normals.chain(columns) {
            let along = dot(&rest, other);
            rest.iter_mut()
                .zip(other)
                .for_each(|(rest, other)| *rest -= along * other);
        }
    }
    rest
}
