//! Files of points: CSV with the columns of y and x.

mod columns;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use csv::ByteRecord;
use fabproj::Model;

use self::columns::Columns;

/// Rows that are read together.
const ROWS: usize = 4096;

/// How a file of points is written.
pub struct Layout {
    /// Whether the first line names the columns; if not, the first columns are y, then x.
    pub header: bool,
    pub delimiter: u8,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            header: true,
            delimiter: b',',
        }
    }
}

/// An open file of points.
pub struct Points {
    reader: csv::Reader<Box<dyn Read>>,
    pub columns: Columns,
    pub header: Option<ByteRecord>,
    /// The first record of a file without header.
    pending: Option<ByteRecord>,
    /// The file, for messages.
    pub name: String,
    rows: usize,
}

/// Some rows: their numbers, and the records that they stand in.
#[derive(Default)]
pub struct Chunk {
    pub y: Vec<f64>,
    pub x: Vec<f64>,
    pub records: Vec<ByteRecord>,
}

impl Points {
    /// Opens a file of points for a model; `-` is standard input.
    pub fn open(path: &Path, model: &Model, layout: &Layout) -> Result<Self> {
        let (source, name) = source(path)?;
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .delimiter(layout.delimiter)
            .from_reader(source);
        let (names, x_names) = (&model.record().names, &model.record().x_names);
        let mut first = ByteRecord::new();
        if !read(&mut reader, &mut first, &name)? {
            let expected = columns::expected(names, x_names);
            bail!("{name} is empty; expected CSV with a header that has the columns {expected}");
        }
        let columns = if layout.header {
            Columns::named(&mut first, names, x_names)
        } else {
            Columns::in_order(&first, names, x_names)
        };
        let (header, pending) = if layout.header {
            (Some(first), None)
        } else {
            (None, Some(first))
        };
        Ok(Self {
            reader,
            columns: columns.with_context(|| format!("in {name}"))?,
            header,
            pending,
            name,
            rows: 0,
        })
    }

    /// The next rows; `None` at the end of the file.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        let mut chunk = Chunk::default();
        while chunk.records.len() < ROWS {
            let mut record = ByteRecord::new();
            match self.pending.take() {
                Some(first) => record = first,
                None if !read(&mut self.reader, &mut record, &self.name)? => break,
                None => {}
            }
            self.rows += 1;
            self.columns
                .push_numbers(&record, &mut chunk)
                .map_err(|problem| {
                    let line = record.position().map_or(0, csv::Position::line);
                    anyhow!("{}, row {} (line {line}): {problem}", self.name, self.rows)
                })?;
            chunk.records.push(record);
        }
        Ok((!chunk.records.is_empty()).then_some(chunk))
    }
}

fn source(path: &Path) -> Result<(Box<dyn Read>, String)> {
    if path == Path::new("-") {
        return Ok((Box::new(io::stdin()), "standard input".to_owned()));
    }
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
    Ok((Box::new(BufReader::new(file)), name))
}

/// Reads a record; false at the end.
fn read(
    reader: &mut csv::Reader<Box<dyn Read>>,
    record: &mut ByteRecord,
    name: &str,
) -> Result<bool> {
    reader
        .read_byte_record(record)
        .map_err(|error| match error.kind() {
            csv::ErrorKind::UnequalLengths {
                pos,
                expected_len,
                len,
            } => {
                let line = pos.as_ref().map_or(0, csv::Position::line);
                anyhow!("{name}, line {line}: expected {expected_len} columns, found {len}")
            }
            _ => anyhow::Error::new(error).context(format!("cannot read {name}")),
        })
}
