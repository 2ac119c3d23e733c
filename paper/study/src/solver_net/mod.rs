//! Solver networks N_θ: from a problem's numbers to points, one or several per problem.
//!
//! [`supervised`](self::Supervised) is the paper's training, toward points that projected gradient
//! finds; [`unsupervised`](self::Unsupervised) minimises the objective itself, through whatever
//! [`Correction`] stands between the network and the answer.

mod correction;
mod features;
mod learner;
mod supervised;
mod unsupervised;

use fabproj_nn::{Mlp, MlpSpec, Tape};
use rand_chacha::ChaCha8Rng;

pub use self::correction::{Correction, FrozenProjector, Uncorrected};
pub use self::features::Features;
pub use self::supervised::{Supervised, Targets};
pub use self::unsupervised::Unsupervised;
use crate::StudyError;
use crate::problem::{Objective, Problem};

/// A network that proposes points for problems of one kind.
#[derive(Clone, Debug)]
pub struct SolverNet {
    network: Mlp,
    features: Features,
    objective: Objective,
    dim: usize,
    heads: usize,
}

/// Memory for calls of a [`SolverNet`].
#[derive(Clone, Debug, Default)]
pub struct SolverWork {
    features: Vec<f32>,
    base: Vec<f32>,
    tape: Tape,
}

impl SolverNet {
    /// A network with random weights and the given hidden layers, which proposes `heads` points.
    ///
    /// # Errors
    /// [`StudyError::Network`] for a size of which no network can be made.
    pub fn new(
        features: Features,
        objective: Objective,
        dim: usize,
        hidden: &[usize],
        heads: usize,
        random: &mut ChaCha8Rng,
    ) -> Result<Self, StudyError> {
        let inputs = features.count(objective, dim);
        let spec = MlpSpec::new(inputs, hidden, heads * dim);
        Ok(Self {
            network: Mlp::new(spec, random)?,
            features,
            objective,
            dim,
            heads,
        })
    }

    /// The network itself.
    pub fn network(&self) -> &Mlp {
        &self.network
    }

    /// The network itself, to be trained.
    pub fn network_mut(&mut self) -> &mut Mlp {
        &mut self.network
    }

    /// Inputs of the network.
    pub fn inputs(&self) -> usize {
        self.features.count(self.objective, self.dim)
    }

    /// The dimension of a point.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Points per problem.
    pub fn heads(&self) -> usize {
        self.heads
    }

    /// Memory for calls.
    pub fn work(&self) -> SolverWork {
        SolverWork {
            features: vec![0.0; self.inputs()],
            base: vec![0.0; self.dim],
            tape: Tape::new(),
        }
    }

    /// Writes the network's inputs for a problem, and the point that its outputs are added to.
    pub fn prepare(&self, problem: &Problem, features: &mut [f32], base: &mut [f32]) {
        self.features.write(problem, features, base);
    }

    /// Writes all proposals for a problem, one after the other. Allocates nothing after the first call.
    pub fn propose(&self, problem: &Problem, work: &mut SolverWork, points: &mut [f32]) {
        let SolverWork {
            features,
            base,
            tape,
        } = work;
        self.features.write(problem, features, base);
        let outputs = self.network.forward(features, 1, tape);
        for (points, outputs) in points
            .chunks_exact_mut(self.dim)
            .zip(outputs.chunks_exact(self.dim))
        {
            for ((point, output), base) in points.iter_mut().zip(outputs).zip(&*base) {
                *point = base + output;
            }
        }
    }
}
