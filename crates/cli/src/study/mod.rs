//! `fabproj study`: the paper's optimization study.

mod progress;
mod run;

use std::process::ExitCode;

use anyhow::Result;

use crate::options::Common;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Train and examine methods; what is finished is kept, and never repeated
    Run(run::Arguments),
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    match &arguments.command {
        Command::Run(arguments) => run::run(arguments, common),
    }
}
