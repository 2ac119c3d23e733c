//! The parts of a projector as plain data: what training produces and what a model file holds.
//!
//! Nothing here computes; [`Projector`](crate::Projector) packs [`Weights`] into the form that runs.

use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::equations::Equations;
use crate::latent::LatentSet;

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
    /// reads the *first* `skip.len() / outputs` inputs (the point itself, not the x joined to it).
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

/// One encoder, its latent set and its decoders.
///
/// The encoder reads `[y in this chart's frame, x in the x frame]`; decoders and the
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
    /// α, present exactly when there are several decoders: they are summed with its softmax as weights.
    pub decoder_gate: Option<Network>,
}

/// A stored latent point whose decode was verified to be feasible after training.
#[derive(Clone, Debug, PartialEq)]
pub struct Anchor {
    /// Index of the chart that decodes it.
    pub chart: usize,
    /// The latent point, inside the chart's latent set.
    pub latent: Vec<f32>,
    /// The x (raw units) for which it was verified; empty for a fixed set.
    pub x: Vec<f32>,
    /// The decode, raw units; with equations in reduced coordinates.
    pub point: Vec<f32>,
}

/// Everything that is needed to run a projector: what training produces and a model file holds.
///
/// ```
/// use fabproj_core::{LatentSet, Projector, Weights};
///
/// let disc = LatentSet::Ball { radius: 0.5, smooth: None };
/// let weights = Weights::identity(2, disc);
/// let file = weights.to_bytes()?;
/// assert_eq!(Weights::from_bytes(&file)?, weights);
/// let (y, _) = Projector::new(&weights)?.project(&[3.0_f32, 4.0], &[])?;
/// assert_eq!(y, [0.3, 0.4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// Dimension of y; with equations of the reduced coordinates.
    pub dim: usize,
    /// Dimension of x, the input that the set depends on; 0 for a fixed set.
    pub x_dim: usize,
    /// The units of y in which the chart gate works and in which distances are reported.
    pub frame: Frame,
    /// The units of x.
    pub x_frame: Frame,
    /// Chooses the chart by its largest output from `[y, x]` in the two frames above; present
    /// exactly when there are several charts.
    pub gate: Option<Network>,
    /// At least one.
    pub charts: Vec<Chart>,
    /// A learned membership test, positive inside, of `[y, x]` in the two frames above.
    pub discriminator: Option<Network>,
    /// Points that the guard falls back to.
    pub anchors: Vec<Anchor>,
    /// Affine equations that every output obeys; the networks then work on reduced coordinates.
    pub equations: Option<Equations>,
}

impl Weights {
    /// Networks that are the identity, so that the projection is the latent set's: for examples and
    /// tests.
    pub fn identity(dim: usize, latent: LatentSet) -> Self {
        Self {
            dim,
            x_dim: 0,
            frame: Frame::unit(dim),
            x_frame: Frame::unit(0),
            gate: None,
            charts: vec![Chart {
                frame: Frame::unit(dim),
                encoder: Network::identity(dim),
                latent,
                decoders: vec![Network::identity(dim)],
                decoder_gate: None,
            }],
            discriminator: None,
            anchors: Vec::new(),
            equations: None,
        }
    }
}
