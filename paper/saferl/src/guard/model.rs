//! The networks of a guard, their training and their file.

use std::path::Path;

use fabproj_nn::Mlp;
use fabproj_nn::state::State;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::autoencoder::{Autoencoder, AutoencoderSettings, train_autoencoder};
use super::data::LabelledStates;
use super::discriminator::{DiscriminatorSettings, OUTPUTS, Quality, examine, train_discriminator};
use super::features::FeatureMap;
use super::set_net::SetNet;
use crate::agent::{Purpose, random_stream};
use crate::disk::{read_safetensors, write_atomically};
use crate::error::{Result, RlError, check_setting};
use crate::look_ahead::Action;
use crate::task::canonical;

/// The version of the file's layout.
const FORMAT: u32 = 1;

/// Settings of a guard's training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GuardSettings {
    /// The discriminator.
    pub discriminator: DiscriminatorSettings,
    /// The autoencoder of safe actions.
    pub autoencoder: AutoencoderSettings,
}

/// A discriminator and an autoencoder of safe actions.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// The task that it was trained for.
    task: String,
    pub(crate) map: FeatureMap,
    /// Actions at which the actuators saturate.
    pub(crate) scale: Action,
    pub(crate) discriminator: SetNet,
    pub(crate) autoencoder: Autoencoder,
    settings: GuardSettings,
}

#[derive(Serialize, Deserialize)]
struct Record {
    format: u32,
    task: String,
    map: FeatureMap,
    scale: Action,
    settings: GuardSettings,
}

impl Guard {
    /// Trains a guard on labelled states of a task. With `start`, its discriminator is trained on; the
    /// autoencoder always starts anew.
    ///
    /// # Errors
    /// If a setting or the task is wrong, or there are no states.
    pub fn train(
        task: &str,
        states: &LabelledStates,
        scale: Action,
        settings: &GuardSettings,
        start: Option<&Self>,
        seed: u64,
    ) -> Result<Self> {
        settings.discriminator.validate()?;
        settings.autoencoder.validate()?;
        check_setting(!states.is_empty(), "states", "at least 1", states.len())?;
        let mut random = random_stream(seed, Purpose::Guard, 0);
        let before = start.map(|guard| &guard.discriminator);
        let discriminator =
            train_discriminator(states, &settings.discriminator, before, &mut random)?;
        let autoencoder =
            train_autoencoder(states, &discriminator, &settings.autoencoder, &mut random)?;
        Ok(Self {
            task: canonical(task)?.to_owned(),
            map: FeatureMap::of_task(task)?,
            scale,
            discriminator,
            autoencoder,
            settings: settings.clone(),
        })
    }

    /// Refuses another task than the guard's.
    ///
    /// # Errors
    /// [`RlError::OtherTask`].
    pub fn check_task(&self, task: &str) -> Result<()> {
        if canonical(task)? == self.task {
            return Ok(());
        }
        Err(RlError::OtherTask {
            guard: self.task.clone(),
            task: task.to_owned(),
        })
    }

    /// How well the discriminator does on labelled states.
    pub fn examine(&self, states: &LabelledStates, threshold: f64) -> Quality {
        examine(&self.discriminator, states, threshold as f32)
    }

    /// Names the guard by its contents.
    pub fn digest(&self) -> String {
        // Map, scale and settings are plain numbers: they are always bytes.
        let bytes = self.state().to_bytes().unwrap_or_default();
        blake3::hash(&bytes).to_hex()[..16].to_owned()
    }

    /// Writes the guard to a safetensors file.
    ///
    /// # Errors
    /// [`RlError::Disk`].
    pub fn save(&self, path: &Path) -> Result<()> {
        let bytes = self.state().to_bytes();
        write_atomically(path, &bytes.map_err(RlError::disk("write", path))?)
    }

    /// Reads a guard.
    ///
    /// # Errors
    /// [`RlError::Disk`] or [`RlError::Damaged`].
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = read_safetensors(path)?;
        let damaged = || RlError::damaged(path, "it is not a guard");
        let state = State::from_bytes(&bytes).ok_or_else(damaged)?;
        let record: Record = state.value().ok_or_else(damaged)?;
        if record.format != FORMAT {
            let what = format!(
                "its format is {}, this program reads {FORMAT}",
                record.format
            );
            return Err(RlError::damaged(path, what));
        }
        // The weights are overwritten, so the seed does not matter.
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let widths = record.settings.discriminator.widths;
        let mut guard = Self {
            discriminator: SetNet::new(widths, OUTPUTS, &mut random)?,
            autoencoder: Autoencoder::new(record.settings.autoencoder.widths, &mut random)?,
            task: record.task,
            map: record.map,
            scale: record.scale,
            settings: record.settings,
        };
        let read = |(name, network): (String, &mut Mlp)| state.get(&name, network.parameters_mut());
        match guard.networks_mut().into_iter().all(read) {
            true => Ok(guard),
            false => Err(RlError::damaged(path, "a tensor is missing")),
        }
    }

    fn state(&self) -> State {
        let mut state = State::new(&Record {
            format: FORMAT,
            task: self.task.clone(),
            map: self.map.clone(),
            scale: self.scale,
            settings: self.settings.clone(),
        });
        let mut copy = self.clone();
        for (name, network) in copy.networks_mut() {
            state.put(&name, network.parameters());
        }
        state
    }

    /// All networks with their names.
    fn networks_mut(&mut self) -> Vec<(String, &mut Mlp)> {
        let nets = [
            ("discriminator", &mut self.discriminator),
            ("encoder", &mut self.autoencoder.encoder),
            ("decoder", &mut self.autoencoder.decoder),
        ];
        nets.into_iter()
            .flat_map(|(name, net)| {
                [
                    (format!("{name}.slot"), &mut net.slot),
                    (format!("{name}.head"), &mut net.head),
                ]
            })
            .collect()
    }
}
