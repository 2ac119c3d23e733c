//! A trained solver with the record of how it was made, in one file.

use std::path::Path;
use std::sync::Arc;

use fabproj_core::format::{self, FormatError, WriteError};
use fabproj_core::{Functions, Solver, SolverWeights, WeightsError};
use serde::{Deserialize, Serialize};

use super::certify::{GapCertificate, GapPlan, certify};
use super::problem::Problem;
use super::settings::SolveSettings;
use super::tools::fit_solver;
use super::train::SolveSummary;
use crate::CertifyError;
use crate::model::FileError;
use crate::set::{Description, SetError};
use crate::train::{Identity, Session, TrainError};

/// Trains a solver of a problem: optima at drawn x, a metric, an affine start and anchor, and as many steps as
/// the goal takes, chosen on x that were not learned from.
///
/// ```
/// use fabproj::set::Equation;
/// use fabproj::solve::{self, Problem, Quadratic, SolveSettings};
///
/// // ½ (y0² + 3 y1²) − y0 with y0 + 2 y1 <= 1 and y0 − y1 = x0
/// let functions = Quadratic::diagonal(vec![1.0, 3.0], vec![-1.0, 0.0], 1)?
///     .with_rows(vec![1.0, 2.0], vec![1.0])?;
/// let equation = Equation { normal: vec![1.0, -1.0], constant: 0.0, slopes: vec![1.0] };
/// let problem = Problem::new("two", functions)
///     .with_equations(vec![equation])
///     .with_x([(-1.0, 1.0)]);
/// let model = solve::train(&problem, &SolveSettings::default())?;
/// let solver = model.solver(&problem)?;
/// let (y, answer) = solver.solve(&[0.8])?;
/// assert!(answer.outcome.is_verified());
/// // On the line y0 − y1 = 0.8 the best point is y0 = 0.85, y1 = 0.05.
/// assert!((y[0] - 0.85).abs() < 1e-9 && (y[1] - 0.05).abs() < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`TrainError::Set`] for a problem whose parts do not fit together, [`TrainError::Unbounded`] and
/// [`TrainError::Infeasible`] for one without an optimum at most x, [`TrainError::NotSmooth`] where none is found.
pub fn train(problem: &Problem, settings: &SolveSettings) -> Result<SolverModel, TrainError> {
    train_with(problem, settings, &Session::new())
}

/// [`train`] in an environment that can watch, stop and resume it.
///
/// # Errors
/// As for [`train`]; [`TrainError::Stopped`] when the session's stop flag was set,
/// [`TrainError::OtherTraining`] when its checkpoints belong to another training.
pub fn train_with(
    problem: &Problem,
    settings: &SolveSettings,
    session: &Session,
) -> Result<SolverModel, TrainError> {
    let description = problem.description();
    let options =
        serde_json::to_value(settings).map_err(|error| TrainError::Recipe(error.into()))?;
    session.claim(|| Identity {
        fabproj: env!("CARGO_PKG_VERSION").to_owned(),
        set: description.name(),
        set_hash: description.hash(),
        recipe: "solver".to_owned(),
        settings: options,
        seed: settings.seed,
    })?;
    let (weights, summary) = fit_solver(problem, settings, session)?;
    let record = SolverRecord {
        fabproj: env!("CARGO_PKG_VERSION").to_owned(),
        problem: description.clone(),
        names: problem.names().to_vec(),
        x_names: problem.x_names().to_vec(),
        settings: settings.clone(),
        training: summary,
        certificate: None,
    };
    Ok(SolverModel { weights, record })
}

/// A trained solver, and the record of how it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct SolverModel {
    weights: SolverWeights,
    record: SolverRecord,
}

/// How a solver was made: everything in its file that is not needed to run it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SolverRecord {
    /// The version of fabproj that wrote the file.
    pub fabproj: String,
    /// The problem.
    pub problem: Description,
    /// Names of the coordinates of y.
    pub names: Vec<String>,
    /// Names of the coordinates of x.
    pub x_names: Vec<String>,
    /// The settings of the training.
    pub settings: SolveSettings,
    /// What the training did and measured.
    pub training: SolveSummary,
    /// How far from optimal answers are, if that was measured.
    #[serde(default)]
    pub certificate: Option<GapCertificate>,
}

impl SolverModel {
    /// What was trained, as plain data.
    pub fn weights(&self) -> &SolverWeights {
        &self.weights
    }

    /// How the solver was made.
    pub fn record(&self) -> &SolverRecord {
        &self.record
    }

    /// The problem that the solver was trained for, built from its file.
    ///
    /// # Errors
    /// [`SetError::NotRebuildable`] for a problem that was given by a program.
    pub fn problem(&self) -> Result<Problem, SetError> {
        match &self.record.problem {
            Description::File { text, .. } => Problem::from_toml(text),
            other => Err(SetError::NotRebuildable { name: other.name() }),
        }
    }

    /// The form that runs, for the problem that it was trained for.
    ///
    /// # Errors
    /// [`WeightsError`] when the problem has other dimensions.
    pub fn solver(
        &self,
        problem: &Problem,
    ) -> Result<Solver<Arc<dyn Functions + Send + Sync>>, WeightsError> {
        Solver::new(self.weights.clone(), problem.functions().clone())
    }

    /// Measures feasibility and the gap on fresh x, and keeps the certificate in the record.
    ///
    /// # Errors
    /// [`CertifyError`] when the problem has other dimensions or no optimum is found.
    pub fn certify(
        &mut self,
        problem: &Problem,
        plan: &GapPlan,
    ) -> Result<&GapCertificate, CertifyError> {
        let certificate = certify(problem, &self.solver(problem)?, plan)?;
        Ok(self.record.certificate.insert(certificate))
    }

    /// The bytes of the file; the same model gives the same bytes.
    ///
    /// # Errors
    /// [`WriteError`] for a record that is too long.
    pub fn to_bytes(&self) -> Result<Vec<u8>, WriteError> {
        format::write_solver_with(&self.weights, &self.record)
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// [`FormatError`] for bytes that are not a solver with its record.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let (weights, record) = format::read_solver_with(bytes)?;
        Ok(Self { weights, record })
    }

    /// Writes the file as a whole or not at all.
    ///
    /// # Errors
    /// [`FileError::Write`] for a place that cannot be written to.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        crate::model::save(path.as_ref(), self.to_bytes())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`FileError`] for a file that cannot be read, or that is something else.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        crate::model::load(path.as_ref(), Self::from_bytes)
    }
}
