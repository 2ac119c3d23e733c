//! `fab-paper rl eval`: episodes of a policy, and a picture of one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::slice::from_ref;

use anyhow::{Context, Result};
use fab_saferl::evaluate::{Controller, EvaluationSettings, evaluate, trace};
use fab_saferl::filter::Guarded;
use fab_saferl::report::picture;
use fab_saferl::store::{RunKey, RunRecord, Store, VERSION};
use fab_saferl::task::open;
use fab_saferl::{Policy, PolicyRecord};
use fabproj::support::write_atomically;
use fabproj_cli::failure::wrong_usage;
use fabproj_cli::options::{Common, count_up_to};
use fabproj_cli::{output, show};
use serde_json::json;

use super::guard::GuardOptions;
use super::{as_usage, table};

#[derive(clap::Args)]
#[command(
    after_help = "The episodes have fixed seeds, so that policies are compared on the same layouts.\n\n\
                  Example:\n  fab-paper rl eval policy.safetensors --plot episode.svg\n  \
                  fab-paper rl eval random --task goal2 --json"
)]
pub struct Arguments {
    /// A policy file, or the baseline `zero` or `random`
    #[arg(value_name = "POLICY")]
    policy: PathBuf,

    /// The task; the one that the policy was trained for by default
    #[arg(long, value_name = "TASK")]
    task: Option<String>,

    /// Number of episodes
    #[arg(long, value_name = "N", default_value_t = EvaluationSettings::default().episodes, value_parser = count_up_to(1_000_000))]
    episodes: usize,

    /// Seed of the first episode
    #[arg(long, value_name = "N", default_value_t = EvaluationSettings::default().first_seed)]
    first_seed: u32,

    /// Draw actions from the policy instead of its mean
    #[arg(long)]
    sampled: bool,

    /// Keep the evaluation in this folder of results, for `fab-paper rl report`
    #[arg(long, value_name = "FOLDER", conflicts_with = "sampled")]
    store: Option<PathBuf>,

    /// Draw the first episode from above as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    /// Replace an existing picture
    #[arg(long, requires = "plot")]
    force: bool,

    /// Let the agent move in the picture
    #[arg(long, requires = "plot")]
    animate: bool,

    #[command(flatten)]
    guard: GuardOptions,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    if let Some(picture) = &arguments.plot {
        output::check(picture, arguments.force, from_ref(&arguments.policy))?;
    }
    let (name, controller) = controller(arguments)?;
    let task = arguments.task(&controller)?;
    let filter = arguments.guard.filter(&task)?;
    let filter = filter.as_deref();
    let settings = EvaluationSettings {
        episodes: arguments.episodes,
        first_seed: arguments.first_seed,
    };
    let evaluation = evaluate(&|| open(&task), &controller, filter, &settings).map_err(as_usage)?;
    let summary = evaluation.summary();
    if let (Some(folder), Controller::Policy(policy)) = (&arguments.store, &controller) {
        let filter = filter.map_or_else(String::new, |filter| filter.digest());
        let record = RunRecord {
            key: key(&policy.record, filter, settings),
            curve: Vec::new(),
            evaluation: evaluation.clone(),
        };
        let store = Store::open(folder);
        if store.run(&record.key)?.is_none() {
            store.save(&record)?;
        }
    }
    if let Some(path) = &arguments.plot {
        let guarded = Guarded::new(open(&task)?, filter.map(|filter| filter.boxed()));
        let title = format!("{task}, {name}");
        draw(path, guarded, &title, &controller, arguments)?;
    }
    if common.json {
        show::print_json(&json!({ "summary": summary, "evaluation": evaluation }))?;
    } else {
        show::print(table(&[(name, summary.clone())]))?;
        let kinds: Vec<String> = summary
            .cost_by_kind
            .iter()
            .map(|(kind, cost)| format!("{kind} {cost:.1}"))
            .collect();
        common.note(format!(
            "cost by kind: {}; median reward {:.2}, median cost {:.1}",
            kinds.join(", "),
            summary.reward.median,
            summary.cost.median
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The policy's own run, if the filter is that of its training; else a run of its own.
fn key(policy: &PolicyRecord, filter: String, evaluation: EvaluationSettings) -> RunKey {
    let name = policy.settings["algorithm"]["name"].as_str();
    let other = policy.filter != filter;
    RunKey {
        version: VERSION,
        task: policy.task.clone(),
        algorithm: name.unwrap_or("policy").to_owned(),
        settings: policy.settings.clone(),
        filter,
        seed: policy.seed,
        trained_with: other.then(|| policy.filter.clone()),
        evaluation,
    }
}

fn controller(arguments: &Arguments) -> Result<(String, Controller)> {
    let name = arguments.policy.display().to_string();
    if let Some(baseline) = Controller::baseline(&name) {
        return Ok((name, baseline));
    }
    let policy = Box::new(Policy::load(&arguments.policy)?);
    // File names in a store are digests: the algorithm says more.
    let algorithm = policy.record.settings["algorithm"]["name"].as_str();
    let name = algorithm.map_or(name, |name| format!("{name}, seed {}", policy.record.seed));
    let controller = match arguments.sampled {
        true => Controller::Sampled(policy),
        false => Controller::Policy(policy),
    };
    Ok((name, controller))
}

impl Arguments {
    fn task(&self, controller: &Controller) -> Result<String> {
        match (&self.task, controller) {
            (Some(task), _) => Ok(task.clone()),
            (None, Controller::Policy(policy) | Controller::Sampled(policy)) => {
                Ok(policy.record.task.clone())
            }
            (None, _) => Err(wrong_usage("a baseline needs --task")),
        }
    }
}

fn draw(
    path: &Path,
    task: Guarded,
    title: &str,
    controller: &Controller,
    arguments: &Arguments,
) -> Result<()> {
    let trace = trace(task, controller, arguments.first_seed)?;
    let title = format!(
        "{title}, episode {}: reward {:.1}, cost {:.0}",
        arguments.first_seed, trace.result.reward, trace.result.cost
    );
    let svg = picture(&trace, &title, arguments.animate);
    write_atomically(path, svg.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}
