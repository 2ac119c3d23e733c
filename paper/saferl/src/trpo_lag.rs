//! TRPO with a Lagrange multiplier (TRPO-Lag).
//!
//! Measured in 3 million steps (docs/safe-rl.md): reward 2.0 ± 4.8 at cost 18 ± 10 on Goal2, 0.15 ± 0.45 at
//! 45 ± 67 on Push2.
//!
//! [`Trpo`] on the advantage (A_r - λ A_c) / (1 + λ). Each epoch moves λ first, then the policy, as in
//! SafePO's `trpo_lag.py`.

use fabproj_nn::state::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::Agent;
use crate::algorithm::{Epoch, Figures, Learner};
use crate::error::Result;
use crate::multiplier::{Multiplier, MultiplierSettings};
use crate::rollout::Rollout;
use crate::trpo::{Trpo, TrpoSettings};

/// Settings of [`TrpoLag`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrpoLagSettings {
    /// Settings of the policy's update.
    pub trpo: TrpoSettings,
    /// Settings of the multiplier.
    pub multiplier: MultiplierSettings,
}

impl TrpoLagSettings {
    pub(crate) fn validate(&self) -> Result<()> {
        self.trpo.validate()?;
        self.multiplier.validate()
    }
}

/// TRPO-Lag.
#[derive(Clone, Debug)]
pub struct TrpoLag {
    trpo: Trpo,
    multiplier: Multiplier,
}

impl TrpoLag {
    /// A fresh multiplier.
    pub fn new(settings: TrpoLagSettings) -> Self {
        Self {
            trpo: Trpo::new(settings.trpo),
            multiplier: Multiplier::new(settings.multiplier),
        }
    }
}

impl Learner for TrpoLag {
    fn update(&mut self, agent: &mut Agent, rollout: &Rollout, epoch: Epoch) -> Result<Figures> {
        self.multiplier.update(rollout.episode_cost);
        let advantages = self.multiplier.mix(rollout);
        let mut figures = self.trpo.improve(agent, rollout, &advantages, epoch)?;
        figures.push(("multiplier", self.multiplier.value()));
        Ok(figures)
    }

    fn save(&self, state: &mut State) {
        self.multiplier.save(state);
    }

    fn record(&self) -> Value {
        self.multiplier.record()
    }

    fn load(&mut self, state: &State, record: &Value) -> bool {
        self.multiplier.load(state, record)
    }
}
