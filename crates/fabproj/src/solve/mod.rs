//! Problems: the best point of C(x) for an objective.
//!
//! A [`Problem`] is an objective and constraints with their derivatives ([`Functions`]), affine equations,
//! bounds, and the distribution of x. [`Quadratic`] and [`FnFunctions`] are ready-made functions.
//! [`Problem::from_set`] is for a set with a membership test only.

mod affine;
mod basins;
mod black_box;
mod certify;
mod checkpoint;
mod choose;
mod closures;
mod known;
mod label;
mod learned;
mod linear;
mod model;
mod network;
mod pilot;
mod plan;
mod problem;
mod quadratic;
mod reduced;
mod reference;
mod settings;
mod tools;
mod train;

pub use fabproj_core::{Functions, Solver};

pub use self::certify::{GapCertificate, GapPlan};
pub use self::choose::Measured;
pub use self::closures::FnFunctions;
pub use self::model::{SolverModel, SolverRecord, train, train_with};
pub use self::problem::Problem;
pub use self::quadratic::Quadratic;
pub use self::settings::{SolveSettings, Tool};
pub use self::train::SolveSummary;
