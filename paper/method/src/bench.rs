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
use crate::data::PaperData;
use fabproj::set::Set;

/// Phase 2 as released, on a set's data: whole batches, one after the other, without an end.
pub struct PhaseTwoBench<'a> {
    run: PhaseTwoRun<'a>,
    batches: Batches,
    /// The next step that is not skipped.
    step: u64,
}

impl<'a> PhaseTwoBench<'a> {
    /// Fresh networks, and the data of the set.
    ///
    /// # Errors
    /// When the set's data cannot be drawn.
    pub fn new(set: &'a dyn Set, seed: u64) -> Result<Self, PaperTrainError> {
        let config = PaperConfig::released();
        let data = PaperData::sample(set, seed)?;
        let material = Material::phase_two(&data, &data.labels, config.validation_share, seed)?;
        let mut rng = generator(seed, Purpose::Networks);
        let dims = (data.dim, data.x_dim);
        let autoencoder = Autoencoder::new(&config, dims, &mut rng)?;
        let weight = material.positive_weight();
        let work = Structuring::new(autoencoder, &config, false, weight, &mut rng)?;
        let batches = Batches::new(material.len(), config.batch, seed, Purpose::OrderTwo);
        let run = PhaseTwoRun::new(work, Arc::new(material), batches.clone(), Some(set), seed);
        Ok(Self {
            run,
            batches,
            step: 0,
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
}
