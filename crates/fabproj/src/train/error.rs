//! Why a training did not give a model.

use fabproj_core::ModelError;

use super::config::ConfigError;
use crate::data::PoolError;
use crate::data::labelled::LabelledError;
use fabproj_nn::SpecError;

/// Why a training did not give a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// A setting is out of its range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No rows to train on could be drawn.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// A network of such a shape cannot be made.
    #[error(transparent)]
    Shape(#[from] SpecError),
    /// The labelled points cannot be learned from.
    #[error(transparent)]
    Labelled(#[from] LabelledError),
    /// What was trained cannot run.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The session asked for it; what was done is in the checkpoints.
    #[error("training was stopped; its checkpoints allow it to go on")]
    Stopped,
    /// A checkpoint belongs to another training.
    #[error(
        "the checkpoint \"{unit}\" does not fit this training: was it made with other settings? Remove it to start anew"
    )]
    Checkpoint {
        /// The unit of work whose checkpoint it is.
        unit: String,
    },
    /// No candidate was trained.
    #[error("no candidate was trained: the plan is empty")]
    NoCandidate,
}
