//! `fab-paper study`: the paper's optimization study.

mod progress;
mod report;
mod run;

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
    /// Train and evaluate methods; what is finished is kept, and never repeated
    Run(run::Arguments),
    /// Write what is in a store as tables and figures: HTML, Markdown, LaTeX, CSV
    Report(report::Arguments),
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    match &arguments.command {
        Command::Run(arguments) => run::run(arguments, common),
        Command::Report(arguments) => report::run(arguments, common),
    }
}
