//! Why recordings could not be replayed.

use std::io;
use std::path::PathBuf;

use crate::env::EnvironmentError;

/// `Result` with a [`ParityError`].
pub type Result<T> = std::result::Result<T, ParityError>;

/// Why recordings could not be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParityError {
    /// A file or folder could not be read.
    #[error("cannot read {path}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A folder without recordings.
    #[error("no recordings (`Task_seedNN_policy.npz`) in {folder}")]
    NoRecordings {
        /// The folder.
        folder: PathBuf,
    },
    /// A file name that does not tell task and seed.
    #[error(
        "{path} is not named `Task_seedNN_policy.npz`, with a task out of Goal1, Goal2, Push1, Push2"
    )]
    Name {
        /// The file.
        path: PathBuf,
    },
    /// A file with missing or wrong arrays.
    #[error("cannot parse {path} as a recording: {problem}")]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The environment failed in a replay.
    #[error("replaying {path}, step {step}")]
    Environment {
        /// The recording.
        path: PathBuf,
        /// The step, from 0.
        step: usize,
        /// What the environment said.
        source: EnvironmentError,
    },
}
