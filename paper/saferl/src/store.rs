//! Finished results, as a folder of small files that can be copied and merged.
//!
//! ```text
//! store/
//!   runs/<digest>.json              settings, learning curve, evaluation
//!   policies/<digest>.safetensors   the policy
//!   unfinished/<digest>/            checkpoint and log of a training that is not done
//! ```
//!
//! The digest covers everything that a result depends on, so a finished run is never repeated.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::disk::{read_if_there, write_atomically};
use crate::error::{Result, RlError};
use crate::evaluate::{Evaluation, EvaluationSettings};
use crate::train::EpochRecord;

/// Raised when the same settings give other results.
pub const VERSION: u32 = 1;

/// Everything that a result depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunKey {
    /// [`VERSION`].
    pub version: u32,
    /// The task.
    pub task: String,
    /// The algorithm's name, or that of a baseline.
    pub algorithm: String,
    /// All settings of the training; `null` for a baseline.
    pub settings: Value,
    /// Digest of the action filter; empty without one.
    pub filter: String,
    /// Seed of the training.
    pub seed: u64,
    /// Digest of the action filter that the policy was trained with, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trained_with: Option<String>,
    /// The episodes of the evaluation.
    pub evaluation: EvaluationSettings,
}

impl RunKey {
    /// The name of the run's files.
    pub fn digest(&self) -> String {
        // JSON values have sorted keys: the same contents give the same text.
        let text = serde_json::to_value(self).unwrap_or_default().to_string();
        blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
    }
}

/// A finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// What it depends on.
    pub key: RunKey,
    /// The learning curve; empty for a baseline.
    pub curve: Vec<EpochRecord>,
    /// The evaluation of the final policy.
    pub evaluation: Evaluation,
}

impl RunRecord {
    /// Steps of the training.
    pub fn steps(&self) -> usize {
        let planned = || self.key.settings["steps"].as_u64().unwrap_or(0) as usize;
        self.curve
            .last()
            .map_or_else(planned, |record| record.steps)
    }

    /// Seconds of the training.
    pub fn training_seconds(&self) -> f64 {
        let seconds = |record: &EpochRecord| record.rollout_seconds + record.update_seconds;
        // The sum of nothing is -0.
        0.0 + self.curve.iter().map(seconds).sum::<f64>()
    }
}

/// A folder of finished runs.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// Opens a store. Its folders are created when something is written.
    pub fn open(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The policy file of a run.
    pub fn policy_path(&self, key: &RunKey) -> PathBuf {
        let name = format!("{}.safetensors", key.digest());
        self.folder.join("policies").join(name)
    }

    /// The checkpoint of an unfinished run.
    pub fn checkpoint_path(&self, key: &RunKey) -> PathBuf {
        self.unfinished(key).join("checkpoint.safetensors")
    }

    /// The log of an unfinished run.
    pub fn log_path(&self, key: &RunKey) -> PathBuf {
        self.unfinished(key).join("log.jsonl")
    }

    fn unfinished(&self, key: &RunKey) -> PathBuf {
        self.folder.join("unfinished").join(key.digest())
    }

    fn run_path(&self, key: &RunKey) -> PathBuf {
        self.folder
            .join("runs")
            .join(format!("{}.json", key.digest()))
    }

    /// A finished run, if there is one.
    ///
    /// # Errors
    /// [`RlError::Disk`], or [`RlError::Damaged`] for a file that is not this run's.
    pub fn run(&self, key: &RunKey) -> Result<Option<RunRecord>> {
        let path = self.run_path(key);
        let Some(bytes) = read_if_there(&path)? else {
            return Ok(None);
        };
        let record = parse(&path, &bytes)?;
        if record.key != *key {
            let what = "it is another run's; remove it to run again";
            return Err(RlError::damaged(path, what));
        }
        Ok(Some(record))
    }

    /// Keeps a finished run, and removes its checkpoint and log.
    ///
    /// # Errors
    /// [`RlError::Disk`].
    pub fn save(&self, record: &RunRecord) -> Result<()> {
        let path = self.run_path(&record.key);
        let text = serde_json::to_vec(record).map_err(|error| RlError::damaged(&path, error))?;
        write_atomically(&path, &text)?;
        let unfinished = self.unfinished(&record.key);
        match fs::remove_dir_all(&unfinished) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(RlError::disk("remove", unfinished)(error))
            }
            _ => Ok(()),
        }
    }

    /// All finished runs, ordered by file name.
    ///
    /// # Errors
    /// [`RlError::Disk`] or [`RlError::Damaged`].
    pub fn runs(&self) -> Result<Vec<RunRecord>> {
        let folder = self.folder.join("runs");
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(RlError::disk("read", folder)(error)),
        };
        let mut paths: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
            .collect();
        paths.sort();
        let read = |path: &PathBuf| {
            let bytes = fs::read(path).map_err(RlError::disk("read", path))?;
            parse(path, &bytes)
        };
        paths.iter().map(read).collect()
    }
}

fn parse(path: &Path, bytes: &[u8]) -> Result<RunRecord> {
    serde_json::from_slice(bytes).map_err(|error| RlError::damaged(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(seed: u64) -> RunRecord {
        RunRecord {
            key: RunKey {
                version: VERSION,
                task: "double-integrator".into(),
                algorithm: "zero".into(),
                settings: Value::Null,
                filter: String::new(),
                seed,
                trained_with: None,
                evaluation: EvaluationSettings::default(),
            },
            curve: Vec::new(),
            evaluation: Evaluation {
                cost_kinds: vec!["obstacles".into()],
                episodes: Vec::new(),
            },
        }
    }

    #[test]
    fn runs_are_kept_and_found_by_their_key() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store"));
        assert_eq!(store.run(&record(0).key).unwrap(), None);
        assert_eq!(store.runs().unwrap(), []);
        let checkpoint = store.checkpoint_path(&record(0).key);
        write_atomically(&checkpoint, b"state").unwrap();
        store.save(&record(0)).unwrap();
        store.save(&record(1)).unwrap();
        assert!(!checkpoint.exists());
        assert_eq!(store.run(&record(0).key).unwrap(), Some(record(0)));
        assert_eq!(store.runs().unwrap().len(), 2);
        assert_ne!(record(0).key.digest(), record(1).key.digest());
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path());
        store.save(&record(0)).unwrap();
        let path = store.run_path(&record(0).key);
        fs::write(&path, "{").unwrap();
        let error = store.run(&record(0).key).unwrap_err().to_string();
        assert!(error.contains("runs") && error.contains(".json"), "{error}");
        assert!(store.runs().is_err());
    }
}
