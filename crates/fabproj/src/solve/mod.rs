//! Problems: the best point of C(x) for an objective.
//!
//! A [`Problem`] is an objective and constraints with their derivatives ([`Functions`]), affine equations,
//! bounds, and the distribution of x. [`Quadratic`] and [`FnFunctions`] are ready-made functions.

mod affine;
mod asked;
mod certify;
mod checkpoint;
mod choose;
mod closures;
mod label;
mod learned;
mod linear;
mod model;
mod optima;
mod problem;
mod proposer;
mod quadratic;
mod reduced;
mod reference;
mod settings;
mod structured;

pub use fabproj_core::{
    Answer, Functions, PullbackWorkspace, SolveOutcome, Solver, SolverWeights, SolverWorkspace,
};

pub use self::certify::{GapCertificate, GapPlan, certify, local_optimum};
pub use self::closures::FnFunctions;
pub use self::model::{SolverModel, SolverRecord, train, train_with};
pub use self::problem::{Distribution, Problem, ProblemError};
pub use self::quadratic::Quadratic;
pub use self::settings::{Measured, SolveError, SolveSettings, SolveSummary, Tool};
