//! The state of unfinished trainings, tied to the training that it belongs to.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::TrainError;
use crate::support::{Lock, write_atomically};

const IDENTITY: &str = "training.json";
const ENDING: &str = "state";
const LOCK: &str = "lock";
/// Bytes of the checksum at the end of each state.
const CHECKSUM: usize = blake3::OUT_LEN;

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
    Folder {
        path: PathBuf,
        /// Held as long as this is used, and no longer than the process lives.
        _lock: Lock,
    },
}

impl Checkpoints {
    /// Checkpoints in memory.
    pub fn memory() -> Self {
        Self(Place::Memory(Mutex::default()))
    }

    /// Checkpoints in a folder, created if missing: a file for each unit of work, each written as a whole and
    /// with a checksum. The folder is locked: two trainings cannot use it at the same time.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) where another training uses the folder, with its process in the
    /// text; else what the operating system says.
    pub fn folder(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        fs::create_dir_all(&path)?;
        let lock = Lock::acquire(&path.join(LOCK))?;
        Ok(Self(Place::Folder { path, _lock: lock }))
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
            Place::Folder { path, .. } => path,
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
        fs::remove_file(path.join(LOCK))?;
        fs::remove_dir(path)
    }

    /// Claims the checkpoints for a training, or finds that they are its own.
    pub(super) fn claim(&self, identity: &Identity) -> Result<(), TrainError> {
        let damaged = |reason: String| TrainError::Checkpoint {
            unit: IDENTITY.to_owned(),
            reason,
        };
        self.check_states()?;
        let Some(bytes) = self.read(IDENTITY) else {
            let json = serde_json::to_vec_pretty(&Sealed::of(identity));
            let json = json.map_err(|error| damaged(error.to_string()))?;
            return self
                .write(IDENTITY, &json)
                .map_err(TrainError::CheckpointsUnwritable);
        };
        let found: Sealed =
            serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if found.checksum != found.training.checksum() {
            return Err(damaged("its checksum is wrong".to_owned()));
        }
        let differences = identity.differences(&found.training);
        if differences.is_empty() {
            return Ok(());
        }
        Err(TrainError::OtherTraining { differences })
    }

    /// Refuses states that are not as they were written: a training that went on from one of them would give
    /// another model.
    fn check_states(&self) -> Result<(), TrainError> {
        let Place::Folder { path, .. } = &self.0 else {
            return Ok(());
        };
        let unreadable = |unit: &str, reason: String| TrainError::Checkpoint {
            unit: unit.to_owned(),
            reason,
        };
        let entries = fs::read_dir(path).map_err(TrainError::CheckpointsUnwritable)?;
        for file in entries.flatten().map(|entry| entry.path()) {
            if file.extension().unwrap_or_default() != ENDING {
                continue;
            }
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let bytes = fs::read(&file).map_err(|error| unreadable(&name, error.to_string()))?;
            if unsealed(bytes).is_none() {
                return Err(unreadable(&name, "its checksum is wrong".to_owned()));
            }
        }
        Ok(())
    }

    /// The state saved last under a name.
    pub(super) fn load(&self, unit: &str) -> Option<Vec<u8>> {
        unsealed(self.read(&file_name(unit))?)
    }

    /// Saves a state under a name.
    pub(super) fn save(&self, unit: &str, state: &[u8]) -> io::Result<()> {
        let sealed = [state, blake3::hash(state).as_bytes()].concat();
        self.write(&file_name(unit), &sealed)
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        match &self.0 {
            Place::Memory(units) => {
                let units = units.lock().unwrap_or_else(PoisonError::into_inner);
                units.get(name).cloned()
            }
            Place::Folder { path, .. } => fs::read(path.join(name)).ok(),
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        match &self.0 {
            Place::Memory(units) => {
                let mut units = units.lock().unwrap_or_else(PoisonError::into_inner);
                units.insert(name.to_owned(), bytes.to_vec());
                Ok(())
            }
            Place::Folder { path, .. } => write_atomically(&path.join(name), bytes),
        }
    }
}

/// A state without its checksum; `None` if that is wrong.
fn unsealed(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let end = bytes.len().checked_sub(CHECKSUM)?;
    let checksum = bytes.split_off(end);
    (blake3::hash(&bytes).as_bytes()[..] == checksum[..]).then_some(bytes)
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
pub(crate) struct Identity {
    /// The version of this library: another one may train other bits.
    pub(crate) fabproj: String,
    pub(crate) set: String,
    pub(crate) set_hash: String,
    pub(crate) recipe: String,
    pub(crate) settings: Value,
    pub(crate) seed: u64,
}

/// An identity as it is written.
#[derive(Serialize, Deserialize)]
struct Sealed {
    training: Identity,
    checksum: String,
}

impl Sealed {
    fn of(identity: &Identity) -> Self {
        Self {
            training: identity.clone(),
            checksum: identity.checksum(),
        }
    }
}

impl Identity {
    /// A checksum of the whole.
    fn checksum(&self) -> String {
        let json = serde_json::to_vec(self).unwrap_or_default();
        blake3::hash(&json).to_hex().to_string()
    }

    /// What differs, in words.
    fn differences(&self, found: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        let mut compare = |what: &str, found: String, own: String| {
            let difference = format!("its {what} is {found}, not {own}");
            // A seed may be one of the settings too.
            if found != own && !differences.contains(&difference) {
                differences.push(difference);
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
    fn damaged_states_are_told_from_those_of_others() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let checkpoints = Checkpoints::folder(parent.path()).expect("writable");
        checkpoints.claim(&identity(64)).expect("new");
        checkpoints.save("unit", &[7; 9000]).expect("writable");
        for name in ["unit.state", IDENTITY] {
            let file = parent.path().join(name);
            let whole = fs::read(&file).expect("written");
            for place in (0..whole.len()).step_by(97) {
                let mut damaged = whole.clone();
                damaged[place] ^= 1;
                fs::write(&file, damaged).expect("writable");
                let refused = checkpoints.claim(&identity(64));
                let refused = matches!(refused, Err(TrainError::Checkpoint { .. }));
                assert!(refused, "{name}, byte {place}");
            }
            fs::write(&file, &whole[..whole.len() / 2]).expect("writable");
            assert!(checkpoints.claim(&identity(64)).is_err());
            fs::write(&file, whole).expect("writable");
        }
        checkpoints.claim(&identity(64)).expect("whole again");
    }

    #[test]
    fn a_folder_is_for_one_training_at_a_time() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let first = Checkpoints::folder(parent.path()).expect("free");
        let second = Checkpoints::folder(parent.path()).expect_err("in use");
        assert_eq!(second.kind(), io::ErrorKind::WouldBlock);
        drop(first);
        Checkpoints::folder(parent.path()).expect("free again");
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
