//! `fabproj project`: points from a file or standard input, made feasible.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use csv::ByteRecord;
use fabproj::core::RawOutcome;
use fabproj::set::{Set, SetError};
use fabproj::{Guard, Model, Outcome, Projector};
use serde_json::json;

use crate::failure::wrong_usage;
use crate::find;
use crate::options::Common;
use crate::output::STANDARD;
use crate::points::{Block, Chunk, Points};
use crate::rows::region::Region;
use crate::rows::report::{Report, Words, listed};
use crate::rows::{Done, Rows, finished, stream};
use crate::train::labels;

const WORDS: Words = Words {
    inputs: "inputs",
    outputs: "points",
    outcomes: "outcomes",
    infeasible: "maybe-empty",
    outside: "",
};

#[derive(clap::Args)]
#[command(
    after_help = "POINTS is CSV with a header that names the coordinates of y and x (`fabproj inspect MODEL` \
                  shows the names). The columns of y are replaced, all others are kept, and a column \
                  `outcome` is added. Numbers are printed in full: reading them back as double precision \
                  gives exactly the value that was tested.\n\n\
                  Outcomes: kept (feasible already, unchanged), projected, repaired and anchored (all have \
                  passed the test), maybe-empty (no feasible point was found at this x: the least violating \
                  one is returned, and the exit code is 1). With --raw: untested, and not-finite for numbers \
                  too large for the projector.\n\n\
                  Example:\n  fabproj project moons.safetensors points.csv -o feasible.csv\n  \
                  cat points.csv | fabproj project moons.safetensors --raw --no-outcome > projected.csv"
)]
pub struct Arguments {
    /// The model file
    model: PathBuf,

    /// CSV file of points; standard input if `-` or left out
    points: Option<PathBuf>,

    #[command(flatten)]
    rows: Rows,

    /// Test every output, and repair what fails: the default where the model knows its set. SET is another
    /// set that decides
    #[arg(long, value_name = "SET", num_args = 0..=1, default_missing_value = "")]
    guard: Option<String>,

    /// Leave the outputs of the networks untested
    #[arg(long, conflicts_with = "guard")]
    raw: bool,

    /// Allow a set that the model was not trained for
    #[arg(long, requires = "guard")]
    other_set: bool,

    /// Name of the column that says what was done with each row
    #[arg(long, value_name = "NAME", default_value = "outcome")]
    outcome: String,

    /// Leave the outcome column out
    #[arg(long)]
    no_outcome: bool,
}

impl Arguments {
    /// The points and the guard's set. In `project MODEL --guard points.csv` the points stand where a
    /// set could: a file that does not describe a set is taken for them.
    fn points_and_guard(&self) -> (&Path, Option<&str>) {
        let guard = self.guard.as_deref();
        match (&self.points, guard) {
            (Some(points), _) => (points, guard),
            (None, Some(name))
                if name == STANDARD || (Path::new(name).exists() && !name.ends_with(".toml")) =>
            {
                (Path::new(name), Some(""))
            }
            (None, _) => (Path::new(STANDARD), guard),
        }
    }

    /// The set that tests outputs; `None` for raw ones.
    fn guarding(
        &self,
        model: &Model,
        guard: Option<&str>,
        common: &Common,
    ) -> Result<Option<Arc<dyn Set>>> {
        if self.raw {
            return Ok(None);
        }
        let Some(wanted) = guard else {
            return match model.set() {
                Err(SetError::NotRebuildable { name }) => {
                    common.note(format_args!(
                        "outputs are untested: the set `{name}` was a closure of another program; --guard SET \
                         tests them"
                    ));
                    Ok(None)
                }
                set => Ok(Some(set.with_context(|| {
                    let model = self.model.display();
                    format!("cannot rebuild the set of {model}; --raw projects without it")
                })?)),
            };
        };
        let wanted = (!wanted.is_empty()).then_some(wanted);
        find::set_for(model, &self.model, wanted, self.other_set).map(Some)
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

pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    let model = Model::load(&arguments.model)?;
    let (path, guard) = arguments.points_and_guard();
    let set = arguments.guarding(&model, guard, common)?;
    let mut points = Points::open(
        path,
        &model.record().names,
        &model.record().x_names,
        &arguments.rows.layout(),
    )?;
    let mut inputs = vec![path.to_owned(), arguments.model.clone()];
    inputs.extend(guard.into_iter().flat_map(find::files));
    let mut sink = arguments.rows.sink(&inputs)?;
    if let Some(header) = arguments.output_header(&points)? {
        let mut writer = arguments.rows.writer();
        writer.write_byte_record(&header)?;
        sink.write(&finished(writer)?)?;
    }
    let projection = Projection {
        arguments,
        runner: Runner::new(&model, set)?,
        region: Region::of(&model),
        dim: model.projector().dim(),
        x_dim: model.projector().x_dim(),
    };
    let report = stream(&mut points, &mut sink, |points, block| {
        projection.block(points, block)
    })?;
    sink.finish()?;
    tell(&report, projection.runner.set(), common);
    let problem = report.problem(&WORDS);
    arguments.rows.exit_code(problem, common)
}

/// Prints the counts; `set` is the guard's.
fn tell(report: &Report, set: Option<&dyn Set>, common: &Common) {
    let calibration = set.and_then(Set::calibration);
    let more = json!({
        "violated": report.violated,
        "tested": set.is_some(),
        "statistical": calibration.is_some(),
        "precision_lower_bound": calibration.as_ref().map(|found| found.precision_lower_bound),
    });
    report.print(&WORDS, more, common);
    if common.json {
        return;
    }
    if !report.violated.is_empty() {
        let violated = listed(&report.violated, |name, found| format!("{name} ({found})"));
        common.note(format_args!("inputs violated: {violated}"));
    }
    if let Some(calibration) = &calibration {
        common.note(format_args!("guard, {}", labels::promise(calibration)));
    }
}

/// What is done with each row.
struct Projection<'a> {
    arguments: &'a Arguments,
    runner: Runner<'a>,
    region: Option<Region>,
    dim: usize,
    x_dim: usize,
}

impl Projection<'_> {
    /// The rows of a block as they are written, and their counts.
    fn block(&self, points: &Points, block: &Block) -> Done {
        let chunk = points.parse(block)?;
        let report = match &self.region {
            Some(region) => self.arguments.rows.outside(region, &chunk)?,
            None => Report::default(),
        };
        Ok(self.chunk(points, &chunk, report))
    }

    fn chunk(
        &self,
        points: &Points,
        chunk: &Chunk,
        mut report: Report,
    ) -> Result<(Vec<u8>, Report)> {
        let (projected, outcomes) = self.runner.run(chunk)?;
        let mut writer = self.arguments.rows.writer();
        let rows = projected.chunks_exact(self.dim).zip(&outcomes);
        let (mut fields, width) = (chunk.fields.iter(), points.width);
        for (point, outcome) in rows {
            let moved = (*outcome != Outcome::Kept.name()).then_some(point);
            let word = (!self.arguments.no_outcome).then_some(*outcome);
            let row = fields.by_ref().take(width);
            points.columns.write(row, moved, word, &mut writer)?;
        }
        self.count(chunk, &outcomes, &mut report);
        Ok((finished(writer)?, report))
    }

    fn rows<'c>(&self, chunk: &'c Chunk) -> impl Iterator<Item = (&'c [f64], &'c [f64])> {
        let (dim, x_dim) = (self.dim, self.x_dim);
        (0..chunk.rows).map(move |row| {
            (
                &chunk.y[row * dim..][..dim],
                &chunk.x[row * x_dim..][..x_dim],
            )
        })
    }

    /// Counts outcomes and violated constraints.
    fn count(&self, chunk: &Chunk, outcomes: &[&'static str], report: &mut Report) {
        let unverified = |name: &str| {
            Outcome::ALL
                .iter()
                .any(|one| one.name() == name && !one.is_verified())
        };
        for (outcome, (y, x)) in outcomes.iter().zip(self.rows(chunk)) {
            *report.outcomes.entry(outcome).or_default() += 1;
            let Some(set) = self.runner.set() else {
                continue;
            };
            report.unverified += usize::from(unverified(outcome));
            if *outcome != Outcome::Kept.name() {
                for name in set.violated(y, x) {
                    *report.violated.entry(name).or_default() += 1;
                }
            }
        }
    }
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
            Some(set) => {
                let guard = model.guard(set);
                let guard = guard.context("no guard is possible; --raw projects without one")?;
                Self::Guarded(Box::new(guard))
            }
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
                Ok((points, outcomes.into_iter().map(untested).collect()))
            }
            Self::Guarded(guard) => {
                let (points, outcomes) = guard.project_rows(&rows.y, &rows.x)?;
                let names = outcomes.iter().map(|outcome| outcome.name());
                Ok((points, names.collect()))
            }
        }
    }
}

/// Where the latent was says nothing about the point.
fn untested(outcome: RawOutcome) -> &'static str {
    match outcome {
        RawOutcome::NotFinite => outcome.name(),
        RawOutcome::Inside | RawOutcome::Clamped => "untested",
    }
}
