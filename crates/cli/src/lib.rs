//! The `fabproj` command as a library: one file per sub-command, and no mathematics.
//!
//! [`main`] is the whole command. The other items serve the command `fab-paper` and carry no promise of
//! stability.

pub mod bar;
mod bench;
mod certify;
pub mod failure;
mod find;
mod inspect;
pub mod interrupt;
pub mod options;
mod plot;
mod points;
mod project;
mod sets;
pub mod show;
pub mod train;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::options::Common;

/// Learns a fast map onto a feasible set, and runs it.
#[derive(Parser)]
#[command(
    name = "fabproj",
    version,
    arg_required_else_help = true,
    after_help = "Example:\n  fabproj train two-moons -o moons.safetensors --plot moons.svg\n  \
                  fabproj project moons.safetensors points.csv --guard -o feasible.csv\n\n\
                  Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    common: Common,
}

#[derive(Subcommand)]
enum Command {
    /// List the built-in sets
    Sets(sets::Arguments),
    /// Train a projector for a set
    Train(train::Arguments),
    /// Project points onto the feasible set
    Project(project::Arguments),
    /// Measure how often a projector is right, and with which confidence
    Certify(certify::Arguments),
    /// Show what a model file holds
    Inspect(inspect::Arguments),
    /// Draw the set, the projector and its latent space
    Plot(plot::Arguments),
    /// Measure how fast a projector runs on this machine
    Bench(bench::Arguments),
}

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    let Arguments { command, common } = Arguments::parse();
    match run(&command, &common) {
        Ok(code) => code,
        Err(error) => failure::report(&error),
    }
}

fn run(command: &Command, common: &Common) -> anyhow::Result<ExitCode> {
    common.apply()?;
    match command {
        Command::Sets(arguments) => sets::run(arguments, common)?,
        Command::Train(arguments) => return train::run(arguments, common),
        Command::Project(arguments) => project::run(arguments, common)?,
        Command::Certify(arguments) => certify::run(arguments, common)?,
        Command::Inspect(arguments) => inspect::run(arguments, common)?,
        Command::Plot(arguments) => plot::run(arguments, common)?,
        Command::Bench(arguments) => bench::run(arguments, common)?,
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
