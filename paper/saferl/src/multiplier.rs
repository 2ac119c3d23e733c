//! The Lagrange multiplier that prices costs.
//!
//! Ray, Achiam, Amodei, "Benchmarking Safe Exploration in Deep Reinforcement Learning", 2019,
//! section 5; constants and Adam as in SafePO's `lagrange.py`.

use fabproj_nn::state::State;
use fabproj_nn::{Adam, AdamConfig};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{Result, check_setting};
use crate::rollout::Rollout;

/// Settings of [`Multiplier`]. Defaults are SafePO's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MultiplierSettings {
    /// The cost of an episode that is allowed. Default 25.
    pub cost_limit: f64,
    /// λ at the start. Default 0.001.
    pub initial: f32,
    /// Learning rate of λ. Default 0.035.
    pub rate: f32,
}

impl Default for MultiplierSettings {
    fn default() -> Self {
        Self {
            cost_limit: 25.0,
            initial: 0.001,
            rate: 0.035,
        }
    }
}

impl MultiplierSettings {
    pub(crate) fn validate(&self) -> Result<()> {
        let limit = self.cost_limit;
        check_setting(limit.is_finite(), "cost_limit", "finite", limit)?;
        check_setting(self.initial >= 0.0, "initial", "at least 0", self.initial)?;
        check_setting(self.rate > 0.0, "rate", "greater than 0", self.rate)
    }
}

/// λ ≥ 0, moved by Adam along the loss -λ (J_c - limit): it rises while episodes cost more than the
/// limit.
///
/// Adam makes the step about `rate`, however large the violation is. SafePO's first step always
/// reads a cost of 0, which sets λ to 0 once; this is not repeated here.
#[derive(Clone, Debug)]
pub struct Multiplier {
    settings: MultiplierSettings,
    value: f32,
    adam: Adam,
}

impl Multiplier {
    /// λ at its start.
    pub fn new(settings: MultiplierSettings) -> Self {
        Self {
            value: settings.initial,
            settings,
            adam: Adam::new(AdamConfig::default(), 1),
        }
    }

    /// λ.
    pub fn value(&self) -> f64 {
        self.value.into()
    }

    /// One step for the mean cost J_c of the latest episodes. Without any episode, λ stays.
    pub fn update(&mut self, episode_cost: Option<f64>) {
        let Some(cost) = episode_cost else {
            return;
        };
        let gradient = [(self.settings.cost_limit - cost) as f32];
        let mut value = [self.value];
        self.adam.update(&mut value, &gradient, self.settings.rate);
        self.value = value[0].max(0.0);
    }

    /// The advantage of reward and cost together: (A_r - λ A_c) / (1 + λ).
    pub fn mix(&self, rollout: &Rollout) -> Vec<f64> {
        let lambda = self.value();
        let advantages = rollout.reward_advantages.iter();
        let pairs = advantages.zip(&rollout.cost_advantages);
        pairs
            .map(|(reward, cost)| (reward - lambda * cost) / (1.0 + lambda))
            .collect()
    }

    pub(crate) fn save(&self, state: &mut State) {
        let numbers = [self.value, self.adam.first[0], self.adam.second[0]];
        state.put("multiplier", &numbers);
    }

    pub(crate) fn record(&self) -> Value {
        json!({ "steps": self.adam.step })
    }

    pub(crate) fn load(&mut self, state: &State, record: &Value) -> bool {
        let mut numbers = [0.0; 3];
        let Some(steps) = record["steps"].as_u64() else {
            return false;
        };
        if !state.get("multiplier", &mut numbers) {
            return false;
        }
        self.value = numbers[0];
        (self.adam.first[0], self.adam.second[0]) = (numbers[1], numbers[2]);
        self.adam.step = steps;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rises_above_the_limit_falls_below_it_and_stays_positive() {
        let mut multiplier = Multiplier::new(MultiplierSettings::default());
        multiplier.update(Some(26.0));
        // Adam's first step is the learning rate, whatever the violation.
        assert!((multiplier.value() - 0.036).abs() < 1e-6);
        multiplier.update(Some(500.0));
        assert!(multiplier.value() > 0.036);
        for _ in 0..50 {
            multiplier.update(Some(0.0));
        }
        assert_eq!(multiplier.value(), 0.0);
        let before = multiplier.value();
        multiplier.update(None);
        assert_eq!(multiplier.value(), before);
    }

    #[test]
    fn advantages_are_weighed_by_the_multiplier() {
        let rollout = Rollout {
            reward_advantages: vec![1.0, -1.0],
            cost_advantages: vec![2.0, 0.0],
            ..Rollout::default()
        };
        let settings = MultiplierSettings {
            initial: 3.0,
            ..MultiplierSettings::default()
        };
        let mixed = Multiplier::new(settings).mix(&rollout);
        assert_eq!(mixed, [(1.0 - 6.0) / 4.0, -0.25]);
    }

    #[test]
    fn a_saved_multiplier_continues_with_the_same_bits() {
        let mut multiplier = Multiplier::new(MultiplierSettings::default());
        (0..5).for_each(|cost| multiplier.update(Some(20.0 + 3.0 * f64::from(cost))));
        let mut state = State::default();
        multiplier.save(&mut state);
        let record = multiplier.record();
        let mut other = Multiplier::new(MultiplierSettings::default());
        assert!(other.load(&state, &record));
        multiplier.update(Some(40.0));
        other.update(Some(40.0));
        assert_eq!(multiplier.value(), other.value());
        assert!(!other.load(&State::default(), &record));
    }
}
