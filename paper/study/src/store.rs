//! Finished work, as a folder of small files: it can be copied, merged and continued elsewhere.
//!
//! Every file is named by a digest of all that its contents depend on and is written as a whole or not
//! at all. So a finished run is never repeated, a killed study goes on where it was, and two processes
//! may share a store: at worst both do the same work, and write the same file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fabproj::support::write_atomically;
use fabproj::{Checkpoints, FileError, Model};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::StudyError;
use crate::problem::Objective;
use crate::protocol::{Answers, Protocol};
use crate::scale::{ScaleKey, ScaleRecord};
use crate::weight_search::{SearchKey, SearchRecord};

/// The version of the study's code. Part of every key: raise it when results would change.
pub const VERSION: u32 = 2;

/// Everything that the result of a run depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunKey {
    /// [`VERSION`].
    pub version: u32,
    /// The set.
    pub set: String,
    /// The objective.
    pub objective: Objective,
    /// The method's name.
    pub method: String,
    /// The method's settings.
    pub settings: Value,
    /// The projector that it answers with, or is guarded by.
    pub projector: Value,
    /// The seed of the training.
    pub seed: u64,
    /// The problems.
    pub protocol: Protocol,
}

/// A finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// What it depends on.
    pub key: RunKey,
    /// Seconds of the method's own training, its projector's not included.
    pub training_seconds: f64,
    /// The paper gap of an exact solver on the same problems.
    pub paper_gap_floor: f64,
    /// The method's answers.
    pub answers: Answers,
    /// Its answers under the guard, where that was asked for.
    pub guarded: Option<Answers>,
    /// The training loss along the way.
    pub curve: Vec<(u64, f64)>,
    /// The file of the projector in the store, without its ending.
    pub model: Option<String>,
    /// Where the times were measured.
    #[serde(default)]
    pub machine: String,
    /// Whether they were taken again by [`time_again`](crate::plan::time_again).
    #[serde(default)]
    pub timed_alone: bool,
}

/// What the store has under a key.
#[derive(Debug)]
pub enum Found<T> {
    /// Nothing.
    Nothing,
    /// This.
    This(T),
    /// A file that could not be read; it was set aside under this name.
    SetAside(PathBuf),
}

const RUNS: &str = "runs";
const SEARCHES: &str = "weights";
const SCALE: &str = "scale";

/// A folder of finished work.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// The digest that names a file.
pub fn digest(value: &impl Serialize) -> String {
    // Maps of JSON values are sorted by key: the same contents give the same text.
    let text = to_value(value).to_string();
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}

/// A value as JSON. Text, finite numbers and switches are always JSON.
pub(crate) fn to_value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_else(|error| Value::String(error.to_string()))
}

impl Store {
    /// Opens a store; its folders are created if missing.
    ///
    /// # Errors
    /// [`StudyError::Disk`] when they cannot be created.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, StudyError> {
        let store = Self {
            folder: folder.into(),
        };
        for part in [RUNS, SEARCHES, SCALE, "models"] {
            let path = store.folder.join(part);
            fs::create_dir_all(&path).map_err(|source| disk("write", &path, source))?;
        }
        Ok(store)
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, part: &str, key: &str) -> PathBuf {
        self.folder.join(part).join(format!("{key}.json"))
    }

    /// What is kept under a name, if it holds what its name says; otherwise the file is set aside.
    fn load<T: DeserializeOwned>(
        &self,
        path: &Path,
        fits: impl FnOnce(&T) -> bool,
    ) -> Result<Found<T>, StudyError> {
        match read(path)? {
            None => Ok(Found::Nothing),
            Some(bytes) => match parse(&bytes).filter(fits) {
                Some(record) => Ok(Found::This(record)),
                None => set_aside(path).map(Found::SetAside),
            },
        }
    }

    /// Everything of a kind, and the files that could not be read.
    fn all<T: DeserializeOwned>(&self, part: &str) -> Result<(Vec<T>, Vec<PathBuf>), StudyError> {
        let folder = self.folder.join(part);
        let entries = fs::read_dir(&folder).map_err(|source| disk("read", &folder, source))?;
        let mut paths: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
            .collect();
        paths.sort();
        let (mut records, mut unreadable) = (Vec::new(), Vec::new());
        for path in paths {
            match fs::read(&path).ok().and_then(|bytes| parse(&bytes)) {
                Some(record) => records.push(record),
                None => unreadable.push(path),
            }
        }
        Ok((records, unreadable))
    }

    /// Where the projector with this key is kept.
    pub fn model_path(&self, key: &str) -> PathBuf {
        self.folder
            .join("models")
            .join(format!("{key}.safetensors"))
    }

    /// A finished run. A file that is damaged, or does not hold what its name says, is set aside.
    ///
    /// # Errors
    /// [`StudyError::Disk`] when a file cannot be read or set aside.
    pub fn run(&self, key: &RunKey) -> Result<Found<RunRecord>, StudyError> {
        let path = self.path(RUNS, &digest(key));
        self.load(&path, |record: &RunRecord| record.key == *key)
    }

    /// Keeps a finished run.
    ///
    /// # Errors
    /// [`StudyError::Disk`] when it cannot be written.
    pub fn save_run(&self, record: &RunRecord) -> Result<(), StudyError> {
        keep(&self.path(RUNS, &digest(&record.key)), record)
    }

    /// All finished runs, and the files that could not be read.
    ///
    /// # Errors
    /// [`StudyError::Disk`] when the folder cannot be listed.
    pub fn runs(&self) -> Result<(Vec<RunRecord>, Vec<PathBuf>), StudyError> {
        self.all(RUNS)
    }

    /// A finished search of weights; as [`run`](Self::run).
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn search(&self, key: &SearchKey) -> Result<Found<SearchRecord>, StudyError> {
        let path = self.path(SEARCHES, &digest(key));
        self.load(&path, |record: &SearchRecord| record.key == *key)
    }

    /// Keeps a finished search.
    ///
    /// # Errors
    /// [`StudyError::Disk`] when it cannot be written.
    pub fn save_search(&self, record: &SearchRecord) -> Result<(), StudyError> {
        keep(&self.path(SEARCHES, &digest(&record.key)), record)
    }

    /// All finished searches.
    ///
    /// # Errors
    /// [`StudyError::Disk`] when the folder cannot be listed.
    pub fn searches(&self) -> Result<Vec<SearchRecord>, StudyError> {
        Ok(self.all(SEARCHES)?.0)
    }

    /// A finished run of table `scale`; as [`run`](Self::run).
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn scale(&self, key: &ScaleKey) -> Result<Found<ScaleRecord>, StudyError> {
        let path = self.path(SCALE, &digest(key));
        self.load(&path, |record: &ScaleRecord| record.key == *key)
    }

    /// Keeps a finished run of table `scale`.
    ///
    /// # Errors
    /// [`StudyError::Disk`] when it cannot be written.
    pub fn save_scale(&self, record: &ScaleRecord) -> Result<(), StudyError> {
        keep(&self.path(SCALE, &digest(&record.key)), record)
    }

    /// All finished runs of table `scale`.
    ///
    /// # Errors
    /// [`StudyError::Disk`] when the folder cannot be listed.
    pub fn scales(&self) -> Result<Vec<ScaleRecord>, StudyError> {
        Ok(self.all(SCALE)?.0)
    }

    fn checkpoint_folder(&self, key: &str) -> PathBuf {
        self.folder.join("unfinished").join(key)
    }

    /// Where an unfinished training keeps its state: in memory, if another process is at the same work.
    ///
    /// # Errors
    /// [`StudyError::Disk`] when the folder cannot be created.
    pub fn checkpoints(&self, key: &str) -> Result<Checkpoints, StudyError> {
        let path = self.checkpoint_folder(key);
        match Checkpoints::folder(&path) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Checkpoints::memory()),
            opened => opened.map_err(|source| disk("write", &path, source)),
        }
    }

    /// Removes the state of a training that is finished. A state that stays does no harm.
    pub fn remove_checkpoints(&self, key: &str) {
        let _ = fs::remove_dir_all(self.checkpoint_folder(key));
    }

    /// A projector. A file that is not a model is set aside.
    ///
    /// # Errors
    /// [`StudyError`] when a file cannot be read or set aside.
    pub fn model(&self, key: &str) -> Result<Found<Model>, StudyError> {
        let path = self.model_path(key);
        match Model::load(&path) {
            Ok(model) => Ok(Found::This(model)),
            Err(FileError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(Found::Nothing)
            }
            Err(FileError::NotAModel { .. }) => set_aside(&path).map(Found::SetAside),
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps a projector.
    ///
    /// # Errors
    /// [`StudyError::File`] when it cannot be written.
    pub fn save_model(&self, key: &str, model: &Model) -> Result<(), StudyError> {
        Ok(model.save(self.model_path(key))?)
    }
}

fn disk(action: &'static str, path: &Path, source: io::Error) -> StudyError {
    StudyError::Disk {
        action,
        path: path.to_owned(),
        source,
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, StudyError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(disk("read", path, source)),
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}

fn keep(path: &Path, record: &impl Serialize) -> Result<(), StudyError> {
    let text =
        serde_json::to_vec_pretty(record).map_err(|error| disk("write", path, error.into()))?;
    write_atomically(path, &text).map_err(|source| disk("write", path, source))
}

/// Renames a file so that it is out of the way, but not lost.
fn set_aside(path: &Path) -> Result<PathBuf, StudyError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".damaged");
    let aside = PathBuf::from(name);
    fs::rename(path, &aside).map_err(|source| disk("set aside", path, source))?;
    Ok(aside)
}
