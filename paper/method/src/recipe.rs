//! The paper's method as a recipe.

use std::sync::Arc;

use fabproj::set::{LabelledData, Set, SetError};
use fabproj::{Recipe, Session, TrainError, Trained};

use crate::data::PaperData;
use crate::error::PaperError;
use crate::settings::CheckedPaperSettings;
use crate::training::{PaperTraining, PhaseOne};

/// The paper states no goal for a training. This one serves to report a failed training.
const GOAL: f64 = 0.99;

/// The paper's method with its settings and seed, for [`fabproj::train_with`].
///
/// The training [meets its goals](fabproj::Model::met_goals) if 99 % of the decodes of the latent ball are
/// feasible.
///
/// ```
/// use fab_method::{Paper, PaperSettings};
/// use fabproj::{Session, train_with};
///
/// let set = fabproj::set::built_in("blob-with-bite")?;
/// let settings = PaperSettings { samples: Some(2_000), effort: 0.02, ..PaperSettings::released() };
/// let model = train_with(&set, &Paper::new(settings.validate()?, 1), &Session::new())?;
/// assert_eq!(model.projector().charts(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Paper {
    name: String,
    settings: CheckedPaperSettings,
    seed: u64,
    labelled: Option<PaperData>,
    phase_one: Option<Arc<PhaseOne>>,
}

impl Paper {
    /// The method under the name `paper`.
    pub fn new(settings: CheckedPaperSettings, seed: u64) -> Self {
        Self {
            name: "paper".to_owned(),
            settings,
            seed,
            labelled: None,
            phase_one: None,
        }
    }

    /// Starts from a finished phase 1 of the same data, seed and settings: the model is the same, in less time.
    #[must_use]
    pub fn with_phase_one(self, phase_one: Arc<PhaseOne>) -> Self {
        Self {
            phase_one: Some(phase_one),
            ..self
        }
    }

    /// Sets the name for the model's record.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..self
        }
    }

    /// Trains on labelled points alone, in mask mode: the set is not asked about any point.
    ///
    /// # Errors
    /// [`PaperError::LabelsOnly`] for settings that need a membership test, [`PaperError::TooLarge`] for a
    /// number that does not fit into f32.
    pub fn with_labelled(self, points: &LabelledData) -> Result<Self, PaperError> {
        self.settings.check_labels_only()?;
        Ok(Self {
            labelled: Some(PaperData::labelled(points)?),
            ..self
        })
    }
}

impl Recipe for Paper {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn settings_json(&self) -> String {
        // Text, finite numbers and switches are always JSON.
        serde_json::to_string(&self.settings).unwrap_or_else(|error| error.to_string())
    }

    fn train(&self, set: &dyn Set, session: &Session) -> Result<Trained, TrainError> {
        let training = match &self.labelled {
            None => PaperTraining::new(set, &self.settings, self.seed)?,
            Some(points) => {
                check_dimensions(points, set)?;
                PaperTraining::of_points(points.clone(), &self.settings, self.seed)?
            }
        };
        let trained = match &self.phase_one {
            None => training.run(session)?,
            Some(phase_one) => training.phase_two(phase_one, self.settings.weights, session)?,
        };
        let summary_json = serde_json::to_string(&trained.summary)
            .map_err(|error| TrainError::Recipe(error.into()))?;
        Ok(Trained {
            weights: trained.weights,
            summary_json,
            met_goals: trained.summary.score.is_some_and(|score| score >= GOAL),
        })
    }
}

fn check_dimensions(points: &PaperData, set: &dyn Set) -> Result<(), SetError> {
    for (what, expected, found) in [
        (
            "coordinates y of the labelled points",
            set.dim(),
            points.dim,
        ),
        (
            "coordinates x of the labelled points",
            set.x_dim(),
            points.x_dim,
        ),
    ] {
        if expected != found {
            return Err(SetError::Length {
                what,
                expected,
                found,
            });
        }
    }
    Ok(())
}
