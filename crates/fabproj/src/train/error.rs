//! Errors of a training.

use std::io;

use fabproj_core::WeightsError;
use fabproj_nn::SpecError;

use crate::data::PoolError;
use crate::set::LabelledError;
use crate::set::SetError;

/// Why a training did not give a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// A setting is out of its range.
    #[error("{field} = {value} is out of range: choose a value from {low} to {high}")]
    Setting {
        /// The setting.
        field: &'static str,
        /// Its value.
        value: f64,
        /// The smallest value that it may have.
        low: f64,
        /// The largest value that it may have.
        high: f64,
    },
    /// The set or the problem cannot be trained for.
    #[error(transparent)]
    Set(#[from] SetError),
    /// The objective of a problem has no minimum.
    #[error(
        "the objective has no lower bound at x = {x:?}: bound y, or add what is missing to the objective"
    )]
    Unbounded {
        /// Where.
        x: Vec<f64>,
    },
    /// A problem has no feasible point at most x.
    #[error(
        "no feasible point with a finite objective was found at {failed} of {tried} x: check constraints, objective, \
         bounds and the region of x"
    )]
    Infeasible {
        /// How many x.
        failed: usize,
        /// Of how many.
        tried: usize,
    },
    /// The search for optima does not converge.
    #[error(
        "no optimum found at {failed} of {tried} x: objective and constraints must be smooth, with derivatives that are right"
    )]
    NotSmooth {
        /// How many x.
        failed: usize,
        /// Of how many.
        tried: usize,
    },
    /// The structured tool for a set with a membership test only.
    #[error(
        "the set has a membership test only, and the structured tool needs gradients: leave `tool` out, or \
         set it to `learned`"
    )]
    NoGradient,
    /// No rows to train on could be drawn.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// A network of this size cannot be made.
    #[error(transparent)]
    Network(#[from] SpecError),
    /// The labelled points cannot be learned from.
    #[error(transparent)]
    Labelled(#[from] LabelledError),
    /// The trained weights are invalid.
    #[error("training diverged: {0}")]
    Model(#[from] WeightsError),
    /// A loss became infinite or NaN.
    #[error(
        "training diverged: the loss is {loss} in {unit} at step {step}; try a smaller learning rate"
    )]
    Diverged {
        /// The unit of work.
        unit: String,
        /// The step after which it was found.
        step: u64,
        /// The loss.
        loss: f64,
    },
    /// The stop flag was set; the state is in the checkpoints.
    #[error("training was stopped; it can be resumed from its checkpoints")]
    Stopped,
    /// The checkpoints belong to another training.
    #[error(
        "the checkpoints belong to another training ({}); use the same set, settings and seed, or remove the checkpoints to start again",
        differences.join("; ")
    )]
    OtherTraining {
        /// What differs, in words.
        differences: Vec<String>,
    },
    /// A checkpoint cannot be read.
    #[error("the checkpoint `{unit}` is damaged ({reason}); remove the checkpoints to start again")]
    Checkpoint {
        /// The unit of work whose checkpoint it is.
        unit: String,
        /// What is wrong.
        reason: String,
    },
    /// The place for checkpoints cannot be written to.
    #[error("cannot write checkpoints: {0}")]
    CheckpointsUnwritable(#[source] io::Error),
    /// The certificate could not be made.
    #[error(transparent)]
    Certify(#[from] crate::certify::CertifyError),
    /// An error of the recipe.
    #[error(transparent)]
    Recipe(Box<dyn std::error::Error + Send + Sync>),
}
