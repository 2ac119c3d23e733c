//! State-action pairs as the paper collects them.
//!
//! A random policy acts. A pair is feasible if the step that it leads to does not cost. The first
//! pairs of each class are kept until both halves are full, as in the released collector. So feasible
//! pairs come from few layouts, and labels hardly depend on the action.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::agent::{Purpose, random_stream};
use crate::env::Environment;
use crate::error::{Result, check_setting};

/// Settings of a collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PairSettings {
    /// Pairs to keep, half of them of each class. Default 100,000, as in the paper.
    pub pairs: usize,
    /// The collection ends after this many steps per pair, whatever it has. Default 80.
    pub steps_per_pair: usize,
}

impl Default for PairSettings {
    fn default() -> Self {
        Self {
            pairs: 100_000,
            steps_per_pair: 80,
        }
    }
}

/// Observations with actions, labelled by the cost of the next step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Entries of an observation.
    pub observation_dim: usize,
    /// Components of an action.
    pub action_dim: usize,
    /// Raw observations, one after the other.
    pub observations: Vec<f32>,
    /// Actions, one after the other.
    pub actions: Vec<f32>,
    /// Whether the step did not cost.
    pub feasible: Vec<bool>,
}

impl Pairs {
    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.feasible.len()
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.feasible.is_empty()
    }
}

/// Collects pairs with uniform random actions.
///
/// # Errors
/// If the task fails, or a setting is wrong.
pub fn collect_pairs(
    task: &mut dyn Environment,
    settings: &PairSettings,
    seed: u64,
) -> Result<Pairs> {
    let enough = settings.pairs >= 2;
    check_setting(enough, "pairs", "at least 2", settings.pairs)?;
    let bounds = task.action_bounds().to_vec();
    let mut pairs = Pairs {
        observation_dim: task.observation_dim(),
        action_dim: bounds.len(),
        ..Pairs::default()
    };
    let mut random = random_stream(seed, Purpose::Collect, 0);
    let mut observation = vec![0.0; task.observation_dim()];
    let mut next = observation.clone();
    task.reset(random.random(), &mut observation)?;
    let (quota, mut counts) = (settings.pairs / 2, [0; 2]);
    for _ in 0..settings.pairs.saturating_mul(settings.steps_per_pair) {
        if counts == [quota; 2] {
            break;
        }
        let action: Vec<f64> = bounds
            .iter()
            .map(|(low, high)| random.random_range(*low..=*high))
            .collect();
        let step = task.step(&action, &mut next)?;
        let feasible = step.cost == 0.0;
        let count = &mut counts[usize::from(feasible)];
        if *count < quota {
            *count += 1;
            pairs
                .observations
                .extend(observation.iter().map(|v| *v as f32));
            pairs.actions.extend(action.iter().map(|v| *v as f32));
            pairs.feasible.push(feasible);
        }
        std::mem::swap(&mut observation, &mut next);
        if step.ended() {
            task.reset(random.random(), &mut observation)?;
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::open;

    #[test]
    fn pairs_are_balanced_and_reproducible() {
        let settings = PairSettings {
            pairs: 400,
            ..PairSettings::default()
        };
        let collect = |seed| {
            let mut task = open("double-integrator").unwrap();
            collect_pairs(&mut task, &settings, seed).unwrap()
        };
        let pairs = collect(1);
        assert_eq!(pairs.len(), 400);
        let feasible = pairs.feasible.iter().filter(|label| **label).count();
        assert_eq!(feasible, 200);
        assert_eq!(pairs.observations.len(), 400 * 14);
        assert_eq!(pairs, collect(1));
        assert_ne!(pairs, collect(2));
    }
}
