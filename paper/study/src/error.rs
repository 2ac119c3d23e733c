//! What can go wrong in a study.

use std::io;
use std::path::PathBuf;

use fab_method::{PaperError, PaperSettingsError};
use fabproj::core::WeightsError;
use fabproj::core::{CallError, GuardError};
use fabproj::set::SetError;
use fabproj::support::did_you_mean;
use fabproj::{CertifyError, FileError, TrainError};
use fabproj_nn::SpecError;

/// Misuse of the study, or a failure on the way.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// A name that is not known.
    #[error("unknown {what} `{name}`{}", did_you_mean(near))]
    Unknown {
        /// What was named: a set, a method, an objective, a table.
        what: &'static str,
        /// The name.
        name: String,
        /// Existing names, nearest first.
        near: Vec<String>,
    },
    /// Methods and tables that have methods of their own.
    #[error(
        "name methods or tables, not both; `scale` alone is a table whose methods can be named"
    )]
    MethodsAndTables,
    /// A method that cannot solve problems of this kind.
    #[error("{method} cannot solve problems of family {family}")]
    Unsuited {
        /// The method's name.
        method: &'static str,
        /// The family's name.
        family: &'static str,
    },
    /// A file of the store that cannot be read or written. What was finished before is kept.
    #[error(
        "cannot {action} {path}: {source}; finished runs are kept, the same command resumes the study"
    )]
    Disk {
        /// `"read"`, `"write"` or `"set aside"`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A store without a single result to report on.
    #[error("{path} holds no results of a study; `fab-paper study run` makes some")]
    NoResults {
        /// The store.
        path: PathBuf,
    },
    /// A file that is not what the bench writes.
    #[error("{path} holds no figures of `cargo xtask bench --json`: {reason}")]
    Bench {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The stop flag was set; finished runs are in the store.
    #[error("stopped; finished runs are kept")]
    Stopped,
    /// A loss is not finite.
    #[error("training diverged: the loss of {what} is not finite at step {step}")]
    Diverged {
        /// What was trained.
        what: String,
        /// The step, counted from 0.
        step: u64,
    },
    /// The report's template does not fit its contents.
    #[error("the report cannot be made: {0}")]
    Template(String),
    /// A set that the study cannot work with.
    #[error(transparent)]
    Set(#[from] SetError),
    /// A projector's training.
    #[error(transparent)]
    Train(TrainError),
    /// Data that cannot be sampled.
    #[error(transparent)]
    Data(#[from] PaperError),
    /// Settings of the paper's method.
    #[error(transparent)]
    PaperSettings(#[from] PaperSettingsError),
    /// A network's shape.
    #[error(transparent)]
    Network(#[from] SpecError),
    /// A model that cannot run.
    #[error(transparent)]
    Model(#[from] WeightsError),
    /// A model's file.
    #[error(transparent)]
    File(#[from] FileError),
    /// A guard without a feasible point.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// A certificate that cannot be made.
    #[error(transparent)]
    Certify(#[from] CertifyError),
    /// A call that does not fit a projector.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl From<TrainError> for StudyError {
    fn from(error: TrainError) -> Self {
        match error {
            TrainError::Stopped => Self::Stopped,
            error => Self::Train(error),
        }
    }
}
