//! The presets of `fabproj train`.

use anyhow::Result;
use fabproj::data::labelled::LabelledData;
use fabproj::set::Set;
use fabproj::train::{Session, ShapeConfig, TrainError, shape};
use serde_json::Value;

use super::{Outcome, Recipe, Settings};
use crate::failure::wrong_usage;

/// Where settings start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// The best recipe that we know
    Default,
    /// The same with small networks, for tight loops
    Small,
}

impl Preset {
    /// The preset's recipe with the settings that were asked for.
    pub fn recipe(self, settings: &Settings, max_queries: Option<u64>) -> Result<Box<dyn Recipe>> {
        let (name, base) = match (self, settings.quick) {
            (Self::Default, false) => ("default", ShapeConfig::default()),
            (Self::Default, true) => ("default, quick", ShapeConfig::quick()),
            (Self::Small, false) => ("small", ShapeConfig::small()),
            (Self::Small, true) => ("small, quick", ShapeConfig::quick_small()),
        };
        let mut config = settings.adjusted(&base)?;
        config.max_queries = max_queries.or(config.max_queries);
        config.validate().map_err(wrong_usage)?;
        Ok(Box::new(Ours { name, config }))
    }
}

/// The recipe of the presets.
struct Ours {
    name: &'static str,
    config: ShapeConfig,
}

impl Recipe for Ours {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn config(&self) -> Result<Value> {
        Ok(serde_json::to_value(&self.config)?)
    }

    fn advice(&self) -> &'static str {
        match self.name {
            "default" => {
                "try another --seed, a longer training (--set phase-two=9000) or wider networks \
                 (--set width=128)"
            }
            "small" => "try the preset default, or another --seed",
            _ => "train without --quick",
        }
    }

    fn train(
        &self,
        set: &dyn Set,
        _: Option<&LabelledData>,
        seed: u64,
        session: &Session,
    ) -> Result<Outcome> {
        match shape(set, &self.config, seed, session) {
            Ok((model, summary)) => {
                let mut training = serde_json::to_value(summary)?;
                // Only this process's queries are counted: after a stop the model file would
                // differ from that of a training in one go.
                if let Value::Object(fields) = &mut training {
                    fields.remove("queries");
                }
                Ok(Outcome::Trained {
                    model: Box::new(model),
                    training,
                })
            }
            Err(TrainError::Stopped) => Ok(Outcome::Stopped),
            Err(error) => Err(error.into()),
        }
    }
}
