//! The state of unfinished trainings, tied to the training that it belongs to.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::TrainError;
use crate::support::write_atomically;

const IDENTITY: &str = "training.json";
const ENDING: &str = "state";

/// Where a training keeps its state, so that it can be resumed to the same bits.
///
/// Checkpoints belong to one training: the same set, recipe, settings and seed. Any other training refuses
/// them with [`TrainError::OtherTraining`].
///
/// ```
/// # use std::sync::atomic::AtomicBool;
/// use fabproj::{Checkpoints, Session, Settings, TrainError, train_with};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ring.checkpoint");
/// let ring = fabproj::set::built_in("concentric-circles")?;
/// let settings = Settings { phase_two: 100, ..Settings::quick() };
/// let checkpoints = Checkpoints::folder(&path)?;
///
/// // A stop flag that is already set: the training ends at its first checkpoint.
/// let stop = AtomicBool::new(true);
/// let session = Session::new().checkpoints(&checkpoints).stop(&stop);
/// assert!(matches!(train_with(&ring, &settings, &session), Err(TrainError::Stopped)));
///
/// // The same training goes on; another one does not.
/// let session = Session::new().checkpoints(&checkpoints);
/// let other = Settings { seed: 1, ..settings.clone() };
/// assert!(matches!(train_with(&ring, &other, &session), Err(TrainError::OtherTraining { .. })));
/// let model = train_with(&ring, &settings, &session)?;
/// checkpoints.remove()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Checkpoints(Place);

#[derive(Debug)]
enum Place {
    Memory(Mutex<BTreeMap<String, Vec<u8>>>),
    Folder(PathBuf),
}

impl Checkpoints {
    /// Checkpoints in memory.
    pub fn memory() -> Self {
        Self(Place::Memory(Mutex::default()))
    }

    /// Checkpoints in a folder, created if missing: a file for each unit of work, each written as a whole.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn folder(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        fs::create_dir_all(&path)?;
        Ok(Self(Place::Folder(path)))
    }

    /// Whether a training left its state in this folder.
    pub fn exist(path: impl AsRef<Path>) -> bool {
        path.as_ref().join(IDENTITY).is_file()
    }

    /// Removes the state, and the folder if nothing else is in it.
    ///
    /// # Errors
    /// What the operating system says; a folder that holds other files is left in place, and is an error.
    pub fn remove(&self) -> io::Result<()> {
        let path = match &self.0 {
            Place::Memory(units) => {
                units.lock().unwrap_or_else(PoisonError::into_inner).clear();
                return Ok(());
            }
            Place::Folder(path) => path,
        };
        for entry in fs::read_dir(path)? {
            let file = entry?.path();
            let ending = file.extension().unwrap_or_default();
            if ending == ENDING || ending == "tmp" {
                fs::remove_file(&file)?;
            }
        }
        // Last: states without their identity could be taken for those of another training.
        match fs::remove_file(path.join(IDENTITY)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::remove_dir(path)
    }

    /// Claims the checkpoints for a training, or finds that they are its own.
    pub(super) fn claim(&self, identity: &Identity) -> Result<(), TrainError> {
        let damaged = |reason: String| TrainError::Checkpoint {
            unit: IDENTITY.to_owned(),
            reason,
        };
        let Some(bytes) = self.read(IDENTITY) else {
            let json = serde_json::to_vec_pretty(identity);
            let json = json.map_err(|error| damaged(error.to_string()))?;
            return self
                .write(IDENTITY, &json)
                .map_err(TrainError::CheckpointsUnwritable);
        };
        let found: Identity =
            serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        let differences = identity.differences(&found);
        if differences.is_empty() {
            return Ok(());
        }
        Err(TrainError::OtherTraining { differences })
    }

    /// The state saved last under a name.
    pub(super) fn load(&self, unit: &str) -> Option<Vec<u8>> {
        self.read(&file_name(unit))
    }

    /// Saves a state under a name.
    pub(super) fn save(&self, unit: &str, state: &[u8]) -> io::Result<()> {
        self.write(&file_name(unit), state)
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        match &self.0 {
            Place::Memory(units) => {
                let units = units.lock().unwrap_or_else(PoisonError::into_inner);
                units.get(name).cloned()
            }
            Place::Folder(path) => fs::read(path.join(name)).ok(),
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        match &self.0 {
            Place::Memory(units) => {
                let mut units = units.lock().unwrap_or_else(PoisonError::into_inner);
                units.insert(name.to_owned(), bytes.to_vec());
                Ok(())
            }
            Place::Folder(path) => write_atomically(&path.join(name), bytes),
        }
    }
}

/// Units have names with any letters; files have not.
fn file_name(unit: &str) -> String {
    let letters = unit.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => char::from(byte).to_string(),
        byte => format!("_{byte:02x}"),
    });
    format!("{}.{ENDING}", letters.collect::<String>())
}

/// What a training is: checkpoints are of use to the same training only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// The version of this library: another one may train other bits.
    pub(super) fabproj: String,
    pub(super) set: String,
    pub(super) set_hash: String,
    pub(super) recipe: String,
    pub(super) settings: Value,
    pub(super) seed: u64,
}

impl Identity {
    /// What differs, in words.
    fn differences(&self, found: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        let mut compare = |what: &str, found: String, own: String| {
            if found != own {
                differences.push(format!("its {what} is {found}, not {own}"));
            }
        };
        if self.set_hash != found.set_hash {
            compare("set", found.set.clone(), format!("this {}", self.set));
        }
        compare("version", found.fabproj.clone(), self.fabproj.clone());
        compare("recipe", found.recipe.clone(), self.recipe.clone());
        compare("seed", found.seed.to_string(), self.seed.to_string());
        let (Value::Object(own), Value::Object(theirs)) = (&self.settings, &found.settings) else {
            compare(
                "settings",
                found.settings.to_string(),
                self.settings.to_string(),
            );
            return differences;
        };
        let text = |value: Option<&Value>| value.map_or("missing".to_owned(), Value::to_string);
        let added = theirs.keys().filter(|key| !own.contains_key(*key));
        for key in own.keys().chain(added) {
            compare(key, text(theirs.get(key)), text(own.get(key)));
        }
        differences
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn identity(width: u64) -> Identity {
        Identity {
            fabproj: "0.1.0".to_owned(),
            set: "two-moons".to_owned(),
            set_hash: "abc".to_owned(),
            recipe: "default".to_owned(),
            settings: json!({ "width": width }),
            seed: 1,
        }
    }

    #[test]
    fn states_come_back_under_any_name() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let path = parent.path().join("checkpoint");
        let units = ["2-balls/0/phase two", "../escape", "a_b", "a b"];
        for checkpoints in [
            Checkpoints::memory(),
            Checkpoints::folder(&path).expect("writable"),
        ] {
            for unit in units {
                assert_eq!(checkpoints.load(unit), None);
                checkpoints.save(unit, unit.as_bytes()).expect("writable");
            }
            for unit in units {
                assert_eq!(checkpoints.load(unit).as_deref(), Some(unit.as_bytes()));
            }
            checkpoints.remove().expect("nothing else is there");
        }
        assert_eq!(fs::read_dir(parent.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn another_training_is_refused() {
        let checkpoints = Checkpoints::memory();
        checkpoints.claim(&identity(64)).expect("new");
        checkpoints.claim(&identity(64)).expect("the same");
        let refused = checkpoints.claim(&identity(32)).expect_err("another");
        assert!(refused.to_string().contains("its width is 64, not 32"));
    }

    #[test]
    fn files_of_others_are_not_removed() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let checkpoints = Checkpoints::folder(parent.path()).expect("writable");
        checkpoints.claim(&identity(64)).expect("new");
        fs::write(parent.path().join("thesis.tex"), "years of work").expect("writable");
        assert!(checkpoints.remove().is_err());
        assert!(parent.path().join("thesis.tex").exists());
        assert!(!Checkpoints::exist(parent.path()));
    }
}
