//! Labelled points in archives of numpy arrays.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use zip::ZipArchive;

use self::array::Array;
use super::{Columns, LabelledData, LabelledError, MAX_NUMBERS, Place, label_of, open_seekable};
use crate::support::near_names;

mod array;

/// The usual names of arrays, and those of the layout that joins x and y.
const POINTS: &str = "y";
const X: &str = "x";
const JOINED: &str = "X_all";
const MASK: &str = "feasible_mask";

pub(super) fn read(path: &Path, columns: &Columns) -> Result<LabelledData, LabelledError> {
    let mut arrays = Arrays::open(path, MAX_NUMBERS)?;
    let named = !columns.y.is_empty() || arrays.has(POINTS);
    let (y, x, labels) = if arrays.has(JOINED) && !named {
        arrays.joined(columns.state_dim)?
    } else {
        arrays.apart(columns)?
    };
    let labels = labels.into_labels(y.rows)?;
    LabelledData::new(
        numbered("y", y.columns),
        y.values,
        numbered("x", x.columns),
        x.values,
        labels,
    )
}

/// Name, number of rows (none for a vector) and entries of an array.
pub(crate) type NamedArray = (String, Option<usize>, Vec<f64>);

/// All arrays of an archive, by name, each of at most so many numbers.
pub(crate) fn arrays(path: &Path, most: usize) -> Result<Vec<NamedArray>, LabelledError> {
    let mut arrays = Arrays::open(path, most)?;
    let mut names = arrays.names.clone();
    names.sort_unstable();
    let read = |name: String| {
        let array = arrays.read(&name)?;
        Ok((name, array.matrix.then_some(array.rows), array.values))
    };
    names.into_iter().map(read).collect()
}

fn numbered(letter: &str, count: usize) -> Vec<String> {
    (0..count).map(|index| format!("{letter}{index}")).collect()
}

fn bad_archive(error: impl ToString) -> LabelledError {
    LabelledError::Format {
        format: "NPZ",
        problem: error.to_string(),
    }
}

struct Arrays {
    names: Vec<String>,
    archive: ZipArchive<BufReader<File>>,
    /// Numbers of an array, at most.
    most: usize,
}

impl Arrays {
    fn open(path: &Path, most: usize) -> Result<Self, LabelledError> {
        let file = open_seekable(path)?;
        let archive = ZipArchive::new(BufReader::new(file)).map_err(bad_archive)?;
        let names = archive.file_names().flatten();
        let names = names.filter_map(|name| Some(name.strip_suffix(".npy")?.to_owned()));
        Ok(Self {
            names: names.collect(),
            archive,
            most,
        })
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|found| found == name)
    }

    fn read(&mut self, name: &str) -> Result<Array, LabelledError> {
        if !self.has(name) {
            return Err(LabelledError::Missing {
                what: "array",
                wanted: name.to_owned(),
                found: near_names(name, self.names.iter().map(String::as_str)),
            });
        }
        let entry = self.archive.by_name(&format!("{name}.npy"));
        let mut entry = entry.map_err(bad_archive)?;
        let array = Array::read(name, &mut entry, self.most)?;
        // The archive's checksum is compared at the end of an entry.
        match entry.read(&mut [0]) {
            Ok(0) => Ok(array),
            Ok(_) => Err(bad_archive(format!("`{name}` goes on after its numbers"))),
            Err(error) => Err(bad_archive(format!("`{name}` is damaged: {error}"))),
        }
    }

    /// The arrays `y`, `label` and perhaps `x`.
    fn apart(&mut self, columns: &Columns) -> Result<(Array, Array, Array), LabelledError> {
        let only = |names: &[String], usual: &str| match names {
            [] => Ok(usual.to_owned()),
            [name] => Ok(name.clone()),
            several => Err(LabelledError::Shape {
                name: several.join(","),
                found: format!("{} arrays", several.len()),
                expected: "one array with a column for each coordinate".to_owned(),
            }),
        };
        let y = self.read(&only(&columns.y, POINTS)?)?;
        let x = only(&columns.x, X)?;
        let x = if columns.x.is_empty() && !self.has(&x) {
            Array::empty(y.rows)
        } else {
            self.read(&x)?
        };
        x.check_rows(y.rows)?;
        Ok((y, x, self.read(&columns.label)?))
    }

    /// The arrays `X_all` and `feasible_mask`: the state comes first.
    fn joined(&mut self, state_dim: Option<usize>) -> Result<(Array, Array, Array), LabelledError> {
        let joined = self.read(JOINED)?;
        let columns = joined.columns;
        match state_dim {
            Some(state_dim) if state_dim < columns => {
                let (x, y) = joined.split(state_dim);
                Ok((y, x, self.read(MASK)?))
            }
            _ => Err(LabelledError::StateDimension { columns }),
        }
    }
}

impl Array {
    fn into_labels(self, rows: usize) -> Result<Vec<bool>, LabelledError> {
        self.check_rows(rows)?;
        if self.columns != 1 {
            return Err(LabelledError::Shape {
                name: self.name,
                found: format!("an array of {} columns", self.columns),
                expected: "one label a row".to_owned(),
            });
        }
        let labels = self.values.iter().enumerate().map(|(row, value)| {
            label_of(*value).ok_or_else(|| LabelledError::Label {
                place: Place::row(row),
                column: self.name.clone(),
                text: value.to_string(),
            })
        });
        labels.collect()
    }

    fn check_rows(&self, rows: usize) -> Result<(), LabelledError> {
        if self.rows == rows {
            return Ok(());
        }
        Err(LabelledError::Shape {
            name: self.name.clone(),
            found: format!("an array of {} rows", self.rows),
            expected: format!("{rows} rows, as many as there are points"),
        })
    }
}
