//! What is feasible: constraint sets C(x).
//!
//! [`built_in`] makes a set that the library knows, [`from_file`] one from constraints in a file,
//! [`FnSet`] one from closures; [`and`](Set#method.and), `or`, `complement`, `affine` and `shrink` make new sets of
//! given ones. [`LabelledData::learn`] makes one from labelled points, whose test has a [known error
//! rate](Calibration).

mod algebra;
mod arcs;
mod bitten_ball;
mod catalogue;
mod closure;
mod counted;
pub(crate) mod delegate;
mod description;
mod equations;
mod error;
mod expression;
mod extent;
mod file;
mod label;
mod learned;
mod moons;
mod problem;
mod reduced;
mod rows;
mod shells;
mod solid;
mod star;
mod torus;
mod vector;

use fabproj_core::Membership;

#[doc(hidden)]
pub use crate::data::labelled::is_labelled_file;
pub use crate::data::labelled::{Columns, LabelReport, LabelledData, LabelledError};
pub use crate::train::labelled::LabelledSettings;

pub(crate) use self::algebra::{Affine, Combined, Not, Shrink};
pub use self::catalogue::{Entry, built_in};
pub use self::closure::FnSet;
pub(crate) use self::counted::Counted;
pub use self::description::Description;
pub use self::equations::Equation;
pub(crate) use self::equations::independent;
pub(crate) use self::error::Result;
pub use self::error::SetError;
pub(crate) use self::file::{FileSet, parse_file};
pub use self::file::{from_file, from_toml};
#[doc(hidden)]
pub use self::label::label;
pub use self::learned::{Calibration, Learned, LearnedRecord};
pub(crate) use self::learned::{Discriminator, Scorer};
#[doc(hidden)]
pub use self::moons::moon_points;
pub(crate) use self::problem::Problem;
pub(crate) use self::reduced::Reduced;

/// A closed interval, one per coordinate of a region.
pub(crate) type Interval = (f64, f64);

/// A constraint set C(x) in R^n, possibly depending on an input x.
///
/// A set is a membership test, [`Membership`], with a region that inputs come from. Only
/// [`dim`](Self::dim), [`bounds`](Self::bounds) and [`description`](Self::description) are needed besides;
/// everything else is optional and improves training, certificates or baselines. Decisions are made in f64;
/// boundaries belong to the set.
///
/// Every `y` and every slice that is written to has [`dim`](Self::dim) entries, every `x`
/// [`x_dim`](Self::x_dim). Callers check what comes from outside; a set may panic on other lengths, as
/// indexing does.
///
/// ```
/// use fabproj::Membership;
/// use fabproj::set::{Description, Set};
///
/// struct HalfPlane;
///
/// impl Membership for HalfPlane {
///     fn contains(&self, y: &[f64], _: &[f64]) -> bool {
///         y[0] + y[1] <= 1.0
///     }
/// }
///
/// impl Set for HalfPlane {
///     fn dim(&self) -> usize {
///         2
///     }
///     fn bounds(&self) -> Vec<(f64, f64)> {
///         vec![(-2.0, 2.0); 2]
///     }
///     fn description(&self) -> Description {
///         Description::Closure { name: "half-plane".into() }
///     }
/// }
/// assert!(HalfPlane.contains(&[0.5, 0.5], &[]));
/// ```
pub trait Set: Membership + Send + Sync {
    /// Dimension of y.
    fn dim(&self) -> usize;

    /// Dimension of x; 0 for a fixed set.
    fn x_dim(&self) -> usize {
        0
    }

    /// Writes the exact nearest point of C(x) into `nearest` and returns true, where it is known.
    ///
    /// A set knows it for all finite points or for none. The written point passes
    /// [`contains`](Membership::contains): it is pulled inward by about 1e-9 of the set's size. A point of
    /// the set is its own nearest point.
    fn nearest(&self, y: &[f64], x: &[f64], nearest: &mut [f64]) -> bool {
        let _ = (y, x, nearest);
        false
    }

    /// The region that inputs come from, a closed interval for each coordinate. It contains C(x) for every x, or the part of it that should be
    /// learned.
    fn bounds(&self) -> Vec<Interval>;

    /// Draws an input of interest at x, by default uniformly in the bounds. `uniform` draws numbers between 0
    /// and 1.
    fn draw_input(&self, x: &[f64], uniform: &mut dyn FnMut() -> f64, y: &mut [f64]) {
        let _ = x;
        for (y, (low, high)) in y.iter_mut().zip(self.bounds()) {
            *y = low + (high - low) * uniform();
        }
    }

    /// The region of x.
    fn x_bounds(&self) -> Vec<Interval> {
        Vec::new()
    }

    /// Names of the coordinates of y, for files with headers.
    fn names(&self) -> Vec<String> {
        (0..self.dim()).map(|i| format!("y{i}")).collect()
    }

    /// Names of the coordinates of x.
    fn x_names(&self) -> Vec<String> {
        (0..self.x_dim()).map(|i| format!("x{i}")).collect()
    }

    /// Names of the constraints of the set; empty where they have no names.
    fn constraints(&self) -> Vec<String> {
        Vec::new()
    }

    /// Names of the constraints that y violates; empty where they have no names.
    fn violated(&self, y: &[f64], x: &[f64]) -> Vec<String> {
        let _ = (y, x);
        Vec::new()
    }

    /// Affine equations that every point of C(x) obeys. Training eliminates them, so that they hold in every
    /// output; [`contains`](Membership::contains) must accept points that obey them up to rounding.
    fn equations(&self) -> Vec<Equation> {
        Vec::new()
    }

    /// The error rate of [`contains`](Membership::contains), for a set that was learned from labelled points;
    /// `None` where it is exact.
    fn calibration(&self) -> Option<Calibration> {
        None
    }

    /// For a set that was learned from labelled points: itself, so that a model can hold it.
    fn learned(&self) -> Option<&Learned> {
        None
    }

    /// The description for model files, enough to build the set again where that is possible.
    fn description(&self) -> Description;
}

/// Checks the lengths and bounds of a set.
pub(crate) fn check(set: &dyn Set) -> Result<()> {
    let (dim, x_dim) = (set.dim(), set.x_dim());
    length("coordinates of a set, at least", dim.max(1), dim)?;
    let lengths = [
        ("bounds of y", dim, set.bounds().len()),
        ("bounds of x", x_dim, set.x_bounds().len()),
        ("names of y", dim, set.names().len()),
        ("names of x", x_dim, set.x_names().len()),
    ];
    for (what, expected, found) in lengths {
        length(what, expected, found)?;
    }
    for (what, bounds) in [
        ("bounds of y", set.bounds()),
        ("bounds of x", set.x_bounds()),
    ] {
        bounded(what, &bounds)?;
        if let Some(index) = bounds.iter().position(|bounds| !is_resolved(*bounds)) {
            let (low, high) = bounds[index];
            return Err(SetError::Precision {
                what,
                index,
                low,
                high,
            });
        }
    }
    Ok(())
}

/// Compares lengths.
pub(crate) fn length(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(SetError::Length {
        what,
        expected,
        found,
    })
}

/// Refuses NaN and infinity.
pub(crate) fn finite(what: &'static str, values: &[f64]) -> Result<()> {
    let mut values = values.iter().enumerate();
    values.try_for_each(|(index, value)| finite_at(what, index, *value))
}

fn finite_at(what: &'static str, index: usize, value: f64) -> Result<()> {
    if value.is_finite() {
        return Ok(());
    }
    Err(SetError::NotFinite { what, index, value })
}

/// Refuses intervals that are empty, reversed or without end.
pub(crate) fn bounded(what: &'static str, intervals: &[Interval]) -> Result<()> {
    for (index, (low, high)) in intervals.iter().enumerate() {
        finite_at(what, index, *low)?;
        finite_at(what, index, *high)?;
    }
    ordered(what, intervals)
}

/// Refuses intervals that are empty or reversed; ends may be infinite.
pub(crate) fn ordered(what: &'static str, intervals: &[Interval]) -> Result<()> {
    // NaN is not below anything.
    let wrong = |(low, high): &Interval| low.partial_cmp(high) != Some(std::cmp::Ordering::Less);
    match intervals.iter().position(wrong) {
        None => Ok(()),
        Some(index) => Err(SetError::Interval {
            what,
            index,
            low: intervals[index].0,
            high: intervals[index].1,
        }),
    }
}

/// Numbers of single precision that an interval must hold: with fewer, rounding alone moves points by about
/// a thousandth of the width.
const STEPS: u32 = 512;

/// Whether single precision resolves an interval: it may lie far from zero only if it is wide, and has an end.
fn is_resolved((low, high): Interval) -> bool {
    let largest = low.abs().max(high.abs());
    largest <= f64::from(f32::MAX) / 4.0
        && largest * f64::from(f32::EPSILON) * f64::from(STEPS) <= high - low
}

/// The lowest and the highest of one column of rows.
pub(crate) fn extent(rows: &[f64], width: usize, column: usize) -> Interval {
    let values = rows.iter().skip(column).step_by(width);
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(*value), high.max(*value))
    })
}

/// An interval that single precision resolves: data may not change at all.
pub(crate) fn widened((low, high): Interval) -> Interval {
    let least = 1e-3 * low.abs().max(high.abs()).max(1e-3);
    if high - low < least {
        return (low - least, high + least);
    }
    (low, high)
}
