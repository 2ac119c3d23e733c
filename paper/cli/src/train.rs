//! `fab-paper train`: the paper's method, from a set to a model file.

use std::process::ExitCode;

use anyhow::Result;
use fab_method::{Paper, PaperSettings};
use fabproj_cli::failure::wrong_usage;
use fabproj_cli::options::Common;
use fabproj_cli::train::{Task, train};

#[derive(clap::Args)]
#[command(
    after_help = "Options and files are those of `fabproj train`; `fabproj` runs, certifies and plots the \
                  model.\n\n\
                  Example:\n  fab-paper train two-moons -o moons.safetensors\n  \
                  fab-paper train star-shaped --preset text --setting weights.hinge=2"
)]
pub struct Arguments {
    /// The settings to start from
    #[arg(long, value_enum, default_value_t = Preset::Released)]
    preset: Preset,

    #[command(flatten)]
    task: Task,
}

/// The settings to start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Preset {
    /// The method as its authors released it
    Released,
    /// The method with the printed hyperparameters
    Text,
}

/// What to try where a model falls short.
const ADVICE: &str = "the paper's recipe does this on many sets; try `fabproj train`";

/// Share of the epochs that a quick training makes.
const QUICK_EFFORT: f64 = 0.02;

pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    let (name, mut base) = match arguments.preset {
        Preset::Released => ("paper", PaperSettings::released()),
        Preset::Text => ("paper-text", PaperSettings::text()),
    };
    let settings = &arguments.task.settings;
    if settings.quick {
        base.effort = QUICK_EFFORT;
    }
    let checked = settings.adjusted(&base)?.validate().map_err(wrong_usage)?;
    let name = match settings.quick {
        true => format!("{name}, quick"),
        false => name.to_owned(),
    };
    let mut recipe = Paper::new(checked, common.seed).with_name(name);
    // Where labelled points are all that is known, the method sees nothing else.
    if let Some(points) = arguments.task.labelled()? {
        recipe = recipe.with_labelled(&points.clean()?.0)?;
    }
    train(&arguments.task, common, &recipe, ADVICE, None)
}
