//! Which training runs, with which settings.

use std::path::Path;

use anyhow::Result;
use fabproj::core::Model;
use fabproj::data::labelled::LabelledData;
use fabproj::set::ConstraintSet;
use fabproj::train::paper::{self, CheckedPaperConfig, PaperConfig, PaperTrainError, PaperTrained};
use fabproj::train::{Session, ShapeConfig, TrainError, shape};
use serde_json::Value;

use super::settings::adjusted;
use crate::failure::wrong_usage;

/// Where settings start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// The best recipe that we know
    Default,
    /// The same with small networks, for tight loops
    Small,
    /// The paper's method as its authors released it
    Paper,
    /// The paper's method with the printed hyperparameters
    PaperText,
}

/// Share of the paper's epochs that a quick training makes.
const QUICK_EFFORT: f64 = 0.02;

enum Config {
    Shape(ShapeConfig),
    Paper(PaperConfig),
}

/// A preset and its settings.
pub struct Recipe {
    preset: Preset,
    quick: bool,
    config: Config,
}

/// How a training ended.
pub enum Outcome {
    Trained {
        model: Box<Model>,
        /// What is known about the training, for the model file.
        training: Value,
    },
    Stopped,
}

impl Recipe {
    pub fn new(
        preset: Preset,
        quick: bool,
        file: Option<&Path>,
        assignments: &[String],
    ) -> Result<Self> {
        let shape = |base: ShapeConfig| adjusted(&base, file, assignments).map(Config::Shape);
        let paper = |mut base: PaperConfig| {
            if quick {
                base.effort = QUICK_EFFORT;
            }
            adjusted(&base, file, assignments).map(Config::Paper)
        };
        let config = match preset {
            Preset::Default if quick => shape(ShapeConfig::quick())?,
            Preset::Default => shape(ShapeConfig::default())?,
            Preset::Small if quick => shape(ShapeConfig::quick())?,
            Preset::Small => shape(ShapeConfig::small())?,
            Preset::Paper => paper(PaperConfig::released())?,
            Preset::PaperText => paper(PaperConfig::text())?,
        };
        match &config {
            Config::Shape(config) => config.validate().map_err(wrong_usage)?,
            Config::Paper(config) => drop(config.clone().validate().map_err(wrong_usage)?),
        }
        Ok(Self {
            preset,
            quick,
            config,
        })
    }

    /// The preset's name, as the model file keeps it.
    pub fn name(&self) -> String {
        let name = match self.preset {
            Preset::Default => "default",
            Preset::Small => "small",
            Preset::Paper => "paper",
            Preset::PaperText => "paper-text",
        };
        if self.quick {
            format!("{name}, quick")
        } else {
            name.to_owned()
        }
    }

    /// All settings.
    pub fn config(&self) -> Result<Value> {
        Ok(match &self.config {
            Config::Shape(config) => serde_json::to_value(config)?,
            Config::Paper(config) => serde_json::to_value(config)?,
        })
    }

    /// Trains for a set; where all that is known are labelled points, the paper's recipe sees nothing
    /// else, and the default one the set that was learned from them.
    pub fn train(
        &self,
        set: &dyn ConstraintSet,
        labelled: Option<&LabelledData>,
        seed: u64,
        session: &Session,
    ) -> Result<Outcome> {
        match &self.config {
            Config::Shape(config) => match shape(set, config, seed, session) {
                Ok((model, summary)) => {
                    let mut training = serde_json::to_value(summary)?;
                    // Only this process's queries are counted: after a stop the model file would
                    // differ from that of a training in one go.
                    if let Value::Object(fields) = &mut training {
                        fields.remove("queries");
                    }
                    trained(model, training)
                }
                Err(TrainError::Stopped) => Ok(Outcome::Stopped),
                Err(error) => Err(error.into()),
            },
            Config::Paper(config) => {
                let checked = config.clone().validate()?;
                let done = match labelled {
                    None => paper::train(set, &checked, seed, session),
                    Some(points) => train_labelled(&points.clean()?.0, &checked, seed, session),
                };
                match done {
                    Ok(done) => trained(done.model, serde_json::to_value(done.summary)?),
                    Err(PaperTrainError::Stopped { .. }) => Ok(Outcome::Stopped),
                    Err(error) => Err(error.into()),
                }
            }
        }
    }
}

fn train_labelled(
    labelled: &LabelledData,
    config: &CheckedPaperConfig,
    seed: u64,
    session: &Session,
) -> Result<PaperTrained, PaperTrainError> {
    let narrow = |values: &[f64]| values.iter().map(|value| *value as f32).collect::<Vec<_>>();
    let (points, parameters) = (narrow(labelled.points()), narrow(labelled.parameters()));
    let points = paper::LabelledPoints {
        dim: labelled.dim(),
        parameter_dim: labelled.parameter_dim(),
        points: &points,
        parameters: &parameters,
        labels: labelled.labels(),
    };
    paper::train_labelled(points, config, seed, session)
}

fn trained(model: Model, training: Value) -> Result<Outcome> {
    Ok(Outcome::Trained {
        model: Box::new(model),
        training,
    })
}
