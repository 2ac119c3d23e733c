//! Two-phase training of projectors.

pub mod anchors;
pub mod assignment;
pub mod atlas;
pub mod chart;
pub mod config;
mod error;
pub mod fit;
pub mod labelled;
pub mod measure;
mod penalty;
pub mod session;
pub mod shape;
mod sparing;

pub use config::{ConfigError, ShapeConfig};
pub use error::TrainError;
pub use fit::LatentKind;
pub use labelled::{LabelledConfig, learn_set};
pub use session::{CheckpointStore, Event, MemoryStore, Observer, Session};
pub use shape::{RECIPE, ShapeSummary, shape};
