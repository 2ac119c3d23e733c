//! Steps of phase 2 by themselves, to be timed.

use std::sync::Arc;

use super::autoencoder::Autoencoder;
use super::config::PaperConfig;
use super::drive::Phase;
use super::error::PaperTrainError;
use super::losses::Losses;
use super::material::{Batches, Material, Purpose, generator};
use super::phases::PhaseTwoRun;
use super::structuring::Structuring;
use crate::data::paper::PaperData;
use crate::nn::MlpSpec;
use crate::set::ConstraintSet;

/// Phase 2 as released, on a set's data: whole batches, one after the other, without an end.
pub struct PhaseTwoBench<'a> {
    run: PhaseTwoRun<'a>,
    batches: Batches,
    /// The next step that is not skipped.
    step: u64,
    flops: f64,
}

impl<'a> PhaseTwoBench<'a> {
    /// Fresh networks, and the data of the set.
    ///
    /// # Errors
    /// When the set's data cannot be drawn.
    pub fn new(set: &'a dyn ConstraintSet, seed: u64) -> Result<Self, PaperTrainError> {
        let config = PaperConfig::released();
        let data = PaperData::sample(set, seed)?;
        let material = Material::phase_two(&data, &data.labels, config.validation_share, seed)?;
        let mut rng = generator(seed, Purpose::Networks);
        let dims = (data.dim, data.parameter_dim);
        let autoencoder = Autoencoder::new(&config, dims, &mut rng)?;
        let flops = flops(&autoencoder, &config);
        let weight = material.positive_weight();
        let work = Structuring::new(autoencoder, &config, false, weight, &mut rng)?;
        let batches = Batches::new(material.len(), config.batch, seed, Purpose::OrderTwo);
        let run = PhaseTwoRun::new(work, Arc::new(material), batches.clone(), Some(set), seed);
        Ok(Self {
            run,
            batches,
            step: 0,
            flops,
        })
    }

    /// One batch: the discriminator's steps and the autoencoder's.
    pub fn step(&mut self) -> Losses {
        // The last batch of an epoch is short: it would flatter the time.
        if (self.step + 1).is_multiple_of(self.batches.per_epoch()) {
            self.step += 1;
        }
        let losses = self.run.step(self.step);
        self.step += 1;
        losses
    }

    /// Floating-point operations of the matrix products of one batch.
    pub fn flops(&self) -> f64 {
        self.flops
    }
}

/// Two for each multiply-add: forward, gradient of the weights, gradient of the inputs.
fn flops(autoencoder: &Autoencoder, config: &PaperConfig) -> f64 {
    let products = |spec: &MlpSpec| -> usize {
        let shapes = (0..spec.layer_count()).map(|layer| spec.layer_shape(layer));
        shapes.map(|(inputs, outputs)| inputs * outputs).sum()
    };
    let first = |spec: &MlpSpec| {
        let (inputs, outputs) = spec.layer_shape(0);
        inputs * outputs
    };
    let encoder = autoencoder.encoder.network.spec();
    let judge = MlpSpec::new(autoencoder.inputs(), &config.discriminator, 1);
    let (rows, steps) = (config.batch, config.discriminator_steps);
    let jacobian_rows = config.geometry_rows * autoencoder.shape.latent_dim;
    let mut total = rows * (3 * products(encoder) - first(encoder));
    total += 3 * rows * steps * (3 * products(&judge) - first(&judge));
    // Through the discriminator to its inputs, which needs no gradient of its weights.
    total += 2 * rows * 2 * products(&judge);
    for decoder in autoencoder.decoders.networks() {
        let (all, input) = (products(decoder.spec()), first(decoder.spec()));
        total += steps * rows * all + 2 * rows * 3 * all;
        total += jacobian_rows * (3 * all - input);
    }
    2.0 * total as f64
}
