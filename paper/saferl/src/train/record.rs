//! What is logged about an epoch.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::algorithm::Figures;
use crate::rollout::Rollout;

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// The epoch, from 0.
    pub epoch: usize,
    /// Steps of the training after this epoch.
    pub steps: usize,
    /// Episodes that ended in this epoch.
    pub episodes: usize,
    /// Mean reward of the last 50 episodes. `None` before the first one ended.
    pub reward: Option<f64>,
    /// Mean cost of the last 50 episodes.
    pub cost: Option<f64>,
    /// Mean number of goals of this epoch's episodes.
    pub goals: Option<f64>,
    /// Share of the steps in which the filter intervened.
    pub intervened: f64,
    /// Mean σ of the policy.
    pub std: f64,
    /// Figures of the update by name.
    pub figures: BTreeMap<String, f64>,
    /// Seconds of the rollout.
    pub rollout_seconds: f64,
    /// Seconds of the update.
    pub update_seconds: f64,
}

impl EpochRecord {
    pub(super) fn new(
        (epoch, steps): (usize, usize),
        rollout: &Rollout,
        recent: &VecDeque<(f64, f64)>,
        std: &[f32],
        figures: Figures,
        seconds: (f64, f64),
    ) -> Self {
        let goals = rollout.episodes.iter().map(|episode| episode.goals as f64);
        Self {
            epoch,
            steps,
            episodes: rollout.episodes.len(),
            reward: mean(recent.iter().map(|totals| totals.0)),
            cost: mean(recent.iter().map(|totals| totals.1)),
            goals: mean(goals),
            intervened: rollout.intervened,
            std: mean(std.iter().map(|value| f64::from(*value))).unwrap_or(0.0),
            figures: figures
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            rollout_seconds: seconds.0,
            update_seconds: seconds.1,
        }
    }

    /// The record without its times, which differ from run to run.
    pub fn without_times(&self) -> Self {
        Self {
            rollout_seconds: 0.0,
            update_seconds: 0.0,
            ..self.clone()
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}
