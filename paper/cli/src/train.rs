//! `fab-paper train`: the paper's method, from a set to a model file.

use std::process::ExitCode;

use anyhow::Result;
use fab_method::{
    CheckedPaperSettings, LabelledPoints, PaperSettings, PaperTrainError, PaperTrained,
};
use fabproj::Session;
use fabproj::data::labelled::LabelledData;
use fabproj::set::Set;
use fabproj_cli::failure::wrong_usage;
use fabproj_cli::options::Common;
use fabproj_cli::train::{Outcome, Recipe, Task, train};
use serde_json::Value;

#[derive(clap::Args)]
#[command(
    after_help = "Options and files are those of `fabproj train`; `fabproj` runs, certifies and plots the \
                  model.\n\n\
                  Example:\n  fab-paper train two-moons -o moons.safetensors\n  \
                  fab-paper train star-shaped --preset text --set weights.hinge=2"
)]
pub struct Arguments {
    #[command(flatten)]
    task: Task,

    /// Where the settings start from
    #[arg(long, value_enum, default_value_t = Preset::Released)]
    preset: Preset,
}

/// Where settings start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Preset {
    /// The method as its authors released it
    Released,
    /// The method with the printed hyperparameters
    Text,
}

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
    let config = settings.adjusted(&base)?;
    let checked = config.clone().validate().map_err(wrong_usage)?;
    let name = if settings.quick {
        format!("{name}, quick")
    } else {
        name.to_owned()
    };
    let recipe = Paper {
        name,
        config,
        checked,
    };
    train(&arguments.task, common, Box::new(recipe), None)
}

/// The paper's recipe with its settings.
struct Paper {
    name: String,
    config: PaperSettings,
    checked: CheckedPaperSettings,
}

impl Recipe for Paper {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn config(&self) -> Result<Value> {
        Ok(serde_json::to_value(&self.config)?)
    }

    fn advice(&self) -> &'static str {
        "the paper's recipe does this on many sets; try `fabproj train`"
    }

    /// Where labelled points are all that is known, the method sees nothing else.
    fn train(
        &self,
        set: &dyn Set,
        labelled: Option<&LabelledData>,
        seed: u64,
        session: &Session,
    ) -> Result<Outcome> {
        let done = match labelled {
            None => fab_method::train(set, &self.checked, seed, session),
            Some(points) => train_labelled(&points.clean()?.0, &self.checked, seed, session),
        };
        match done {
            Ok(done) => Ok(Outcome::Trained {
                model: Box::new(done.model),
                training: serde_json::to_value(done.summary)?,
            }),
            Err(PaperTrainError::Stopped { .. }) => Ok(Outcome::Stopped),
            Err(error) => Err(error.into()),
        }
    }
}

fn train_labelled(
    labelled: &LabelledData,
    config: &CheckedPaperSettings,
    seed: u64,
    session: &Session,
) -> Result<PaperTrained, PaperTrainError> {
    let narrow = |values: &[f64]| values.iter().map(|value| *value as f32).collect::<Vec<_>>();
    let (points, parameters) = (narrow(labelled.points()), narrow(labelled.parameters()));
    let points = LabelledPoints {
        dim: labelled.dim(),
        x_dim: labelled.x_dim(),
        points: &points,
        parameters: &parameters,
        labels: labelled.labels(),
    };
    fab_method::train_labelled(points, config, seed, session)
}
