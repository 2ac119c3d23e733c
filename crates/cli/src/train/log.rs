//! The log of a training: one JSON object per line.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context, Result};
use fabproj::Event;
use fabproj::support::target_of;
use serde::Serialize;
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
        let open = || {
            target_of(&path)?;
            let mut file = File::options()
                .create(true)
                .read(true)
                .write(true)
                .truncate(!append)
                .open(&path)?;
            let end = end_of_lines(&mut file)?;
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))?;
            Ok::<_, io::Error>(file)
        };
        let file = open().with_context(|| format!("cannot write the log {}", path.display()))?;
        Ok(Self {
            path,
            started: Instant::now(),
            file: Mutex::new(Some(file)),
        })
    }

    /// Writes that a model was certified and saved.
    pub fn certified(&self, certificate: &impl Serialize, model: &Path) {
        self.write(json!({ "event": "certified", "certificate": certificate }));
        self.write(json!({ "event": "saved", "model": model.display().to_string() }));
    }

    /// Writes an event of the training.
    pub fn event(&self, event: &Event) {
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

/// Where the last whole line ends: what a killed process or a full disk has left after it is not a record.
fn end_of_lines(file: &mut File) -> io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut byte = [0];
    while end > 0 {
        file.seek(SeekFrom::Start(end - 1))?;
        file.read_exact(&mut byte)?;
        if byte == *b"\n" {
            break;
        }
        end -= 1;
    }
    Ok(end)
}

fn named<'n>(values: impl Iterator<Item = (&'n str, f64)>) -> Map<String, Value> {
    values
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect()
}
