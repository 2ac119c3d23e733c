//! What encoder, decoders and gate learn in a step: the composite loss (equation 6).

use super::{Batch, Structuring, append_rows};
use crate::autoencoder::{error_share, squared_error};
use crate::learner::Learner;
use crate::losses::{Losses, cross_entropy, hinge, replaced_logit};

impl Structuring {
    /// The composite loss (equation 6) of the latest pass; its derivative is added to the gradients of
    /// encoder, decoders and gate.
    pub(super) fn accumulate(&mut self, batch: Batch<'_>) -> Losses {
        let mut losses = Losses::default();
        self.scratch.d_output.clear();
        self.scratch
            .d_output
            .resize(self.scratch.decodes.len(), 0.0);
        losses.reconstruction = self.reconstruction(batch);
        self.ask_discriminator(batch, &mut losses);
        let with_geometry = self.geometry_weight() > 0.0;
        if with_geometry {
            losses.geometry = self.geometry(batch.labels.len());
        }
        let scratch = &mut self.scratch;
        scratch.d_joined.resize(scratch.joined.len(), 0.0);
        self.autoencoder.decoders.backward(
            &scratch.d_output,
            with_geometry.then_some(&scratch.d_jacobians),
            &mut scratch.d_joined,
        );
        losses.hinge = self.pull_encoder(batch);
        losses
    }

    fn reconstruction(&mut self, batch: Batch<'_>) -> f64 {
        let (dim, inputs) = (self.autoencoder.shape.dim, self.autoencoder.inputs());
        let first = self.encoded_start(batch.labels.len()) * dim;
        let counted = |label: bool| label || !self.mask;
        let count = batch.labels.iter().filter(|label| counted(**label)).count();
        let share = error_share(self.settings.reconstruction, count, dim);
        let weight = self.settings.weights.reconstruction;
        let scratch = &mut self.scratch;
        let outputs = scratch.decodes[first..].chunks_exact(dim);
        let derivatives = scratch.d_output[first..].chunks_exact_mut(dim);
        let targets = batch.rows.chunks_exact(inputs).zip(batch.labels);
        let mut sum = 0.0;
        for (((row, label), output), derivative) in targets.zip(outputs).zip(derivatives) {
            if *label || !self.mask {
                let square = squared_error(output, &row[..dim], weight * share, derivative);
                sum += f64::from(square);
            }
        }
        sum * f64::from(share)
    }

    /// The feasibility and the latent loss: gradients flow through the discriminator, which stays.
    fn ask_discriminator(&mut self, batch: Batch<'_>, losses: &mut Losses) {
        let (shape, inputs) = (self.autoencoder.shape, self.autoencoder.inputs());
        let (dim, rows) = (shape.dim, batch.labels.len());
        let (encoded, ball) = (self.encoded_start(rows), self.ball_start(rows));
        let (feasibility, latent) = (
            self.settings.weights.feasibility,
            self.settings.weights.latent,
        );
        let Some(discriminator) = &mut self.discriminator else {
            return;
        };
        let scratch = &mut self.scratch;
        scratch.judged.clear();
        let asked = [(feasibility, encoded), (latent, ball)];
        let asked = asked.iter().filter(|(weight, _)| *weight > 0.0);
        for (_, first) in asked.clone() {
            let decodes = &scratch.decodes[first * dim..][..rows * dim];
            append_rows(&mut scratch.judged, decodes, batch.rows, dim);
        }
        let count = scratch.judged.len() / inputs;
        if count == 0 {
            return;
        }
        let mut logits = discriminator.forward(&scratch.judged, count).iter();
        let (share, positive) = (1.0 / rows as f32, self.positive_weight);
        scratch.d_logits.clear();
        if feasibility > 0.0 {
            for (label, logit) in batch.labels.iter().zip(logits.by_ref()) {
                let (loss, slope) = cross_entropy(*logit, *label || self.mask, positive);
                losses.feasibility += f64::from(share * loss);
                scratch.d_logits.push(feasibility * share * slope);
            }
        }
        for logit in logits {
            let replaced = replaced_logit(*logit);
            let (loss, slope) = cross_entropy(replaced.unwrap_or(*logit), true, positive);
            losses.latent += f64::from(share * loss);
            let slope = if replaced.is_some() { 0.0 } else { slope };
            scratch.d_logits.push(latent * share * slope);
        }
        scratch.d_judged.resize(count * inputs, 0.0);
        let Learner { network, tape, .. } = discriminator;
        network.backward(tape, &scratch.d_logits, None, Some(&mut scratch.d_judged));
        let mut pulled = scratch.d_judged.chunks_exact(inputs);
        for (_, first) in asked {
            let derivatives = scratch.d_output[first * dim..][..rows * dim].chunks_exact_mut(dim);
            for (derivative, pulled) in derivatives.zip(pulled.by_ref()) {
                derivative.iter_mut().zip(pulled).for_each(|(d, p)| *d += p);
            }
        }
    }

    fn geometry(&mut self, rows: usize) -> f64 {
        let shape = self.autoencoder.shape;
        let rows = self.settings.geometry_rows.min(rows);
        let jacobians = self.autoencoder.decoders.jacobians(rows);
        self.geometry.variance(
            jacobians,
            (shape.dim, shape.latent_dim),
            self.settings.weights.geometry,
            &mut self.scratch.d_jacobians,
        )
    }

    /// The hinge loss, and the way back through the encoder.
    fn pull_encoder(&mut self, batch: Batch<'_>) -> f64 {
        let (shape, rows) = (self.autoencoder.shape, batch.labels.len());
        let first = self.encoded_start(rows) * shape.inputs();
        let weight = self.settings.weights.hinge / rows as f32;
        let (radius, scratch) = (self.settings.radius, &mut self.scratch);
        scratch.d_latent.clear();
        let joined = scratch.joined[first..].chunks_exact(shape.inputs());
        let pulled = scratch.d_joined[first..].chunks_exact(shape.inputs());
        let mut sum = 0.0;
        for ((label, joined), pulled) in batch.labels.iter().zip(joined).zip(pulled) {
            let start = scratch.d_latent.len();
            scratch
                .d_latent
                .extend_from_slice(&pulled[..shape.latent_dim]);
            let (latent, derivative) =
                (&joined[..shape.latent_dim], &mut scratch.d_latent[start..]);
            sum += f64::from(hinge(latent, *label, radius, weight, derivative));
        }
        let Learner {
            network,
            tape,
            gradient,
            ..
        } = &mut self.autoencoder.encoder;
        network.backward(tape, &scratch.d_latent, Some(gradient), None);
        sum / rows as f64
    }
}
