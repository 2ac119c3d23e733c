//! Labelled points in CSV files.

use std::fs::File;
use std::path::Path;

use csv::{ByteRecord, Error, ErrorKind, Position, ReaderBuilder, Trim};

use super::places::{Places, named};
use super::{Columns, LabelledData, LabelledError, MAX_NUMBERS, Place, label_of};
use crate::support::WholeRows;

type Reader = csv::Reader<WholeRows<File>>;

/// A file and the names of its columns.
fn open(path: &Path) -> Result<(Reader, Vec<String>), LabelledError> {
    let file = File::open(path).map_err(|source| LabelledError::Read {
        path: path.to_owned(),
        source,
    })?;
    let mut reader = ReaderBuilder::new()
        .trim(Trim::All)
        .from_reader(WholeRows::new(file, b','));
    let header = reader
        .byte_headers()
        .map_err(|error| failure(path, error))?;
    let names: Vec<String> = header.iter().map(name).collect();
    if names.is_empty() {
        return Err(LabelledError::Empty);
    }
    check_separator(&names)?;
    Ok((reader, names))
}

/// The numbers of some columns, row after row.
pub(super) fn numbers(path: &Path, columns: &[String]) -> Result<Vec<f64>, LabelledError> {
    let (mut reader, names) = open(path)?;
    let places = named(&names, columns)?;
    let (mut values, mut record, mut row) = (Vec::new(), ByteRecord::new(), 0);
    while reader
        .read_byte_record(&mut record)
        .map_err(|error| failure(path, error))?
    {
        row += 1;
        let line = record.position().map(Position::line);
        push_numbers(&record, Place { row, line }, &places, &mut values)?;
        if values.len() > MAX_NUMBERS {
            return Err(LabelledError::TooLarge {
                name: path.display().to_string(),
                found: values.len() as u128,
                limit: MAX_NUMBERS,
            });
        }
    }
    Ok(values)
}

pub(super) fn read(path: &Path, columns: &Columns) -> Result<LabelledData, LabelledError> {
    let failed = |error: Error| failure(path, error);
    let (mut reader, names) = open(path)?;
    let places = Places::find(&names, columns)?;
    let (mut points, mut x_values, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    let mut record = ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(failed)? {
        let place = Place {
            row: labels.len() + 1,
            line: record.position().map(Position::line),
        };
        push_numbers(&record, place, &places.y, &mut points)?;
        push_numbers(&record, place, &places.x, &mut x_values)?;
        labels.push(label(&record, place, &places.label)?);
        if points.len() + x_values.len() > MAX_NUMBERS {
            return Err(LabelledError::TooLarge {
                name: path.display().to_string(),
                found: (points.len() + x_values.len()) as u128,
                limit: MAX_NUMBERS,
            });
        }
    }
    LabelledData::new(
        Places::names(&places.y),
        points,
        Places::names(&places.x),
        x_values,
        labels,
    )
}

fn failure(path: &Path, error: Error) -> LabelledError {
    let problem = error.to_string();
    match error.into_kind() {
        ErrorKind::Io(source) if source.kind() == std::io::ErrorKind::InvalidData => {
            LabelledError::Format {
                format: "CSV",
                problem: source.to_string(),
            }
        }
        ErrorKind::Io(source) => LabelledError::Read {
            path: path.to_owned(),
            source,
        },
        _ => LabelledError::Format {
            format: "CSV",
            problem,
        },
    }
}

/// A header of one column that holds another separator is not meant as one column.
fn check_separator(names: &[String]) -> Result<(), LabelledError> {
    let [only] = names else { return Ok(()) };
    for (separator, name) in [(';', "a semicolon"), ('\t', "a tab")] {
        if only.contains(separator) {
            let problem = format!("its separator is {name}; it must be a comma");
            return Err(LabelledError::Format {
                format: "CSV",
                problem,
            });
        }
    }
    Ok(())
}

/// A name of the header, without the mark that some programs put at the beginning of a file.
fn name(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    text.trim_start_matches('\u{feff}').trim().to_owned()
}

fn push_numbers(
    record: &ByteRecord,
    place: Place,
    columns: &[(usize, String)],
    values: &mut Vec<f64>,
) -> Result<(), LabelledError> {
    for (column, name) in columns {
        let text = String::from_utf8_lossy(record.get(*column).unwrap_or_default());
        let Ok(value) = text.parse::<f64>() else {
            return Err(LabelledError::Number {
                place,
                column: name.clone(),
                text: text.into_owned(),
            });
        };
        if !value.is_finite() {
            return Err(LabelledError::NotFinite {
                place,
                column: name.clone(),
                value,
            });
        }
        values.push(value);
    }
    Ok(())
}

fn label(
    record: &ByteRecord,
    place: Place,
    (column, name): &(usize, String),
) -> Result<bool, LabelledError> {
    let text = String::from_utf8_lossy(record.get(*column).unwrap_or_default());
    let label = match text.to_lowercase().as_str() {
        "true" | "yes" | "feasible" => Some(true),
        "false" | "no" | "infeasible" => Some(false),
        number => number.parse().ok().and_then(label_of),
    };
    label.ok_or_else(|| LabelledError::Label {
        place,
        column: name.clone(),
        text: text.into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<LabelledData, LabelledError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.csv");
        std::fs::write(&path, text).unwrap();
        read(&path, &Columns::default())
    }

    #[test]
    fn a_table_is_read() {
        let text = "\u{feff}y0, note ,y1,x,label\n1,a,2,3,1\n-1e-3,b, 5 ,6,false\n0,,0,0,-1.0\n";
        let data = parsed(text).unwrap();
        assert_eq!(data.points(), [1.0, 2.0, -1e-3, 5.0, 0.0, 0.0]);
        assert_eq!(data.x_values(), [3.0, 6.0, 0.0]);
        assert_eq!(data.labels(), [true, false, false]);
        assert_eq!(data.names(), ["y0", "y1"]);
    }

    #[test]
    fn bad_tables_are_refused_with_their_place() {
        let refused = |text: &str, parts: &[&str]| {
            let error = parsed(text).unwrap_err().to_string();
            for part in parts {
                assert!(error.contains(part), "`{part}` is not in: {error}");
            }
        };
        refused("", &["no rows"]);
        refused("a,label\n", &["no rows"]);
        refused("a,label\n1,1\n2,maybe\n", &["row 2", "line 3", "maybe"]);
        refused("a,label\n1,1\nnan,0\n", &["row 2", "line 3", "`a`", "NaN"]);
        refused("a,label\n1,1\ntwo,0\n", &["row 2", "two", "not a number"]);
        refused("a,label\n,1\n2,0\n", &["row 1", "`a` is empty"]);
        refused("a,label\n1,1\n2\n", &["CSV", "2"]);
        refused("a,b,label\n1,2,1\n3,4,1\n", &["all 2", "feasible"]);
        refused("a,a,label\n1,2,1\n3,4,0\n", &["two columns `a`"]);
        refused("a,label\n1,1\n\"2,0\n3,0\n", &["line 3", "never closed"]);
        refused("a;label\n1;1\n2;0\n", &["semicolon"]);
        refused("a\tlabel\n1\t1\n2\t0\n", &["tab"]);
    }

    #[test]
    fn a_missing_file_says_so() {
        let error = read(Path::new("nowhere.csv"), &Columns::default()).unwrap_err();
        assert!(matches!(error, LabelledError::Read { .. }), "{error}");
    }
}
