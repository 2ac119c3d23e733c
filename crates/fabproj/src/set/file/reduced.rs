//! A set file with equalities, in the coordinates that they leave.

use std::sync::Arc;

use fabproj_core::Lift;

use super::FileSet;
use super::eliminate::Elimination;
use super::extent::upper;
use super::program::Program;
use crate::set::vector::{is_finite, positive, with_buffer};
use crate::set::{Description, Interval, Set};

/// Space around the region that the bounds of y leave, as a part of its width.
const SPACE: f64 = 0.05;
/// The least such space, as a part of the narrowest bounds.
const THINNEST: f64 = 1e-3;
/// How far outside of its bounds a coordinate of y may be, as a part of their width: no more than
/// rounding puts it there.
const ROUNDING: f64 = 1e-9;

/// What equalities leave of a set: the coordinates z of the points y = origin + D x + N z that obey them.
///
/// Trained, guarded and certified like any set; [`lift`](Self::lift) goes between z and y, and the
/// equalities hold in every y that it gives. The bounds of y belong to this set: z is in it when its y
/// lies within them and obeys the constraints that are not equalities.
///
/// ```
/// use fabproj::set::{Set, from_toml};
///
/// let set = from_toml(
///     r#"
///     y = ["a", "b", "c"]
///     bounds = { a = [0, 1], b = [0, 1], c = [0, 1] }
///     [[constraint]]
///     name = "budget"
///     expr = "a + b + c == 1"
///     [[constraint]]
///     expr = "a <= 0.5"
///     "#,
/// )?;
/// assert_eq!(set.dim(), 2);
/// let reduced = set.reduced().expect("there is an equality");
/// let (mut z, mut y) = ([0.0; 2], [0.0; 3]);
/// reduced.lift().lower(&[0.9, 0.9, 0.0], &[], &mut z)?;
/// reduced.lift().raise(&z, &[], &mut y)?;
/// assert!((y.iter().sum::<f64>() - 1.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reduced {
    set: Arc<FileSet>,
    lift: Lift,
    /// The constraints that are not equalities.
    rest: Program,
    bounds: Vec<Interval>,
    y_bounds: Vec<Interval>,
}

impl Reduced {
    pub(super) fn new(set: FileSet, elimination: Elimination, rest: Program) -> Self {
        let y_bounds = set.bounds();
        let bounds = bounds(&set, &elimination);
        Self {
            set: Arc::new(set),
            lift: elimination.lift,
            rest,
            bounds,
            y_bounds,
        }
    }

    /// The way from z to y and back.
    pub fn lift(&self) -> &Lift {
        &self.lift
    }

    /// The set as the file describes it, of y. There an equality holds when its sides are at most 1e-6
    /// apart.
    pub fn full(&self) -> &Arc<FileSet> {
        &self.set
    }

    /// Whether y, in its own coordinates, is in the set: within its bounds, and all constraints hold, the
    /// equalities to 1e-6.
    pub fn contains_full(&self, y: &[f64], x: &[f64]) -> bool {
        self.within(y) && self.set.contains(y, x)
    }

    /// Whether y is within its bounds.
    fn within(&self, y: &[f64]) -> bool {
        y.iter().zip(&self.y_bounds).all(|(y, (low, high))| {
            let space = ROUNDING * (high - low);
            (low - space..=high + space).contains(y)
        })
    }

    /// Calls `decide` with the point y of z; `None` for what is not finite.
    fn at<T>(&self, z: &[f64], x: &[f64], decide: impl FnOnce(&[f64]) -> T) -> Option<T> {
        if !(is_finite(z) && is_finite(x)) {
            return None;
        }
        with_buffer(self.lift.dim(), |y| {
            self.lift.raise(z, x, y).ok()?;
            Some(decide(y))
        })
    }
}

/// The region of z in which y can lie within its bounds, with some space around it.
fn bounds(set: &FileSet, elimination: &Elimination) -> Vec<Interval> {
    let lift = &elimination.lift;
    let mut all = set.bounds();
    all.extend(set.x_bounds());
    let extent = |column: usize, sign: f64| -> f64 {
        let rows = lift.basis.chunks_exact(lift.reduced_dim());
        let direction: Vec<f64> = rows.map(|row| sign * row[column]).collect();
        // The columns are at right angles to the normals, so that x does not move z.
        let terms = direction.iter().zip(&lift.origin);
        let origin: f64 = terms.map(|(weight, origin)| weight * origin).sum();
        upper(&direction, &elimination.equations, &all) - origin
    };
    // An interval must have a width, even where the bounds of y leave one point only.
    let widths = all.iter().map(|(low, high)| high - low);
    let least = THINNEST * widths.fold(f64::INFINITY, f64::min);
    let columns = 0..lift.reduced_dim();
    columns
        .map(|column| {
            let (low, high) = (-extent(column, -1.0), extent(column, 1.0));
            let space = (SPACE * (high - low)).max(least);
            (low - space, high + space)
        })
        .collect()
}

impl Set for Reduced {
    fn dim(&self) -> usize {
        self.lift.reduced_dim()
    }

    fn x_dim(&self) -> usize {
        self.set.x_dim()
    }

    fn contains(&self, z: &[f64], x: &[f64]) -> bool {
        let inside = self.at(z, x, |y| self.within(y) && self.rest.contains(y, x));
        inside.unwrap_or(false)
    }

    fn violation(&self, z: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        gradient.fill(0.0);
        let violation = self.at(z, x, |y| {
            with_buffer(y.len(), |by_y| {
                let mut violation = self.rest.violation(y, x, by_y);
                for ((y, by_y), (low, high)) in y.iter().zip(&mut *by_y).zip(&self.y_bounds) {
                    let space = ROUNDING * (high - low);
                    if *y < low - space {
                        violation += positive(low - y);
                        *by_y -= 1.0;
                    } else if *y > high + space {
                        violation += positive(y - high);
                        *by_y += 1.0;
                    }
                }
                let rows = self.lift.basis.chunks_exact(gradient.len());
                for (by_y, row) in by_y.iter().zip(rows) {
                    for (gradient, basis) in gradient.iter_mut().zip(row) {
                        *gradient += by_y * basis;
                    }
                }
                violation
            })
        });
        Some(violation.unwrap_or(f64::INFINITY))
    }

    fn bounds(&self) -> Vec<Interval> {
        self.bounds.clone()
    }

    /// A y that is uniform in its bounds, moved onto the equations.
    fn draw_input(&self, x: &[f64], uniform: &mut dyn FnMut() -> f64, z: &mut [f64]) {
        with_buffer(self.lift.dim(), |y| {
            self.set.draw_input(x, uniform, y);
            // The lengths are those of this set, as for every method.
            if self.lift.lower(y, x, z).is_err() {
                z.fill(f64::NAN);
            }
        });
    }

    fn x_bounds(&self) -> Vec<Interval> {
        self.set.x_bounds()
    }

    fn names(&self) -> Vec<String> {
        (0..self.dim()).map(|i| format!("z{i}")).collect()
    }

    fn x_names(&self) -> Vec<String> {
        self.set.x_names()
    }

    fn constraints(&self) -> Vec<String> {
        self.set.constraints()
    }

    fn violated(&self, z: &[f64], x: &[f64]) -> Vec<String> {
        let violated = self.at(z, x, |y| self.set.violated(y, x));
        violated.unwrap_or_default()
    }

    fn reduced(&self) -> Option<&Reduced> {
        Some(self)
    }

    fn description(&self) -> Description {
        self.set.description()
    }
}
