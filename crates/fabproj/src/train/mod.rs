//! Training: from a set to a model.
//!
//! [`train_with`] checks the set, eliminates its equations, claims the checkpoints, lets a [`Recipe`] train
//! and records the result. [`Settings`] is the recipe of this library.

pub(crate) mod anchors;
pub(crate) mod assignment;
pub(crate) mod atlas;
pub(crate) mod chart;
mod checkpoints;
mod error;
pub(crate) mod fit;
pub(crate) mod labelled;
pub(crate) mod measure;
mod penalty;
mod purpose;
mod search;
mod session;
pub(crate) mod settings;
mod sparing;
mod stop;

use fabproj_core::Weights;
use serde_json::Value;

pub use checkpoints::Checkpoints;
pub(crate) use checkpoints::Identity;
pub use error::TrainError;
pub use fit::LatentKind;
pub use session::{Event, Session};
pub use settings::Settings;
pub(crate) use stop::{Stoppable, stoppable};

use crate::Model;
use crate::set::{Reduced, Set, check};

/// A training method with its settings and seed. [`Settings`] is the one of this library.
pub trait Recipe {
    /// Its name, for the model's record.
    fn name(&self) -> String;

    /// The seed of all random numbers.
    fn seed(&self) -> u64;

    /// All other settings as a JSON object, for the model's record and the identity of checkpoints.
    fn settings_json(&self) -> String;

    /// Trains for a set without equations.
    ///
    /// # Errors
    /// [`TrainError`] when the settings are out of range, nothing can be learned, or the session stops.
    fn train(&self, set: &dyn Set, session: &Session) -> Result<Trained, TrainError>;
}

/// The result of a recipe.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// The networks.
    pub weights: Weights,
    /// What the training did, as a JSON object, for the model's record.
    pub summary_json: String,
    /// Whether the recipe met its own goals.
    pub met_goals: bool,
}

/// Trains a model for a set and certifies it.
///
/// [`train_with`] can be watched, stopped and resumed.
///
/// # Errors
/// [`TrainError`] when the settings are out of range or nothing can be learned. A model that misses the
/// recipe's goals is not an error: [`Model::met_goals`] and its certificate say so.
///
/// ```
/// use fabproj::Settings;
/// use fabproj::set::FnSet;
///
/// let plate = FnSet::new("plate", [(-2.0, 2.0); 2], |y, _x| {
///     y[0].abs().max(y[1].abs()) <= 1.0 && y[0].hypot(y[1]) >= 0.4
/// });
/// let model = fabproj::train(&plate, Settings { phase_two: 600, ..Settings::quick() })?;
/// assert!(model.certificate().is_some_and(|certificate| certificate.raw_lower_bound > 0.8));
/// # Ok::<(), fabproj::TrainError>(())
/// ```
pub fn train(set: &dyn Set, settings: Settings) -> Result<Model, TrainError> {
    let session = Session::new();
    let mut model = train_with(set, &settings, &session)?;
    let plan = settings.plan(session.queries(), model.projector().charts());
    model.certify(set, &plan)?;
    Ok(model)
}

/// Trains a model by a recipe, in an environment that can watch, stop and resume it. The model has no
/// certificate yet: [`Model::certify`] makes one.
///
/// # Errors
/// As for [`train`]; [`TrainError::Stopped`] when the session's stop flag was set,
/// [`TrainError::OtherTraining`] when its checkpoints belong to another training.
pub fn train_with(
    set: &dyn Set,
    recipe: &dyn Recipe,
    session: &Session,
) -> Result<Model, TrainError> {
    check(set)?;
    let settings: Value = serde_json::from_str(&recipe.settings_json())
        .map_err(|error| TrainError::Recipe(error.into()))?;
    let description = set.description();
    session.claim(|| Identity {
        fabproj: env!("CARGO_PKG_VERSION").to_owned(),
        set: description.name(),
        set_hash: description.hash(),
        recipe: recipe.name(),
        settings: settings.clone(),
        seed: recipe.seed(),
    })?;
    let trained = train_weights(set, recipe, session)?;
    Model::of_training(set, recipe, settings, trained)
}

/// The weights alone, under the checkpoints that the session has claimed.
pub(crate) fn train_weights(
    set: &dyn Set,
    recipe: &dyn Recipe,
    session: &Session,
) -> Result<Trained, TrainError> {
    let asked = Stoppable::new(set, session);
    let reduced = Reduced::of(&asked)?;
    let mut trained = stoppable(TrainError::Stopped, || match &reduced {
        Some(reduced) => recipe.train(reduced, session),
        None => recipe.train(&asked, session),
    })?;
    trained.weights.equations = reduced.map(|reduced| reduced.equations().clone());
    Ok(trained)
}

impl Recipe for Settings {
    fn name(&self) -> String {
        self.preset.to_owned()
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn settings_json(&self) -> String {
        // Text, finite numbers and switches are always JSON.
        serde_json::to_string(self).unwrap_or_else(|error| error.to_string())
    }

    fn train(&self, set: &dyn Set, session: &Session) -> Result<Trained, TrainError> {
        let (weights, summary) = search::train(set, self, session)?;
        let summary_json =
            serde_json::to_string(&summary).map_err(|error| TrainError::Recipe(error.into()))?;
        Ok(Trained {
            weights,
            summary_json,
            met_goals: summary.missed.is_empty(),
        })
    }
}
