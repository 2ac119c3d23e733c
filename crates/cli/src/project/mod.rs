//! `fabproj project`: points from a file or standard input, made feasible.

mod report;
mod sink;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use csv::ByteRecord;
use fabproj::set::Set;
use fabproj::{Guard, Model, Outcome, Projector};

use self::report::Report;
use self::sink::Sink;
use crate::failure::wrong_usage;
use crate::find;
use crate::options::Common;
use crate::points::{Chunk, Layout, Points};

#[derive(clap::Args)]
#[command(
    after_help = "POINTS is CSV with a header that names the coordinates of y and x (`fabproj inspect MODEL` \
                  shows the names). The columns of y are replaced, all others are kept, and a column \
                  `outcome` is added. Numbers are printed in full: reading them back as double precision \
                  gives exactly the value that was tested.\n\n\
                  Outcomes with --guard: kept (feasible already, unchanged), projected, repaired and \
                  anchored (all have passed the test), maybe-empty (no feasible point was found at this x: \
                  the least violating one is returned). Without: inside and clamped (where the latent was; \
                  nothing is tested), not-finite (numbers too large for the projector).\n\n\
                  Example:\n  fabproj project moons.safetensors points.csv --guard -o feasible.csv\n  \
                  cat points.csv | fabproj project moons.safetensors --no-outcome > projected.csv"
)]
pub struct Arguments {
    /// The model file
    model: PathBuf,

    /// CSV file of points; standard input if `-` or left out
    points: Option<PathBuf>,

    /// Where the result goes; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,

    /// Test every output against a set (the model's own unless named), and repair what fails
    #[arg(long, value_name = "SET", num_args = 0..=1, default_missing_value = "")]
    guard: Option<String>,

    /// Allow a set that the model was not trained for
    #[arg(long, requires = "guard")]
    other_set: bool,

    /// The points have no header: the first columns are y, then x
    #[arg(long)]
    no_header: bool,

    /// Separator of columns
    #[arg(long, value_name = "CHARACTER", default_value = ",", value_parser = delimiter)]
    delimiter: u8,

    /// Name of the column that says what was done with each row
    #[arg(long, value_name = "NAME", default_value = "outcome")]
    outcome: String,

    /// Leave the outcome column out
    #[arg(long)]
    no_outcome: bool,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] => Ok(*byte),
        _ => Err("expected one ASCII character, or \\t".to_owned()),
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

    /// The header of the output: that of the input and the outcome's column.
    fn output_header(&self, points: &Points) -> Result<Option<ByteRecord>> {
        let Some(mut header) = points.header.clone() else {
            return Ok(None);
        };
        if !self.no_outcome {
            if header.iter().any(|name| name == self.outcome.as_bytes()) {
                return Err(wrong_usage(format!(
                    "{} already has a column `{}`; --outcome NAME gives the new one another name, \
                     --no-outcome leaves it out",
                    points.name, self.outcome
                )));
            }
            header.push_field(self.outcome.as_bytes());
        }
        Ok(Some(header))
    }
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<()> {
    let model = Model::load(&arguments.model)?;
    let (points, guard) = arguments.points_and_guard();
    let set = guard.map(|name| {
        let wanted = (!name.is_empty()).then_some(name);
        find::set_for(&model, &arguments.model, wanted, arguments.other_set)
    });
    let runner = Runner::new(&model, set.transpose()?)?;
    let layout = Layout {
        header: !arguments.no_header,
        delimiter: arguments.delimiter,
    };
    let mut points = Points::open(points, &model, &layout)?;
    let mut sink = Sink::create(&arguments.output, arguments.delimiter)?;
    if let Some(header) = arguments.output_header(&points)? {
        sink.write(&header)?;
    }
    let mut report = Report::new(runner.set());
    while let Some(chunk) = points.next_chunk()? {
        let (projected, outcomes) = runner.run(&chunk)?;
        report.add(&chunk, &outcomes);
        let rows = projected.chunks_exact(model.projector().dim());
        for ((record, point), outcome) in chunk.records.iter().zip(rows).zip(outcomes) {
            let moved = (outcome != Outcome::Kept.name()).then_some(point);
            let word = (!arguments.no_outcome).then_some(outcome);
            sink.write(&points.columns.replaced(record, moved, word))?;
        }
    }
    sink.finish()?;
    report.print(common);
    Ok(())
}

/// The projector, with or without its guard.
enum Runner<'a> {
    Raw(&'a Projector),
    Guarded(Box<Guard<Arc<dyn Set>>>),
}

impl<'a> Runner<'a> {
    fn new(model: &'a Model, set: Option<Arc<dyn Set>>) -> Result<Self> {
        Ok(match set {
            None => Self::Raw(model.projector()),
            Some(set) => Self::Guarded(Box::new(model.guard(set)?)),
        })
    }

    /// The guard's set.
    fn set(&self) -> Option<&dyn Set> {
        match self {
            Self::Raw(_) => None,
            Self::Guarded(guard) => Some(guard.membership()),
        }
    }

    /// Projects rows; gives the points and the names of the outcomes.
    fn run(&self, rows: &Chunk) -> Result<(Vec<f64>, Vec<&'static str>)> {
        match self {
            Self::Raw(projector) => {
                let (points, outcomes) = projector.project_rows(&rows.y, &rows.x)?;
                Ok((
                    points,
                    outcomes.iter().map(|outcome| outcome.name()).collect(),
                ))
            }
            Self::Guarded(guard) => {
                let (points, outcomes) = guard.project_rows(&rows.y, &rows.x)?;
                Ok((
                    points,
                    outcomes.iter().map(|outcome| outcome.name()).collect(),
                ))
            }
        }
    }
}
