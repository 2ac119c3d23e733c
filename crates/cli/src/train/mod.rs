//! `fabproj train`: from a set to a model file.

pub(crate) mod labels;
mod log;
mod made;
mod place;
mod progress;
mod settings;
mod solver;
mod summary;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use fabproj::set::{LabelledData, Set, is_labelled_file};
use fabproj::support::{is_same_file, target_of};
use fabproj::{Checkpoints, Model, Plan, Recipe, Session, Settings, train_with};
use serde_json::{Value, json};

use self::labels::Labels;
use self::log::Log;
use self::made::Made;
use self::place::{Place, checkpoints, log_of, open_checkpoints, with_suffix};
use self::progress::Progress;
use self::settings::Preset;
pub use self::settings::SettingOptions;
use self::summary::Summary;
pub(crate) use self::summary::missed_targets;
use crate::options::Common;
use crate::show::count;
use crate::{bench, find, interrupt, output, plot};

/// Single calls that are timed for the summary.
const TIMED_CALLS: usize = 20_000;

/// What `fabproj train` is asked for.
#[derive(clap::Args)]
#[command(
    after_help = "The model is certified, then saved as a whole or not at all. MODEL.log.jsonl records the \
                  training, one JSON object per line. MODEL.checkpoint/ holds its state while it runs: after \
                  Ctrl-C (exit code 130), termination (143) or a crash, the same command with --resume goes \
                  on and gives the same model, bit for bit.\n\n\
                  Example:\n  fabproj train two-moons -o moons.safetensors --plot moons.svg\n  \
                  fabproj train shell-5d --preset small --seed 3 --setting phase-two=9000"
)]
pub struct Arguments {
    /// The settings to start from
    #[arg(long, value_enum, default_value_t = Preset::Default)]
    preset: Preset,

    /// Limit of membership queries, training and certificate together, for sets that are costly to ask
    #[arg(long, value_name = "N")]
    max_queries: Option<u64>,

    // Last: the heading of its last options would go on.
    #[command(flatten)]
    task: Task,
}

/// What every training is asked for, whatever its recipe.
#[derive(clap::Args)]
pub struct Task {
    /// The set: a built-in name (`fabproj sets` lists them), a set or problem file (.toml), or labelled
    /// points (.csv, .npz, .parquet)
    #[arg(required_unless_present = "list_settings")]
    set: Option<String>,

    /// The model file to write; the set's name with .safetensors by default
    #[arg(short, long, value_name = "MODEL")]
    output: Option<PathBuf>,

    /// The settings of the training.
    #[command(flatten)]
    pub settings: SettingOptions,

    /// Resume the training that was stopped
    #[arg(long)]
    resume: bool,

    /// Replace an existing model and figure, and discard the checkpoints of a stopped training
    #[arg(long, conflicts_with = "resume")]
    force: bool,

    /// Draw the result into a figure (.svg, or .png in a build with that feature)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    /// Fresh points of each kind for the certificate [default: 100000, or what --max-queries leaves; of a
    /// problem, 500 fresh x]
    #[arg(long, value_name = "N")]
    samples: Option<usize>,

    #[command(flatten)]
    labels: Labels,

    /// The labelled points, once they are read.
    #[arg(skip)]
    points: OnceCell<Option<Box<LabelledData>>>,
}

/// Runs `fabproj train`.
pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    let Arguments { task, preset, .. } = arguments;
    if let Some(problem) = find::problem(task.set())? {
        if task.settings.list_settings {
            let base = arguments.solver_settings(common)?;
            return task.settings.list(&base, common);
        }
        return solver::run(arguments, common, &problem);
    }
    if task.settings.list_settings {
        let base = preset.base(task.settings.quick);
        return task.settings.list(&base, common);
    }
    let settings = preset.settings(&task.settings, arguments.max_queries, common.seed)?;
    let advice = preset.advice(task.settings.quick);
    train(task, common, &settings, advice, settings.max_queries)
}

/// Trains by a recipe, certifies and saves. `advice` says what to try where a model falls short;
/// `max_queries` limits the membership queries of training and certificate together.
///
/// # Errors
/// Whatever is wrong with the task or stops the training, for [`failure::report`](crate::failure::report).
pub fn train(
    task: &Task,
    common: &Common,
    recipe: &dyn Recipe,
    advice: &'static str,
    max_queries: Option<u64>,
) -> Result<ExitCode> {
    if task.labelled()?.is_none() {
        // What is wrong with the set is said first.
        find::set(task.set())?;
    }
    let model = task.model()?;
    task.check_places(&model)?;
    let training = Training {
        task,
        common,
        recipe,
        advice,
        max_queries,
        set: task.find_set(common)?,
        model,
    };
    training.run()
}

impl Task {
    /// The set as it was typed.
    fn set(&self) -> &str {
        self.set.as_deref().unwrap_or_default()
    }

    /// The labelled points, if the set is a file of them.
    ///
    /// # Errors
    /// Whatever is wrong with the file, or with options that belong to labelled points only.
    pub fn labelled(&self) -> Result<Option<&LabelledData>> {
        let points = match self.points.get() {
            Some(points) => points,
            None => {
                let points = self.labels.read(self.set())?;
                self.points.get_or_init(|| points.map(Box::new))
            }
        };
        Ok(points.as_deref())
    }

    /// The set: built in, described by a file, or learned from labelled points.
    fn find_set(&self, common: &Common) -> Result<Arc<dyn Set>> {
        let Some(points) = self.labelled()? else {
            return find::set(self.set());
        };
        let settings = self.labels.settings(self.settings.quick)?;
        let rows = count(points.rows());
        common.note(format_args!("learning the set from {rows} labelled points"));
        let progress = Progress::new(common.quiet);
        let session = Session::new().observe(|event| progress.show(event));
        let name = Path::new(self.set()).file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        let learned = points.learn(&name, &settings, common.seed, &session);
        progress.finish();
        Ok(Arc::new(learned?))
    }

    /// The model file, which is where links lead: two links to it are one place.
    fn model(&self) -> Result<PathBuf> {
        let name = self.model_name();
        target_of(&name).with_context(|| format!("cannot write {}", name.display()))
    }

    fn model_name(&self) -> PathBuf {
        if let Some(output) = &self.output {
            return output.clone();
        }
        let path = Path::new(self.set());
        let file = is_labelled_file(path) || self.set().ends_with(".toml");
        let name = if file {
            path.file_stem()
        } else {
            path.file_name()
        };
        with_suffix(Path::new(name.unwrap_or_default()), ".safetensors")
    }

    /// Refuses to overwrite an input, a model, a figure or the state of a training.
    fn check_places(&self, model: &Path) -> Result<()> {
        let mut inputs = find::files(self.set());
        inputs.extend(self.settings.config.clone());
        let replaces = self.force || self.resume;
        if let Some(figure) = &self.plot {
            plot::check(figure)?;
            output::check(figure, replaces, &inputs)?;
            if is_same_file(figure, model) {
                bail!(
                    "{} is one file for the model and its figure; name another for --plot",
                    figure.display()
                );
            }
        }
        let checkpoints = checkpoints(model);
        if checkpoints.exists() {
            // Whoever is at work there holds the lock.
            open_checkpoints(model)?;
        }
        let exist = Checkpoints::exist(&checkpoints);
        let folder = checkpoints.display();
        if self.resume && !exist {
            bail!("nothing to resume: {folder} holds no checkpoints; train without --resume");
        }
        if exist && !replaces {
            bail!(
                "{folder} holds the checkpoints of a stopped training: --resume resumes it, --force starts \
                 again"
            );
        }
        output::check_inputs(&log_of(model), &inputs)?;
        output::check(model, replaces, &inputs)
    }

    /// What the command was asked for beside the recipe, which its checkpoints belong to as well.
    fn identity(&self) -> Value {
        json!({ "samples": self.samples })
    }
}

/// One training of a projector.
struct Training<'a> {
    task: &'a Task,
    common: &'a Common,
    recipe: &'a dyn Recipe,
    advice: &'static str,
    max_queries: Option<u64>,
    set: Arc<dyn Set>,
    model: PathBuf,
}

impl Training<'_> {
    fn run(&self) -> Result<ExitCode> {
        let started = Instant::now();
        let place = Place {
            task: self.task,
            common: self.common,
            model: &self.model,
        };
        let start = json!({
            "set": self.set.description().name(),
            "recipe": self.recipe.name(),
            "seed": self.recipe.seed(),
            "settings": serde_json::from_str::<Value>(&self.recipe.settings_json())?,
        });
        let summary = place.run(
            start,
            |session| {
                let model = train_with(&self.set, self.recipe, session)?;
                Ok((model, session.queries()))
            },
            |(model, queries), log| self.complete(model, queries, log, started),
        )?;
        finish(summary, |summary| summary.print(self.common))
    }

    /// What the certificate draws after so many queries.
    fn plan(&self, queries: u64, charts: usize) -> Plan<'static> {
        let settings = Settings {
            seed: self.common.seed,
            max_queries: self.max_queries,
            ..Settings::default()
        };
        let plan = settings.plan(queries, charts);
        Plan {
            samples: self.task.samples.unwrap_or(plan.samples),
            ..plan
        }
    }

    /// Certifies and saves what was trained.
    fn complete(
        &self,
        mut model: Model,
        queries: u64,
        log: &Log,
        started: Instant,
    ) -> Result<Summary> {
        let training_seconds = started.elapsed().as_secs_f64();
        let plan = self.plan(queries, model.projector().charts());
        let certificate = model.certify(&self.set, &plan)?.clone();
        place::saved(&self.model, model.save(&self.model))?;
        log.certified(&certificate, &self.model);
        let mut files = vec![self.model.clone(), log.path.clone()];
        if let Some(figure) = &self.task.plot {
            plot::write(&model, &self.set, figure, plot::WIDTH, self.common.seed)?;
            files.push(figure.clone());
        }
        let latency = bench::quick_latency(&model, TIMED_CALLS)?;
        Ok(Summary {
            model,
            certificate,
            made: Made {
                files,
                latency_ns: (latency.p50_ns, latency.p99_ns),
                training_seconds,
                seconds: started.elapsed().as_secs_f64(),
            },
            advice: self.advice,
            queries,
        })
    }
}

/// Prints the summary of a training that came to its end, and gives the exit code.
fn finish<S>(summary: Option<S>, print: impl FnOnce(&S) -> Result<()>) -> Result<ExitCode> {
    match summary {
        None => Ok(ExitCode::from(interrupt::code())),
        Some(summary) => print(&summary).map(|()| ExitCode::SUCCESS),
    }
}
