//! `fab-paper rl`: safe reinforcement learning.

mod collect;
mod eval;
mod guard;
mod parity;
mod progress;
mod report;
mod train;

use std::process::ExitCode;

use anyhow::Result;
use fab_saferl::RlError;
use fab_saferl::evaluate::Summary;
use fabproj_cli::failure::wrong_usage;
use fabproj_cli::options::Common;
use fabproj_cli::show;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Collect labelled states and train a guard for actions
    Collect(collect::Arguments),
    /// Train policies and evaluate them; finished runs are kept and never repeated
    Train(train::Arguments),
    /// Evaluate a policy file or a baseline, and draw an episode
    Eval(eval::Arguments),
    /// Compare the simulator with recordings of the original Python package
    Parity(parity::Arguments),
    /// Write the finished runs of a store as tables and figures: HTML, Markdown, CSV
    Report(report::Arguments),
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    match &arguments.command {
        Command::Collect(arguments) => collect::run(arguments, common),
        Command::Train(arguments) => train::run(arguments, common),
        Command::Eval(arguments) => eval::run(arguments, common),
        Command::Parity(arguments) => parity::run(arguments, common),
        Command::Report(arguments) => report::run(arguments, common),
    }
}

/// Exit code 2 for settings and names, 1 for everything else.
fn as_usage(error: RlError) -> anyhow::Error {
    match error {
        RlError::Setting { .. } | RlError::UnknownTask { .. } | RlError::OtherTask { .. } => {
            wrong_usage(error)
        }
        error => error.into(),
    }
}

/// A table of evaluations for a terminal.
fn table(rows: &[(String, Summary)]) -> String {
    let header = [
        "policy",
        "reward",
        "cost",
        "zero-cost",
        "goals",
        "distance",
        "corrected",
        "time",
    ];
    let row = |(name, summary): &(String, Summary)| {
        vec![
            name.clone(),
            format!("{:.2}±{:.2}", summary.reward.mean, summary.reward.std),
            format!("{:.1}±{:.1}", summary.cost.mean, summary.cost.std),
            show::percent(summary.zero_cost_share),
            format!("{:.2}", summary.goals),
            format!("{:.1}", summary.distance),
            show::percent(summary.corrected_share),
            show::time(summary.seconds),
        ]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    show::table(&header, &rows, true)
}
