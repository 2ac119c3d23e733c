//! `fabproj solve`: answers to rows of x.

pub(crate) mod record;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use fabproj::core::Answer;
use fabproj::solve::{Functions, Solver, SolverModel};
use serde_json::json;

use crate::failure::wrong_usage;
use crate::find;
use crate::options::Common;
use crate::output::STANDARD;
use crate::points::{BadRow, Block, Chunk, Layout, Points, write_number};
use crate::project::region::Region;
use crate::project::report::Report;
use crate::project::{Done, delimiter, finished, stream};
use crate::show::{count, percent};
use crate::sink::Sink;

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

    /// Where the answers go; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,

    /// Replace an existing file
    #[arg(long)]
    force: bool,

    /// The problem file; the model's own by default
    #[arg(long, value_name = "FILE")]
    problem: Option<String>,

    /// Fail at the first x outside of the range that the solver was trained for
    #[arg(long)]
    refuse_outside: bool,

    /// Exit with 0 also where no feasible point was found for some x
    #[arg(long)]
    allow_infeasible: bool,

    /// The x have no header: they are the first columns
    #[arg(long)]
    no_header: bool,

    /// Separator of columns
    #[arg(long, value_name = "CHARACTER", default_value = ",", value_parser = delimiter)]
    delimiter: u8,
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
    let mut sink = Sink::create(&arguments.output, arguments.force, &inputs)?;
    let names = &model.record().names;
    let report = if solving.solver.x_dim() == 0 {
        solving.only_answer(names, &mut sink)?
    } else {
        solving.all(path, &model, &mut sink)?
    };
    sink.finish()?;
    print(&report, common);
    match problem_of(&report) {
        Some(_) if arguments.allow_infeasible => Ok(ExitCode::SUCCESS),
        Some(_) if common.json => Ok(ExitCode::FAILURE),
        Some(problem) => Err(anyhow!(problem)),
        None => Ok(ExitCode::SUCCESS),
    }
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
        let mut writer = self.writer();
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
        let layout = Layout {
            header: !self.arguments.no_header,
            delimiter: self.arguments.delimiter,
        };
        let record = model.record();
        let mut points = Points::open(path, &[], &record.x_names, &layout)?;
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
            let mut writer = self.writer();
            writer.write_byte_record(&header)?;
            sink.write(&finished(writer)?)?;
        }
        stream(&mut points, sink, |points, block| self.block(points, block))
    }

    fn writer(&self) -> csv::Writer<Vec<u8>> {
        let mut builder = csv::WriterBuilder::new();
        builder.delimiter(self.arguments.delimiter).flexible(true);
        builder.from_writer(Vec::new())
    }

    /// The rows of a block as they are written, and their counts.
    fn block(&self, points: &Points, block: &Block) -> Done {
        let chunk = points.parse(block)?;
        let report = self.outside(&chunk)?;
        Ok(self.chunk(points, &chunk, report))
    }

    /// Counts x outside of the trained range, or refuses the first.
    fn outside(&self, chunk: &Chunk) -> Result<Report, BadRow> {
        let mut report = Report::default();
        for (row, x) in chunk.x.chunks_exact(self.solver.x_dim()).enumerate() {
            let Some(found) = self.region.outside(&[], x) else {
                continue;
            };
            let what = || self.region.described(found);
            if self.arguments.refuse_outside {
                let problem = format!("{}, the range that the solver was trained for", what());
                return Err(BadRow::new(row + 1, problem));
            }
            report.outside += 1;
            report
                .first_outside
                .get_or_insert_with(|| (row + 1, what()));
        }
        Ok(report)
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
        let mut writer = self.writer();
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

/// Prints the counts.
fn print(report: &Report, common: &Common) {
    let warning = (report.first_outside.as_ref()).map(|(row, what)| {
        format!(
            "{} of {} x lie outside of the range that the solver was trained and certified for; the first is \
             row {row}, where {what}; their answers are verified as all others, but may be far from optimal; \
             --refuse-outside makes this an error",
            count(report.outside),
            count(report.total()),
        )
    });
    if common.json {
        if !common.quiet {
            let report = json!({
                "answers": report.total(),
                "status": report.outcomes,
                "outside": report.outside,
                "unverified": report.unverified,
                "warnings": warning.into_iter().collect::<Vec<_>>(),
            });
            eprintln!("{report}");
        }
        return;
    }
    if let Some(warning) = warning {
        eprintln!("warning: {warning}");
    }
    let outcomes = report.outcomes.iter();
    let outcomes = outcomes.map(|(name, found)| format!("{} {name}", count(*found)));
    let outcomes = outcomes.collect::<Vec<_>>().join(", ");
    common.note(format_args!(
        "{} answers: {outcomes}",
        count(report.total())
    ));
}

/// What is wrong with the result as a whole.
fn problem_of(report: &Report) -> Option<String> {
    (report.unverified > 0).then(|| {
        let (found, total) = (report.unverified, report.total());
        format!(
            "{} of {} answers ({}) are infeasible: no feasible point was found at their x; their status is \
             maybe-infeasible; --allow-infeasible accepts them",
            count(found),
            count(total),
            percent(found as f64 / total as f64)
        )
    })
}
