//! `fabproj train`: from a set to a model file.

mod checkpoints;
pub(crate) mod labels;
mod log;
mod preset;
mod progress;
mod settings;
mod summary;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use fabproj::certify::{Plan, certify};
use fabproj::core::Model;
use fabproj::data::labelled::LabelledData;
use fabproj::file::{ModelFile, Record};
use fabproj::set::{Counted, Learned, Set};
use fabproj::train::Session;
use serde_json::{Value, json};

use self::checkpoints::{Folder, Identity};
use self::labels::{Labels, Points};
use self::log::Log;
pub use self::preset::Preset;
use self::progress::Progress;
pub use self::settings::Settings;
use self::summary::Summary;
use crate::interrupt::{STOPPED, stop_on_interrupt};
use crate::opened::{Opened, find_set};
use crate::options::Common;
use crate::{bench, plot};

/// Single calls that are timed for the summary.
const TIMED_CALLS: usize = 20_000;

/// What `fabproj train` is asked for.
#[derive(clap::Args)]
#[command(
    after_help = "The model is certified before it is saved, and is saved as a whole or not at all. Beside \
                  it, MODEL.log.jsonl tells how the training went, one JSON object a line. While the \
                  training runs, MODEL.checkpoint/ keeps its state: after Ctrl-C (exit code 130) or a \
                  crash, the same command with --resume goes on, to the same model bit for bit.\n\n\
                  Example:\n  fabproj train two-moons -o moons.safetensors --plot moons.svg\n  \
                  fabproj train shell-5d --preset small --seed 3 --set phase-two=9000"
)]
pub struct Arguments {
    #[command(flatten)]
    task: Task,

    /// Where the settings start from
    #[arg(long, value_enum, default_value_t = Preset::Default)]
    preset: Preset,

    /// Membership queries that training and certificate may make together, for sets that are costly to
    /// ask
    #[arg(long, value_name = "N")]
    max_queries: Option<u64>,
}

/// What every training is asked for, whatever its recipe.
#[derive(clap::Args)]
pub struct Task {
    /// The set: a built-in name (`fabproj sets` lists them), a set file (.toml), or labelled points
    /// (.csv, .npz, .parquet)
    set: String,

    /// The model file to write; the set's name with .safetensors by default
    #[arg(short, long, value_name = "MODEL")]
    output: Option<PathBuf>,

    /// The settings of the training.
    #[command(flatten)]
    pub settings: Settings,

    /// Go on with the training that was stopped
    #[arg(long)]
    resume: bool,

    /// Replace an existing model, and begin anew where a training was stopped
    #[arg(long, conflicts_with = "resume")]
    force: bool,

    /// Draw the result into a figure (.svg or .png)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    #[command(flatten)]
    labels: Labels,

    /// Fresh points of each kind that the certificate is made from [default: 100000, or what
    /// --max-queries leaves]
    #[arg(long, value_name = "N")]
    samples: Option<usize>,
}

/// A way to train, with its settings.
pub trait Recipe {
    /// The preset's name, as the model file keeps it.
    fn name(&self) -> String;

    /// All settings.
    fn config(&self) -> Result<Value>;

    /// What to try where a model falls short.
    fn advice(&self) -> &'static str;

    /// Trains for a set. Where labelled points are all that is known, `set` is what was learned from them.
    fn train(
        &self,
        set: &dyn Set,
        labelled: Option<&LabelledData>,
        seed: u64,
        session: &Session,
    ) -> Result<Outcome>;
}

/// How a training ended.
pub enum Outcome {
    /// With a model.
    Trained {
        /// The model.
        model: Box<Model>,
        /// What is known about the training, for the model file.
        training: Value,
    },
    /// By the stop flag.
    Stopped,
}

/// Runs `fabproj train`.
pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    let queries = arguments
        .max_queries
        .map(|queries| ((1.0 - CERTIFICATE_SHARE) * queries as f64) as u64);
    let recipe = arguments.preset.recipe(&arguments.task.settings, queries)?;
    train(&arguments.task, common, recipe, arguments.max_queries)
}

/// Trains by a recipe, certifies and saves.
pub fn train(
    arguments: &Task,
    common: &Common,
    recipe: Box<dyn Recipe>,
    max_queries: Option<u64>,
) -> Result<ExitCode> {
    if let Some(figure) = &arguments.plot {
        plot::check(figure)?;
    }
    let points = arguments.labels.read(&arguments.set)?;
    let model = model_path(arguments);
    check_place(arguments, &model)?;
    let (set, learned) = match &points {
        None => (find_set(&arguments.set)?, None),
        Some(points) => {
            let config = arguments.labels.config(arguments.settings.quick)?;
            let set = Arc::new(points.learn(&config, common)?);
            (Arc::clone(&set) as Arc<dyn Set>, Some(set))
        }
    };
    let training = Training {
        arguments,
        common,
        set: Counted::new(set),
        points,
        learned,
        recipe,
        max_queries,
        model,
    };
    training.run()
}

/// Share of the queries that is left for the certificate at least.
const CERTIFICATE_SHARE: f64 = 0.3;
/// Queries that a point of the certificate may cost: input, projection, guard and its repairs, the search
/// whether C(x) is empty; and decodes inside and on the surface of each chart.
const QUERIES_PER_SAMPLE: u64 = 8;
const QUERIES_PER_CHART: u64 = 2;
/// Fewer points say nothing.
const LEAST_SAMPLES: usize = 100;

impl Training<'_> {
    /// What the certificate draws, after so many queries.
    fn plan(&self, queries: u64, charts: usize, seed: u64) -> Plan {
        let usual = Plan::default().samples;
        let left = self.max_queries.map(|most| {
            let cost = QUERIES_PER_SAMPLE + QUERIES_PER_CHART * charts as u64;
            let samples = most.saturating_sub(queries) / cost;
            (samples as usize).clamp(LEAST_SAMPLES, usual)
        });
        Plan {
            samples: self.arguments.samples.or(left).unwrap_or(usual),
            sparing: self.max_queries.is_some(),
            seed,
            ..Plan::default()
        }
    }
}

/// Where the model goes unless told otherwise.
fn model_path(arguments: &Task) -> PathBuf {
    arguments.output.clone().unwrap_or_else(|| {
        let name = Path::new(&arguments.set).file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        PathBuf::from(format!(
            "{}.safetensors",
            [".toml", ".csv", ".npz", ".parquet"]
                .iter()
                .find_map(|ending| name.strip_suffix(ending))
                .unwrap_or(&name)
        ))
    })
}

/// Refuses to overwrite a model or the state of another training.
fn check_place(arguments: &Task, model: &Path) -> Result<()> {
    if model.is_dir() {
        bail!("{} is a folder; name a file with -o MODEL", model.display());
    }
    if arguments.force || arguments.resume {
        return Ok(());
    }
    let checkpoints = checkpoints::beside(model);
    if Folder::exists(&checkpoints) {
        bail!(
            "{} holds the state of a training that was stopped: --resume goes on with it, --force \
             begins anew",
            checkpoints.display()
        );
    }
    if model.exists() {
        bail!(
            "{} exists: --force replaces it when the training is done, -o MODEL names another file",
            model.display()
        );
    }
    Ok(())
}

/// A path with more at its end.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// One run of the command.
struct Training<'a> {
    arguments: &'a Task,
    common: &'a Common,
    set: Counted<Arc<dyn Set>>,
    /// The labelled points and what was learned from them, if they are all that is known.
    points: Option<Points>,
    learned: Option<Arc<Learned>>,
    recipe: Box<dyn Recipe>,
    max_queries: Option<u64>,
    model: PathBuf,
}

impl Training<'_> {
    fn identity(&self) -> Result<Identity> {
        Ok(Identity {
            set: self.arguments.set.clone(),
            set_hash: self.set.description().hash(),
            preset: self.recipe.name(),
            config: self.recipe.config()?,
            seed: self.common.seed,
        })
    }

    fn run(&self) -> Result<ExitCode> {
        let started = Instant::now();
        let identity = self.identity()?;
        // The log comes first: a place that cannot be written to shows itself before hours of work.
        let log = Log::open(log::beside(&self.model), self.arguments.resume)?;
        let folder = checkpoints::beside(&self.model);
        let folder = if self.arguments.resume {
            Folder::resume(folder, &identity)?
        } else {
            Folder::begin(folder, &identity)?
        };
        log.write(
            json!({ "event": "start", "resumed": self.arguments.resume, "training": identity }),
        );
        let stop = stop_on_interrupt()?;
        let progress = Progress::new(self.common.quiet);
        let session = Session {
            observers: vec![&progress, &log],
            store: Some(&folder),
            stop: Some(stop),
        };
        let outcome = self.recipe.train(
            &self.set,
            self.points.as_ref().map(|points| &points.data),
            self.common.seed,
            &session,
        );
        progress.finish();
        let (model, training) = match outcome? {
            Outcome::Trained { model, training } => (model, training),
            Outcome::Stopped => {
                log.write(json!({ "event": "stopped" }));
                return self.stopped();
            }
        };
        let mut record = Record::of(&self.set);
        record.preset = identity.preset;
        record.seed = identity.seed;
        record.config = identity.config;
        record.training = training;
        let mut file = ModelFile {
            model: *model,
            record,
        };
        if let Some(learned) = &self.learned {
            learned.save_into(&mut file);
        }
        let summary = self.complete(file, &log, started)?;
        folder.discard()?;
        summary.print(self.common)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Certifies and saves what was trained.
    fn complete(&self, mut file: ModelFile, log: &Log, started: Instant) -> Result<Summary> {
        let training_seconds = started.elapsed().as_secs_f64();
        let projector = file.projector()?;
        let training_queries = self.set.queries();
        let (charts, seed) = (projector.charts(), self.common.seed);
        let plan = self.plan(training_queries, charts, seed);
        let certificate = certify(&self.set, &projector, &plan)?;
        let queries = (training_queries, self.set.queries() - training_queries);
        file.record.certificate = Some(serde_json::to_value(&certificate)?);
        file.save(&self.model).context(
            "the model was trained, but not saved; its checkpoints are kept: the same command with \
             --resume saves it in a moment",
        )?;
        log.write(json!({ "event": "certified", "certificate": certificate }));
        log.write(json!({ "event": "saved", "model": self.model.display().to_string() }));
        let opened = Opened {
            path: self.model.clone(),
            file,
            projector,
        };
        let mut files = vec![self.model.clone(), log.path.clone()];
        if let Some(figure) = &self.arguments.plot {
            plot::write(&opened, &self.set, figure, plot::WIDTH, self.common)?;
            files.push(figure.clone());
        }
        let latency = bench::quick_latency(&opened, TIMED_CALLS)?;
        Ok(Summary {
            certificate,
            training: opened.file.record.training,
            latency_ns: (latency.p50_ns, latency.p99_ns),
            training_seconds,
            seconds: started.elapsed().as_secs_f64(),
            files,
            advice: self.recipe.advice(),
            queries,
            learned: self.learned.as_ref().map(|set| set.record().clone()),
        })
    }

    fn stopped(&self) -> Result<ExitCode> {
        let mut words: Vec<String> = std::env::args().skip(1).collect();
        words.retain(|word| word != "--force" && word != "--resume");
        eprintln!(
            "stopped; nothing is lost. Go on with:\n  fabproj {} --resume",
            words.join(" ")
        );
        Ok(ExitCode::from(STOPPED))
    }
}
