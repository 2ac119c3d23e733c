//! What a training gives: the model, and an account of how it was made.

use fabproj_core::{Blend, Chart, Model, ModelError, Projector};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::autoencoder::Autoencoder;
use super::config::PaperConfig;
use super::drive::Progress;
use super::losses::Losses;
use super::material::{Frames, Purpose, generator};
use fabproj::set::Set;
use fabproj_nn::Mlp;
use fabproj_nn::sample;

/// A finished training.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PaperTrained {
    /// One chart whose latent set is the ball, with the discriminator; without anchors.
    pub model: Model,
    /// How it was made.
    pub summary: PaperSummary,
}

/// An account of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PaperSummary {
    /// Rows of data, of which a share was held back.
    pub samples: usize,
    /// How many of them are labelled feasible.
    pub feasible: usize,
    /// What cross-entropies multiply "feasible" by.
    pub positive_weight: f32,
    /// Phase 1.
    pub phase_one: PhaseSummary,
    /// Phase 2, unless it was left out.
    pub phase_two: Option<PhaseSummary>,
    /// Share of feasible points among decodes of uniform points of the ball, where the set is known.
    pub score: Option<f64>,
}

/// An account of one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PhaseSummary {
    /// Rows that it trained on.
    pub rows: usize,
    /// Batches.
    pub steps: u64,
    /// Time spent in steps, over all of its runs.
    pub seconds: f64,
    /// Mean losses of the first epoch.
    pub first: Losses,
    /// Mean losses of the last epoch.
    pub last: Losses,
    /// Reconstruction loss of the rows held back, at the end; none without such rows.
    pub validation: Option<f64>,
}

impl PhaseSummary {
    pub(super) fn new(rows: usize, progress: &Progress, validation: Option<f64>) -> Self {
        Self {
            rows,
            steps: progress.step,
            seconds: progress.seconds,
            first: progress.first,
            last: progress.last,
            validation,
        }
    }
}

/// The networks as a model.
pub(super) fn model(
    autoencoder: &Autoencoder,
    discriminator: Option<&Mlp>,
    frames: &Frames,
    config: &PaperConfig,
) -> Result<Model, ModelError> {
    let chart = Chart {
        frame: frames.y.clone(),
        encoder: autoencoder.encoder.network.to_network(),
        latent: config.latent_set(),
        decoders: autoencoder
            .decoders
            .networks()
            .map(Mlp::to_network)
            .collect(),
        decoder_gate: autoencoder.decoders.gate().map(Mlp::to_network),
        blend: Blend::Soft,
    };
    let model = Model {
        dim: autoencoder.shape.dim,
        parameter_dim: autoencoder.shape.x_dim,
        frame: frames.y.clone(),
        parameter_frame: frames.x.clone(),
        gate: None,
        charts: vec![chart],
        discriminator: discriminator.map(Mlp::to_network),
        anchors: Vec::new(),
        lift: None,
    };
    model.validate()?;
    Ok(model)
}

/// The released score of a model: the share of decodes of uniform points of the latent set that are
/// feasible, at uniform parameters.
///
/// # Errors
/// When the model cannot run, or is not one for a set of these dimensions.
pub fn ball_score(
    model: &Model,
    set: &dyn Set,
    samples: usize,
    seed: u64,
) -> Result<f64, ModelError> {
    for (part, expected, found) in [
        ("dim", set.dim(), model.dim),
        ("x_dim", set.x_dim(), model.parameter_dim),
    ] {
        if expected != found {
            let part = part.to_owned();
            return Err(ModelError::Dimension {
                part,
                expected,
                found,
            });
        }
    }
    let projector = Projector::new(model)?;
    let chart = &model.charts[0];
    let mut rng = generator(seed, Purpose::Score);
    let mut latents = vec![0.0; samples * chart.latent_dim()];
    for latent in latents.chunks_exact_mut(chart.latent_dim()) {
        sample::inside(&chart.latent, latent, &mut rng);
    }
    let bounds = set.x_bounds();
    let parameters: Vec<f32> = (0..samples)
        .flat_map(|_| bounds.iter())
        .map(|(low, high)| (low + (high - low) * rng.random::<f64>()) as f32)
        .collect();
    let mut points = vec![0.0; samples * model.dim];
    let mut workspace = projector.workspace();
    // All lengths fit by construction.
    let decoded = projector.decode_batch(0, &latents, &parameters, &mut points, &mut workspace);
    debug_assert!(decoded.is_ok());
    let wide = |row: &[f32]| -> Vec<f64> { row.iter().map(|v| f64::from(*v)).collect() };
    let x_dim = model.parameter_dim;
    let feasible = (0..samples).filter(|row| {
        let x = wide(&parameters[row * x_dim..][..x_dim]);
        set.contains(&wide(&points[row * model.dim..][..model.dim]), &x)
    });
    Ok(feasible.count() as f64 / samples as f64)
}
