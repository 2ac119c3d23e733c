//! What a training gives: the networks, and a summary of how they were made.

use fabproj::set::{Set, SetError};
use fabproj::{Projector, TrainError};
use fabproj_core::{Chart, Weights, WeightsError};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::autoencoder::Autoencoder;
use super::drive::Progress;
use super::losses::Losses;
use super::material::{Frames, Purpose, generator};
use super::settings::PaperSettings;
use fabproj_nn::{Mlp, sample};

/// A finished training.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PaperTrained {
    /// One chart whose latent set is the ball, with the discriminator; without anchors.
    pub weights: Weights,
    /// How they were made.
    pub summary: PaperSummary,
}

/// How a training went. It holds no times, so that the same training gives the same summary.
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

/// How one phase went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PhaseSummary {
    /// Rows that it trained on.
    pub rows: usize,
    /// Batches.
    pub steps: u64,
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
            first: progress.first,
            last: progress.last,
            validation,
        }
    }
}

/// The networks as weights that run.
pub(super) fn networks(
    autoencoder: &Autoencoder,
    discriminator: Option<&Mlp>,
    frames: &Frames,
    settings: &PaperSettings,
) -> Result<Weights, WeightsError> {
    let chart = Chart {
        frame: frames.y.clone(),
        encoder: autoencoder.encoder.network.to_network(),
        latent: settings.latent_set(),
        decoders: autoencoder
            .decoders
            .networks()
            .map(Mlp::to_network)
            .collect(),
        decoder_gate: autoencoder.decoders.gate().map(Mlp::to_network),
    };
    let weights = Weights {
        dim: autoencoder.shape.dim,
        x_dim: autoencoder.shape.x_dim,
        frame: frames.y.clone(),
        x_frame: frames.x.clone(),
        gate: None,
        charts: vec![chart],
        discriminator: discriminator.map(Mlp::to_network),
        anchors: Vec::new(),
        equations: None,
    };
    weights.validate()?;
    Ok(weights)
}

/// The released score: the share of decodes of uniform points of the latent set that are feasible, at
/// uniform x.
///
/// # Errors
/// [`TrainError`] when the weights cannot run or are for other dimensions than the set's.
pub(super) fn ball_score(
    weights: &Weights,
    set: &dyn Set,
    samples: usize,
    seed: u64,
) -> Result<f64, TrainError> {
    let projector = Projector::new(weights)?;
    for (what, expected, found) in [
        ("coordinates y of the model", set.dim(), projector.dim()),
        ("coordinates x of the model", set.x_dim(), projector.x_dim()),
    ] {
        if expected != found {
            let error = SetError::Length {
                what,
                expected,
                found,
            };
            return Err(error.into());
        }
    }
    let chart = &weights.charts[0];
    let mut rng = generator(seed, Purpose::Score);
    let mut latents = vec![0.0; samples * chart.latent_dim()];
    for latent in latents.chunks_exact_mut(chart.latent_dim()) {
        sample::inside(&chart.latent, latent, &mut rng);
    }
    let bounds = set.x_bounds();
    let x: Vec<f32> = (0..samples)
        .flat_map(|_| bounds.iter())
        .map(|(low, high)| (low + (high - low) * rng.random::<f64>()) as f32)
        .collect();
    let mut y = vec![0.0; samples * projector.dim()];
    projector
        .decode_rows(0, &latents, &x, &mut y, &mut projector.workspace())
        .map_err(|error| TrainError::Recipe(error.into()))?;
    let wide = |values: &[f32]| -> Vec<f64> { values.iter().map(|v| f64::from(*v)).collect() };
    let mut inside = vec![false; samples];
    set.contains_rows(&wide(&y), &wide(&x), &mut inside);
    let feasible = inside.iter().filter(|inside| **inside).count();
    Ok(feasible as f64 / samples as f64)
}
