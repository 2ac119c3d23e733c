//! R(z): one decoder, or several blended by a soft gate, with the Jacobian of the blend.
//!
//! With α = softmax(gate(z)), R = Σ α_i R_i and a tangent of z gives Ṙ = Σ α_i Ṙ_i + α̇_i R_i, which in
//! matrix form is J = Σ α_i J_i + Σ R_i (∇α_i)ᵀ. With one decoder there is no gate to run.

use rand_chacha::ChaCha8Rng;

use super::blend::{Blend, add};
use super::learner::Learner;
use fabproj_nn::state::State;
use fabproj_nn::{Mlp, MlpSpec, SpecError, unit_tangents};

/// The sizes that decoders and gate share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DecoderShape {
    /// n
    pub(super) dim: usize,
    /// k
    pub(super) latent_dim: usize,
    /// Dimension of x, which is joined to z.
    pub(super) x_dim: usize,
}

impl DecoderShape {
    /// Floats of one row of input.
    pub(super) fn inputs(&self) -> usize {
        self.latent_dim + self.x_dim
    }
}

/// All decoders with their gate.
#[derive(Clone, Debug)]
pub(super) struct Decoders {
    shape: DecoderShape,
    decoders: Vec<Learner>,
    gate: Option<Learner>,
    blend: Blend,
    /// The unit vectors that make tangents a Jacobian, for as many rows as were asked for last.
    unit: Vec<f32>,
}

impl Decoders {
    pub(super) fn new(
        shape: DecoderShape,
        count: usize,
        hidden: &[usize],
        gate: &[usize],
        rng: &mut ChaCha8Rng,
    ) -> Result<Self, SpecError> {
        let spec = MlpSpec::new(shape.inputs(), hidden, shape.dim);
        let decoders = (0..count).map(|_| Learner::new(spec.clone(), rng));
        let decoders = decoders.collect::<Result<Vec<_>, _>>()?;
        let gate = (count > 1)
            .then(|| Learner::new(MlpSpec::new(shape.inputs(), gate, count), rng))
            .transpose()?;
        Ok(Self {
            shape,
            decoders,
            gate,
            blend: Blend::default(),
            unit: Vec::new(),
        })
    }

    /// The same weights with fresh optimisers.
    pub(super) fn restarted(&self) -> Self {
        let fresh = |learner: &Learner| Learner::start(learner.network.clone());
        Self {
            shape: self.shape,
            decoders: self.decoders.iter().map(fresh).collect(),
            gate: self.gate.as_ref().map(fresh),
            blend: Blend::default(),
            unit: Vec::new(),
        }
    }

    /// The decoders' networks.
    pub(super) fn networks(&self) -> impl Iterator<Item = &Mlp> {
        self.decoders.iter().map(|decoder| &decoder.network)
    }

    /// The gate's network.
    pub(super) fn gate(&self) -> Option<&Mlp> {
        self.gate.as_ref().map(|gate| &gate.network)
    }

    /// All networks with what trains them, decoders first.
    pub(super) fn learners(&mut self) -> impl Iterator<Item = &mut Learner> {
        self.decoders.iter_mut().chain(&mut self.gate)
    }

    /// R of rows `[z, x]`; what backward passes need is kept.
    pub(super) fn forward(&mut self, input: &[f32], rows: usize) -> &[f32] {
        let Some(gate) = &mut self.gate else {
            return self.decoders[0].forward(input, rows);
        };
        let count = self.decoders.len();
        let blend = &mut self.blend;
        blend.weigh(gate.forward(input, rows), count);
        blend.parts.resize_with(count, Vec::new);
        for (decoder, part) in self.decoders.iter_mut().zip(&mut blend.parts) {
            part.clear();
            part.extend_from_slice(decoder.forward(input, rows));
        }
        blend.add_up(self.shape.dim);
        &blend.output
    }

    /// R of any number of rows, of which nothing is kept; the latest [`forward`](Self::forward) is
    /// lost.
    pub(super) fn evaluate(&mut self, input: &[f32], rows: usize, output: &mut [f32]) {
        if self.gate.is_some() {
            output.copy_from_slice(self.forward(input, rows));
            return;
        }
        let Learner { network, tape, .. } = &mut self.decoders[0];
        network.evaluate(input, rows, tape, output);
    }

    /// The Jacobians ∂R/∂z of the first rows of the latest forward pass, each transposed: `[rows][k][n]`.
    pub(super) fn jacobians(&mut self, rows: usize) -> &[f32] {
        let (latent_dim, inputs) = (self.shape.latent_dim, self.shape.inputs());
        if self.unit.len() != rows * latent_dim * inputs {
            self.unit = unit_tangents(rows, inputs, latent_dim);
        }
        let unit = &self.unit;
        let push = |learner: &mut Learner, into: &mut Vec<f32>| {
            let Learner { network, tape, .. } = learner;
            into.clear();
            into.extend_from_slice(network.forward_tangents(tape, unit, latent_dim));
        };
        let Some(gate) = &mut self.gate else {
            let Learner { network, tape, .. } = &mut self.decoders[0];
            return network.forward_tangents(tape, unit, latent_dim);
        };
        let blend = &mut self.blend;
        push(gate, &mut blend.logit_tangents);
        blend
            .part_tangents
            .resize_with(self.decoders.len(), Vec::new);
        for (decoder, tangents) in self.decoders.iter_mut().zip(&mut blend.part_tangents) {
            push(decoder, tangents);
        }
        blend.push_softmax(latent_dim);
        blend.add_up_tangents(self.shape.dim, latent_dim);
        &blend.tangents
    }

    /// Adds to the gradients from the derivatives of a loss with respect to the outputs of the latest
    /// forward pass and, where given, to its [`jacobians`](Self::jacobians); writes those with respect
    /// to the inputs.
    pub(super) fn backward(
        &mut self,
        d_output: &[f32],
        d_jacobians: Option<&[f32]>,
        d_input: &mut [f32],
    ) {
        let Some(gate) = &mut self.gate else {
            pull(&mut self.decoders[0], d_output, d_jacobians, d_input);
            return;
        };
        let (shape, blend) = (self.shape, &mut self.blend);
        blend.start_backward(d_output, d_jacobians, shape);
        d_input.fill(0.0);
        blend.d_input.resize(d_input.len(), 0.0);
        let mut d_part_input = std::mem::take(&mut blend.d_input);
        for (index, decoder) in self.decoders.iter_mut().enumerate() {
            blend.pull_part(index, d_output, d_jacobians, shape);
            let d_tangents = d_jacobians.map(|_| &blend.d_part_tangents[..]);
            pull(decoder, &blend.d_part, d_tangents, &mut d_part_input);
            add(d_input, &d_part_input);
        }
        blend.pull_softmax(d_jacobians.is_some(), shape.latent_dim);
        let d_tangents = d_jacobians.map(|_| &blend.d_alpha_tangents[..]);
        pull(gate, &blend.d_alpha, d_tangents, &mut d_part_input);
        add(d_input, &d_part_input);
        blend.d_input = d_part_input;
    }

    pub(super) fn update(&mut self, rate: f32) {
        self.learners().for_each(|learner| learner.update(rate));
    }

    pub(super) fn save(&self, state: &mut State) {
        let learners = self.decoders.iter().chain(&self.gate);
        for (index, learner) in learners.enumerate() {
            learner.save(&format!("decoder{index}"), state);
        }
    }

    /// False if what was saved does not fit.
    pub(super) fn load(&mut self, updates: u64, state: &State) -> bool {
        let mut learners = self.learners().enumerate();
        learners.all(|(index, learner)| learner.load(&format!("decoder{index}"), updates, state))
    }
}

/// Back through one network, with or without tangents.
fn pull(learner: &mut Learner, d_output: &[f32], d_tangents: Option<&[f32]>, d_input: &mut [f32]) {
    let Learner {
        network,
        tape,
        gradient,
        ..
    } = learner;
    match d_tangents {
        None => network.backward(tape, d_output, Some(gradient), Some(d_input)),
        Some(d_tangents) => network.backward_tangents(
            tape,
            Some(d_output),
            d_tangents,
            Some(gradient),
            Some(d_input),
            None,
        ),
    }
}
