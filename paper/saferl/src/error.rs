//! Errors of trainings, evaluations and files.

use std::io;
use std::path::PathBuf;

use fabproj_nn::SpecError;

use crate::env::EnvironmentError;

/// `Result` with an [`RlError`].
pub type Result<T> = std::result::Result<T, RlError>;

/// Why a training or an evaluation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RlError {
    /// The task failed.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// A network of an impossible shape.
    #[error(transparent)]
    Network(#[from] SpecError),
    /// A setting out of its range.
    #[error("setting `{name}` must be {expected}, found {found}")]
    Setting {
        /// The setting's name.
        name: &'static str,
        /// What is allowed.
        expected: &'static str,
        /// What was given.
        found: String,
    },
    /// A loss, a weight or an observation is NaN or infinite.
    #[error(
        "training diverged in epoch {epoch}: {what} is not finite. The last checkpoint is intact; \
         lower the learning rate, or resume to repeat the epoch"
    )]
    Diverged {
        /// The epoch, from 0.
        epoch: usize,
        /// What is not finite.
        what: String,
    },
    /// The stop flag was set.
    #[error("stopped; the same command continues from the last checkpoint")]
    Stopped,
    /// A policy for other observations or actions than the task's.
    #[error(
        "the policy maps {policy_inputs} inputs to {policy_actions} actions, but the task has \
         {task_inputs} inputs and {task_actions} actions"
    )]
    Dimensions {
        /// Inputs of the policy.
        policy_inputs: usize,
        /// Action components of the policy.
        policy_actions: usize,
        /// Inputs of the task, those of a guard included.
        task_inputs: usize,
        /// Action components of the task.
        task_actions: usize,
    },
    /// A guard of another task.
    #[error(
        "the guard was trained for task `{guard}`, not for `{task}`: `fab-paper rl collect --task {task}` \
         makes one"
    )]
    OtherTask {
        /// The guard's task.
        guard: String,
        /// The task it is wanted for.
        task: String,
    },
    /// A checkpoint of another run.
    #[error(
        "the checkpoint {path} belongs to another run: {difference}. Use the same settings, or \
         remove the file to start again"
    )]
    OtherRun {
        /// The checkpoint.
        path: PathBuf,
        /// What differs.
        difference: String,
    },
    /// A file that could not be read or written.
    #[error("cannot {action} {path}: {source}")]
    Disk {
        /// `"read"` or `"write"`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file with unexpected contents.
    #[error("cannot parse {path}: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The training of a projector failed.
    #[error(transparent)]
    Method(Box<dyn std::error::Error + Send + Sync>),
    /// No task of this name.
    #[error("unknown task `{name}`; the tasks are {known}")]
    UnknownTask {
        /// The name.
        name: String,
        /// The names of all tasks.
        known: String,
    },
    /// A task whose simulator is not built in.
    #[error(
        "task `{name}` needs MuJoCo: run `cargo xtask mujoco`, then build with `--features mujoco`"
    )]
    NoSimulator {
        /// The task.
        name: String,
    },
}

impl RlError {
    pub(crate) fn disk(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Disk {
            action,
            path,
            source,
        }
    }

    pub(crate) fn damaged(path: impl Into<PathBuf>, what: impl ToString) -> Self {
        Self::Damaged {
            path: path.into(),
            what: what.to_string(),
        }
    }
}

/// Returns an error unless the condition of a setting holds.
pub(crate) fn check_setting(
    holds: bool,
    name: &'static str,
    expected: &'static str,
    found: impl ToString,
) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(RlError::Setting {
        name,
        expected,
        found: found.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_remedy() {
        let missing = RlError::NoSimulator {
            name: "goal2".into(),
        };
        assert!(missing.to_string().contains("cargo xtask mujoco"));
        let setting = check_setting(false, "clip", "greater than 0", -1.0).unwrap_err();
        assert_eq!(
            setting.to_string(),
            "setting `clip` must be greater than 0, found -1"
        );
    }
}
