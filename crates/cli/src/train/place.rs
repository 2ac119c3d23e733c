//! The place of a training on the disk: checkpoints, log, and what is said when it stops.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use fabproj::{Checkpoints, FileError, Session, TrainError};
use serde_json::{Value, json};

use super::Task;
use super::log::Log;
use super::progress::Progress;
use crate::interrupt;
use crate::options::Common;

/// One run of the command, whatever it trains.
pub(super) struct Place<'a> {
    pub task: &'a Task,
    pub common: &'a Common,
    /// The model file.
    pub model: &'a Path,
}

impl Place<'_> {
    /// Trains, then certifies and saves by `complete`, with a log that begins with `start`. `None` if the
    /// training was stopped.
    pub(super) fn run<T, S>(
        &self,
        mut start: Value,
        train: impl FnOnce(&Session) -> Result<T, TrainError>,
        complete: impl FnOnce(T, &Log) -> Result<S>,
    ) -> Result<Option<S>> {
        // Before anything is written, so that a stop always says what is left.
        let stop = interrupt::stop_soon(farewell(self.model))?;
        let checkpoints = self.checkpoints()?;
        let log = Log::open(log_of(self.model), self.task.resume)?;
        start["event"] = "start".into();
        start["resumed"] = self.task.resume.into();
        log.write(start);
        let progress = Progress::new(self.common.quiet);
        let session = Session::new()
            .observe(|event| progress.show(event))
            .observe(|event| log.event(event))
            .checkpoints(&checkpoints)
            .stop(stop);
        self.check_identity(&session)?;
        let trained = train(&session);
        progress.finish();
        let failed = matches!(&trained, Err(error) if !matches!(error, TrainError::Stopped));
        if failed && !last_states(self.model) && !self.task.resume {
            // Nothing to resume: the way is free for another try.
            let _ = checkpoints.remove();
        }
        let model = match trained {
            Err(TrainError::Stopped) => {
                log.write(json!({ "event": "stopped" }));
                interrupt::say_farewell();
                return Ok(None);
            }
            trained => trained.map_err(explained)?,
        };
        let summary = complete(model, &log)?;
        checkpoints
            .remove()
            .context("the model is saved, but its checkpoints cannot be removed")?;
        Ok(Some(summary))
    }

    /// The checkpoints to resume from, or none.
    fn checkpoints(&self) -> Result<Checkpoints> {
        let path = checkpoints(self.model);
        if path.exists() && !self.task.resume {
            let old = open_checkpoints(self.model)?;
            old.remove()
                .with_context(|| format!("cannot remove the checkpoints {}", path.display()))?;
        }
        open_checkpoints(self.model)
    }

    /// Refuses to resume what was asked for otherwise: its certificate would be another.
    fn check_identity(&self, session: &Session) -> Result<()> {
        let own = self.task.identity();
        if !self.task.resume {
            session.save(IDENTITY, || Ok(own.to_string().into_bytes()));
            return Ok(());
        }
        // One that is damaged is found with the other states.
        let Some(found) = session.load(IDENTITY) else {
            return Ok(());
        };
        let found: Value = serde_json::from_slice(&found).unwrap_or_default();
        let text = |value: &Value| match &value["samples"] {
            Value::Null => "left out".to_owned(),
            samples => samples.to_string(),
        };
        if found != own {
            bail!(
                "the checkpoints belong to another training: its --samples is {}, not {}; resume with the \
                 same options, or start again with --force",
                text(&found),
                text(&own)
            );
        }
        Ok(())
    }
}

/// What to do about checkpoints that cannot be used.
fn explained(error: TrainError) -> anyhow::Error {
    match error {
        TrainError::OtherTraining { differences } => anyhow!(
            "the checkpoints belong to another training ({}); resume with the same set, settings and \
             seed, or start again with --force",
            differences.join("; ")
        ),
        TrainError::Checkpoint { unit, reason } => anyhow!(
            "the checkpoint {unit} is damaged: {reason}; --force starts the training again, -o MODEL \
             trains beside it"
        ),
        error => error.into(),
    }
}

/// Says what is left of a training whose model could not be saved.
pub(super) fn saved(model: &Path, result: Result<(), FileError>) -> Result<()> {
    result.with_context(|| {
        let advice = match last_states(model) {
            true => "its checkpoints are kept: the same command with --resume saves it",
            false => "it has no checkpoints",
        };
        format!("the model was trained but not saved; {advice}")
    })
}

/// The checkpoints beside a model, locked.
pub(super) fn open_checkpoints(model: &Path) -> Result<Checkpoints> {
    let path = checkpoints(model);
    Checkpoints::folder(&path).map_err(|error| {
        if error.kind() == std::io::ErrorKind::WouldBlock {
            let model = model.display();
            return anyhow!(
                "another training writes to {model} ({}): {error}; wait for it, or name another file with \
                 -o MODEL",
                path.display()
            );
        }
        anyhow!(error).context(format!("cannot write checkpoints to {}", path.display()))
    })
}

/// The folder of checkpoints beside a model.
pub(super) fn checkpoints(model: &Path) -> PathBuf {
    with_suffix(model, ".checkpoint")
}

/// The log beside a model.
pub(super) fn log_of(model: &Path) -> PathBuf {
    with_suffix(model, ".log.jsonl")
}

/// A path with more at its end.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The unit under which a command keeps what it was asked for.
const IDENTITY: &str = "command";

/// Whether checkpoints of a training were written.
fn last_states(model: &Path) -> bool {
    let entries = std::fs::read_dir(checkpoints(model)).into_iter().flatten();
    let mut names = entries.flatten().map(|entry| entry.file_name());
    names.any(|name| {
        let name = name.to_string_lossy().into_owned();
        name.ends_with(".state") && name != format!("{IDENTITY}.state")
    })
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./=,:+@%^".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Says how to resume, from what is on the disk.
fn farewell(model: &Path) -> impl Fn() -> String + Send + 'static {
    let model = model.to_owned();
    move || {
        let words = crate::WORDS.get_or_init(|| std::env::args_os().collect());
        let words = words.iter().map(|word| word.to_string_lossy().into_owned());
        let mut words: Vec<String> = words.collect();
        words.retain(|word| word != "--force" && word != "--resume");
        if let Some(command) = words.first_mut() {
            let name = Path::new(command).file_name().unwrap_or_default();
            *command = name.to_string_lossy().into_owned();
        }
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let command = words.join(" ");
        let state = match (last_states(&model), Checkpoints::exist(checkpoints(&model))) {
            (true, _) => "the checkpoints are saved",
            (false, true) => "no checkpoint was written yet, and the training begins again",
            (false, false) => return "stopped; nothing was saved".to_owned(),
        };
        format!("stopped; {state}. To resume:\n  {command} --resume")
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_stay_words_for_a_shell() {
        assert_eq!(quoted("--setting=a-b_1.5e+3"), "--setting=a-b_1.5e+3");
        assert_eq!(quoted("my set.toml"), "'my set.toml'");
        assert_eq!(quoted("it's; rm"), r"'it'\''s; rm'");
        assert_eq!(quoted(""), "''");
    }
}
