//! A trained model with the record of how it was made, in one safetensors file.
//!
//! The bytes are those of [`core::format`](fabproj_core::format); `docs/model-file.md` describes them
//! for other programs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fabproj_core::format::{self, FormatError, MAX_BYTES, MAX_HEADER_BYTES, WriteError};
use fabproj_core::{Guard, GuardError, Projector, Weights, WeightsError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::certify::{Certificate, CertifyError, Plan, certify};
use crate::set::{Description, Interval, Learned, LearnedRecord, Result as SetResult, Set};
use crate::support::{read_safetensors, write_atomically};
use crate::train::{Recipe, TrainError, Trained};

/// Trained networks, and the record of how they were made.
///
/// ```
/// use fabproj::{Model, Settings};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ring.safetensors");
/// let ring = fabproj::set::built_in("concentric-circles")?;
/// let model = fabproj::train(&ring, Settings { phase_two: 600, ..Settings::quick() })?;
/// model.save(&path)?;
///
/// // In another program. The file says which set it is for.
/// let model = Model::load(&path)?;
/// let guard = model.guard(model.set()?)?;
/// let (y, outcome) = guard.project(&[0.3, 0.2], &[])?;
/// assert!(outcome.is_verified());
/// assert!((1.0..=2.0).contains(&f64::hypot(y[0], y[1])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    weights: Weights,
    record: Record,
    projector: Projector,
}

impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        self.weights == other.weights && self.record == other.record
    }
}

/// How a model was made: everything in its file that is not needed to run it. Each field is a field of the
/// file's JSON metadata.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// The version of fabproj that wrote the file.
    pub fabproj: String,
    set: SetRecord,
    /// Names of the coordinates of y.
    pub names: Vec<String>,
    /// Names of the coordinates of x.
    #[serde(default)]
    pub x_names: Vec<String>,
    /// The region that inputs come from; empty where it is not known, as in files of earlier versions.
    #[serde(default)]
    pub bounds: Vec<Interval>,
    /// The region that x comes from.
    #[serde(default)]
    pub x_bounds: Vec<Interval>,
    /// The recipe or preset of the training.
    pub recipe: String,
    /// The seed of the training.
    pub seed: u64,
    settings: Value,
    training: Value,
    /// Whether the training met its own goals.
    #[serde(default)]
    pub met_goals: bool,
    #[serde(default)]
    certificate: Option<Certificate>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    learned: Option<LearnedRecord>,
}

/// A set in a model file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SetRecord {
    /// Enough to build the set again, where that is possible.
    description: Description,
    /// [`Description::hash`], to tell whether a model belongs to a set.
    hash: String,
}

/// Intervals, if all of them are finite: JSON has no other numbers.
fn known(intervals: Vec<Interval>) -> Vec<Interval> {
    let finite = |(low, high): &Interval| low.is_finite() && high.is_finite();
    match intervals.iter().all(finite) {
        true => intervals,
        false => Vec::new(),
    }
}

impl Record {
    /// The record of weights that no recipe of this library has trained.
    fn of(set: &dyn Set) -> Self {
        let description = set.description();
        let hash = description.hash();
        Self {
            fabproj: env!("CARGO_PKG_VERSION").to_owned(),
            set: SetRecord { description, hash },
            names: set.names(),
            x_names: set.x_names(),
            bounds: known(set.bounds()),
            x_bounds: known(set.x_bounds()),
            recipe: String::new(),
            seed: 0,
            settings: Value::Null,
            training: Value::Null,
            met_goals: false,
            certificate: None,
            learned: set.learned().map(|learned| learned.record().clone()),
        }
    }

    /// What the model was trained for.
    pub fn set(&self) -> &Description {
        &self.set.description
    }

    /// The fingerprint of the set, [`Description::hash`].
    pub fn set_hash(&self) -> &str {
        &self.set.hash
    }

    /// All settings of the training, as JSON.
    pub fn settings_json(&self) -> String {
        self.settings.to_string()
    }

    /// What the training did, as JSON.
    pub fn training_json(&self) -> String {
        self.training.to_string()
    }

    /// For a set that was learned from labelled points: their counts, and the error rate of the membership
    /// test.
    pub fn learned(&self) -> Option<&LearnedRecord> {
        self.learned.as_ref()
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
    /// The file holds a projector where a solver is needed, or the other way round.
    #[error("{}: {source}", path.display())]
    OtherKind {
        /// The file.
        path: PathBuf,
        /// What it holds.
        source: FormatError,
    },
    /// The file was written by another version.
    #[error("{}: {source}; use that version of fabproj, or train the model again", path.display())]
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

impl Model {
    /// A model of weights that were made elsewhere, for a set.
    ///
    /// # Errors
    /// [`WeightsError`], which names the part of the weights that is at fault.
    pub fn new(weights: Weights, set: &dyn Set) -> Result<Self, WeightsError> {
        Self::of(weights, Record::of(set))
    }

    pub(crate) fn of_training(
        set: &dyn Set,
        recipe: &dyn Recipe,
        settings: Value,
        trained: Trained,
    ) -> Result<Self, TrainError> {
        let mut weights = trained.weights;
        if let Some(learned) = set.learned() {
            weights.discriminator = Some(learned.discriminator(&weights));
        }
        let mut training: Value = serde_json::from_str(&trained.summary_json)
            .map_err(|error| TrainError::Recipe(error.into()))?;
        // Only this process's queries are counted: after a stop the file would differ from that of a training
        // in one go.
        if let Value::Object(fields) = &mut training {
            fields.remove("queries");
        }
        let record = Record {
            recipe: recipe.name(),
            seed: recipe.seed(),
            settings,
            training,
            met_goals: trained.met_goals,
            ..Record::of(set)
        };
        Ok(Self::of(weights, record)?)
    }

    fn of(weights: Weights, record: Record) -> Result<Self, WeightsError> {
        let projector = Projector::new(&weights)?;
        Ok(Self {
            weights,
            record,
            projector,
        })
    }

    /// The networks as plain data.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// How the model was made.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Whether the training met its own goals.
    pub fn met_goals(&self) -> bool {
        self.record.met_goals
    }

    /// How often the projector is right, if that was measured.
    pub fn certificate(&self) -> Option<&Certificate> {
        self.record.certificate.as_ref()
    }

    /// The form that runs, without a guard.
    pub fn projector(&self) -> &Projector {
        &self.projector
    }

    /// A projector whose outputs have all passed the set's membership test.
    ///
    /// The set may be owned, borrowed or shared: `model.guard(&set)`, `model.guard(model.set()?)`.
    ///
    /// # Errors
    /// [`GuardError`] when the set has other dimensions than the model, or when no feasible point is found.
    pub fn guard<S: Set>(&self, set: S) -> Result<Guard<S>, GuardError> {
        let dimensions = [
            ("y", self.projector.dim(), set.dim()),
            ("x", self.projector.x_dim(), set.x_dim()),
        ];
        for (what, model, set) in dimensions {
            if model != set {
                return Err(GuardError::Dimension { what, model, set });
            }
        }
        Guard::new(self.projector.clone(), set)
    }

    /// The set that the model was trained for, built from its file.
    ///
    /// # Errors
    /// [`SetError::NotRebuildable`](crate::set::SetError::NotRebuildable) for a set that was a closure.
    pub fn set(&self) -> SetResult<Arc<dyn Set>> {
        if self.record.learned.is_some() {
            return Ok(Arc::new(Learned::of(self)?));
        }
        self.record.set().set()
    }

    /// Measures how often the projector is right, and keeps the certificate in the record.
    ///
    /// The same plan gives the same certificate, whatever the number of threads. A bad projector is not an
    /// error: the certificate says so.
    ///
    /// # Errors
    /// [`CertifyError`] when the set or the plan does not fit.
    ///
    /// ```
    /// use fabproj::core::{LatentSet, Weights};
    /// use fabproj::{Inputs, Model, Plan};
    ///
    /// // Networks that are the identity, and a latent set that is a ring within the ring.
    /// let latent = LatentSet::Shell { inner: 1.01, outer: 1.99, smooth: None };
    /// let ring = fabproj::set::built_in("concentric-circles")?;
    /// let mut model = Model::new(Weights::identity(2, latent), &ring)?;
    /// let plan = Plan { samples: 2000, ..Plan::default() };
    /// let certificate = model.certify(&ring, &plan)?;
    /// assert_eq!(certificate.raw_feasible, 1.0);
    /// assert!(certificate.raw_lower_bound > 0.997);
    ///
    /// // On the inputs that your application has.
    /// let inputs = Inputs::Rows { name: "two proposals", y: &[0.1, 0.2, 1.5, 0.0], x: &[] };
    /// let certificate = model.certify(&ring, &Plan { inputs, ..plan })?;
    /// assert_eq!((certificate.samples, certificate.raw_failures), (2, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn certify(&mut self, set: &dyn Set, plan: &Plan) -> Result<&Certificate, CertifyError> {
        let certificate = certify(set, &self.projector, plan)?;
        Ok(self.record.certificate.insert(certificate))
    }

    /// The bytes of the file; the same model and record give the same bytes.
    ///
    /// # Errors
    /// [`WriteError`] for a record that is not JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, WriteError> {
        format::write_with(&self.weights, &self.record)
    }

    /// Reads the bytes of a file. No bytes make this panic or allocate much more than they are long.
    ///
    /// # Errors
    /// [`FormatError`] for bytes that are not a model with its record.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let (weights, record): (_, Record) = format::read_with(bytes)?;
        let (stated, found) = (&record.set.hash, record.set.description.hash());
        if *stated != found {
            let reason =
                format!("the set was edited: its hash is {found}, the file states {stated}");
            return Err(FormatError::Metadata { reason });
        }
        Ok(Self::of(weights, record)?)
    }

    /// Writes the file as a whole or not at all: until the new file is complete and on the disk, the
    /// old one stays.
    ///
    /// # Errors
    /// [`FileError::Write`] for a place that cannot be written to, [`FileError::Unwritable`] for a record that is
    /// not JSON.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        save(path.as_ref(), self.to_bytes())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`FileError::Read`] for a file that cannot be read, [`FileError::NotAModel`] for one that is
    /// something else, damaged or edited, [`FileError::TooNew`] for one of another version.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        load(path.as_ref(), Self::from_bytes)
    }
}

/// Writes the bytes of a model, whatever it holds, as a whole or not at all.
pub(crate) fn save(path: &Path, bytes: Result<Vec<u8>, WriteError>) -> Result<(), FileError> {
    let path = path.to_owned();
    match bytes {
        Err(source) => Err(FileError::Unwritable { path, source }),
        Ok(bytes) => {
            write_atomically(&path, &bytes).map_err(|source| FileError::Write { path, source })
        }
    }
}

/// Reads the file of a model, whatever it holds.
pub(crate) fn load<M>(
    path: &Path,
    from_bytes: impl Fn(&[u8]) -> Result<M, FormatError>,
) -> Result<M, FileError> {
    let path = path.to_owned();
    let bytes = match read_safetensors(&path, MAX_HEADER_BYTES, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(source) => return Err(FileError::Read { path, source }),
    };
    from_bytes(&bytes).map_err(|source| match source {
        FormatError::Version { .. } => FileError::TooNew { path, source },
        FormatError::Solver | FormatError::NoSolver => FileError::OtherKind { path, source },
        source => FileError::NotAModel { path, source },
    })
}
