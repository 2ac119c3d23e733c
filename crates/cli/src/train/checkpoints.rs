//! Checkpoints in a folder beside the model: a file for each unit of work, each written as a whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use fabproj::file::write_atomically;
use fabproj::train::CheckpointStore;
use serde::{Deserialize, Serialize};
use serde_json::Value;

const TRAINING: &str = "training.json";
const ENDING: &str = "state";

/// What a training is: checkpoints are of use to the same training only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// The set, as it was typed.
    pub set: String,
    /// The set's fingerprint.
    pub set_hash: String,
    /// The name of the preset.
    pub preset: String,
    /// The whole configuration.
    pub config: Value,
    /// The seed.
    pub seed: u64,
}

/// The folder of one training's checkpoints.
pub struct Folder {
    pub path: PathBuf,
    warned: AtomicBool,
}

/// The folder's place beside a model.
pub fn beside(model: &Path) -> PathBuf {
    super::with_suffix(model, ".checkpoint")
}

impl Folder {
    /// Begins anew: what an earlier training left there is removed.
    pub fn begin(path: PathBuf, identity: &Identity) -> Result<Self> {
        remove(&path)?;
        let failed = || format!("cannot make the folder of checkpoints {}", path.display());
        fs::create_dir_all(&path).with_context(failed)?;
        let json = serde_json::to_vec_pretty(identity)?;
        write_atomically(&path.join(TRAINING), &json).with_context(failed)?;
        Ok(Self {
            path,
            warned: AtomicBool::new(false),
        })
    }

    /// Goes on with the checkpoints of the same training.
    pub fn resume(path: PathBuf, identity: &Identity) -> Result<Self> {
        let file = path.join(TRAINING);
        let bytes = fs::read(&file).with_context(|| {
            format!(
                "there is nothing to resume: cannot read {}; train without --resume",
                file.display()
            )
        })?;
        let found: Identity = serde_json::from_slice(&bytes)
            .with_context(|| format!("{} is damaged; train without --resume", file.display()))?;
        let differences = identity.differences(&found);
        if !differences.is_empty() {
            bail!(
                "the checkpoints in {} belong to another training ({}); train with the same settings, \
                 or without --resume to begin anew",
                path.display(),
                differences.join("; ")
            );
        }
        Ok(Self {
            path,
            warned: AtomicBool::new(false),
        })
    }

    /// Whether a training left checkpoints here.
    pub fn exists(path: &Path) -> bool {
        path.join(TRAINING).is_file()
    }

    /// Removes the checkpoints of a training that is done.
    pub fn discard(self) -> Result<()> {
        remove(&self.path)
    }

    /// Units have names with any letters; files have not.
    fn file(&self, unit: &str) -> PathBuf {
        let letters = unit.bytes().map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => char::from(byte).to_string(),
            byte => format!("_{byte:02x}"),
        });
        self.path
            .join(format!("{}.{ENDING}", letters.collect::<String>()))
    }
}

impl CheckpointStore for Folder {
    fn load(&self, unit: &str) -> Option<Vec<u8>> {
        fs::read(self.file(unit)).ok()
    }

    fn save(&self, unit: &str, state: &[u8]) {
        let Err(error) = write_atomically(&self.file(unit), state) else {
            return;
        };
        if !self.warned.swap(true, Ordering::Relaxed) {
            eprintln!(
                "warning: cannot write checkpoints to {}: {error}; training goes on without them",
                self.path.display()
            );
        }
    }
}

impl Identity {
    /// What differs, in words.
    fn differences(&self, found: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        if self.set_hash != found.set_hash {
            differences.push(format!("its set is {}, not {}", found.set, self.set));
        }
        if self.preset != found.preset {
            differences.push(format!(
                "its preset is {}, not {}",
                found.preset, self.preset
            ));
        }
        if self.seed != found.seed {
            differences.push(format!("its seed is {}, not {}", found.seed, self.seed));
        }
        if let (Value::Object(ours), Value::Object(theirs)) = (&self.config, &found.config) {
            let keys = ours
                .keys()
                .chain(theirs.keys().filter(|key| !ours.contains_key(*key)));
            for key in keys.filter(|key| ours.get(*key) != theirs.get(*key)) {
                let text =
                    |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
                let (ours, theirs) = (text(ours.get(key)), text(theirs.get(key)));
                differences.push(format!("its {key} is {theirs}, not {ours}"));
            }
        } else if self.config != found.config {
            differences.push("its configuration is another".to_owned());
        }
        differences
    }
}

/// Removes a folder of checkpoints, and nothing that is not one.
fn remove(path: &Path) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let failed = || format!("cannot remove the old checkpoints in {}", path.display());
    for entry in fs::read_dir(path).with_context(failed)? {
        let file = entry.with_context(failed)?.path();
        let ours = file
            .extension()
            .is_some_and(|ending| ending == ENDING || ending == "tmp");
        if ours || file.file_name().is_some_and(|name| name == TRAINING) {
            fs::remove_file(&file).with_context(failed)?;
        }
    }
    fs::remove_dir(path)
        .with_context(|| format!("{} holds files that are not checkpoints", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn identity(width: u64) -> Identity {
        Identity {
            set: "two-moons".to_owned(),
            set_hash: "abc".to_owned(),
            preset: "default".to_owned(),
            config: json!({ "width": width }),
            seed: 1,
        }
    }

    #[test]
    fn states_come_back_under_any_name() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::begin(parent.path().join("checkpoint"), &identity(64)).unwrap();
        for unit in ["2-balls/0/phase two", "../escape", "a_b", "a b"] {
            assert_eq!(folder.load(unit), None);
            folder.save(unit, unit.as_bytes());
        }
        let again = Folder::resume(folder.path.clone(), &identity(64)).unwrap();
        for unit in ["2-balls/0/phase two", "../escape", "a_b", "a b"] {
            assert_eq!(again.load(unit).as_deref(), Some(unit.as_bytes()));
        }
        again.discard().unwrap();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn another_training_does_not_resume() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("checkpoint");
        let missing = Folder::resume(path.clone(), &identity(64)).err().unwrap();
        assert!(
            missing.to_string().contains("nothing to resume"),
            "{missing}"
        );
        Folder::begin(path.clone(), &identity(64)).unwrap();
        let other = Folder::resume(path, &identity(32))
            .err()
            .unwrap()
            .to_string();
        assert!(other.contains("its width is 64, not 32"), "{other}");
    }

    #[test]
    fn files_of_others_are_not_removed() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("checkpoint");
        let folder = Folder::begin(path.clone(), &identity(64)).unwrap();
        fs::write(path.join("thesis.tex"), "years of work").unwrap();
        assert!(folder.discard().is_err());
        assert!(path.join("thesis.tex").exists());
    }
}
