//! Everything that learns: the policy, the two critics, the normalisation of observations.

use fabproj_nn::state::State;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::critic::Critic;
use crate::error::Result;
use crate::gaussian::GaussianPolicy;
use crate::normaliser::Normaliser;

/// A policy with what its training needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// The policy.
    pub actor: GaussianPolicy,
    /// The value of rewards.
    pub reward_critic: Critic,
    /// The value of costs.
    pub cost_critic: Critic,
    /// Statistics of the observations.
    pub normaliser: Normaliser,
}

/// The part of an agent's checkpoint that is not a tensor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AgentRecord {
    normaliser: Normaliser,
    reward_steps: u64,
    cost_steps: u64,
}

impl Agent {
    /// An untrained agent.
    ///
    /// # Errors
    /// If a width is 0.
    pub fn new(
        observation_dim: usize,
        action_dim: usize,
        hidden: &[usize],
        seed: u64,
    ) -> Result<Self> {
        let mut random = random_stream(seed, Purpose::Weights, 0);
        Ok(Self {
            actor: GaussianPolicy::new(observation_dim, action_dim, hidden, &mut random)?,
            reward_critic: Critic::new(observation_dim, hidden, &mut random)?,
            cost_critic: Critic::new(observation_dim, hidden, &mut random)?,
            normaliser: Normaliser::new(observation_dim),
        })
    }

    /// What is not finite, if anything.
    pub fn fault(&self) -> Option<&'static str> {
        let critic = |critic: &Critic| critic.network.parameters().iter().all(|p| p.is_finite());
        let parts = [
            (self.normaliser.is_finite(), "the mean of the observations"),
            (self.actor.is_finite(), "a weight of the policy"),
            (critic(&self.reward_critic), "a weight of the reward critic"),
            (critic(&self.cost_critic), "a weight of the cost critic"),
        ];
        parts.iter().find(|(finite, _)| !finite).map(|part| part.1)
    }

    /// Adds all tensors to a checkpoint; the record is for its JSON value.
    pub(crate) fn save(&self, state: &mut State) {
        state.put("actor", &self.actor.parameters());
        let critics = [("reward", &self.reward_critic), ("cost", &self.cost_critic)];
        for (name, critic) in critics {
            state.put_network(name, &critic.network, &critic.adam, None);
        }
    }

    pub(crate) fn record(&self) -> AgentRecord {
        AgentRecord {
            normaliser: self.normaliser.clone(),
            reward_steps: self.reward_critic.adam.step,
            cost_steps: self.cost_critic.adam.step,
        }
    }

    /// Restores what [`save`](Self::save) and [`record`](Self::record) kept; false if it does not fit.
    pub(crate) fn load(&mut self, state: &State, record: AgentRecord) -> bool {
        let mut actor = self.actor.parameters();
        let (reward, cost) = (&mut self.reward_critic, &mut self.cost_critic);
        let fits = record.normaliser.dim() == self.normaliser.dim()
            && state.get("actor", &mut actor)
            && state.get_network("reward", &mut reward.network, &mut reward.adam, None)
            && state.get_network("cost", &mut cost.network, &mut cost.adam, None);
        if fits {
            self.actor.set_parameters(&actor);
            self.normaliser = record.normaliser;
            reward.adam.step = record.reward_steps;
            cost.adam.step = record.cost_steps;
        }
        fits
    }
}

/// What random numbers are for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// The first weights.
    Weights,
    /// Exploration.
    Actions,
    /// The order of samples.
    Shuffle,
    /// Collecting labelled states.
    Collect,
    /// Training a guard.
    Guard,
}

/// The random numbers of one purpose in one epoch.
///
/// Every epoch has streams of its own, so a checkpoint between two epochs needs no generator.
pub(crate) fn random_stream(seed: u64, purpose: Purpose, epoch: usize) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(((purpose as u64) << 32) | epoch as u64);
    random
}
