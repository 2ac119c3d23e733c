//! The `fab-paper` command: the paper's method and its experiments.

mod rl;
mod study;
mod train;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fabproj_cli::options::Common;
use fabproj_cli::{failure, interrupt};

/// FAB as published: its training and its experiments.
#[derive(Parser)]
#[command(
    name = "fab-paper",
    version,
    arg_required_else_help = true,
    after_help = "Example:\n  fab-paper train two-moons -o moons.safetensors\n  \
                  fab-paper study run --quick\n  fab-paper study report -o report\n  \
                  fab-paper rl train --algorithm ppo-lag\n\n\
                  Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C, 143 by termination."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    common: Common,
}

#[derive(Subcommand)]
enum Command {
    /// Train a projector by the paper's method
    Train(train::Arguments),
    /// Reproduce the paper's optimization study
    Study(study::Arguments),
    /// Safe reinforcement learning: train, evaluate and compare policies
    Rl(rl::Arguments),
}

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    let Arguments { command, common } = match Arguments::try_parse_from(&words) {
        Ok(arguments) => arguments,
        Err(error) => return failure::misread(&error, &words),
    };
    match run(&command, &common) {
        Ok(code) => code,
        Err(error) => failure::report(&error),
    }
}

fn run(command: &Command, common: &Common) -> anyhow::Result<ExitCode> {
    interrupt::listen()?;
    common.apply()?;
    match command {
        Command::Train(arguments) => train::run(arguments, common),
        Command::Study(arguments) => study::run(arguments, common),
        Command::Rl(arguments) => rl::run(arguments, common),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
