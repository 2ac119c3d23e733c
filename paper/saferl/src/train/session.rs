//! A training's surroundings: observer, files, stop flag.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::disk::write_atomically;
use crate::error::{Result, RlError};
use crate::train::record::EpochRecord;

/// Something that happened in a training.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A checkpoint was found; the training continues with this epoch.
    Resumed {
        /// The epoch, from 0.
        epoch: usize,
    },
    /// An epoch is done.
    Epoch {
        /// Its figures.
        record: &'a EpochRecord,
        /// Share of the training that is done.
        done: f64,
    },
}

/// Receives the events of a training.
pub trait Observer: Sync {
    /// Called for every event.
    fn observe(&self, event: &Event<'_>);
}

/// A training's surroundings. The default observes nothing, writes nothing and never stops.
#[derive(Default)]
pub struct Session<'a> {
    /// Receives events.
    pub observer: Option<&'a dyn Observer>,
    /// The checkpoint file. If it exists, the training continues from it.
    pub checkpoint: Option<PathBuf>,
    /// The log: one JSON line per epoch.
    pub log: Option<PathBuf>,
    /// Set to true from outside to stop after the current epoch, with a checkpoint.
    pub stop: Option<&'a AtomicBool>,
}

impl Session<'_> {
    pub(super) fn emit(&self, event: &Event<'_>) {
        if let Some(observer) = self.observer {
            observer.observe(event);
        }
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Opens the log with the lines of the epochs that are done.
    pub(super) fn open_log(&self, curve: &[EpochRecord]) -> Result<Option<Log>> {
        let Some(path) = &self.log else {
            return Ok(None);
        };
        let lines: String = curve.iter().map(line).collect();
        write_atomically(path, lines.as_bytes())?;
        let file = OpenOptions::new().append(true).open(path);
        let file = file.map_err(RlError::disk("write", path))?;
        let path = path.clone();
        Ok(Some(Log { file, path }))
    }
}

/// An open log.
pub(super) struct Log {
    file: File,
    path: PathBuf,
}

impl Log {
    pub(super) fn add(&mut self, record: &EpochRecord) -> Result<()> {
        let written = self.file.write_all(line(record).as_bytes());
        written.map_err(RlError::disk("write", &self.path))
    }
}

fn line(record: &EpochRecord) -> String {
    format!("{}\n", serde_json::to_string(record).unwrap_or_default())
}

/// Reads a log.
///
/// # Errors
/// [`RlError::Disk`] or [`RlError::Damaged`].
pub fn read_log(path: &Path) -> Result<Vec<EpochRecord>> {
    let text = std::fs::read_to_string(path).map_err(RlError::disk("read", path))?;
    let parse =
        |line: &str| serde_json::from_str(line).map_err(|error| RlError::damaged(path, error));
    text.lines().map(parse).collect()
}
