//! `fab-paper study`: the paper's optimization study.

mod answers;
mod progress;
mod report;
mod run;
mod time;

use std::process::ExitCode;

use anyhow::Result;

use fabproj_cli::options::Common;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Train and evaluate methods; finished runs are kept and never repeated
    Run(run::Arguments),
    /// Write every answer to every problem as CSV
    Answers(answers::Arguments),
    /// Take the times of finished runs again, on a machine that does nothing else
    Time(time::Arguments),
    /// Write the tables and figures of a store: HTML, Markdown, LaTeX, CSV
    Report(report::Arguments),
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    match &arguments.command {
        Command::Run(arguments) => run::run(arguments, common),
        Command::Answers(arguments) => answers::run(arguments, common),
        Command::Time(arguments) => time::run(arguments, common),
        Command::Report(arguments) => report::run(arguments, common),
    }
}
