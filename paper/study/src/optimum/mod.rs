//! Exact optima: the truth that gaps are measured against.
//!
//! Each of the study's sets has a file of its own. All optima are computed in f64, by closed forms or
//! safeguarded one-dimensional searches, and pulled inward by 1e-9 so that they pass the membership
//! test; the tests compare them with dense grids.

mod blob;
mod moons;
mod shell;
mod sphere;
mod star;

use crate::problem::Problem;

pub use self::blob::Blob;
pub use self::moons::Moons;
pub use self::shell::Shell;
pub use self::star::Star;

/// How far optima on a boundary are pulled inward, relative to the set's size.
pub(crate) const PULL: f64 = 1e-9;

/// A set over which problems can be solved exactly.
pub trait Optimum: Send + Sync {
    /// Writes a point of the set at which the problem's objective is smallest.
    fn solve(&self, problem: &Problem, y: &mut [f64]);
}
