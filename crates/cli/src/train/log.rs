//! The log of a training: one JSON object per line.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context, Result};
use fabproj::{Event, Observer};
use serde_json::{Map, Value, json};

/// Writes every event with the seconds since the start.
pub struct Log {
    pub path: PathBuf,
    started: Instant,
    /// `None` once writing has failed: a log must not end a training.
    file: Mutex<Option<File>>,
}

impl Log {
    /// Starts a log, or appends to one.
    pub fn open(path: PathBuf, append: bool) -> Result<Self> {
        let file = File::options()
            .create(true)
            .write(true)
            .append(append)
            .truncate(!append)
            .open(&path)
            .with_context(|| format!("cannot write the log {}", path.display()))?;
        Ok(Self {
            path,
            started: Instant::now(),
            file: Mutex::new(Some(file)),
        })
    }

    /// Writes one object.
    pub fn write(&self, mut line: Value) {
        if let Value::Object(fields) = &mut line {
            let seconds = (self.started.elapsed().as_secs_f64() * 1e3).round() / 1e3;
            fields.insert("seconds".to_owned(), json!(seconds));
        }
        let Ok(mut file) = self.file.lock() else {
            return;
        };
        // One write per line, so that a killed process leaves whole lines.
        let written = file
            .as_mut()
            .map(|file| file.write_all(format!("{line}\n").as_bytes()));
        if let Some(Err(error)) = written {
            eprintln!(
                "warning: the log {} ends here: {error}",
                self.path.display()
            );
            *file = None;
        }
    }
}

impl Observer for Log {
    fn observe(&self, event: &Event) {
        self.write(match event {
            Event::Stage { name } => json!({ "event": "stage", "name": name }),
            Event::Progress {
                unit,
                step,
                steps,
                done,
                losses,
            } => json!({
                "event": "progress",
                "unit": unit,
                "step": step,
                "steps": steps,
                "done": done,
                "losses": named(losses.iter().map(|(name, value)| (*name, f64::from(*value)))),
            }),
            Event::Measured { candidate, figures } => json!({
                "event": "measured",
                "candidate": candidate,
                "figures": named(figures.iter().copied()),
            }),
            Event::Warning { message } => json!({ "event": "warning", "message": message }),
            _ => return,
        });
    }
}

fn named<'n>(values: impl Iterator<Item = (&'n str, f64)>) -> Map<String, Value> {
    values
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect()
}
