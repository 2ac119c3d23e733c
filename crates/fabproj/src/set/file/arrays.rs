//! Constant arrays of a set file: written in the text, or read from an archive of NumPy arrays.
//!
//! A set is read with its arrays in the text, so that the text alone is the whole set, as a model file
//! keeps it. [`embedded`] puts the arrays of an archive there.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::document::{number, wrong_kind};
use super::variables;
use crate::set::Problem;
use crate::set::expression::Fault;

/// A vector, or a matrix row after row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    /// Rows of a matrix; none for a vector.
    pub rows: Option<usize>,
    pub values: Vec<f64>,
}

type Named = (String, usize, Array);

/// The arrays that stand in the text.
pub(super) fn inline(value: Option<&Spanned<DeValue<'_>>>) -> Result<Vec<Named>, Fault> {
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    let at = value.span().start;
    match value.get_ref() {
        DeValue::Table(table) => {
            let arrays = table.iter().map(|(key, value)| {
                let name: &str = key.get_ref();
                let array = read(name, value)?;
                Ok((name.to_owned(), key.span().start, array))
            });
            arrays.collect()
        }
        DeValue::String(_) => Err(Fault::new(at, Problem::ArraysWithoutFolder)),
        _ => Err(wrong_kind("`arrays`", "a file (.npz) or a table", value)),
    }
}

pub(super) fn read(name: &str, value: &Spanned<DeValue<'_>>) -> Result<Array, Fault> {
    let at = value.span().start;
    let ragged = || {
        let name = name.to_owned();
        Fault::new(at, Problem::Ragged { name })
    };
    let DeValue::Array(entries) = value.get_ref() else {
        return Err(ragged());
    };
    let numbers = |entries: &DeArray<'_>| -> Option<Vec<f64>> {
        entries
            .iter()
            .map(|entry| number(entry.get_ref()))
            .collect()
    };
    let row = |entry: &Spanned<DeValue<'_>>| match entry.get_ref() {
        DeValue::Array(row) => numbers(row),
        _ => None,
    };
    let array = match numbers(entries) {
        Some(values) => Array { rows: None, values },
        None => {
            let rows: Option<Vec<Vec<f64>>> = entries.iter().map(row).collect();
            let rows = rows.ok_or_else(ragged)?;
            if rows.iter().any(|row| row.len() != rows[0].len()) {
                return Err(ragged());
            }
            Array {
                rows: Some(rows.len()),
                values: rows.concat(),
            }
        }
    };
    if array.values.is_empty() {
        return Err(ragged());
    }
    check_finite(name, at, &array)?;
    Ok(array)
}

fn check_finite(name: &str, at: usize, array: &Array) -> Result<(), Fault> {
    let mut entries = array.values.iter().enumerate();
    match entries.find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some((index, value)) => Err(Fault::new(
            at,
            Problem::ArrayEntry {
                name: name.to_owned(),
                value: *value,
                index,
            },
        )),
    }
}

/// The text of a set file with its other files in it. All in one line, so that the places of faults stay.
pub(super) fn embedded(text: String, folder: &Path) -> Result<String, Fault> {
    with_x_data(with_arrays(text, folder)?, folder)
}

/// `x_data = "history.csv"`, a file beside the set file, becomes `x_data = [[…], …]`.
fn with_x_data(text: String, folder: &Path) -> Result<String, Fault> {
    let Ok(table) = DeTable::parse(&text) else {
        return Ok(text);
    };
    let table = table.get_ref();
    let (Some(value), Some(names)) = (table.get("x_data"), table.get("x")) else {
        return Ok(text);
    };
    let DeValue::String(file) = value.get_ref() else {
        return Ok(text);
    };
    let names = variables::names("x", names)?;
    let span = value.span();
    let rows = x_rows(&folder.join(&**file), &names).map_err(|reason| {
        let path = file.to_string();
        Fault::new(span.start, Problem::XData { path, reason })
    })?;
    check_finite("x_data", span.start, &rows)?;
    let (before, after) = (&text[..span.start], &text[span.end..]);
    Ok(format!("{before}{}{after}", rows.written()))
}

/// `arrays = "data.npz"`, a file beside the set file, becomes `arrays = { … }`.
fn with_arrays(text: String, folder: &Path) -> Result<String, Fault> {
    // What is wrong with the text is found, and said, when it is read.
    let Ok(table) = DeTable::parse(&text) else {
        return Ok(text);
    };
    let Some(value) = table.get_ref().get("arrays") else {
        return Ok(text);
    };
    let DeValue::String(file) = value.get_ref() else {
        return Ok(text);
    };
    let span = value.span();
    let arrays = load(&folder.join(&**file)).map_err(|reason| {
        let path = file.to_string();
        Fault::new(span.start, Problem::Arrays { path, reason })
    })?;
    let mut entries = Vec::with_capacity(arrays.len());
    for (name, array) in &arrays {
        check_finite(name, span.start, array)?;
        entries.push(format!("\"{name}\" = {}", array.written()));
    }
    let (before, after) = (&text[..span.start], &text[span.end..]);
    Ok(format!("{before}{{ {} }}{after}", entries.join(", ")))
}

impl Array {
    /// The array in TOML. Numbers are as short as they can be without changing.
    fn written(&self) -> String {
        let list = |values: &[f64]| {
            let numbers: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
            format!("[{}]", numbers.join(","))
        };
        match self.rows {
            None => list(&self.values),
            Some(rows) => {
                let columns = self.values.len() / rows.max(1);
                let rows: Vec<String> = self.values.chunks(columns.max(1)).map(list).collect();
                format!("[{}]", rows.join(","))
            }
        }
    }
}

/// Rows of x: the columns of a table by the names of x, or the array `x` of an archive.
fn x_rows(path: &Path, names: &[String]) -> Result<Array, String> {
    let is_archive = path.extension().is_some_and(|ending| ending == "npz");
    if is_archive {
        let x = load(path)?.into_iter().find(|(name, _)| name == "x");
        let (_, x) = x.ok_or("it has no array `x`, with a row for each x")?;
        return Ok(x);
    }
    let values = crate::data::labelled::numbers(path, names).map_err(|error| error.to_string())?;
    let columns = names.len().max(1);
    if let Some(place) = values.iter().position(|value| !value.is_finite()) {
        let (row, name) = (place / columns + 1, &names[place % columns]);
        let found = values[place];
        return Err(format!(
            "row {row} of column `{name}` is {found}: all entries must be finite"
        ));
    }
    let rows = Some(values.len() / columns);
    Ok(Array { rows, values })
}

#[cfg(feature = "npz")]
fn load(path: &Path) -> Result<Vec<(String, Array)>, String> {
    // Each number takes at least four bytes of the text: `0.0,`.
    let most = super::MAX_BYTES / 4;
    let arrays = crate::data::labelled::arrays(path, most).map_err(|error| error.to_string())?;
    let arrays = arrays
        .into_iter()
        .map(|(name, rows, values)| (name, Array { rows, values }));
    Ok(arrays.collect())
}

#[cfg(not(feature = "npz"))]
fn load(_: &Path) -> Result<Vec<(String, Array)>, String> {
    Err("this build cannot read NPZ files; enable the feature `npz`".to_owned())
}
