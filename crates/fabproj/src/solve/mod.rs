//! Problems: the best point of C(x) for an objective.
//!
//! A [`Problem`] is an objective and constraints with their derivatives ([`Functions`]), affine equations,
//! bounds, and the distribution of x. [`Quadratic`] and [`FnFunctions`] are ready-made functions.

mod affine;
mod certify;
mod checkpoint;
mod closures;
mod label;
mod linear;
mod model;
mod pilot;
mod problem;
mod quadratic;
mod reduced;
mod settings;
mod train;

pub use fabproj_core::{Functions, Solver};

pub use self::certify::{GapCertificate, GapPlan};
pub use self::closures::FnFunctions;
pub use self::model::{SolverModel, SolverRecord, train, train_with};
pub use self::problem::Problem;
pub use self::quadratic::Quadratic;
pub use self::settings::SolveSettings;
pub use self::train::{Measured, SolveSummary};
