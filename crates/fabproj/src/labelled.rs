//! Sets that are known by labelled points only.
//!
//! [`learn`] trains a discriminator on the points and calibrates it on rows that it has not seen. What comes
//! out is a set like any other, with a [statistical promise](Calibration).

pub use crate::data::labelled::{
    Columns, LabelReport, LabelledData, LabelledError, is_labelled_file, read,
};
pub use crate::set::{Calibration, Learned, LearnedRecord};
pub use crate::train::labelled::{LabelledSettings, learn};
