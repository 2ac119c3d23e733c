//! What can be wrong with labelled points.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::ENDINGS;
use crate::support::{did_you_mean, shown};

/// Where in a file something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The row, counted from 1.
    pub row: usize,
    /// The line of a text file, counted from 1.
    pub line: Option<u64>,
}

impl Place {
    /// The place of the row with this index, counted from 0.
    pub fn row(index: usize) -> Self {
        Self {
            row: index + 1,
            line: None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "row {}", self.row)?;
        match self.line {
            Some(line) => write!(formatter, " (line {line})"),
            None => Ok(()),
        }
    }
}

/// Why points with labels cannot be learned from.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabelledError {
    /// The file could not be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The ending is not one that this build reads.
    #[error("{}: files of labelled points must end in .{}", path.display(), ENDINGS.join(", ."))]
    Ending {
        /// The file.
        path: PathBuf,
    },
    /// The file is not what its ending says, or is damaged.
    #[error("cannot parse the file as {format}: {problem}")]
    Format {
        /// The format that the ending names.
        format: &'static str,
        /// What the format's reader says.
        problem: String,
    },
    /// No rows.
    #[error("no rows; expected a header, then one labelled point per row")]
    Empty,
    /// No columns are left for y.
    #[error("no columns of y: name them, or let their names start with y")]
    NoY,
    /// A column or array that is not there.
    #[error("no {what} `{}`{}", shown(wanted), did_you_mean(found))]
    Missing {
        /// `column` or `array`.
        what: &'static str,
        /// The name that was looked for.
        wanted: String,
        /// Names that are there, the most alike first.
        found: Vec<String>,
    },
    /// A column that is asked for twice.
    #[error("the column `{name}` is used twice: it can be one of y, x and the label")]
    Twice {
        /// Its name.
        name: String,
    },
    /// Two columns of one name, of which no one knows which is meant.
    #[error("there are two columns `{}`; remove or rename one", shown(name))]
    Duplicate {
        /// Their name.
        name: String,
    },
    /// A field that is not a number.
    #[error("{place}: column `{column}` is {}", if text.is_empty() { "empty".to_owned() } else { format!("`{}`, which is not a number", shown(text)) })]
    Number {
        /// Where.
        place: Place,
        /// The column's name.
        column: String,
        /// What is there.
        text: String,
    },
    /// NaN or infinity.
    #[error("{place}: column `{column}` is {value}, which is not finite; remove or repair the row")]
    NotFinite {
        /// Where.
        place: Place,
        /// The column's name.
        column: String,
        /// What is there.
        value: f64,
    },
    /// A label that is neither.
    #[error(
        "{place}: column `{column}` is `{}`: a label is 1 (feasible) or 0",
        shown(text)
    )]
    Label {
        /// Where.
        place: Place,
        /// The column's name.
        column: String,
        /// What is there.
        text: String,
    },
    /// An array of another shape, or a column of another type, than is needed.
    #[error("`{name}` is {found}; expected {expected}")]
    Shape {
        /// The array or column.
        name: String,
        /// What it is.
        found: String,
        /// What it should be.
        expected: String,
    },
    /// Lists that do not fit together.
    #[error("{what}: expected {expected} numbers, found {found}")]
    Length {
        /// Which list.
        what: &'static str,
        /// How many numbers the rest asks for.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// More than this library reads.
    #[error("`{name}` holds {found} numbers; the limit is {limit}: use fewer rows")]
    TooLarge {
        /// The array or file.
        name: String,
        /// How many numbers there are.
        found: u128,
        /// The limit.
        limit: usize,
    },
    /// More columns than a model has coordinates.
    #[error("{what} has {found} columns; a model has at most {limit}: name those that matter")]
    TooWide {
        /// y or x.
        what: &'static str,
        /// How many columns there are.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// A layout that needs to be told how many columns are the state.
    #[error(
        "`X_all` has {columns} columns: --state-dim says how many of them, from the left, are x, and must \
         leave one for y"
    )]
    StateDimension {
        /// Columns of `X_all`.
        columns: usize,
    },
    /// All labels are the same.
    #[error(
        "all {rows} labelled points are {}: at least one of each kind is needed",
        if *feasible { "feasible" } else { "infeasible" }
    )]
    OneClass {
        /// How many rows there are.
        rows: usize,
        /// Whether they are feasible.
        feasible: bool,
    },
    /// No coordinate of y varies.
    #[error("every column of y has the same value in all {rows} rows: there is nothing to learn")]
    Constant {
        /// How many rows there are.
        rows: usize,
    },
}
