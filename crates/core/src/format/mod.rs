//! Model files as bytes: safetensors, with one metadata entry.
//!
//! The entry `"fabproj"` holds a JSON object: sizes, activations and latent sets. All arrays are
//! tensors, so that every bit survives. The object states a digest of the whole file. Other fields are
//! left to the program that wrote them (see [`read_with`] and [`write_with`]).
//!
//! Bytes are not trusted. Before anything is allocated in proportion to a number in the file, that
//! number is checked against [`MAX_BYTES`], [`MAX_HEADER_BYTES`] and the limits of [`Weights`]. No input
//! makes the reader panic.

mod digest;
mod extent;
mod header;
mod read;
mod solver;
mod write;

use alloc::string::String;
use alloc::vec::Vec;

use crate::validate::WeightsError;
use crate::weights::Weights;

use header::{ChartHeader, Header, NetworkHeader};
use read::Nothing;

pub use read::read_with;
pub use solver::{read_solver_with, write_solver_with};
pub use write::{WriteError, write_with};

/// The version of the format that this library writes, and the only one that it reads.
pub(crate) const VERSION: u32 = 2;
/// The largest model file.
pub const MAX_BYTES: usize = 256 << 20;
/// The largest safetensors header, which holds the metadata.
pub const MAX_HEADER_BYTES: usize = 4 << 20;
/// The most tensors of a file.
pub(crate) const MAX_TENSORS: usize = 16_384;
/// The most arrays and objects of the metadata's JSON object.
const MAX_CONTAINERS: usize = 32_768;
/// The most values of the metadata's JSON object.
const MAX_VALUES: usize = 262_144;
/// The key of the metadata entry.
pub(crate) const METADATA_KEY: &str = "fabproj";

/// Why bytes are not a model file. Texts of the JSON and safetensors readers are kept as they are.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// More bytes than any model has.
    #[error("{found} bytes; the limit is {limit}")]
    TooLarge {
        /// Length of the input.
        found: usize,
        /// [`MAX_BYTES`]
        limit: usize,
    },
    /// The bytes end before the header does, or there are none.
    #[error("{found} bytes, where the header alone needs {needed}: empty or truncated")]
    Truncated {
        /// Length of the input.
        found: usize,
        /// Length up to the header's end.
        needed: u64,
    },
    /// A header longer than any model's.
    #[error("a header of {found} bytes; the limit is {limit}")]
    HeaderTooLarge {
        /// Length that the first eight bytes state.
        found: u64,
        /// [`MAX_HEADER_BYTES`]
        limit: usize,
    },
    /// Not the safetensors format, or damaged.
    #[error("not a whole safetensors file: {reason}")]
    Container {
        /// What the reader says.
        reason: String,
    },
    /// More tensors than any model has.
    #[error("{found} tensors; the limit is {limit}")]
    TooManyTensors {
        /// Number of tensors.
        found: usize,
        /// The most that are read.
        limit: usize,
    },
    /// safetensors, but without fabproj's metadata.
    #[error("a safetensors file without the metadata entry `fabproj`")]
    NoMetadata,
    /// The metadata is not what fabproj writes.
    #[error("the metadata entry `fabproj` is damaged: {reason}")]
    Metadata {
        /// What the JSON reader says.
        reason: String,
    },
    /// More values than any model's metadata has.
    #[error("{what} has {found} JSON values; the limit is {limit}")]
    TooManyValues {
        /// Which part of the file.
        what: &'static str,
        /// Number of values, or of arrays and objects.
        found: usize,
        /// The most that there may be.
        limit: usize,
    },
    /// The file was damaged or edited after it was written.
    #[error("damaged or edited: the file states the digest {stated}, and has {found}")]
    Digest {
        /// The digest in the file.
        stated: String,
        /// The digest of the file.
        found: String,
    },
    /// Written by another version of fabproj.
    #[error("format version {found}; this version of fabproj reads version {newest}")]
    Version {
        /// Version of the file.
        found: u32,
        /// The version that this library reads.
        newest: u32,
    },
    /// A tensor that the header announces is missing.
    #[error("the tensor `{name}` is missing")]
    MissingTensor {
        /// Its name.
        name: String,
    },
    /// A tensor of another element type.
    #[error("the tensor `{name}` has elements of type {found}, not {expected}")]
    ElementType {
        /// Its name.
        name: String,
        /// The type it must have.
        expected: &'static str,
        /// The type it has.
        found: String,
    },
    /// A tensor of another shape.
    #[error("the tensor `{name}` has shape {found:?}; the header says {expected:?}")]
    Shape {
        /// Its name.
        name: String,
        /// The shape it must have.
        expected: Vec<usize>,
        /// The shape it has.
        found: Vec<usize>,
    },
    /// A projector was asked of the file of a solver.
    #[error("the file holds a solver and no projector; `fabproj solve` runs it")]
    Solver,
    /// A solver was asked of the file of a projector.
    #[error(
        "the file holds a projector and no solver; `fabproj project` runs it; a solver comes from a problem, a set file with [objective]"
    )]
    NoSolver,
    /// Weights that are well written but cannot run.
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

impl Weights {
    /// Reads and [validates](Self::validate) the bytes of a model file.
    ///
    /// # Errors
    /// [`FormatError`]; no bytes make this panic.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        read_with::<Nothing>(bytes).map(|(weights, _)| weights)
    }

    /// The bytes of a model file that holds the weights and nothing else. The same weights give the
    /// same bytes.
    ///
    /// # Errors
    /// [`WriteError`] for weights that do not [validate](Self::validate).
    pub fn to_bytes(&self) -> Result<Vec<u8>, WriteError> {
        write_with(self, &Nothing {})
    }
}
