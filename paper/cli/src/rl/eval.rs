//! `fab-paper rl eval`: episodes of a policy, and a picture of one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use fab_saferl::Policy;
use fab_saferl::evaluate::{Controller, EvaluationSettings, evaluate, trace};
use fab_saferl::filter::Guarded;
use fab_saferl::report::picture;
use fab_saferl::task::open;
use fabproj_cli::failure::wrong_usage;
use fabproj_cli::options::Common;
use fabproj_cli::show;
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
    #[arg(long, value_name = "N", default_value_t = EvaluationSettings::default().episodes)]
    episodes: usize,

    /// Seed of the first episode
    #[arg(long, value_name = "N", default_value_t = EvaluationSettings::default().first_seed)]
    first_seed: u32,

    /// Draw actions from the policy instead of its mean
    #[arg(long)]
    sampled: bool,

    /// Draw the first episode from above as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    /// Let the agent move in the picture
    #[arg(long, requires = "plot")]
    animate: bool,

    #[command(flatten)]
    guard: GuardOptions,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    let (name, controller) = controller(arguments)?;
    let task = arguments.task(&controller)?;
    let filter = arguments.guard.filter()?;
    let filter = filter.as_deref();
    let settings = EvaluationSettings {
        episodes: arguments.episodes,
        first_seed: arguments.first_seed,
    };
    let evaluation = evaluate(&|| open(&task), &controller, filter, &settings).map_err(as_usage)?;
    let summary = evaluation.summary();
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

fn controller(arguments: &Arguments) -> Result<(String, Controller)> {
    let name = arguments.policy.display().to_string();
    if let Some(baseline) = Controller::baseline(&name) {
        return Ok((name, baseline));
    }
    let policy = Box::new(Policy::load(&arguments.policy)?);
    let file = arguments.policy.file_stem();
    let name = file.map_or(name, |file| file.to_string_lossy().into_owned());
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
    std::fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))
}
