//! PPO with a Lagrange multiplier (PPO-Lag).
//!
//! Measured in 3 million steps (docs/safe-rl.md): reward 4.4 ± 6.8 at cost 40 ± 66 on Goal2, 0.58 ± 0.54 at
//! 49 ± 53 on Push2.
//!
//! [`Ppo`] on the advantage (A_r - λ A_c) / (1 + λ). Each epoch moves λ first, then the policy, as in
//! SafePO's `ppo_lag.py`.

use fabproj_nn::state::State;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::algorithm::{Epoch, Figures, Learner};
use crate::error::Result;
use crate::multiplier::{Multiplier, MultiplierSettings};
use crate::ppo::{Ppo, PpoSettings};
use crate::rollout::Rollout;

/// Settings of [`PpoLag`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PpoLagSettings {
    /// Settings of the policy's update.
    pub ppo: PpoSettings,
    /// Settings of the multiplier.
    pub multiplier: MultiplierSettings,
}

impl PpoLagSettings {
    pub(crate) fn validate(&self) -> Result<()> {
        self.ppo.validate()?;
        self.multiplier.validate()
    }
}

/// PPO-Lag.
#[derive(Clone, Debug)]
pub struct PpoLag {
    ppo: Ppo,
    multiplier: Multiplier,
}

impl PpoLag {
    /// A fresh optimiser and multiplier.
    pub fn new(settings: PpoLagSettings, agent: &Agent) -> Self {
        Self {
            ppo: Ppo::new(settings.ppo, agent),
            multiplier: Multiplier::new(settings.multiplier),
        }
    }
}

impl Learner for PpoLag {
    fn update(&mut self, agent: &mut Agent, rollout: &Rollout, epoch: Epoch) -> Result<Figures> {
        self.multiplier.update(rollout.episode_cost);
        let advantages = self.multiplier.mix(rollout);
        let mut figures = self.ppo.improve(agent, rollout, &advantages, epoch, None)?;
        figures.push(("multiplier", self.multiplier.value()));
        Ok(figures)
    }

    fn save(&self, state: &mut State) {
        self.ppo.save(state);
        self.multiplier.save(state);
    }

    fn record(&self) -> Value {
        json!({ "ppo": self.ppo.record(), "multiplier": self.multiplier.record() })
    }

    fn load(&mut self, state: &State, record: &Value) -> bool {
        self.ppo.load(state, &record["ppo"]) && self.multiplier.load(state, &record["multiplier"])
    }
}
