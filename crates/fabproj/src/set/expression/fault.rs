//! A problem and its place, before the place has a line and a column.

use crate::set::Problem;

/// A problem at a byte of the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    /// Byte from the file's start.
    pub at: usize,
    pub problem: Problem,
}

impl Fault {
    pub(crate) fn new(at: usize, problem: Problem) -> Self {
        Self { at, problem }
    }
}
