//! Model files: a model and the record of how it was made, in one safetensors file.
//!
//! The bytes are those of [`core::format`](fabproj_core::format); `docs/model-file.md` describes them
//! for other programs.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use fabproj_core::format::{self, FormatError, MAX_BYTES, WriteError};
use fabproj_core::{Model, ModelError, Projector};
use serde::{Deserialize, Serialize};

use crate::set::{Description, LearnedRecord, Set};

/// A model and how it was made.
///
/// ```
/// use fabproj::file::{ModelFile, Record};
/// # use fabproj::core::{Blend, Chart, Frame, LatentSet, Model, Network};
/// # let model = Model {
/// #     dim: 2,
/// #     x_dim: 0,
/// #     frame: Frame::unit(2),
/// #     parameter_frame: Frame::unit(0),
/// #     gate: None,
/// #     charts: vec![Chart {
/// #         frame: Frame::unit(2),
/// #         encoder: Network::identity(2),
/// #         latent: LatentSet::Ball { radius: 0.5, smooth: None },
/// #         decoders: vec![Network::identity(2)],
/// #         decoder_gate: None,
/// #         blend: Blend::Soft,
/// #     }],
/// #     discriminator: None,
/// #     anchors: Vec::new(),
/// #     lift: None,
/// # };
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("star.fab");
/// let set = fabproj::set::built_in("star-shaped")?;
/// let file = ModelFile { model, record: Record::of(&*set) };
/// file.save(&path)?;
/// assert_eq!(ModelFile::load(&path)?, file);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFile {
    /// What runs.
    pub model: Model,
    /// What is known about it.
    pub record: Record,
}

/// Everything about a model that is not needed to run it. Each field is a field of the file's JSON
/// metadata.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The version of fabproj that wrote the file.
    pub fabproj: String,
    /// The set that the model was trained for.
    pub set: SetRecord,
    /// Names of the coordinates of y; with a lift, of those that obey its equations.
    pub names: Vec<String>,
    /// Names of the coordinates of x.
    #[serde(default, alias = "parameter_names")]
    pub x_names: Vec<String>,
    /// The preset that the training started from.
    pub preset: String,
    /// The seed of the training.
    pub seed: u64,
    /// The whole configuration of the training.
    pub config: serde_json::Value,
    /// How the training ended.
    pub training: serde_json::Value,
    /// How often the projector is right, if that was measured.
    #[serde(default)]
    pub certificate: Option<serde_json::Value>,
    /// For a set that was learned from labelled points: what they held, and how far the model's
    /// discriminator can be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<LearnedRecord>,
}

/// A set in a model file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetRecord {
    /// Enough to build the set again, where that is possible.
    pub description: Description,
    /// [`Description::hash`], to tell whether a model belongs to a set.
    pub hash: String,
}

impl SetRecord {
    /// The record of a description.
    pub fn new(description: Description) -> Self {
        let hash = description.hash();
        Self { description, hash }
    }
}

impl Record {
    /// The record of a set before anything else is known: this version of fabproj, no configuration,
    /// no certificate.
    pub fn of(set: &dyn Set) -> Self {
        Self {
            fabproj: env!("CARGO_PKG_VERSION").to_owned(),
            set: SetRecord::new(set.description()),
            names: match set.reduced() {
                Some(reduced) => reduced.full().names(),
                None => set.names(),
            },
            x_names: set.x_names(),
            preset: String::new(),
            seed: 0,
            config: serde_json::Value::Null,
            training: serde_json::Value::Null,
            certificate: None,
            learned: None,
        }
    }
}

/// Why a model file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file could not be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The file is something else, or damaged.
    #[error(
        "{} is not a fabproj model: {source}; `fabproj train SET -o MODEL` makes one",
        path.display()
    )]
    NotAModel {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: FormatError,
    },
    /// The file was written by a later version.
    #[error("{}: {source}; update fabproj to read it", path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// The versions.
        source: FormatError,
    },
    /// The file could not be written. What was there before is unchanged.
    #[error(
        "cannot write {}: {source}; nothing was changed there: free some space or choose another place",
        path.display()
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The model or its record cannot be put into a file. What was there before is unchanged.
    #[error("{} was not written: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What is wrong with the model.
        source: WriteError,
    },
}

impl ModelFile {
    /// Packs the model into the form that runs.
    ///
    /// # Errors
    /// [`ModelError`], which cannot happen for a model that was loaded from a file.
    pub fn projector(&self) -> Result<Projector, ModelError> {
        Projector::new(&self.model)
    }

    /// The bytes of the file; the same model and record give the same bytes.
    ///
    /// # Errors
    /// [`WriteError`] for a model that cannot run.
    pub fn to_bytes(&self) -> Result<Vec<u8>, WriteError> {
        format::write_with(&self.model, &self.record)
    }

    /// Reads the bytes of a file. No bytes make this panic or allocate much more than they are long.
    ///
    /// # Errors
    /// [`FormatError`] for bytes that are not a model with its record.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let (model, record) = format::read_with(bytes)?;
        Ok(Self { model, record })
    }

    /// Writes the file as a whole or not at all: until the new file is complete and on the disk, the
    /// old one stays.
    ///
    /// # Errors
    /// [`FileError::Write`] for a place that cannot be written to, [`FileError::Unwritable`] for a
    /// model that cannot run.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let path = path.as_ref();
        let bytes = self.to_bytes().map_err(|source| FileError::Unwritable {
            path: path.to_owned(),
            source,
        })?;
        write_atomically(path, &bytes).map_err(|source| FileError::Write {
            path: path.to_owned(),
            source,
        })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`FileError::Read`] for a file that cannot be read, [`FileError::NotAModel`] for one that is
    /// something else or damaged, [`FileError::TooNew`] for one of a later version.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let bytes = read_limited(path).map_err(|source| FileError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::from_bytes(&bytes).map_err(|source| {
            let path = path.to_owned();
            match source {
                FormatError::Version { .. } => FileError::TooNew { path, source },
                source => FileError::NotAModel { path, source },
            }
        })
    }
}

/// Reads one byte more than a model may have at most, whatever the file's size is said to be: the
/// format's own check then gives the error.
fn read_limited(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = File::open(path)?.take(MAX_BYTES as u64 + 1);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file as a whole or not at all: to a temporary file beside it, synchronised with the disk,
/// then renamed. After an error, or if the process is killed, what was there before is still there.
///
/// # Errors
/// What the operating system says.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, |file| file.write_all(bytes))
}

fn replace(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".fabproj-").suffix(".tmp");
    // As any new file: temporary files are readable by their owner alone unless told otherwise.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    fill(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // The rename itself is durable once the folder is on the disk. Some file systems cannot tell;
    // the file is complete either way.
    #[cfg(unix)]
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_leaves_the_old_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("model");
        write_atomically(&path, b"old").expect("a writable folder");
        let error = replace(&path, |file| {
            file.write_all(b"half of the new")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(
            error.map_err(|error| error.kind()),
            Err(io::ErrorKind::StorageFull)
        );
        assert_eq!(std::fs::read(&path).expect("still there"), b"old");
        let left = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 1, "the temporary file is gone");
    }

    #[cfg(unix)]
    #[test]
    fn files_are_readable_by_others_as_usual() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (ours, usual) = (folder.path().join("ours"), folder.path().join("usual"));
        write_atomically(&ours, b"").expect("a writable folder");
        std::fs::write(&usual, b"").expect("a writable folder");
        let mode = |path| std::fs::metadata(path).expect("there").permissions().mode();
        assert_eq!(mode(&ours), mode(&usual));
    }
}
