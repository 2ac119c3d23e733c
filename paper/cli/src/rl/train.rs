//! `fab-paper rl train`: from a task and an algorithm to an evaluated policy in a store.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use fab_saferl::RlError;
use fab_saferl::evaluate::{Controller, EvaluationSettings, evaluate};
use fab_saferl::filter::ActionFilter;
use fab_saferl::ppo_fab::PpoFabSettings;
use fab_saferl::store::{RunKey, RunRecord, Store, VERSION};
use fab_saferl::task::{canonical, open};
use fab_saferl::train::{AlgorithmSettings, CheckedSettings, Session, TrainSettings, train};
use fabproj_cli::failure::wrong_usage;
use fabproj_cli::interrupt::{self, stop_soon};
use fabproj_cli::options::{Common, count_up_to};
use fabproj_cli::show;
use fabproj_cli::train::SettingOptions;
use serde_json::Value;

use super::guard::GuardOptions;
use super::progress::Progress;
use super::{as_usage, table};

/// Steps of a quick training.
const QUICK_STEPS: usize = 200_000;

/// Controllers that need no training.
const BASELINES: [&str; 2] = ["zero", "random"];

#[derive(clap::Args)]
#[command(
    after_help = "Results are kept in the store, a folder of small files: after Ctrl-C (exit code 130) or a crash \
                  the same command continues, to the same policy bit for bit. --quick trains for 200,000 steps.\n\n\
                  Example:\n  fab-paper rl train --quick\n  \
                  fab-paper rl train --task goal2 --algorithm ppo-lag --seeds 0,1,2 \
                  --setting algorithm.multiplier.cost_limit=10"
)]
pub struct Arguments {
    /// The task: double-integrator, goal1, goal2, push1, push2
    #[arg(long, value_name = "TASK", default_value = "double-integrator")]
    task: String,

    /// The algorithm: ppo, ppo-lag, trpo, trpo-lag, ppo-fab; or a baseline: zero, random
    #[arg(long, value_name = "NAME", default_value = "ppo")]
    algorithm: String,

    /// Steps of all copies of the task together
    #[arg(long, value_name = "N")]
    steps: Option<usize>,

    /// Seeds of independent trainings; --seed alone by default
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    seeds: Vec<u64>,

    /// Episodes of the evaluation
    #[arg(long, value_name = "N", default_value_t = EvaluationSettings::default().episodes, value_parser = count_up_to(1_000_000))]
    episodes: usize,

    /// The folder of results
    #[arg(long, value_name = "FOLDER", default_value = "rl")]
    store: PathBuf,

    #[command(flatten)]
    guard: GuardOptions,

    #[command(flatten)]
    settings: SettingOptions,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    if arguments.settings.list_settings {
        let base = arguments.base_settings()?;
        return arguments.settings.list(&base, common);
    }
    let method = arguments.method()?;
    let task = canonical(&arguments.task).map_err(as_usage)?;
    open(task).map_err(as_usage)?;
    let filter = arguments.guard.filter(task)?;
    let filter = filter.as_deref();
    let store = Store::open(&arguments.store);
    let stop = stop_soon(|| STOPPED.to_owned())?;
    let seeds = match arguments.seeds.is_empty() {
        true => &[common.seed][..],
        false => &arguments.seeds,
    };
    let mut records = Vec::new();
    for seed in seeds {
        let key = arguments.key(task, &method, filter, *seed);
        match finished(&method, &key, filter, &store, stop, common) {
            Ok(record) => records.push(record),
            Err(RlError::Stopped) => {
                interrupt::say_farewell();
                return Ok(ExitCode::from(interrupt::code()));
            }
            Err(error) => return Err(as_usage(error)),
        }
    }
    report(&records, &store, common)
}

/// What a training says that was stopped: its checkpoints are good at any time.
const STOPPED: &str = "stopped; the same command continues";

/// What is evaluated.
enum Method {
    Trained(Box<CheckedSettings>),
    Baseline(Controller),
}

impl Arguments {
    fn method(&self) -> Result<Method> {
        if let Some(baseline) = Controller::baseline(&self.algorithm) {
            return Ok(Method::Baseline(baseline));
        }
        let settings = self.settings.adjusted(&self.base_settings()?)?;
        let checked = settings.validate().map_err(as_usage)?;
        Ok(Method::Trained(Box::new(checked)))
    }

    /// The settings of the algorithm before any is changed.
    fn base_settings(&self) -> Result<TrainSettings> {
        let task = canonical(&self.task).map_err(as_usage)?;
        let named = match &self.algorithm[..] {
            "ppo-fab" if self.guard.is_paper() => {
                Some(AlgorithmSettings::PpoFab(PpoFabSettings::paper()))
            }
            name => AlgorithmSettings::named(name, task),
        };
        let Some(algorithm) = named else {
            let names = AlgorithmSettings::NAMES.iter().chain(&BASELINES);
            let names: Vec<&str> = names.copied().collect();
            return Err(wrong_usage(format!(
                "unknown algorithm `{}`; the algorithms are {}",
                self.algorithm,
                names.join(", ")
            )));
        };
        let mut base = TrainSettings {
            task: task.to_owned(),
            algorithm,
            ..TrainSettings::default()
        };
        if self.settings.quick {
            base.steps = QUICK_STEPS;
        }
        base.steps = self.steps.unwrap_or(base.steps);
        Ok(base)
    }

    fn key(
        &self,
        task: &str,
        method: &Method,
        filter: Option<&dyn ActionFilter>,
        seed: u64,
    ) -> RunKey {
        let (settings, task) = match method {
            Method::Trained(checked) => {
                let settings = checked.settings();
                let json = serde_json::to_value(settings).unwrap_or_default();
                (json, settings.task.clone())
            }
            Method::Baseline(_) => (Value::Null, task.to_owned()),
        };
        RunKey {
            version: VERSION,
            task,
            algorithm: self.algorithm.clone(),
            settings,
            filter: filter.map_or_else(String::new, |filter| filter.digest()),
            seed,
            trained_with: None,
            evaluation: EvaluationSettings {
                episodes: self.episodes,
                ..EvaluationSettings::default()
            },
        }
    }
}

/// The run of the store, made if missing.
fn finished(
    method: &Method,
    key: &RunKey,
    filter: Option<&dyn ActionFilter>,
    store: &Store,
    stop: &AtomicBool,
    common: &Common,
) -> Result<RunRecord, RlError> {
    if let Some(record) = store.run(key)? {
        common.note(format!("seed {}: finished before", key.seed));
        return Ok(record);
    }
    let (controller, curve) = match method {
        Method::Baseline(controller) => (controller.clone(), Vec::new()),
        Method::Trained(checked) => {
            let name = format!("{} on {}, seed {}", key.algorithm, key.task, key.seed);
            let progress = Progress::new(name, common.quiet);
            let session = Session {
                observer: Some(&progress),
                checkpoint: Some(store.checkpoint_path(key)),
                log: Some(store.log_path(key)),
                stop: Some(stop),
            };
            let trained = train(checked, key.seed, filter, &session);
            progress.finish();
            let trained = trained?;
            trained.policy.save(&store.policy_path(key))?;
            (Controller::Policy(Box::new(trained.policy)), trained.curve)
        }
    };
    let evaluation = evaluate(&|| open(&key.task), &controller, filter, &key.evaluation)?;
    let record = RunRecord {
        key: key.clone(),
        curve,
        evaluation,
    };
    store.save(&record)?;
    Ok(record)
}

fn report(records: &[RunRecord], store: &Store, common: &Common) -> Result<ExitCode> {
    if common.json {
        show::print_json(&records)?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = |record: &RunRecord| {
        let name = format!("{}, seed {}", record.key.algorithm, record.key.seed);
        (name, record.evaluation.summary())
    };
    show::print(table(&records.iter().map(row).collect::<Vec<_>>()))?;
    for record in records.iter().filter(|record| !record.curve.is_empty()) {
        common.note(format!(
            "policy: {} (trained in {})",
            store.policy_path(&record.key).display(),
            show::time(record.training_seconds())
        ));
    }
    Ok(ExitCode::SUCCESS)
}
