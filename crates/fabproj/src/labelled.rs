//! Labelled points, for sets without a membership test.
//!
//! [`LabelledData::learn`] trains a discriminator on the points and calibrates it on held-out rows. The result
//! is a set like any other. Its membership test has a [known error rate](Calibration).

#[doc(hidden)]
pub use crate::data::labelled::is_labelled_file;
pub use crate::data::labelled::{Columns, LabelReport, LabelledData, LabelledError};
pub use crate::set::learned::{Calibration, Learned, LearnedRecord};
pub use crate::train::labelled::LabelledSettings;
