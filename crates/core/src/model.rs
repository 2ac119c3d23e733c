//! The parts of a projector as plain data: what training produces and what a model file holds.
//!
//! Nothing here computes; [`Projector`](crate::Projector) packs a [`Model`] into the form that runs.

use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::latent::LatentSet;
use crate::lift::Lift;

/// The function applied to every output of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// x
    Identity,
    /// max(x, 0)
    Relu,
    /// tanh x
    Tanh,
    /// x · sigmoid(x)
    Silu,
}

/// One affine layer: `y[o] = bias[o] + Σ_i weights[o · inputs + i] · x[i]`.
///
/// The layout is that of a PyTorch `Linear`, so that model files read naturally elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Number of inputs.
    pub inputs: usize,
    /// Number of outputs.
    pub outputs: usize,
    /// Row-major `[outputs][inputs]`.
    pub weights: Vec<f32>,
    /// One per output.
    pub bias: Vec<f32>,
}

/// A multilayer perceptron, with an optional linear path from its first inputs to its outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The layers in order; at least one.
    pub layers: Vec<Layer>,
    /// Applied after every layer but the last.
    pub hidden: Activation,
    /// Applied to the sum of the last layer and the skip.
    pub output: Activation,
    /// `[outputs][skip inputs]`, added to the last layer's output before its activation. The skip
    /// reads the *first* `skip.len() / outputs` inputs (the point itself, not the parameters joined to it).
    pub skip: Option<Vec<f32>>,
}

impl Network {
    /// One layer that gives back its inputs: what a network replaces in an example or a test.
    pub fn identity(dim: usize) -> Self {
        let mut weights = vec![0.0; dim * dim];
        weights.iter_mut().step_by(dim + 1).for_each(|w| *w = 1.0);
        Self {
            layers: vec![Layer {
                inputs: dim,
                outputs: dim,
                weights,
                bias: vec![0.0; dim],
            }],
            hidden: Activation::Identity,
            output: Activation::Identity,
            skip: None,
        }
    }

    /// Number of inputs of the first layer.
    pub fn inputs(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.inputs)
    }

    /// Number of outputs of the last layer.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.outputs)
    }
}

/// A change of units: `inner = (outer - centre) / scale`, coordinate by coordinate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Subtracted first.
    pub centre: Vec<f32>,
    /// Divided by afterwards; positive.
    pub scale: Vec<f32>,
}

impl Frame {
    /// The frame that changes nothing.
    pub fn unit(dim: usize) -> Self {
        Self {
            centre: vec![0.0; dim],
            scale: vec![1.0; dim],
        }
    }
}

/// How the outputs of several decoders of one chart become one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blend {
    /// The softmax-weighted sum of all decoders (the paper's gate).
    Soft,
    /// The decoder with the largest gate output alone.
    Hard,
}

/// One encoder, its latent set and its decoders.
///
/// The encoder reads `[y in this chart's frame, x in the model's parameter frame]`; decoders and the
/// decoder gate read `[z, x]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// From raw y to the encoder's units, and back after the decoder.
    pub frame: Frame,
    /// E
    pub encoder: Network,
    /// S
    pub latent: LatentSet,
    /// R_1 … R_ρ; at least one.
    pub decoders: Vec<Network>,
    /// α, present exactly when there are several decoders.
    pub decoder_gate: Option<Network>,
    /// How the decoders are combined.
    pub blend: Blend,
}

/// A stored latent point whose decode was verified to be feasible after training.
#[derive(Clone, Debug, PartialEq)]
pub struct Anchor {
    /// Index of the chart that decodes it.
    pub chart: usize,
    /// The latent point, inside the chart's latent set.
    pub latent: Vec<f32>,
    /// The parameters x (raw units) for which it was verified; empty for a fixed set.
    pub parameters: Vec<f32>,
    /// The decode, raw units.
    pub point: Vec<f32>,
}

/// Everything that is needed to run a projector.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Dimension of y.
    pub dim: usize,
    /// Dimension of the parameters x; 0 for a fixed set.
    pub parameter_dim: usize,
    /// The units of y in which the chart gate works and in which distances are reported.
    pub frame: Frame,
    /// The units of x.
    pub parameter_frame: Frame,
    /// Chooses the chart by its largest output from `[y, x]` in the two frames above; present
    /// exactly when there are several charts.
    pub gate: Option<Network>,
    /// At least one.
    pub charts: Vec<Chart>,
    /// A learned membership test, positive inside, of `[y, x]` in the two frames above.
    pub discriminator: Option<Network>,
    /// Points that the guard falls back to.
    pub anchors: Vec<Anchor>,
    /// Where users' points obey equations: the way from them to the y above, which obeys none.
    pub lift: Option<Lift>,
}
