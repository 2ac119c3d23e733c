//! Data, phase 1, phase 2, model.

use std::sync::Arc;

use fabproj_core::Model;
use rayon::prelude::*;

use super::autoencoder::{Autoencoder, Reconstructing};
use super::config::{CheckedPaperConfig, DiscriminatorRows, PaperConfig};
use super::drive::{Progress, Unit, drive};
use super::error::PaperTrainError;
use super::labelled::LabelledPoints;
use super::material::{Batches, Frames, Material, Purpose, generator, sub_seed};
use super::phases::{PhaseOneRun, PhaseTwoRun};
use super::structuring::Structuring;
use super::trained::{PaperSummary, PaperTrained, PhaseSummary, ball_score, model};
use super::weights::{LossWeights, grid};
use crate::data::{Coverage, PaperData};
use fabproj::set::Set;
use fabproj::train::{Event, Session};

/// How much longer a step of phase 2 takes than one of phase 1, for the share that is done.
const PHASE_TWO_COST: f64 = 3.5;
/// Rows of one pass over the rows held back.
const VALIDATION_ROWS: usize = 1024;

/// Trains as the paper does: sample, reconstruct, structure.
///
/// With `session.store` an interrupted training goes on where it stopped and gives the same bits.
///
/// ```
/// use fabproj::set::built_in;
/// use fabproj::train::{Session, paper};
///
/// let set = built_in("blob-with-bite")?;
/// let config = paper::PaperConfig {
///     samples: Some(2_000),
///     effort: 0.02,
///     ..paper::PaperConfig::released()
/// };
/// let trained = paper::train(set.as_ref(), &config.validate()?, 1, &Session::default())?;
/// assert_eq!(trained.model.charts.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`PaperTrainError`]: data that cannot be sampled, a stop, a divergence.
pub fn train(
    set: &dyn Set,
    config: &CheckedPaperConfig,
    seed: u64,
    session: &Session,
) -> Result<PaperTrained, PaperTrainError> {
    PaperTraining::new(set, config, seed)?.run(session)
}

/// Trains from labels alone, in mask mode.
///
/// # Errors
/// [`PaperTrainError`]: lengths that do not fit, numbers that are none, labels of one class only, a
/// stop, a divergence.
pub fn train_labelled(
    points: LabelledPoints<'_>,
    config: &CheckedPaperConfig,
    seed: u64,
    session: &Session,
) -> Result<PaperTrained, PaperTrainError> {
    PaperTraining::labelled(points, config, seed)?.run(session)
}

/// A training with its data, whose phases can be run one by one: several second phases may start from
/// one first phase.
pub struct PaperTraining<'a> {
    set: Option<&'a dyn Set>,
    config: CheckedPaperConfig,
    seed: u64,
    data: PaperData,
    coverage: Option<Coverage>,
    /// A digest of data, seed and settings other than the weights.
    key: String,
}

/// A finished phase 1.
#[derive(Clone, Debug)]
pub struct PhaseOne {
    autoencoder: Autoencoder,
    summary: PhaseSummary,
}

impl PhaseOne {
    /// How it went.
    pub fn summary(&self) -> &PhaseSummary {
        &self.summary
    }
}

impl<'a> PaperTraining<'a> {
    /// Draws the data of a set.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn new(
        set: &'a dyn Set,
        config: &CheckedPaperConfig,
        seed: u64,
    ) -> Result<Self, PaperTrainError> {
        let data = match config.samples {
            Some(rows) => PaperData::sample_rows(set, rows, seed)?,
            None => PaperData::sample(set, seed)?,
        };
        Self::prepare(Some(set), data, config, seed)
    }

    /// Takes labelled points as they are.
    ///
    /// # Errors
    /// When they cannot be learned from.
    pub fn labelled(
        points: LabelledPoints<'_>,
        config: &CheckedPaperConfig,
        seed: u64,
    ) -> Result<Self, PaperTrainError> {
        let generated = config.use_discriminator
            && config.discriminator_rows == DiscriminatorRows::RealAndGenerated;
        if generated && config.mask == Some(false) {
            return Err(PaperTrainError::LabelsOnly);
        }
        Self::prepare(None, points.checked()?, config, seed)
    }

    fn prepare(
        set: Option<&'a dyn Set>,
        data: PaperData,
        config: &CheckedPaperConfig,
        seed: u64,
    ) -> Result<Self, PaperTrainError> {
        let coverage = (config.coverage < 1.0)
            .then(|| data.cover(config.coverage, sub_seed(seed, Purpose::Coverage)))
            .transpose()?;
        let settings = PaperConfig {
            weights: LossWeights::default(),
            ..PaperConfig::clone(config)
        };
        let mut digest = blake3::Hasher::new();
        digest.update(
            serde_json::to_string(&settings)
                .unwrap_or_default()
                .as_bytes(),
        );
        digest.update(&seed.to_le_bytes());
        for values in [&data.points, &data.parameters] {
            for value in values {
                digest.update(&value.to_le_bytes());
            }
        }
        for labels in [&data.labels, &data.oracle] {
            for label in labels {
                digest.update(&[u8::from(*label)]);
            }
        }
        Ok(Self {
            set,
            config: config.clone(),
            seed,
            data,
            coverage,
            key: digest.finalize().to_hex().to_string(),
        })
    }

    /// The data.
    pub fn data(&self) -> &PaperData {
        &self.data
    }

    /// Both phases with the weights of the settings.
    ///
    /// # Errors
    /// [`PaperTrainError`]: a stop, a divergence, too few rows to split.
    pub fn run(&self, session: &Session) -> Result<PaperTrained, PaperTrainError> {
        let phase_one = self.phase_one(session)?;
        self.phase_two(&phase_one, self.config.weights, session)
    }

    /// Phase 1: encoder and decoders learn to reconstruct feasible points.
    ///
    /// # Errors
    /// [`PaperTrainError`]: a stop, a divergence, too few rows to split.
    pub fn phase_one(&self, session: &Session) -> Result<PhaseOne, PaperTrainError> {
        let (config, seed) = (&self.config, self.seed);
        let feasible = match &self.coverage {
            Some(coverage) => coverage.kept.clone(),
            None => self.data.feasible(),
        };
        let material = Material::phase_one(&self.data, feasible, config.validation_share, seed)?;
        let batches = Batches::new(material.len(), config.batch, seed, Purpose::OrderOne);
        let unit = Unit {
            name: "paper-phase-one".to_owned(),
            key: self.key.clone(),
            steps: config.phase_one_epochs() * batches.per_epoch(),
            steps_per_epoch: batches.per_epoch(),
            done: (0.0, self.phase_one_share(batches.per_epoch())),
        };
        session.emit(&Event::Stage {
            name: "phase 1: reconstruction of feasible points",
        });
        let dims = (self.data.dim, self.data.x_dim);
        let fresh = || -> Result<PhaseOneRun<'_>, PaperTrainError> {
            let mut rng = generator(seed, Purpose::Networks);
            let autoencoder = Autoencoder::new(config, dims, &mut rng)?;
            let work = Reconstructing::new(autoencoder, config);
            Ok(PhaseOneRun::new(work, &material, batches.clone()))
        };
        let (mut run, progress) = drive(fresh, &unit, session)?;
        let validation = validate(&mut run.work, &material);
        Ok(PhaseOne {
            autoencoder: run.work.autoencoder,
            summary: PhaseSummary::new(material.len(), &progress, validation),
        })
    }

    /// Phase 2 with the given weights of the losses, from a finished phase 1 (with the networks' sizes of
    /// that one), and the model. Where the settings leave phase 2 out the model is that of phase 1.
    ///
    /// # Errors
    /// [`PaperTrainError`]: a first phase for other dimensions, a stop, a divergence.
    pub fn phase_two(
        &self,
        phase_one: &PhaseOne,
        weights: LossWeights,
        session: &Session,
    ) -> Result<PaperTrained, PaperTrainError> {
        self.check_phase_one(phase_one)?;
        let settings = PaperConfig {
            weights,
            ..PaperConfig::clone(&self.config)
        };
        let labels = match &self.coverage {
            Some(coverage) => &coverage.labels,
            None => &self.data.labels,
        };
        let share = settings.validation_share;
        let material = Material::phase_two(&self.data, labels, share, self.seed)?;
        let mut summary = PaperSummary {
            samples: self.data.rows(),
            feasible: labels.iter().filter(|label| **label).count(),
            positive_weight: match settings.positive_weight {
                true => material.positive_weight(),
                false => 1.0,
            },
            phase_one: phase_one.summary.clone(),
            phase_two: None,
            score: None,
        };
        if self.config.phase_two_epochs() == 0 {
            let frames = Frames::identity(self.data.dim, self.data.x_dim);
            let model = model(&phase_one.autoencoder, None, &frames, &settings)?;
            return self.finish(model, summary);
        }
        let (material, weight) = (Arc::new(material), summary.positive_weight);
        let (work, progress) = self.structure(phase_one, &material, &settings, weight, session)?;
        let discriminator = work.discriminator.map(|learner| learner.network);
        let mut validated = Reconstructing::new(work.autoencoder, &settings);
        let validation = validate(&mut validated, &material);
        summary.phase_two = Some(PhaseSummary::new(material.len(), &progress, validation));
        let (networks, frames) = (&validated.autoencoder, &material.frames);
        let model = model(networks, discriminator.as_ref(), frames, &settings)?;
        self.finish(model, summary)
    }

    /// The steps of phase 2.
    fn structure(
        &self,
        phase_one: &PhaseOne,
        material: &Arc<Material>,
        settings: &PaperConfig,
        positive_weight: f32,
        session: &Session,
    ) -> Result<(Structuring, Progress), PaperTrainError> {
        let seed = self.seed;
        let batches = Batches::new(material.len(), settings.batch, seed, Purpose::OrderTwo);
        let unit = self.phase_two_unit(&settings.weights, &batches, phase_one);
        session.emit(&Event::Stage {
            name: "phase 2: structure of the latent space",
        });
        let fresh = || -> Result<PhaseTwoRun<'_>, PaperTrainError> {
            let mut rng = generator(seed, Purpose::Discriminator);
            let autoencoder = phase_one.autoencoder.restarted();
            let mask = self.mask();
            let work = Structuring::new(autoencoder, settings, mask, positive_weight, &mut rng)?;
            let material = Arc::clone(material);
            Ok(PhaseTwoRun::new(
                work,
                material,
                batches.clone(),
                self.set,
                seed,
            ))
        };
        let (run, progress) = drive(fresh, &unit, session)?;
        Ok((run.work, progress))
    }

    /// All second phases of the released grid, in its order and on all threads.
    ///
    /// # Errors
    /// [`PaperTrainError`] of the first that failed.
    pub fn grid(
        &self,
        phase_one: &PhaseOne,
        session: &Session,
    ) -> Result<Vec<(LossWeights, PaperTrained)>, PaperTrainError> {
        let weights: Vec<LossWeights> = grid().collect();
        weights
            .into_par_iter()
            .map(|weights| Ok((weights, self.phase_two(phase_one, weights, session)?)))
            .collect()
    }

    fn check_phase_one(&self, phase_one: &PhaseOne) -> Result<(), PaperTrainError> {
        let shape = phase_one.autoencoder.shape;
        let found = (shape.dim, shape.x_dim);
        let expected = (self.data.dim, self.data.x_dim);
        if found == expected {
            Ok(())
        } else {
            Err(PaperTrainError::PhaseOne { found, expected })
        }
    }

    fn finish(
        &self,
        mut model: Model,
        mut summary: PaperSummary,
    ) -> Result<PaperTrained, PaperTrainError> {
        if let Some(set) = self.set {
            model.lift = set.reduced().map(|reduced| reduced.lift().clone());
            summary.score = Some(ball_score(
                &model,
                set,
                self.config.score_samples,
                self.seed,
            )?);
        }
        Ok(PaperTrained { model, summary })
    }

    fn phase_two_unit(
        &self,
        weights: &LossWeights,
        batches: &Batches,
        phase_one: &PhaseOne,
    ) -> Unit {
        let named = weights.named();
        let values: Vec<String> = named.iter().map(|(_, value)| value.to_string()).collect();
        let values = values.join("-");
        let per_epoch = (phase_one.summary.rows.div_ceil(self.config.batch)) as u64;
        Unit {
            name: format!("paper-phase-two-{values}"),
            key: format!("{} {values}", self.key),
            steps: self.config.phase_two_epochs() * batches.per_epoch(),
            steps_per_epoch: batches.per_epoch(),
            done: (self.phase_one_share(per_epoch), 1.0),
        }
    }

    /// Which share of the time phase 1 takes, when it has so many batches per epoch.
    fn phase_one_share(&self, per_epoch: u64) -> f64 {
        let one = (self.config.phase_one_epochs() * per_epoch) as f64;
        let rows = self.data.rows() as f64 * (1.0 - self.config.validation_share);
        let batches = (rows / self.config.batch as f64).ceil();
        let two = self.config.phase_two_epochs() as f64 * batches * PHASE_TWO_COST;
        one / (one + two)
    }

    /// Mask mode: asked for, or the only way with what is known.
    fn mask(&self) -> bool {
        let generated = self.config.discriminator_rows == DiscriminatorRows::RealAndGenerated;
        let needed = self.config.coverage < 1.0 || (self.set.is_none() && generated);
        self.config.mask.unwrap_or(needed)
    }
}

/// The reconstruction loss of the rows held back.
fn validate(work: &mut Reconstructing, material: &Material) -> Option<f64> {
    let rows = material.validation.len() / material.width;
    let pieces = material.validation.chunks(VALIDATION_ROWS * material.width);
    let loss = pieces.map(|piece| work.forward(piece, rows)).sum();
    (rows > 0).then_some(loss)
}
