//! `fabproj solve`: answers to rows of x.

pub(crate) mod record;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use fabproj::core::Answer;
use fabproj::solve::{Functions, Solver, SolverModel};
use serde_json::json;

use crate::failure::wrong_usage;
use crate::find;
use crate::options::Common;
use crate::output::STANDARD;
use crate::points::{Block, Chunk, Points, write_number};
use crate::rows::region::Region;
use crate::rows::report::{Report, Words};
use crate::rows::{Done, Rows, finished, stream};
use crate::sink::Sink;

const WORDS: Words = Words {
    inputs: "x",
    outputs: "answers",
    outcomes: "status",
    infeasible: "maybe-infeasible",
    outside: "their answers are verified as all others, but may be far from optimal; ",
};
/// The columns behind those of y.
const ADDED: [&str; 2] = ["objective", "status"];

#[derive(clap::Args)]
#[command(
    after_help = "X is CSV with a header that names the coordinates of x (`fabproj inspect MODEL` shows the \
                  names). All its columns are kept; y, the objective and a status are added. Numbers are \
                  printed in full: reading them back as double precision gives exactly the answer that was \
                  tested. A problem without x has one answer, and needs no file.\n\n\
                  Status: solved; pulled (feasible, after a move toward the anchor); maybe-infeasible (no \
                  feasible point was found at this x: the least violating one is returned, and the exit \
                  code is 1).\n\n\
                  Example:\n  fabproj solve dispatch.safetensors x.csv -o answers.csv\n  \
                  printf 'price,demand\\n30,4\\n' | fabproj solve dispatch.safetensors"
)]
pub struct Arguments {
    /// The model file, trained for a problem
    model: PathBuf,

    /// CSV file of x; standard input if `-` or left out
    x: Option<PathBuf>,

    #[command(flatten)]
    rows: Rows,

    /// The problem file; the model's own by default
    #[arg(long, value_name = "FILE")]
    problem: Option<String>,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    let model = SolverModel::load(&arguments.model)?;
    let problem = find::problem_for(&model, &arguments.model, arguments.problem.as_deref())?;
    let solving = Solving {
        arguments,
        solver: model.solver(&problem)?,
        region: Region::of_solver(&model),
    };
    let path = arguments.x.as_deref().unwrap_or(Path::new(STANDARD));
    let mut inputs = vec![path.to_owned(), arguments.model.clone()];
    inputs.extend(arguments.problem.iter().flat_map(|file| find::files(file)));
    let mut sink = arguments.rows.sink(&inputs)?;
    let names = &model.record().names;
    let report = if solving.solver.x_dim() == 0 {
        solving.only_answer(names, &mut sink)?
    } else {
        solving.all(path, &model, &mut sink)?
    };
    sink.finish()?;
    report.print(&WORDS, json!({}), common);
    arguments.rows.exit_code(report.problem(&WORDS), common)
}

/// What is done with each row.
struct Solving<'a> {
    arguments: &'a Arguments,
    solver: Solver<Arc<dyn Functions + Send + Sync>>,
    region: Region,
}

impl Solving<'_> {
    /// The answer to a problem without x.
    fn only_answer(&self, names: &[String], sink: &mut Sink) -> Result<Report> {
        if let Some(x) = &self.arguments.x {
            return Err(wrong_usage(format!(
                "the problem has no x, so {} is not needed: leave it out",
                x.display()
            )));
        }
        let mut writer = self.arguments.rows.writer();
        writer.write_record(names.iter().map(String::as_str).chain(ADDED))?;
        let (y, answer) = self.solver.solve(&[])?;
        write_answer(&y, &answer, &mut writer)?;
        sink.write(&finished(writer)?)?;
        let mut report = Report::default();
        add(&answer, &mut report);
        Ok(report)
    }

    /// The answers to all rows of a file.
    fn all(&self, path: &Path, model: &SolverModel, sink: &mut Sink) -> Result<Report> {
        let record = model.record();
        let mut points = Points::open(path, &[], &record.x_names, &self.arguments.rows.layout())?;
        if let Some(mut header) = points.header.clone() {
            for name in record.names.iter().map(String::as_str).chain(ADDED) {
                if header.iter().any(|old| old == name.as_bytes()) {
                    return Err(wrong_usage(format!(
                        "{} already has a column `{name}`, which the answers add; remove or rename it",
                        points.name
                    )));
                }
                header.push_field(name.as_bytes());
            }
            let mut writer = self.arguments.rows.writer();
            writer.write_byte_record(&header)?;
            sink.write(&finished(writer)?)?;
        }
        stream(&mut points, sink, |points, block| self.block(points, block))
    }

    /// The rows of a block as they are written, and their counts.
    fn block(&self, points: &Points, block: &Block) -> Done {
        let chunk = points.parse(block)?;
        let report = self.arguments.rows.outside(&self.region, &chunk)?;
        Ok(self.chunk(points, &chunk, report))
    }

    fn chunk(
        &self,
        points: &Points,
        chunk: &Chunk,
        mut report: Report,
    ) -> Result<(Vec<u8>, Report)> {
        let dim = self.solver.dim();
        let mut y = vec![0.0; chunk.rows * dim];
        let mut answers = vec![Answer::default(); chunk.rows];
        let mut workspace = self.solver.workspace();
        self.solver
            .solve_rows_into(&chunk.x, &mut y, &mut answers, &mut workspace)?;
        let mut writer = self.arguments.rows.writer();
        let rows = y.chunks_exact(dim).zip(&answers);
        let mut fields = chunk.fields.iter();
        for (y, answer) in rows {
            let mut row = fields.by_ref().take(points.width);
            row.try_for_each(|field| writer.write_field(field))?;
            write_answer(y, answer, &mut writer)?;
            add(answer, &mut report);
        }
        Ok((finished(writer)?, report))
    }
}

/// Writes what an answer adds to its row.
fn write_answer(y: &[f64], answer: &Answer, out: &mut csv::Writer<Vec<u8>>) -> csv::Result<()> {
    let mut memory = Vec::new();
    for value in y.iter().chain([&answer.objective]) {
        write_number(*value, &mut memory, out)?;
    }
    out.write_field(answer.outcome.name())?;
    out.write_record(None::<&[u8]>)
}

fn add(answer: &Answer, report: &mut Report) {
    *report.outcomes.entry(answer.outcome.name()).or_default() += 1;
    report.unverified += usize::from(!answer.outcome.is_verified());
}
