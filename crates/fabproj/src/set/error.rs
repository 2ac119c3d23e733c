//! What can be wrong with a set, with the values that are wrong.

use crate::support::{did_you_mean, shown};

/// Misuse of a set: an unknown name, sizes that do not fit, a matrix without inverse.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// No built-in set has this name.
    #[error(
        "unknown set `{}`{} (`fabproj sets` lists all)",
        shown(name),
        did_you_mean(near)
    )]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// Existing names, nearest first.
        near: Vec<String>,
    },
    /// A family of sets has no member of this dimension.
    #[error("`{family}` needs N = {least} to {most}, found N = {dim}")]
    Dimension {
        /// The family, as `fabproj sets` lists it.
        family: String,
        /// The smallest dimension.
        least: usize,
        /// The largest dimension.
        most: usize,
        /// The dimension that was asked for.
        dim: usize,
    },
    /// The set was a closure of another program.
    #[error(
        "the set `{name}` was a closure of the program that made the model; pass the set itself"
    )]
    NotRebuildable {
        /// The name that the program gave it.
        name: String,
    },
    /// A set file does not describe a set.
    #[error(
        "{}line {line}, column {column}: {message}",
        file.as_ref().map_or(String::new(), |file| format!("{file}, "))
    )]
    File {
        /// The file, where the text came from one.
        file: Option<String>,
        /// Line of the fault, from 1.
        line: usize,
        /// Column of the fault in characters, from 1.
        column: usize,
        /// What is wrong, and the line, shortened around the column where it is long.
        message: String,
    },
    /// A set file cannot be read.
    #[error("cannot read the set file {path}: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the operating system says.
        reason: String,
    },
    /// The set was learned from labelled points, and the model at hand does not hold it.
    #[error(
        "the set was learned from the labelled points `{name}`; only a model that was trained for it holds it"
    )]
    Learned {
        /// The name of the points.
        name: String,
    },
    /// A list has another length than the set needs.
    #[error("{what}: expected {expected} values, found {found}")]
    Length {
        /// What the list means.
        what: &'static str,
        /// The length that is needed.
        expected: usize,
        /// The length that was given.
        found: usize,
    },
    /// A number in a list is NaN or infinite.
    #[error("{what}[{index}] is {value}: replace or remove it")]
    NotFinite {
        /// What the list means.
        what: &'static str,
        /// The number's place in that list.
        index: usize,
        /// The number.
        value: f64,
    },
    /// An interval is empty or reversed.
    #[error("{what}[{index}]: the lower end {low} must be below the upper end {high}")]
    Interval {
        /// Which list the interval is in.
        what: &'static str,
        /// Its place in that list.
        index: usize,
        /// Its lower end.
        low: f64,
        /// Its upper end.
        high: f64,
    },
    /// An interval that single precision, in which the networks run, cannot resolve.
    #[error(
        "{what} of coordinate {index}: between {low:?} and {high:?} single precision has too few numbers to learn \
         from; shift or scale this coordinate"
    )]
    Precision {
        /// Which list the interval is in.
        what: &'static str,
        /// Its place in that list.
        index: usize,
        /// Its lower end.
        low: f64,
        /// Its upper end.
        high: f64,
    },
    /// A combination of no sets.
    #[error("a combination of sets needs at least one set")]
    NoSets,
    /// The regions of interest of sets that are to be intersected do not meet.
    #[error(
        "the bounds of the sets do not meet in coordinate {index}: their intersection is empty"
    )]
    EmptyIntersection {
        /// The coordinate in which they are apart.
        index: usize,
    },
    /// A matrix whose inverse does not exist or is numerically meaningless.
    #[error("the matrix of an affine map must be invertible: pivot {pivot:e} in column {column}")]
    Singular {
        /// The largest pivot that was found.
        pivot: f64,
        /// The column of the matrix.
        column: usize,
    },
    /// Equations of a set that no point obeys.
    #[error(
        "equation {index} contradicts those before it (counted from 0): no point obeys all of them"
    )]
    Equations {
        /// The equation's place.
        index: usize,
    },
    /// Equations that leave no freedom.
    #[error("{dim} independent equations in {dim} coordinates leave nothing to choose; remove one")]
    NothingLeft {
        /// Dimension of y.
        dim: usize,
    },
    /// A union or complement of sets whose points obey different equations.
    #[error(
        "{what} of sets with equations needs the same equations in each of them; intersect them instead"
    )]
    MixedEquations {
        /// The combination.
        what: &'static str,
    },
    /// A number that must be finite (and positive, for a margin) is not.
    #[error("{what} must be {must_be}, found {found}")]
    Value {
        /// What the number means.
        what: &'static str,
        /// What it has to be.
        must_be: &'static str,
        /// What it is.
        found: f64,
    },
}

/// The result of making or combining sets.
pub(crate) type Result<T> = std::result::Result<T, SetError>;
