//! What the discriminator learns in a step (equation 5).

use super::{Batch, Judge, Structuring, append_rows};
use crate::learner::Learner;
use crate::losses::cross_entropy;

impl Structuring {
    /// The discriminator's steps on the batch (equation 5); returns their mean loss.
    pub(super) fn teach_discriminator(&mut self, batch: Batch<'_>, judge: &mut dyn Judge) -> f64 {
        if self.discriminator.is_none() {
            return 0.0;
        }
        self.gather_known_rows(batch, judge);
        let steps = self.settings.discriminator_steps;
        let mut sum = 0.0;
        for step in 0..steps {
            sum += self.accumulate_discriminator(batch, step, judge);
            if let Some(discriminator) = &mut self.discriminator {
                discriminator.update(self.settings.discriminator_rate);
            }
        }
        sum / steps.max(1) as f64
    }

    /// The rows that are the same in all steps: the batch and its reconstructions.
    pub(super) fn gather_known_rows(&mut self, batch: Batch<'_>, judge: &mut dyn Judge) {
        let generates = self.generates();
        let (shape, inputs) = (self.autoencoder.shape, self.autoencoder.inputs());
        let (rows, encoded) = (batch.labels.len(), self.encoded_start(batch.labels.len()));
        let scratch = &mut self.scratch;
        scratch.judged.clear();
        scratch.judged.extend_from_slice(batch.rows);
        scratch.targets.clear();
        if generates {
            let rebuilt = &scratch.decodes[encoded * shape.dim..][..rows * shape.dim];
            append_rows(&mut scratch.judged, rebuilt, batch.rows, shape.dim);
            scratch.judged.resize(3 * rows * inputs, 0.0);
            scratch.targets.extend_from_slice(batch.oracle);
            scratch.targets.resize(3 * rows, false);
            let rebuilt = &scratch.judged[rows * inputs..2 * rows * inputs];
            judge.judge(rebuilt, &mut scratch.targets[rows..2 * rows]);
        } else {
            scratch.targets.extend_from_slice(batch.labels);
        }
    }

    /// The loss of one step, with that step's generated rows; its derivative is added to the gradient.
    pub(super) fn accumulate_discriminator(
        &mut self,
        batch: Batch<'_>,
        step: usize,
        judge: &mut dyn Judge,
    ) -> f64 {
        let (shape, inputs) = (self.autoencoder.shape, self.autoencoder.inputs());
        let (rows, generates) = (batch.labels.len(), self.generates());
        let Some(discriminator) = &mut self.discriminator else {
            return 0.0;
        };
        let scratch = &mut self.scratch;
        if generates {
            scratch.judged.truncate(2 * rows * inputs);
            let decodes = &scratch.cube_decodes[step * rows * shape.dim..][..rows * shape.dim];
            append_rows(&mut scratch.judged, decodes, batch.rows, shape.dim);
            let fresh = &scratch.judged[2 * rows * inputs..];
            judge.judge(fresh, &mut scratch.targets[2 * rows..]);
        }
        let logits = discriminator.forward(&scratch.judged, scratch.targets.len());
        scratch.d_logits.clear();
        let mut sum = 0.0;
        for (index, (logit, target)) in logits.iter().zip(&scratch.targets).enumerate() {
            // Generated rows are twice as many, and their mean is a loss of its own.
            let share = 1.0 / if index < rows { rows } else { 2 * rows } as f32;
            let (loss, slope) = cross_entropy(*logit, *target, self.positive_weight);
            sum += f64::from(share * loss);
            scratch.d_logits.push(share * slope);
        }
        let Learner {
            network,
            tape,
            gradient,
            ..
        } = discriminator;
        network.backward(tape, &scratch.d_logits, Some(gradient), None);
        sum
    }
}
