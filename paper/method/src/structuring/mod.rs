//! The step of phase 2: the discriminator's steps, then one step of encoder, decoders and gate.

mod composite;
mod discriminator;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use fabproj_core::Activation;
use fabproj_core::kernel::Kernel;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::autoencoder::{Autoencoder, join};
use super::geometry::Geometry;
use super::learner::Learner;
use super::losses::Losses;
use super::settings::{DiscriminatorRows, GeometryPoints, PaperSettings};
use fabproj_nn::sample;
use fabproj_nn::{MlpSpec, SpecError};

/// Rows of one step, in the units of phase 2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch<'a> {
    /// `[y, x]`, one row after the other.
    pub(super) rows: &'a [f32],
    /// c, the labels of the data.
    pub(super) labels: &'a [bool],
    /// Membership of the same rows.
    pub(super) oracle: &'a [bool],
}

/// Who says whether generated rows `[y, x]` (units of phase 2) are feasible.
pub(super) trait Judge {
    fn judge(&mut self, rows: &[f32], verdicts: &mut [bool]);
}

/// Phase 2 of a training.
#[derive(Clone, Debug)]
pub(super) struct Structuring {
    pub(super) autoencoder: Autoencoder,
    pub(super) discriminator: Option<Learner>,
    settings: PaperSettings,
    mask: bool,
    positive_weight: f32,
    geometry: Geometry,
    scratch: Scratch,
}

/// What one step needs; nothing in it outlives the step.
#[derive(Clone, Debug, Default)]
struct Scratch {
    /// Points of the latent ball, `[rows][k]`.
    ball: Vec<f32>,
    /// Latents of the discriminator's generated rows, of all its steps, the same with x, and their
    /// decodes.
    cube_latents: Vec<f32>,
    cube: Vec<f32>,
    cube_decodes: Vec<f32>,
    /// Rows `[y, x]` for the discriminator and what they should be.
    judged: Vec<f32>,
    targets: Vec<bool>,
    d_logits: Vec<f32>,
    d_judged: Vec<f32>,
    /// Latents `[z, x]` of encoded and ball rows, and the derivatives along the way back.
    joined: Vec<f32>,
    decodes: Vec<f32>,
    d_output: Vec<f32>,
    d_jacobians: Vec<f32>,
    d_joined: Vec<f32>,
    d_latent: Vec<f32>,
}

impl Structuring {
    pub(super) fn new(
        autoencoder: Autoencoder,
        settings: &PaperSettings,
        mask: bool,
        positive_weight: f32,
        rng: &mut ChaCha8Rng,
    ) -> Result<Self, SpecError> {
        let discriminator = settings
            .use_discriminator
            .then(|| MlpSpec::new(autoencoder.inputs(), &settings.discriminator, 1))
            .map(|spec| Learner::new(spec, rng))
            .transpose()?;
        Ok(Self {
            autoencoder,
            discriminator,
            settings: settings.clone(),
            mask,
            positive_weight,
            geometry: Geometry::default(),
            scratch: Scratch::default(),
        })
    }

    /// One batch: the discriminator's steps, then the autoencoder's.
    pub(super) fn step(
        &mut self,
        batch: Batch<'_>,
        judge: &mut dyn Judge,
        rng: &mut ChaCha8Rng,
    ) -> Losses {
        let rows = batch.labels.len();
        self.draw_ball(rows, rng);
        // Neither encoder nor decoders change while the discriminator learns: whatever it needs from
        // them is made once.
        if self.generates() {
            self.decode_cube(batch.rows, rows, rng);
        }
        self.forward(batch.rows, rows);
        let discriminator = self.teach_discriminator(batch, judge);
        let losses = self.accumulate(batch);
        self.autoencoder.update(self.settings.phase_two_rate);
        Losses {
            discriminator,
            ..losses
        }
    }

    /// Updates of the discriminator per batch.
    pub(super) fn discriminator_steps(&self) -> u64 {
        match self.discriminator {
            Some(_) => self.settings.discriminator_steps as u64,
            None => 0,
        }
    }

    /// Whether the discriminator sees points that the networks made.
    fn generates(&self) -> bool {
        self.discriminator.is_some()
            && self.settings.discriminator_steps > 0
            && !self.mask
            && self.settings.discriminator_rows == DiscriminatorRows::RealAndGenerated
    }

    /// Whether some loss of the autoencoder needs points of the ball.
    fn needs_ball(&self) -> bool {
        let geometry =
            self.geometry_weight() > 0.0 && self.settings.geometry_points == GeometryPoints::Ball;
        geometry || (self.discriminator.is_some() && self.settings.weights.latent > 0.0)
    }

    fn geometry_weight(&self) -> f32 {
        match self.settings.geometry_rows {
            0 | 1 => 0.0,
            _ => self.settings.weights.geometry,
        }
    }

    /// Rows of ball points in a pass of so many encoded rows.
    fn ball_rows(&self, rows: usize) -> usize {
        if self.needs_ball() { rows } else { 0 }
    }

    /// The first of the encoded rows in the decoders' pass. Rows whose Jacobian is wanted come first.
    fn encoded_start(&self, rows: usize) -> usize {
        match self.settings.geometry_points {
            GeometryPoints::Encodings => 0,
            GeometryPoints::Ball => self.ball_rows(rows),
        }
    }

    /// The first of the ball rows.
    fn ball_start(&self, rows: usize) -> usize {
        match self.settings.geometry_points {
            GeometryPoints::Encodings => rows,
            GeometryPoints::Ball => 0,
        }
    }

    fn draw_ball(&mut self, rows: usize, rng: &mut ChaCha8Rng) {
        let latent_dim = self.autoencoder.shape.latent_dim;
        let ball = self.settings.latent_set();
        self.scratch
            .ball
            .resize(self.ball_rows(rows) * latent_dim, 0.0);
        for latent in self.scratch.ball.chunks_exact_mut(latent_dim) {
            sample::inside(&ball, latent, rng);
        }
    }

    /// Decodes the latents of all of the discriminator's steps: tanh of a normal, one per row.
    fn decode_cube(&mut self, rows: &[f32], count: usize, rng: &mut ChaCha8Rng) {
        let shape = self.autoencoder.shape;
        let steps = self.settings.discriminator_steps;
        let scratch = &mut self.scratch;
        scratch
            .cube_latents
            .resize(steps * count * shape.latent_dim, 0.0);
        scratch
            .cube_latents
            .fill_with(|| rng.sample(StandardNormal));
        Kernel::detect().activate(Activation::Tanh, &mut scratch.cube_latents);
        scratch.cube.resize(steps * count * shape.inputs(), 0.0);
        let latents = scratch.cube_latents.chunks_exact(count * shape.latent_dim);
        let joined = scratch.cube.chunks_exact_mut(count * shape.inputs());
        for (joined, latents) in joined.zip(latents) {
            join(shape, latents, rows, joined);
        }
        scratch.cube_decodes.resize(steps * count * shape.dim, 0.0);
        self.autoencoder
            .decoders
            .evaluate(&scratch.cube, steps * count, &mut scratch.cube_decodes);
    }

    /// Encodes the batch, and decodes the encodings together with the ball's points.
    fn forward(&mut self, rows: &[f32], count: usize) {
        let shape = self.autoencoder.shape;
        let (encoded, ball) = (
            self.encoded_start(count) * shape.inputs(),
            self.ball_start(count) * shape.inputs(),
        );
        let total = count + self.ball_rows(count);
        let scratch = &mut self.scratch;
        scratch.joined.resize(total * shape.inputs(), 0.0);
        let latents = self.autoencoder.encoder.forward(rows, count);
        let length = count * shape.inputs();
        join(
            shape,
            latents,
            rows,
            &mut scratch.joined[encoded..encoded + length],
        );
        if total > count {
            join(
                shape,
                &scratch.ball,
                rows,
                &mut scratch.joined[ball..ball + length],
            );
        }
        scratch.decodes.clear();
        let decodes = self.autoencoder.decoders.forward(&scratch.joined, total);
        scratch.decodes.extend_from_slice(decodes);
    }
}

/// Appends points joined with the x of rows `[y, x]`.
fn append_rows(to: &mut Vec<f32>, points: &[f32], rows: &[f32], dim: usize) {
    let count = points.len() / dim;
    let inputs = rows.len() / count.max(1);
    if inputs == dim {
        to.extend_from_slice(points);
        return;
    }
    for (point, row) in points.chunks_exact(dim).zip(rows.chunks_exact(inputs)) {
        to.extend_from_slice(point);
        to.extend_from_slice(&row[dim..]);
    }
}
