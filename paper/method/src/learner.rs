//! A network with all that its training needs.

use rand_chacha::ChaCha8Rng;

use fabproj_nn::state::State;
use fabproj_nn::{Adam, AdamConfig, Mlp, MlpSpec, SpecError, Tape};

/// A network, its latest pass, its gradient and its optimiser.
#[derive(Clone, Debug)]
pub(super) struct Learner {
    pub(super) network: Mlp,
    pub(super) tape: Tape,
    /// Added to by every backward pass until the next update.
    pub(super) gradient: Vec<f32>,
    pub(super) adam: Adam,
}

impl Learner {
    pub(super) fn new(spec: MlpSpec, rng: &mut ChaCha8Rng) -> Result<Self, SpecError> {
        Ok(Self::start(Mlp::new(spec, rng)?))
    }

    /// Starts a training from given weights.
    pub(super) fn start(network: Mlp) -> Self {
        let length = network.parameters().len();
        Self {
            network,
            tape: Tape::new(),
            gradient: vec![0.0; length],
            adam: Adam::new(AdamConfig::default(), length),
        }
    }

    /// Outputs of the rows; what backward passes need is kept.
    pub(super) fn forward(&mut self, input: &[f32], rows: usize) -> &[f32] {
        self.network.forward(input, rows, &mut self.tape)
    }

    /// One update by the gradient, which is zero afterwards.
    pub(super) fn update(&mut self, rate: f32) {
        self.adam
            .consume(self.network.parameters_mut(), &mut self.gradient, rate);
    }

    pub(super) fn save(&self, name: &str, state: &mut State) {
        state.put_network(name, &self.network, &self.adam, None);
    }

    /// False if what was saved does not fit; `updates` is the optimiser's count.
    pub(super) fn load(&mut self, name: &str, updates: u64, state: &State) -> bool {
        self.adam.step = updates;
        state.get_network(name, &mut self.network, &mut self.adam, None)
    }
}
