//! Problems: the best point of C(x) for an objective.
//!
//! A [`Problem`] is an objective and constraints with their derivatives ([`Functions`]), affine equations,
//! bounds, and the distribution of x. [`Quadratic`] and [`FnFunctions`] are ready-made functions.

mod closures;
mod problem;
mod quadratic;

pub use fabproj_core::Functions;

pub use self::closures::FnFunctions;
pub use self::problem::{Distribution, Problem, ProblemError};
pub use self::quadratic::Quadratic;
