//! Data, phase 1, phase 2, weights.

use std::sync::Arc;

use fabproj::set::{LabelledData, Set};
use fabproj::{Event, Session, TrainError};
use fabproj_core::Weights;

use super::autoencoder::{Autoencoder, Reconstructing};
use super::drive::{Progress, Unit, drive};
use super::error::PaperError;
use super::loss_weights::LossWeights;
use super::material::{Batches, Frames, Material, Purpose, generator, sub_seed};
use super::phases::{PhaseOneRun, PhaseTwoRun};
use super::settings::{CheckedPaperSettings, DiscriminatorRows, PaperSettings};
use super::structuring::Structuring;
use super::trained::{PaperSummary, PaperTrained, PhaseSummary, ball_score, networks};
use crate::data::{Coverage, PaperData};

/// How much longer a step of phase 2 takes than one of phase 1, for the share that is done.
const PHASE_TWO_COST: f64 = 3.5;
/// Rows of one pass over the rows held back.
const VALIDATION_ROWS: usize = 1024;

/// A training with its data, whose phases can be run one by one: several second phases may start from
/// one first phase.
///
/// [`Paper`](crate::Paper) with [`fabproj::train_with`] does all of it, and makes a
/// [`Model`](fabproj::Model).
///
/// ```
/// use fab_method::{LossWeights, PaperSettings, PaperTraining};
/// use fabproj::Session;
///
/// let set = fabproj::set::built_in("blob-with-bite")?;
/// let settings = PaperSettings { samples: Some(1_000), effort: 0.01, ..PaperSettings::released() };
/// let training = PaperTraining::new(&set, &settings.validate()?, 1)?;
/// let phase_one = training.phase_one(&Session::new())?;
/// let weights = LossWeights { hinge: 1.0, ..LossWeights::default() };
/// let trained = training.phase_two(&phase_one, weights, &Session::new())?;
/// assert_eq!(trained.weights.charts.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PaperTraining<'a> {
    set: Option<&'a dyn Set>,
    settings: CheckedPaperSettings,
    seed: u64,
    data: PaperData,
    coverage: Option<Coverage>,
    /// A digest of data, seed and settings other than the weights of the losses.
    fingerprint: String,
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
    /// Draws the data of a set without equations.
    ///
    /// # Errors
    /// [`PaperError`] when the data cannot be drawn.
    pub fn new(
        set: &'a dyn Set,
        settings: &CheckedPaperSettings,
        seed: u64,
    ) -> Result<Self, PaperError> {
        let data = match settings.samples {
            Some(rows) => PaperData::sample_rows(set, rows, seed)?,
            None => PaperData::sample(set, seed)?,
        };
        Self::prepare(Some(set), data, settings, seed)
    }

    /// Takes labelled points as they are.
    ///
    /// # Errors
    /// [`PaperError`] when the settings need a membership test, or a number does not fit into f32.
    pub fn labelled(
        points: &LabelledData,
        settings: &CheckedPaperSettings,
        seed: u64,
    ) -> Result<Self, PaperError> {
        settings.check_labels_only()?;
        Self::of_points(PaperData::labelled(points)?, settings, seed)
    }

    /// [`labelled`](Self::labelled) with points and settings that have been checked.
    pub(crate) fn of_points(
        points: PaperData,
        settings: &CheckedPaperSettings,
        seed: u64,
    ) -> Result<Self, PaperError> {
        Self::prepare(None, points, settings, seed)
    }

    fn prepare(
        set: Option<&'a dyn Set>,
        data: PaperData,
        settings: &CheckedPaperSettings,
        seed: u64,
    ) -> Result<Self, PaperError> {
        let coverage = (settings.coverage < 1.0)
            .then(|| data.cover(settings.coverage, sub_seed(seed, Purpose::Coverage)))
            .transpose()?;
        Ok(Self {
            set,
            fingerprint: fingerprint(&data, settings, seed),
            settings: settings.clone(),
            seed,
            data,
            coverage,
        })
    }

    /// The data.
    pub fn data(&self) -> &PaperData {
        &self.data
    }

    /// Both phases with the weights of the settings.
    ///
    /// # Errors
    /// [`TrainError`] when the session stops, a loss diverges, or there are too few rows to split.
    pub fn run(&self, session: &Session) -> Result<PaperTrained, TrainError> {
        let phase_one = self.phase_one(session)?;
        self.phase_two(&phase_one, self.settings.weights, session)
    }

    /// Phase 1: encoder and decoders learn to reconstruct feasible points.
    ///
    /// # Errors
    /// [`TrainError`] when the session stops, a loss diverges, or there are too few rows to split.
    pub fn phase_one(&self, session: &Session) -> Result<PhaseOne, TrainError> {
        let (settings, seed) = (&self.settings, self.seed);
        let feasible = match &self.coverage {
            Some(coverage) => coverage.kept.clone(),
            None => self.data.feasible(),
        };
        let material = Material::phase_one(&self.data, feasible, settings.validation_share, seed)?;
        let batches = Batches::new(material.len(), settings.batch, seed, Purpose::OrderOne);
        let unit = Unit {
            name: "paper-phase-one".to_owned(),
            fingerprint: self.fingerprint.clone(),
            steps: settings.phase_one_epochs() * batches.per_epoch(),
            steps_per_epoch: batches.per_epoch(),
            done: (0.0, self.phase_one_share(batches.per_epoch())),
        };
        session.emit(&Event::Stage {
            name: "phase 1: reconstruction of feasible points",
        });
        let dims = (self.data.dim, self.data.x_dim);
        let mut rng = generator(seed, Purpose::Networks);
        let autoencoder = Autoencoder::new(settings, dims, &mut rng)?;
        let work = Reconstructing::new(autoencoder, settings);
        let run = PhaseOneRun::new(work, &material, batches);
        let (mut run, progress) = drive(run, &unit, session)?;
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
    /// [`TrainError`] when a weight is out of its range, phase 1 is for other dimensions, the session stops,
    /// or a loss diverges.
    pub fn phase_two(
        &self,
        phase_one: &PhaseOne,
        weights: LossWeights,
        session: &Session,
    ) -> Result<PaperTrained, TrainError> {
        self.check_phase_one(phase_one)?;
        let settings = self.settings.with_weights(weights);
        let settings = settings.map_err(|error| TrainError::Recipe(error.into()))?;
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
        if self.settings.phase_two_epochs() == 0 {
            let frames = Frames::identity(self.data.dim, self.data.x_dim);
            let weights = networks(&phase_one.autoencoder, None, &frames, &settings)?;
            return self.finish(weights, summary);
        }
        let (material, weight) = (Arc::new(material), summary.positive_weight);
        let (work, progress) = self.structure(phase_one, &material, &settings, weight, session)?;
        let discriminator = work.discriminator.map(|learner| learner.network);
        let mut validated = Reconstructing::new(work.autoencoder, &settings);
        let validation = validate(&mut validated, &material);
        summary.phase_two = Some(PhaseSummary::new(material.len(), &progress, validation));
        let (autoencoder, frames) = (&validated.autoencoder, &material.frames);
        let weights = networks(autoencoder, discriminator.as_ref(), frames, &settings)?;
        self.finish(weights, summary)
    }

    /// The steps of phase 2.
    fn structure(
        &self,
        phase_one: &PhaseOne,
        material: &Arc<Material>,
        settings: &PaperSettings,
        positive_weight: f32,
        session: &Session,
    ) -> Result<(Structuring, Progress), TrainError> {
        let seed = self.seed;
        let batches = Batches::new(material.len(), settings.batch, seed, Purpose::OrderTwo);
        let unit = self.phase_two_unit(&settings.weights, &batches, phase_one);
        session.emit(&Event::Stage {
            name: "phase 2: structure of the latent space",
        });
        let mut rng = generator(seed, Purpose::Discriminator);
        let autoencoder = phase_one.autoencoder.restarted();
        let mask = self.mask();
        let work = Structuring::new(autoencoder, settings, mask, positive_weight, &mut rng)?;
        let material = Arc::clone(material);
        let run = PhaseTwoRun::new(work, material, batches, self.set, seed);
        let (run, progress) = drive(run, &unit, session)?;
        Ok((run.work, progress))
    }

    fn check_phase_one(&self, phase_one: &PhaseOne) -> Result<(), PaperError> {
        let shape = phase_one.autoencoder.shape;
        let found = (shape.dim, shape.x_dim);
        let expected = (self.data.dim, self.data.x_dim);
        if found == expected {
            Ok(())
        } else {
            Err(PaperError::PhaseOne { found, expected })
        }
    }

    fn finish(
        &self,
        weights: Weights,
        mut summary: PaperSummary,
    ) -> Result<PaperTrained, TrainError> {
        if let Some(set) = self.set {
            let samples = self.settings.score_samples;
            summary.score = Some(ball_score(&weights, set, samples, self.seed)?);
        }
        Ok(PaperTrained { weights, summary })
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
        let per_epoch = (phase_one.summary.rows.div_ceil(self.settings.batch)) as u64;
        Unit {
            name: format!("paper-phase-two-{values}"),
            fingerprint: format!("{} {values}", self.fingerprint),
            steps: self.settings.phase_two_epochs() * batches.per_epoch(),
            steps_per_epoch: batches.per_epoch(),
            done: (self.phase_one_share(per_epoch), 1.0),
        }
    }

    /// Which share of the time phase 1 takes, when it has so many batches per epoch.
    fn phase_one_share(&self, per_epoch: u64) -> f64 {
        let one = (self.settings.phase_one_epochs() * per_epoch) as f64;
        let rows = self.data.rows() as f64 * (1.0 - self.settings.validation_share);
        let batches = (rows / self.settings.batch as f64).ceil();
        let two = self.settings.phase_two_epochs() as f64 * batches * PHASE_TWO_COST;
        one / (one + two)
    }

    /// Mask mode: asked for, or the only way with what is known.
    fn mask(&self) -> bool {
        let generated = self.settings.discriminator_rows == DiscriminatorRows::RealAndGenerated;
        let needed = self.settings.coverage < 1.0 || (self.set.is_none() && generated);
        self.settings.mask.unwrap_or(needed)
    }
}

/// A digest of what a training depends on, the weights of the losses left out.
fn fingerprint(data: &PaperData, settings: &PaperSettings, seed: u64) -> String {
    let settings = PaperSettings {
        weights: LossWeights::default(),
        ..settings.clone()
    };
    let mut digest = blake3::Hasher::new();
    digest.update(format!("{settings:?} {seed}").as_bytes());
    for values in [&data.y, &data.x] {
        for value in values {
            digest.update(&value.to_le_bytes());
        }
    }
    for labels in [&data.labels, &data.oracle] {
        for label in labels {
            digest.update(&[u8::from(*label)]);
        }
    }
    digest.finalize().to_hex().to_string()
}

/// The reconstruction loss of the rows held back.
fn validate(work: &mut Reconstructing, material: &Material) -> Option<f64> {
    let rows = material.validation.len() / material.width;
    let pieces = material.validation.chunks(VALIDATION_ROWS * material.width);
    let loss = pieces.map(|piece| work.forward(piece, rows)).sum();
    (rows > 0).then_some(loss)
}
