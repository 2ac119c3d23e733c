//! Encoder and decoders together, and the step of phase 1.

use fabproj_core::Activation;
use rand_chacha::ChaCha8Rng;

use super::decoders::{DecoderShape, Decoders};
use super::learner::Learner;
use super::settings::{PaperSettings, Reconstruction};
use fabproj_nn::state::State;
use fabproj_nn::{MlpSpec, SpecError};

/// E and R with what trains them.
#[derive(Clone, Debug)]
pub(super) struct Autoencoder {
    pub(super) shape: DecoderShape,
    pub(super) encoder: Learner,
    pub(super) decoders: Decoders,
}

impl Autoencoder {
    pub(super) fn new(
        settings: &PaperSettings,
        (dim, x_dim): (usize, usize),
        rng: &mut ChaCha8Rng,
    ) -> Result<Self, SpecError> {
        let shape = DecoderShape {
            dim,
            latent_dim: settings.latent_dim.unwrap_or(dim),
            x_dim,
        };
        let hidden = vec![settings.encoder_width; settings.encoder_depth];
        let spec =
            MlpSpec::new(dim + x_dim, &hidden, shape.latent_dim).with_output(Activation::Tanh);
        let encoder = Learner::new(spec, rng)?;
        let hidden = vec![settings.decoder_width; settings.decoder_depth];
        let decoders = Decoders::new(shape, settings.decoders, &hidden, &settings.gate, rng)?;
        Ok(Self {
            shape,
            encoder,
            decoders,
        })
    }

    /// The same weights with fresh optimisers.
    pub(super) fn restarted(&self) -> Self {
        Self {
            shape: self.shape,
            encoder: Learner::start(self.encoder.network.clone()),
            decoders: self.decoders.restarted(),
        }
    }

    /// Floats of one row `[y, x]`.
    pub(super) fn inputs(&self) -> usize {
        self.shape.dim + self.shape.x_dim
    }

    pub(super) fn update(&mut self, rate: f32) {
        self.encoder.update(rate);
        self.decoders.update(rate);
    }

    pub(super) fn save(&self, state: &mut State) {
        self.encoder.save("encoder", state);
        self.decoders.save(state);
    }

    /// False if what was saved does not fit.
    pub(super) fn load(&mut self, updates: u64, state: &State) -> bool {
        self.encoder.load("encoder", updates, state) && self.decoders.load(updates, state)
    }
}

/// Joins latents and the x of rows `[y, x]` to rows `[z, x]`.
pub(super) fn join(shape: DecoderShape, latents: &[f32], rows: &[f32], joined: &mut [f32]) {
    let DecoderShape {
        dim,
        latent_dim,
        x_dim,
    } = shape;
    if x_dim == 0 {
        joined.copy_from_slice(latents);
        return;
    }
    let rows = rows.chunks_exact(dim + x_dim);
    let latents = latents.chunks_exact(latent_dim).zip(rows);
    for (joined, (latent, row)) in joined.chunks_exact_mut(shape.inputs()).zip(latents) {
        joined[..latent_dim].copy_from_slice(latent);
        joined[latent_dim..].copy_from_slice(&row[dim..]);
    }
}

/// `derivative[row] += factor · 2 (R − y)` over the coordinates of one row; returns ‖R − y‖².
pub(super) fn squared_error(
    output: &[f32],
    target: &[f32],
    factor: f32,
    derivative: &mut [f32],
) -> f32 {
    let mut sum = 0.0;
    for ((d, output), target) in derivative.iter_mut().zip(output).zip(target) {
        let error = output - target;
        sum += error * error;
        *d += 2.0 * factor * error;
    }
    sum
}

/// What a row's squared error is multiplied by in the loss, when so many rows count.
pub(super) fn error_share(reconstruction: Reconstruction, rows: usize, dim: usize) -> f32 {
    let coordinates = match reconstruction {
        Reconstruction::Mean => dim,
        Reconstruction::Sum => 1,
    };
    1.0 / (rows * coordinates).max(1) as f32
}

/// Rows that go forward and backward together: few enough that what the layers keep for the way back
/// stays in the second-level cache beside the weights and the optimiser's averages.
const PART_ROWS: usize = 64;

/// Phase 1: reconstruction of feasible points (equation 4).
#[derive(Clone, Debug)]
pub(super) struct Reconstructing {
    pub(super) autoencoder: Autoencoder,
    reconstruction: Reconstruction,
    rate: f32,
    joined: Vec<f32>,
    d_output: Vec<f32>,
    d_joined: Vec<f32>,
    d_latent: Vec<f32>,
}

impl Reconstructing {
    pub(super) fn new(autoencoder: Autoencoder, settings: &PaperSettings) -> Self {
        Self {
            autoencoder,
            reconstruction: settings.reconstruction,
            rate: settings.phase_one_rate,
            joined: Vec::new(),
            d_output: Vec::new(),
            d_joined: Vec::new(),
            d_latent: Vec::new(),
        }
    }

    /// One step on rows `[y, x]`; returns the loss before it.
    pub(super) fn step(&mut self, rows: &[f32]) -> f64 {
        let loss = self.accumulate(rows);
        self.autoencoder.update(self.rate);
        loss
    }

    /// The loss; its derivative is added to the gradients.
    fn accumulate(&mut self, rows: &[f32]) -> f64 {
        let inputs = self.autoencoder.inputs();
        let total = rows.len() / inputs;
        let parts = rows.chunks(PART_ROWS * inputs);
        parts.map(|part| self.accumulate_part(part, total)).sum()
    }

    /// The share of some of `total` rows in the loss; its derivative is added to the gradients.
    fn accumulate_part(&mut self, rows: &[f32], total: usize) -> f64 {
        let loss = self.forward(rows, total);
        let shape = self.autoencoder.shape;
        let count = rows.len() / self.autoencoder.inputs();
        self.d_joined.resize(count * shape.inputs(), 0.0);
        let Autoencoder {
            encoder, decoders, ..
        } = &mut self.autoencoder;
        decoders.backward(&self.d_output, None, &mut self.d_joined);
        let d_latent = if shape.x_dim == 0 {
            &self.d_joined
        } else {
            self.d_latent.clear();
            for row in self.d_joined.chunks_exact(shape.inputs()) {
                self.d_latent.extend_from_slice(&row[..shape.latent_dim]);
            }
            &self.d_latent
        };
        let Learner {
            network,
            tape,
            gradient,
            ..
        } = encoder;
        network.backward(tape, d_latent, Some(gradient), None);
        loss
    }

    /// The share of rows in the loss of `total`; its derivative with respect to the outputs is kept.
    pub(super) fn forward(&mut self, rows: &[f32], total: usize) -> f64 {
        let (shape, inputs) = (self.autoencoder.shape, self.autoencoder.inputs());
        let count = rows.len() / inputs;
        let latents = self.autoencoder.encoder.forward(rows, count);
        self.joined.resize(count * shape.inputs(), 0.0);
        join(shape, latents, rows, &mut self.joined);
        let outputs = self.autoencoder.decoders.forward(&self.joined, count);
        self.d_output.clear();
        self.d_output.resize(count * shape.dim, 0.0);
        let share = error_share(self.reconstruction, total, shape.dim);
        let mut sum = 0.0;
        for ((row, output), derivative) in rows
            .chunks_exact(inputs)
            .zip(outputs.chunks_exact(shape.dim))
            .zip(self.d_output.chunks_exact_mut(shape.dim))
        {
            sum += f64::from(squared_error(output, &row[..shape.dim], share, derivative));
        }
        sum * f64::from(share)
    }
}
