//! The `fabproj` command as a library: one file per sub-command, and no mathematics.
//!
//! [`main`] is the whole command. The other items serve the command `fab-paper` and carry no promise of
//! stability.

/// Prints a line to the standard error, as that of the standard library. That one panics where the line cannot be
/// written, and a message that nobody reads must not end the work. Names of files and users reach no terminal as
/// they are.
macro_rules! eprintln {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "{}", $crate::show::plain(&format!($($words)*)));
    }};
}

pub mod bar;
mod bench;
mod certify;
mod export;
pub mod failure;
mod find;
mod import;
mod inspect;
pub mod interrupt;
mod new;
pub mod options;
pub mod output;
mod plot;
mod points;
mod project;
mod rows;
mod sets;
mod shell;
pub mod show;
mod sink;
mod solve;
pub mod train;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{CommandFactory, Parser, Subcommand};

use crate::options::Common;

/// Learns a fast map onto a feasible set, and runs it.
#[derive(Parser)]
#[command(
    name = "fabproj",
    version,
    arg_required_else_help = true,
    after_help = "Example:\n  fabproj train two-moons -o moons.safetensors --plot moons.svg\n  \
                  fabproj project moons.safetensors points.csv -o feasible.csv\n\n\
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
    /// Write a commented set or problem file to start from
    New(new::Arguments),
    /// List the built-in sets
    Sets(sets::Arguments),
    /// Train a projector for a set, or a solver for a problem
    Train(train::Arguments),
    /// Project points onto the feasible set
    Project(project::Arguments),
    /// Answer a problem, a set with an objective, for rows of x
    Solve(solve::Arguments),
    /// Measure how often a model is right, and with which confidence
    Certify(certify::Arguments),
    /// Show what a model file holds
    Inspect(inspect::Arguments),
    /// Draw the set, the projector and its latent space
    Plot(plot::Arguments),
    /// Measure how fast a model runs on this machine
    Bench(bench::Arguments),
    /// Write a model as ONNX or as C
    Export(export::Arguments),
    /// Make a model from a checkpoint of FAB's PyTorch code
    Import(import::Arguments),
    /// Print completions for a shell
    Completions(shell::Completions),
    /// Write the manual pages
    Man(shell::Manual),
}

/// The words of the command, for messages that repeat it.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    main_with(std::env::args_os().collect())
}

/// Runs the command with these words, the first of which is the program's name.
pub fn main_with(words: Vec<OsString>) -> ExitCode {
    let Arguments { command, common } = match Arguments::try_parse_from(&words) {
        Ok(arguments) => arguments,
        Err(error) => return failure::misread(&error, &words),
    };
    WORDS.get_or_init(|| words);
    match run(&command, &common) {
        Ok(code) => code,
        Err(error) => failure::report(&error),
    }
}

/// What the Python package shows as the command does.
#[doc(hidden)]
pub mod shared {
    pub use crate::certify::text as certificate_text;
    pub use crate::failure::message;
    pub use crate::find::{Loaded, has_objective, load, problem, set};
    pub use crate::inspect::{json as model_json, text as model_text};
    pub use crate::solve::record::{
        certificate_text as gap_text, json as solver_json, text as solver_text,
        warnings as solver_warnings,
    };
}

fn run(command: &Command, common: &Common) -> anyhow::Result<ExitCode> {
    interrupt::listen()?;
    common.apply()?;
    match command {
        Command::New(arguments) => new::run(arguments, common)?,
        Command::Sets(arguments) => sets::run(arguments, common)?,
        Command::Train(arguments) => return train::run(arguments, common),
        Command::Project(arguments) => return project::run(arguments, common),
        Command::Solve(arguments) => return solve::run(arguments, common),
        Command::Certify(arguments) => certify::run(arguments, common)?,
        Command::Inspect(arguments) => inspect::run(arguments, common)?,
        Command::Plot(arguments) => plot::run(arguments, common)?,
        Command::Bench(arguments) => bench::run(arguments, common)?,
        Command::Export(arguments) => export::run(arguments, common)?,
        Command::Import(arguments) => import::run(arguments, common)?,
        Command::Completions(arguments) => {
            shell::completions(arguments, &mut Arguments::command())?;
        }
        Command::Man(arguments) => shell::man(arguments, Arguments::command(), common)?,
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
