//! `fabproj project`: points from a file or standard input, made feasible.

mod columns;
mod report;
mod runner;
mod sink;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use csv::ByteRecord;
use fabproj::core::Status;

use self::columns::Columns;
use self::report::Report;
use self::runner::{Row, Runner};
use self::sink::Sink;
use crate::failure::wrong_usage;
use crate::opened::Opened;
use crate::options::Common;

/// Rows that are read, projected and written together.
const ROWS: usize = 4096;

#[derive(clap::Args)]
#[command(
    after_help = "POINTS is CSV with a header that names the coordinates of y, then of x (`fabproj \
                  inspect MODEL` shows the names). The columns of y are replaced, all others are kept \
                  as they are, and a column `status` is added. Numbers are printed so that \
                  reading them back as double precision gives exactly the value that \
                  was checked.\n\n\
                  Statuses: kept (feasible already, unchanged), inside and projected (the \
                  projector's answer), repaired and anchored (the guard's), maybe-empty (no feasible \
                  point was found for this x: the least violating one is given), not-finite (numbers too large for the projector).\n\n\
                  Example:\n  fabproj project moons.safetensors points.csv --guard -o feasible.csv\n  \
                  cat points.csv | fabproj project moons.safetensors --no-status > feasible.csv"
)]
pub struct Arguments {
    /// The model file
    model: PathBuf,

    /// CSV file of points; standard input if it is `-` or left out
    points: Option<PathBuf>,

    /// Where the result goes; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,

    /// Check every output against a set (the model's own unless named), and repair what fails
    #[arg(long, value_name = "SET", num_args = 0..=1, default_missing_value = "")]
    guard: Option<String>,

    /// Allow another set than the one that the model was trained for
    #[arg(long, requires = "guard")]
    other_set: bool,

    /// The points have no header: the first columns are y, then x
    #[arg(long)]
    no_header: bool,

    /// What separates columns
    #[arg(long, value_name = "CHARACTER", default_value = ",", value_parser = delimiter)]
    delimiter: u8,

    /// Name of the column that says what was done with each row
    #[arg(long, value_name = "NAME", default_value = "status")]
    status: String,

    /// Leave the status column out
    #[arg(long)]
    no_status: bool,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] => Ok(*byte),
        _ => Err("one ASCII character, or \\t".to_owned()),
    }
}

impl Arguments {
    /// The points and the guard's set. In `project MODEL --guard points.csv` the points stand where a
    /// set could: a file that does not describe a set is taken for them.
    fn points_and_guard(&self) -> (&Path, Option<&str>) {
        let guard = self.guard.as_deref();
        match (&self.points, guard) {
            (Some(points), _) => (points, guard),
            (None, Some(name))
                if name == "-" || (Path::new(name).exists() && !name.ends_with(".toml")) =>
            {
                (Path::new(name), Some(""))
            }
            (None, _) => (Path::new("-"), guard),
        }
    }
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<()> {
    let opened = Opened::load(&arguments.model)?;
    let (points, guard) = arguments.points_and_guard();
    let set = match guard {
        None => None,
        Some("") => Some(opened.set(None, false)?),
        Some(name) => Some(opened.set(Some(name), arguments.other_set)?),
    };
    let mut runner = Runner::new(&opened, set.as_deref())?;
    let mut points = Points::open(points, arguments, &opened)?;
    let mut sink = Sink::create(&arguments.output, arguments.delimiter)?;
    if let Some(header) = points.output_header(arguments)? {
        sink.write(&header)?;
    }
    let mut report = Report::new(set.as_deref());
    loop {
        let chunk = points.next_chunk()?;
        if chunk.is_empty() {
            break;
        }
        let statuses = runner.run(&chunk.rows)?;
        for (row, (record, status)) in chunk.records.iter().zip(&statuses).enumerate() {
            report.add(*status, &chunk.rows[row], set.as_deref());
            let point = (*status != Status::Kept).then(|| runner.point(row));
            let word = (!arguments.no_status).then(|| status.name());
            sink.write(&points.columns.replaced(record, point, word))?;
        }
    }
    sink.finish()?;
    report.print(common);
    Ok(())
}

/// The input file.
struct Points {
    reader: csv::Reader<Box<dyn Read>>,
    columns: Columns,
    header: Option<ByteRecord>,
    /// The first record of a file without header.
    pending: Option<ByteRecord>,
    name: String,
    rows: usize,
}

/// Records and the numbers in them.
#[derive(Default)]
struct Chunk {
    records: Vec<ByteRecord>,
    rows: Vec<Row>,
}

impl Chunk {
    fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

impl Points {
    fn open(path: &Path, arguments: &Arguments, opened: &Opened) -> Result<Self> {
        let (source, name) = source(path)?;
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .delimiter(arguments.delimiter)
            .from_reader(source);
        let record = &opened.file.record;
        let names = (record.names.as_slice(), record.x_names.as_slice());
        let mut first = ByteRecord::new();
        if !read(&mut reader, &mut first, &name)? {
            let expected = columns::expected(names.0, names.1);
            bail!("{name} is empty: expected CSV with a header that has the columns {expected}");
        }
        let (columns, header, pending) = if arguments.no_header {
            let columns = Columns::in_order(&first, names.0, names.1)
                .with_context(|| format!("in {name}"))?;
            (columns, None, Some(first))
        } else {
            let columns = Columns::named(&mut first, names.0, names.1)
                .with_context(|| format!("in {name}"))?;
            (columns, Some(first), None)
        };
        Ok(Self {
            reader,
            columns,
            header,
            pending,
            name,
            rows: 0,
        })
    }

    /// The header of the output: that of the input and the status column.
    fn output_header(&self, arguments: &Arguments) -> Result<Option<ByteRecord>> {
        let Some(mut header) = self.header.clone() else {
            return Ok(None);
        };
        if !arguments.no_status {
            if header
                .iter()
                .any(|name| name == arguments.status.as_bytes())
            {
                return Err(wrong_usage(format!(
                    "{} has a column `{name}` already: --status NAME gives ours another name, \
                     --no-status leaves it out",
                    self.name,
                    name = arguments.status
                )));
            }
            header.push_field(arguments.status.as_bytes());
        }
        Ok(Some(header))
    }

    fn next_chunk(&mut self) -> Result<Chunk> {
        let mut chunk = Chunk::default();
        while chunk.records.len() < ROWS {
            let mut record = ByteRecord::new();
            match self.pending.take() {
                Some(first) => record = first,
                None if !read(&mut self.reader, &mut record, &self.name)? => break,
                None => {}
            }
            self.rows += 1;
            let row = self.columns.numbers(&record).map_err(|problem| {
                let line = record.position().map_or(0, csv::Position::line);
                anyhow!("{}, row {} (line {line}): {problem}", self.name, self.rows)
            })?;
            chunk.rows.push(row);
            chunk.records.push(record);
        }
        Ok(chunk)
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
                anyhow!(
                    "{name}, line {line}: {len} columns, where the lines before have {expected_len}"
                )
            }
            _ => anyhow::Error::new(error).context(format!("cannot read {name}")),
        })
}
