//! Settings of a training.

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::algorithm::Learner;
use crate::error::{Result, check_setting};
use crate::filter::ActionFilter;
use crate::ppo::{Ppo, PpoSettings};
use crate::ppo_fab::{PpoFab, PpoFabSettings};
use crate::ppo_lag::{PpoLag, PpoLagSettings};
use crate::rollout::RolloutSettings;
use crate::task::canonical;
use crate::trpo::{Trpo, TrpoSettings};
use crate::trpo_lag::{TrpoLag, TrpoLagSettings};

/// Settings of a training. [`validate`](Self::validate) makes them usable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainSettings {
    /// The task's name. Default `double-integrator`.
    pub task: String,
    /// Steps of all copies of the task together. Default 3,000,000.
    pub steps: usize,
    /// Widths of the hidden layers of policy and critics. Default 64, 64.
    pub hidden: Vec<usize>,
    /// Epochs between two checkpoints. Default 5.
    pub checkpoint_epochs: usize,
    /// Rollouts and advantages.
    pub rollout: RolloutSettings,
    /// The algorithm with its settings. Default PPO.
    pub algorithm: AlgorithmSettings,
}

impl Default for TrainSettings {
    fn default() -> Self {
        Self {
            task: "double-integrator".to_owned(),
            steps: 3_000_000,
            hidden: vec![64, 64],
            checkpoint_epochs: 5,
            rollout: RolloutSettings::default(),
            algorithm: AlgorithmSettings::Ppo(PpoSettings::default()),
        }
    }
}

/// An algorithm with its settings. In a file: its `name`, and its settings beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum AlgorithmSettings {
    /// [`Ppo`].
    Ppo(PpoSettings),
    /// [`PpoLag`].
    PpoLag(PpoLagSettings),
    /// [`Trpo`].
    Trpo(TrpoSettings),
    /// [`TrpoLag`].
    TrpoLag(TrpoLagSettings),
    /// [`PpoFab`]; needs an action filter.
    PpoFab(PpoFabSettings),
}

impl AlgorithmSettings {
    /// Names of all algorithms.
    pub const NAMES: [&'static str; 5] = ["ppo", "ppo-lag", "trpo", "trpo-lag", "ppo-fab"];

    /// An algorithm with its default settings for a task; `None` if there is no such name.
    pub fn named(name: &str, task: &str) -> Option<Self> {
        match name {
            "ppo" => Some(Self::Ppo(PpoSettings::default())),
            "ppo-lag" => Some(Self::PpoLag(PpoLagSettings::default())),
            "trpo" => Some(Self::Trpo(TrpoSettings::default())),
            "trpo-lag" => Some(Self::TrpoLag(TrpoLagSettings::default())),
            "ppo-fab" => Some(Self::PpoFab(PpoFabSettings::of_task(task))),
            _ => None,
        }
    }

    /// The algorithm's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ppo(_) => "ppo",
            Self::PpoLag(_) => "ppo-lag",
            Self::Trpo(_) => "trpo",
            Self::TrpoLag(_) => "trpo-lag",
            Self::PpoFab(_) => "ppo-fab",
        }
    }

    fn validate(&self) -> Result<()> {
        match self {
            Self::Ppo(settings) => settings.validate(),
            Self::PpoLag(settings) => settings.validate(),
            Self::Trpo(settings) => settings.validate(),
            Self::TrpoLag(settings) => settings.validate(),
            Self::PpoFab(settings) => settings.validate(),
        }
    }

    pub(crate) fn learner(
        &self,
        agent: &Agent,
        filter: Option<&dyn ActionFilter>,
    ) -> Result<Box<dyn Learner>> {
        Ok(match self.clone() {
            Self::Ppo(settings) => Box::new(Ppo::new(settings, agent)),
            Self::PpoLag(settings) => Box::new(PpoLag::new(settings, agent)),
            Self::Trpo(settings) => Box::new(Trpo::new(settings)),
            Self::TrpoLag(settings) => Box::new(TrpoLag::new(settings)),
            Self::PpoFab(settings) => Box::new(PpoFab::new(settings, agent, filter)?),
        })
    }
}

/// Settings that were checked.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedSettings {
    settings: TrainSettings,
}

impl TrainSettings {
    /// Checks every setting.
    ///
    /// # Errors
    /// [`RlError::Setting`](crate::RlError::Setting) with the name of the setting, or
    /// [`RlError::UnknownTask`](crate::RlError::UnknownTask).
    pub fn validate(mut self) -> Result<CheckedSettings> {
        self.task = canonical(&self.task)?.to_owned();
        self.rollout.validate()?;
        let (steps, epoch) = (self.steps, self.rollout.steps_per_epoch);
        let found = format!("{steps} where that is {epoch}");
        check_setting(steps >= epoch, "steps", "at least `steps_per_epoch`", found)?;
        let width = |width: &usize| (1..=4096).contains(width);
        let widths = (1..=8).contains(&self.hidden.len()) && self.hidden.iter().all(width);
        let found = format!("{:?}", self.hidden);
        check_setting(widths, "hidden", "one to eight widths up to 4096", found)?;
        let every = self.checkpoint_epochs;
        check_setting(every >= 1, "checkpoint_epochs", "at least 1", every)?;
        self.algorithm.validate()?;
        Ok(CheckedSettings { settings: self })
    }
}

impl CheckedSettings {
    /// The settings.
    pub fn settings(&self) -> &TrainSettings {
        &self.settings
    }

    /// Epochs of the training: whole ones only.
    pub fn epochs(&self) -> usize {
        self.settings.steps / self.settings.rollout.steps_per_epoch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_json_and_unknown_names_are_refused() {
        for name in AlgorithmSettings::NAMES {
            let settings = TrainSettings {
                algorithm: AlgorithmSettings::named(name, "double-integrator").unwrap(),
                ..TrainSettings::default()
            };
            let text = serde_json::to_string(&settings).unwrap();
            let back: TrainSettings = serde_json::from_str(&text).unwrap();
            assert_eq!(back, settings);
            assert_eq!(back.algorithm.name(), name);
        }
        let read = serde_json::from_str::<TrainSettings>;
        assert!(read(r#"{"algorithm": {"name": "ppo", "clipp": 0.1}}"#).is_err());
        assert!(read(r#"{"stepz": 1}"#).is_err());
        let part = read(r#"{"algorithm": {"name": "ppo-lag", "multiplier": {"cost_limit": 5}}}"#);
        assert!(matches!(
            part.unwrap().algorithm,
            AlgorithmSettings::PpoLag(settings) if settings.multiplier.cost_limit == 5.0
        ));
    }

    #[test]
    fn wrong_settings_are_named() {
        let refused = |change: fn(&mut TrainSettings)| {
            let mut settings = TrainSettings::default();
            change(&mut settings);
            settings.validate().unwrap_err().to_string()
        };
        assert!(refused(|s| s.steps = 10).contains("`steps`"));
        assert!(refused(|s| s.hidden = vec![]).contains("`hidden`"));
        assert!(refused(|s| s.rollout.discount = 1.5).contains("`discount`"));
        let clip = |s: &mut TrainSettings| {
            s.algorithm = AlgorithmSettings::Ppo(PpoSettings {
                clip: 0.0,
                ..PpoSettings::default()
            });
        };
        assert!(refused(clip).contains("`clip`"));
        assert!(refused(|s| s.task = "goal9".into()).contains("goal9"));
        let checked = TrainSettings::default().validate().unwrap();
        assert_eq!(checked.epochs(), 150);
    }
}
