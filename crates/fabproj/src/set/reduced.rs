//! A set whose points obey equations, in the coordinates that these leave.

use fabproj_core::{Equations, Membership};

use super::equations::{MAX_DIM, eliminate, independent};
use super::extent::upper;
use super::vector::{is_finite, with_buffer};
use super::{Description, Equation, Interval, Result, Set, SetError};

/// Space around the region that the bounds of y leave, as a part of its width.
const SPACE: f64 = 0.05;
/// The least such space, as a part of the narrowest bounds.
const THINNEST: f64 = 1e-3;

/// The coordinates z of the points y = origin + D x + N z that obey the equations of a set: what training
/// sees of it.
pub(crate) struct Reduced<'a> {
    set: &'a dyn Set,
    equations: Equations,
    bounds: Vec<Interval>,
}

impl<'a> Reduced<'a> {
    /// The set without its equations; `None` where it has none.
    ///
    /// # Errors
    /// [`SetError`] when the equations contradict each other or leave nothing.
    pub(crate) fn of(set: &'a dyn Set) -> Result<Option<Self>> {
        let stated = set.equations();
        if stated.is_empty() {
            return Ok(None);
        }
        let dim = set.dim();
        if dim > MAX_DIM {
            return Err(SetError::Length {
                what: "coordinates beside equations, at most",
                expected: MAX_DIM,
                found: dim,
            });
        }
        let independent = independent(stated)?;
        if independent.len() >= dim {
            return Err(SetError::NothingLeft { dim });
        }
        let equations = eliminate(&independent, &set.bounds(), set.x_dim());
        let bounds = bounds(set, &independent, &equations);
        Ok(Some(Self {
            set,
            equations,
            bounds,
        }))
    }

    /// The way from z to y and back.
    pub(crate) fn equations(&self) -> &Equations {
        &self.equations
    }

    /// Calls `decide` with the point y of z; `None` for what is not finite.
    fn at<T>(&self, z: &[f64], x: &[f64], decide: impl FnOnce(&[f64]) -> T) -> Option<T> {
        if !(is_finite(z) && is_finite(x)) {
            return None;
        }
        with_buffer(self.equations.dim(), |y| {
            self.equations.raise(z, x, y).ok()?;
            Some(decide(y))
        })
    }
}

/// The region of z in which y can lie within its bounds, with some space around it.
fn bounds(set: &dyn Set, stated: &[Equation], equations: &Equations) -> Vec<Interval> {
    let mut all = set.bounds();
    all.extend(set.x_bounds());
    let extent = |column: usize, sign: f64| -> f64 {
        let rows = equations.basis.chunks_exact(equations.reduced_dim());
        let direction: Vec<f64> = rows.map(|row| sign * row[column]).collect();
        // The columns are at right angles to the normals, so that x does not move z.
        let terms = direction.iter().zip(&equations.origin);
        let origin: f64 = terms.map(|(weight, origin)| weight * origin).sum();
        upper(&direction, stated, &all) - origin
    };
    // An interval must have a width, even where the bounds of y leave one point only.
    let widths = all.iter().map(|(low, high)| high - low);
    let least = THINNEST * widths.fold(f64::INFINITY, f64::min);
    let columns = 0..equations.reduced_dim();
    columns
        .map(|column| {
            let (low, high) = (-extent(column, -1.0), extent(column, 1.0));
            let space = (SPACE * (high - low)).max(least);
            (low - space, high + space)
        })
        .collect()
}

impl Membership for Reduced<'_> {
    fn contains(&self, z: &[f64], x: &[f64]) -> bool {
        self.at(z, x, |y| self.set.contains(y, x)).unwrap_or(false)
    }

    fn violation(&self, z: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        gradient.fill(0.0);
        let violation = self.at(z, x, |y| {
            with_buffer(y.len(), |by_y| {
                let violation = self.set.violation(y, x, by_y)?;
                let rows = self.equations.basis.chunks_exact(gradient.len());
                for (by_y, row) in by_y.iter().zip(rows) {
                    for (gradient, basis) in gradient.iter_mut().zip(row) {
                        *gradient += by_y * basis;
                    }
                }
                Some(violation)
            })
        });
        violation.unwrap_or(Some(f64::INFINITY))
    }
}

impl Set for Reduced<'_> {
    fn dim(&self) -> usize {
        self.equations.reduced_dim()
    }

    fn x_dim(&self) -> usize {
        self.set.x_dim()
    }

    fn bounds(&self) -> Vec<Interval> {
        self.bounds.clone()
    }

    /// A y as the set draws it, moved onto the equations.
    fn draw_input(&self, x: &[f64], uniform: &mut dyn FnMut() -> f64, z: &mut [f64]) {
        with_buffer(self.equations.dim(), |y| {
            self.set.draw_input(x, uniform, y);
            // The lengths are those of this set, as for every method.
            if self.equations.lower(y, x, z).is_err() {
                z.fill(f64::NAN);
            }
        });
    }

    fn x_bounds(&self) -> Vec<Interval> {
        self.set.x_bounds()
    }

    fn x_names(&self) -> Vec<String> {
        self.set.x_names()
    }

    fn description(&self) -> Description {
        self.set.description()
    }
}
