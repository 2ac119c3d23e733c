//! Commands that answer the rows of a file: their options, the stream of blocks, counts, and the exit code.

pub mod region;
pub mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use rayon::prelude::*;

use self::region::Region;
use self::report::Report;
use crate::options::Common;
use crate::points::{BadRow, Block, Chunk, Layout, Points};
use crate::sink::Sink;

/// Blocks that wait for each thread: more use memory, fewer leave threads idle at the end of a round.
const BLOCKS_PER_THREAD: usize = 2;

#[derive(clap::Args)]
pub struct Rows {
    /// Where the result goes; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,

    /// Replace an existing file
    #[arg(long)]
    force: bool,

    /// Fail at the first row outside of the region that the model was trained for
    #[arg(long)]
    refuse_outside: bool,

    /// Exit with 0 also where no feasible point was found for some rows
    #[arg(long)]
    allow_infeasible: bool,

    /// The file has no header: its first columns are y, then x; for `solve`, x alone
    #[arg(long)]
    no_header: bool,

    /// Separator of columns
    #[arg(long, value_name = "CHARACTER", default_value = ",", value_parser = delimiter)]
    delimiter: u8,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        b"\"" | b"\n" | b"\r" => {
            Err("a quotation mark or a line break separates nothing".to_owned())
        }
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("expected one ASCII character, or \\t".to_owned()),
    }
}

/// What is written for a block, and its counts.
pub type Done = Result<Result<(Vec<u8>, Report)>, BadRow>;

impl Rows {
    /// How the file is written.
    pub fn layout(&self) -> Layout {
        Layout {
            header: !self.no_header,
            delimiter: self.delimiter,
        }
    }

    /// Where the result goes; never one of the inputs.
    pub fn sink(&self, inputs: &[PathBuf]) -> Result<Sink> {
        Sink::create(&self.output, self.force, inputs)
    }

    /// Rows in memory.
    pub fn writer(&self) -> csv::Writer<Vec<u8>> {
        let mut builder = csv::WriterBuilder::new();
        builder.delimiter(self.delimiter).flexible(true);
        builder.from_writer(Vec::new())
    }

    /// Counts rows outside of the region, or refuses the first.
    pub fn outside(&self, region: &Region, chunk: &Chunk) -> Result<Report, BadRow> {
        let mut report = Report::default();
        for row in 0..chunk.rows {
            let Some(what) = region.outside(chunk, row) else {
                continue;
            };
            if self.refuse_outside {
                let problem = format!("{what}, the region that the model was trained for");
                return Err(BadRow::new(row + 1, problem));
            }
            report.outside += 1;
            report.first_outside.get_or_insert((row + 1, what));
        }
        Ok(report)
    }

    /// Ends with what is wrong with the result as a whole.
    pub fn exit_code(&self, problem: Option<String>, common: &Common) -> Result<ExitCode> {
        match problem {
            Some(_) if self.allow_infeasible => Ok(ExitCode::SUCCESS),
            Some(_) if common.json => Ok(ExitCode::FAILURE),
            Some(problem) => Err(anyhow!(problem)),
            None => Ok(ExitCode::SUCCESS),
        }
    }
}

/// Answers all rows, some blocks at a time on all threads, and writes them in their order.
pub fn stream(
    points: &mut Points,
    sink: &mut Sink,
    answer: impl Fn(&Points, &Block) -> Done + Sync,
) -> Result<Report> {
    let mut report = Report::default();
    let at_once = BLOCKS_PER_THREAD * rayon::current_num_threads();
    loop {
        let mut blocks = Vec::new();
        while blocks.len() < at_once {
            match points.next_block()? {
                Some(block) => blocks.push(block),
                None => break,
            }
        }
        if blocks.is_empty() {
            return Ok(report);
        }
        let shared: &Points = points;
        let done = blocks.par_iter().map(|block| answer(shared, block));
        for done in done.collect::<Vec<_>>() {
            let (bytes, counts) = match done {
                Ok(done) => done?,
                Err(bad) => return Err(bad.error(&points.name, report.total())),
            };
            sink.write(&bytes)?;
            report.add(counts);
        }
    }
}

/// The bytes that a writer has got.
pub fn finished(writer: csv::Writer<Vec<u8>>) -> Result<Vec<u8>> {
    writer
        .into_inner()
        .map_err(|error| anyhow!(error.to_string()))
}
