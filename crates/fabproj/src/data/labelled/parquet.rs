//! Labelled points in Parquet files.

mod pages;

use std::fs::File;
use std::panic;
use std::path::Path;

use parquet::basic::ConvertedType;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use self::pages::{Pages, check_place};
use super::places::{Places, named};
use super::{Columns, LabelledData, LabelledError, MAX_NUMBERS, Place, label_of, open_seekable};

/// Rows that are read at once.
const ROWS: usize = 8192;

pub(super) fn read(path: &Path, columns: &Columns) -> Result<LabelledData, LabelledError> {
    unless_damaged(|| read_sound(path, columns))
}

/// The numbers of some columns, row after row.
pub(super) fn numbers(path: &Path, columns: &[String]) -> Result<Vec<f64>, LabelledError> {
    unless_damaged(|| {
        let (file, names) = open(path)?;
        let table = Table {
            file: &file,
            most_rows: MAX_NUMBERS / columns.len().max(1),
        };
        table.columns(&named(&names, columns)?)
    })
}

/// The crate that decodes them panics on some damaged files. Those that are known are errors before that;
/// others end here.
fn unless_damaged<T>(
    read: impl FnOnce() -> Result<T, LabelledError> + panic::UnwindSafe,
) -> Result<T, LabelledError> {
    panic::catch_unwind(read).unwrap_or_else(|_| {
        Err(LabelledError::Format {
            format: "Parquet",
            problem: "its pages contradict its footer: the file is damaged".to_owned(),
        })
    })
}

/// A file and the names of its columns.
fn open(path: &Path) -> Result<(SerializedFileReader<File>, Vec<String>), LabelledError> {
    let file = open_seekable(path)?;
    let file = SerializedFileReader::new(file).map_err(damaged)?;
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    // Lists and records have no place in a table of numbers; their columns cannot be named.
    let flat =
        |column: &ColumnDescriptor| column.path().parts().len() == 1 && column.max_rep_level() == 0;
    let names = schema.columns().iter().map(|column| {
        let name = if flat(column) { column.name() } else { "" };
        name.to_owned()
    });
    let names = names.collect();
    Ok((file, names))
}

fn read_sound(path: &Path, columns: &Columns) -> Result<LabelledData, LabelledError> {
    let (file, names) = open(path)?;
    let places = Places::find(&names, columns)?;
    let wanted = places.y.len() + places.x.len() + 1;
    let table = Table {
        file: &file,
        most_rows: MAX_NUMBERS / wanted,
    };
    let y = table.columns(&places.y)?;
    let x = table.columns(&places.x)?;
    let (_, name) = &places.label;
    let labels = table.column(&places.label)?;
    let labels = labels.iter().enumerate().map(|(row, value)| {
        label_of(*value).ok_or_else(|| LabelledError::Label {
            place: Place::row(row),
            column: name.clone(),
            text: value.to_string(),
        })
    });
    let labels = labels.collect::<Result<_, _>>()?;
    LabelledData::new(
        Places::names(&places.y),
        y,
        Places::names(&places.x),
        x,
        labels,
    )
}

fn damaged(error: ParquetError) -> LabelledError {
    LabelledError::Format {
        format: "Parquet",
        problem: error.to_string(),
    }
}

struct Table<'a> {
    file: &'a SerializedFileReader<File>,
    most_rows: usize,
}

impl Table<'_> {
    /// Columns as rows of their numbers.
    fn columns(&self, places: &[(usize, String)]) -> Result<Vec<f64>, LabelledError> {
        let columns = places.iter().map(|place| self.column(place));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let rows = columns.first().map_or(0, Vec::len);
        let found: usize = columns.iter().map(Vec::len).sum();
        if found != rows * columns.len() {
            return Err(LabelledError::Format {
                format: "Parquet",
                problem: "its columns are of different lengths".to_owned(),
            });
        }
        let by_row = (0..rows).flat_map(|row| columns.iter().map(move |column| column[row]));
        Ok(by_row.collect())
    }

    fn column(&self, (place, name): &(usize, String)) -> Result<Vec<f64>, LabelledError> {
        let mut column = Column {
            name,
            most_rows: self.most_rows,
            values: Vec::new(),
        };
        for group in 0..self.file.num_row_groups() {
            let descriptor = self.descriptor(*place);
            let pages = self.pages(group, *place).map_err(damaged)?;
            let reader = get_column_reader(descriptor.clone(), Box::new(pages));
            column.extend(reader, descriptor)?;
        }
        Ok(column.values)
    }

    fn pages(&self, group: usize, place: usize) -> Result<Pages, ParquetError> {
        check_place(self.file.metadata().row_group(group).column(place))?;
        let pages = self.file.get_row_group(group)?;
        Ok(Pages::new(pages.get_column_page_reader(place)?))
    }

    fn descriptor(&self, place: usize) -> parquet::schema::types::ColumnDescPtr {
        self.file
            .metadata()
            .file_metadata()
            .schema_descr()
            .column(place)
    }
}

struct Column<'a> {
    name: &'a str,
    most_rows: usize,
    values: Vec<f64>,
}

impl Column<'_> {
    fn extend(
        &mut self,
        reader: ColumnReader,
        descriptor: parquet::schema::types::ColumnDescPtr,
    ) -> Result<(), LabelledError> {
        use ConvertedType as Is;
        let meaning = descriptor.converted_type();
        let unsigned = matches!(
            meaning,
            Is::UINT_8 | Is::UINT_16 | Is::UINT_32 | Is::UINT_64
        );
        let signed = matches!(
            meaning,
            Is::NONE | Is::INT_8 | Is::INT_16 | Is::INT_32 | Is::INT_64
        );
        match reader {
            ColumnReader::BoolColumnReader(reader) => {
                self.pull(reader, |value| f64::from(u8::from(value)))
            }
            ColumnReader::FloatColumnReader(reader) => self.pull(reader, f64::from),
            ColumnReader::DoubleColumnReader(reader) => self.pull(reader, |value| value),
            ColumnReader::Int32ColumnReader(reader) if unsigned => {
                self.pull(reader, |value| f64::from(value as u32))
            }
            ColumnReader::Int64ColumnReader(reader) if unsigned => {
                self.pull(reader, |value| value as u64 as f64)
            }
            ColumnReader::Int32ColumnReader(reader) if signed => self.pull(reader, f64::from),
            ColumnReader::Int64ColumnReader(reader) if signed => {
                self.pull(reader, |value| value as f64)
            }
            _ => Err(LabelledError::Shape {
                name: self.name.to_owned(),
                found: format!("a column of type {}", kind(&descriptor)),
                expected: "booleans, integers or floating-point numbers".to_owned(),
            }),
        }
    }

    fn pull<T: DataType>(
        &mut self,
        mut reader: ColumnReaderImpl<T>,
        number: impl Fn(T::T) -> f64,
    ) -> Result<(), LabelledError> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        loop {
            levels.clear();
            values.clear();
            let read = reader.read_records(ROWS, Some(&mut levels), None, &mut values);
            let (rows, found, _) = read.map_err(damaged)?;
            if rows == 0 {
                return Ok(());
            }
            if found < rows {
                let missing = levels.iter().position(|level| *level == 0).unwrap_or(found);
                return Err(LabelledError::Number {
                    place: Place::row(self.values.len() + missing),
                    column: self.name.to_owned(),
                    text: String::new(),
                });
            }
            self.values.extend(values.drain(..).map(&number));
            if self.values.len() > self.most_rows {
                return Err(LabelledError::TooLarge {
                    name: self.name.to_owned(),
                    found: self.values.len() as u128,
                    limit: self.most_rows,
                });
            }
        }
    }
}

fn kind(descriptor: &ColumnDescriptor) -> String {
    match (descriptor.physical_type(), descriptor.converted_type()) {
        (physical, ConvertedType::NONE) => physical.to_string(),
        (_, converted) => converted.to_string(),
    }
}
