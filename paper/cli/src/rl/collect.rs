//! `fab-paper rl collect`: labelled data of a task, and the guard or projector that learns from it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use fab_saferl::Policy;
use fab_saferl::evaluate::Controller;
use fab_saferl::fab::{FabSettings, save_projector, train_projector};
use fab_saferl::filter::ActionFilter;
use fab_saferl::guard::data::{CollectSettings, LabelledStates, collect_states};
use fab_saferl::guard::features::FeatureMap;
use fab_saferl::guard::{Guard, GuardFilter, GuardFilterSettings, GuardSettings, Quality};
use fab_saferl::pairs::collect_pairs;
use fab_saferl::steering::Rule;
use fab_saferl::task::{canonical, open};
use fabproj::Session;
use fabproj_cli::failure::wrong_usage;
use fabproj_cli::options::Common;
use fabproj_cli::train::SettingOptions;
use fabproj_cli::{output, show};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::as_usage;

/// Share of the states that is held back to examine the guard.
const HELD_BACK: f64 = 0.1;

/// Thresholds of the printed table.
const THRESHOLDS: [f64; 3] = [0.5, 0.8, 0.95];

#[derive(clap::Args)]
#[command(
    after_help = "The default recipe labels actions by looking ahead in a simple model of the task. With --policy, \
                  sampled policies act beside random ones; with --refresh, states are collected under that \
                  guard, and its discriminator is trained on. The recipes `paper` and `released` label random \
                  actions by the cost of one step, and train a projector by the paper's method. --quick collects \
                  little and trains briefly.\n\n\
                  Example:\n  fab-paper rl collect --task goal2 --recipe paper -o projector.safetensors\n  fab-paper rl collect --task goal2 -o guard.safetensors\n  \
                  fab-paper rl collect --task goal2 --policy ppo.safetensors --refresh guard.safetensors \
                  -o guard-2.safetensors"
)]
pub struct Arguments {
    /// The task: double-integrator, goal1, goal2, push1, push2
    #[arg(long, value_name = "TASK", default_value = "double-integrator")]
    task: String,

    /// What is collected and trained
    #[arg(long, value_enum, default_value_t = RecipeName::Default)]
    recipe: RecipeName,

    /// The file to write
    #[arg(short, long, value_name = "FILE", default_value = "guard.safetensors")]
    output: PathBuf,

    /// Replace an existing file
    #[arg(long)]
    force: bool,

    /// Policies that act while states are collected
    #[arg(long, value_name = "FILE,…", value_delimiter = ',')]
    policy: Vec<PathBuf>,

    /// A guard to collect under and to continue from
    #[arg(long, value_name = "FILE")]
    refresh: Option<PathBuf>,

    #[command(flatten)]
    settings: SettingOptions,
}

/// What is collected and trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum RecipeName {
    /// A guard: discriminator and autoencoder, labels that look ahead
    Default,
    /// A projector as the paper describes it
    Paper,
    /// A projector as the released code makes it
    Released,
}

/// Everything that a guard depends on, beside the task.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Recipe {
    collect: CollectSettings,
    guard: GuardSettings,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    let task = canonical(&arguments.task).map_err(as_usage)?;
    if !arguments.settings.list_settings {
        arguments.check_output()?;
    }
    match arguments.recipe {
        RecipeName::Default => collect_guard(arguments, task, common),
        RecipeName::Paper => collect_projector(arguments, task, FabSettings::paper(), common),
        RecipeName::Released => collect_projector(arguments, task, FabSettings::released(), common),
    }
}

impl Arguments {
    /// Refuses, before any work, to write over an input or an existing file.
    fn check_output(&self) -> Result<()> {
        let inputs = self.policy.iter().chain(&self.refresh);
        let inputs: Vec<PathBuf> = inputs.chain(&self.settings.config).cloned().collect();
        output::check(&self.output, self.force, &inputs)
    }
}

/// Pairs of a random policy, and the paper's training on them.
fn collect_projector(
    arguments: &Arguments,
    task: &str,
    mut base: FabSettings,
    common: &Common,
) -> Result<ExitCode> {
    if !arguments.policy.is_empty() || arguments.refresh.is_some() {
        let message = "--policy and --refresh belong to the default recipe";
        return Err(wrong_usage(message));
    }
    if arguments.settings.quick {
        base.pairs.pairs = 2_000;
        base.method.effort = 0.02;
    }
    if arguments.settings.list_settings {
        return arguments.settings.list(&base, common);
    }
    let settings = arguments.settings.adjusted(&base)?;
    let started = Instant::now();
    let mut task = open(task).map_err(as_usage)?;
    let pairs = collect_pairs(&mut task, &settings.pairs, common.seed).map_err(as_usage)?;
    let feasible = pairs.feasible.iter().filter(|label| **label).count();
    common.note(format!(
        "{} pairs in {}, {} of them feasible",
        show::count(pairs.len()),
        show::time(started.elapsed().as_secs_f64()),
        show::count(feasible)
    ));
    let session = Session::new();
    let weights = train_projector(&pairs, &settings, common.seed, &session).map_err(as_usage)?;
    save_projector(&weights, &arguments.output)?;
    let seconds = started.elapsed().as_secs_f64();
    if common.json {
        let output = &arguments.output;
        let figures = json!({ "pairs": pairs.len(), "feasible": feasible, "seconds": seconds, "output": output });
        show::print_json(&figures)?;
    } else {
        let output = arguments.output.display();
        show::print(format!("{output} written after {}", show::time(seconds)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// States labelled by looking ahead, and a guard.
fn collect_guard(arguments: &Arguments, task: &str, common: &Common) -> Result<ExitCode> {
    let base = arguments.guard_recipe(task);
    if arguments.settings.list_settings {
        return arguments.settings.list(&base, common);
    }
    let recipe = arguments.settings.adjusted(&base)?;
    let map = FeatureMap::of_task(task).map_err(as_usage)?;
    let scale = open(task).map_err(as_usage)?.action_scale();
    let start = arguments.refresh.as_deref().map(Guard::load).transpose()?;
    if let Some(start) = &start {
        start.check_task(task).map_err(as_usage)?;
    }
    let started = Instant::now();
    let states = arguments.collect(task, &map, &recipe, start.as_ref(), common.seed)?;
    let collected = started.elapsed().as_secs_f64();
    let mixed = (0..states.len()).filter(|i| states.is_mixed(*i)).count();
    common.note(format!(
        "{} states in {}, {} of them with safe and unsafe actions",
        show::count(states.len()),
        show::time(collected),
        show::percent(mixed as f64 / states.len() as f64)
    ));
    let held_back = (HELD_BACK * states.len() as f64) as usize;
    let (test, train) = states.split(held_back);
    let seed = common.seed;
    let guard =
        Guard::train(task, &train, scale, &recipe.guard, start.as_ref(), seed).map_err(as_usage)?;
    guard.save(&arguments.output)?;
    common.note(format!(
        "{} written (trained in {})",
        arguments.output.display(),
        show::time(started.elapsed().as_secs_f64() - collected)
    ));
    let qualities = THRESHOLDS.map(|threshold| (threshold, guard.examine(&test, threshold)));
    report(&qualities, common)
}

impl Arguments {
    fn guard_recipe(&self, task: &str) -> Recipe {
        let mut base = Recipe::default();
        base.collect.rule = Rule::of_task(task);
        if self.settings.quick {
            base.collect.states = 10_000;
            base.guard.discriminator.steps = 800;
            base.guard.autoencoder.phase_two = 400;
        }
        base
    }

    fn collect(
        &self,
        task: &str,
        map: &FeatureMap,
        recipe: &Recipe,
        start: Option<&Guard>,
        seed: u64,
    ) -> Result<LabelledStates> {
        let load = |path: &PathBuf| Ok(Controller::Sampled(Box::new(Policy::load(path)?)));
        let controllers: Result<Vec<Controller>> = self.policy.iter().map(load).collect();
        let filter = match start {
            None => None,
            Some(guard) => {
                let settings = GuardFilterSettings {
                    rule: recipe.collect.rule,
                    ..GuardFilterSettings::default()
                };
                let guard = Arc::new(guard.clone());
                Some(GuardFilter::new(guard, settings).map_err(as_usage)?)
            }
        };
        let filter = filter.as_ref().map(|filter| filter as &dyn ActionFilter);
        let make = || open(task);
        let collect = &recipe.collect;
        collect_states(&make, map, &controllers?, filter, collect, seed).map_err(as_usage)
    }
}

fn report(qualities: &[(f64, Quality)], common: &Common) -> Result<ExitCode> {
    if common.json {
        let row = |(threshold, quality): &(f64, Quality)| json!({ "threshold": threshold, "quality": quality });
        show::print_json(&qualities.iter().map(row).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = |(threshold, quality): &(f64, Quality)| {
        vec![
            format!("{threshold}"),
            format!("{:.3}", quality.cross_entropy),
            show::percent(quality.false_safe),
            show::percent(quality.false_unsafe),
        ]
    };
    let rows: Vec<Vec<String>> = qualities.iter().map(row).collect();
    let header = [
        "threshold",
        "cross-entropy",
        "unsafe passed",
        "safe refused",
    ];
    show::print(show::table(&header, &rows, true))?;
    Ok(ExitCode::SUCCESS)
}
