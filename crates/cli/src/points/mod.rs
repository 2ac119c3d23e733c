//! Files of points: CSV with the columns of y and x.

mod blocks;
mod columns;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use csv::ByteRecord;

pub use self::blocks::Block;
use self::blocks::Blocks;
use self::columns::Columns;
pub use self::columns::write_number;
use crate::output::STANDARD;

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
    blocks: Blocks,
    pub columns: Columns,
    pub header: Option<ByteRecord>,
    /// The rows below the header, or the whole file without one, of the first block.
    first: Option<Block>,
    /// The file, for messages.
    pub name: String,
    delimiter: u8,
    /// Columns of every row.
    pub width: usize,
}

/// Some rows: their numbers, and the fields that they stand in.
#[derive(Default)]
pub struct Chunk {
    pub y: Vec<f64>,
    pub x: Vec<f64>,
    /// How many there are.
    pub rows: usize,
    /// All fields of all rows: one allocation instead of one for each row.
    pub fields: ByteRecord,
}

impl Points {
    /// Opens a file with columns of these names of y and x; `-` is standard input.
    pub fn open(
        path: &Path,
        names: &[String],
        x_names: &[String],
        layout: &Layout,
    ) -> Result<Self> {
        let (source, name) = source(path)?;
        let mut blocks = Blocks::new(source, layout.delimiter);
        let failed = |error: io::Error| failure(error, &name);
        let block = blocks.next().map_err(failed)?;
        let mut first = ByteRecord::new();
        let mut block = match block {
            Some(block) => block,
            None => Block::empty(),
        };
        let mut reader = reader(&block.bytes, layout.delimiter);
        if !reader.read_byte_record(&mut first)? {
            let expected = columns::expected(names, x_names);
            bail!("{name} is empty; expected CSV with a header that has the columns {expected}");
        }
        let (width, after) = (first.len(), reader.position().clone());
        let columns = if layout.header {
            Columns::named(&mut first, names, x_names)
        } else {
            Columns::in_order(&first, names, x_names)
        };
        let columns = columns.with_context(|| format!("in {name}"))?;
        if layout.header {
            block.bytes.drain(..after.byte() as usize);
            block.line = after.line();
        }
        Ok(Self {
            blocks,
            columns,
            header: layout.header.then_some(first),
            first: Some(block),
            name,
            delimiter: layout.delimiter,
            width,
        })
    }

    /// The next rows as they stand in the file; `None` at its end.
    pub fn next_block(&mut self) -> Result<Option<Block>> {
        match self.first.take() {
            Some(block) => Ok(Some(block)),
            None => self
                .blocks
                .next()
                .map_err(|error| failure(error, &self.name)),
        }
    }

    /// The rows of a block.
    pub fn parse(&self, block: &Block) -> Result<Chunk, BadRow> {
        let mut reader = reader(&block.bytes, self.delimiter);
        let mut chunk = Chunk::default();
        let mut record = ByteRecord::new();
        loop {
            let more = reader.read_byte_record(&mut record);
            let row = chunk.rows + 1;
            let bad = |problem: String| BadRow {
                row,
                line: record
                    .position()
                    .map_or(0, |position| block.line_of(position)),
                problem,
            };
            if !more.map_err(|error| bad(error.to_string()))? {
                return Ok(chunk);
            }
            let (found, expected) = (record.len(), self.width);
            if found != expected {
                return Err(bad(format!("expected {expected} columns, found {found}")));
            }
            self.columns
                .push_numbers(&record, &mut chunk.y, &mut chunk.x)
                .map_err(bad)?;
            chunk.fields.extend(&record);
            chunk.rows += 1;
        }
    }
}

/// What is wrong with a row.
#[derive(Debug)]
pub struct BadRow {
    /// The row within its block, counted from 1.
    row: usize,
    line: u64,
    problem: String,
}

impl BadRow {
    /// A problem of a whole row.
    pub fn new(row: usize, problem: String) -> Self {
        Self {
            row,
            line: 0,
            problem,
        }
    }

    /// The error, where `before` rows stand before the block in the file of that name.
    pub fn error(self, name: &str, before: usize) -> anyhow::Error {
        let Self { row, line, problem } = self;
        let row = before + row;
        match line {
            0 => anyhow!("{name}, row {row}: {problem}"),
            line => anyhow!("{name}, row {row} (line {line}): {problem}"),
        }
    }
}

impl Block {
    /// The line of a record in the file, which begins after empty lines.
    fn line_of(&self, position: &csv::Position) -> u64 {
        let rest = self.bytes.iter().skip(position.byte() as usize);
        let empty = rest.take_while(|byte| matches!(byte, b'\n' | b'\r'));
        let empty = empty.filter(|byte| **byte == b'\n').count() as u64;
        position.line() + empty + self.line - 1
    }

    fn empty() -> Self {
        Self {
            bytes: Vec::new(),
            line: 1,
        }
    }
}

fn reader(bytes: &[u8], delimiter: u8) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(bytes)
}

fn source(path: &Path) -> Result<(Box<dyn Read + Send + Sync>, String)> {
    if path == Path::new(STANDARD) {
        return Ok((Box::new(io::stdin()), "standard input".to_owned()));
    }
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
    Ok((Box::new(file), name))
}

fn failure(error: io::Error, name: &str) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::InvalidData => anyhow!("{name}: {error}"),
        _ => anyhow::Error::new(error).context(format!("cannot read {name}")),
    }
}
