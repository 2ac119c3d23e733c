//! What all algorithms have in common.

use fabproj_nn::state::State;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::agent::{Agent, Purpose, random_stream};
use crate::error::Result;
use crate::rollout::{Price, Rollout};

/// Figures of one update by name, for the log.
pub type Figures = Vec<(&'static str, f64)>;

/// An algorithm that improves an agent, epoch by epoch.
pub trait Learner: Send {
    /// Improves the agent with the samples of one epoch.
    ///
    /// # Errors
    /// If a loss is not finite.
    fn update(&mut self, agent: &mut Agent, rollout: &Rollout, epoch: Epoch) -> Result<Figures>;

    /// What learning charges in this epoch beside the task's reward. Default nothing.
    fn price(&self, _epoch: Epoch) -> Price {
        Price::default()
    }

    /// Whether copy `copy` of `copies` executes the filter's actions in this epoch, or only reports
    /// its interventions. Default yes.
    fn executes_filter(&self, _epoch: Epoch, _copy: usize, _copies: usize) -> bool {
        true
    }

    /// Adds the tensors of the learner's state to a checkpoint.
    fn save(&self, state: &mut State);

    /// The rest of the learner's state.
    fn record(&self) -> Value;

    /// Restores what [`save`](Self::save) and [`record`](Self::record) kept; false if it does not fit.
    fn load(&mut self, state: &State, record: &Value) -> bool;
}

/// Where a training is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// The epoch, from 0.
    pub index: usize,
    /// Epochs of the training.
    pub count: usize,
    /// Seed of the training.
    pub seed: u64,
}

impl Epoch {
    /// Share of the training that is done before this epoch.
    pub fn progress(self) -> f64 {
        self.index as f64 / self.count.max(1) as f64
    }

    /// The random numbers for the order of samples in this epoch.
    pub(crate) fn shuffle(self) -> ChaCha8Rng {
        random_stream(self.seed, Purpose::Shuffle, self.index)
    }
}
