//! FAB for actions as published: a conditional projector by the paper's training.
//!
//! y is the action, x the observation. [`train_projector`] labels pairs by the cost of one step and
//! trains on them; [`FabFilter`] sends every action through the projector.
//!
//! The released code trains in standardised units, then feeds the networks the policy's normalised
//! observation and the raw action, and executes the decoder's output as it is. [`Units::Released`]
//! repeats this; [`Units::Right`] converts.

use std::path::Path;
use std::sync::Arc;

use fab_method::{LossWeights, PaperSettings, PaperTraining};
use fabproj::Session;
use fabproj::set::LabelledData;
use fabproj_core::{Frame, Projector, Weights};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::agent::{Purpose, random_stream};
use crate::disk::{read_safetensors, write_atomically};
use crate::env::{EnvironmentError, Result as EnvironmentResult};
use crate::error::{Result, RlError};
use crate::filter::{ActionFilter, ActionProjector, Situation};
use crate::normaliser::Normaliser;
use crate::pairs::{PairSettings, Pairs};

/// The latent dimension: that of an action.
const LATENT: usize = 2;

/// Sharpness of the released clamp to the latent ball.
const RELEASED_SMOOTH: f32 = 20.0;

/// Pairs that the released trainer draws from the collected ones.
const RELEASED_PAIRS: usize = 60_000;

/// Settings of a projector for actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FabSettings {
    /// The collection.
    pub pairs: PairSettings,
    /// Pairs that the training sees, drawn at random; none: all.
    pub rows: Option<usize>,
    /// The paper's training.
    pub method: PaperSettings,
}

impl Default for FabSettings {
    fn default() -> Self {
        Self::paper()
    }
}

impl FabSettings {
    /// As the paper says: 100,000 pairs, λ = 1, 0.5, 0.5, 0.1, 0.5, rates 1e-4 and 2e-4, hard clamp.
    pub fn paper() -> Self {
        Self {
            pairs: PairSettings::default(),
            rows: None,
            method: PaperSettings {
                latent_dim: Some(LATENT),
                phase_two_rate: 1e-4,
                discriminator_rate: 2e-4,
                weights: LossWeights {
                    reconstruction: 1.0,
                    feasibility: 0.5,
                    latent: 0.5,
                    geometry: 0.1,
                    hinge: 0.5,
                },
                ..PaperSettings::text()
            },
        }
    }

    /// As the released code does: 60,000 of the pairs, its rates and weights, smooth clamp.
    pub fn released() -> Self {
        Self {
            pairs: PairSettings::default(),
            rows: Some(RELEASED_PAIRS),
            method: PaperSettings {
                latent_dim: Some(LATENT),
                smooth: Some(RELEASED_SMOOTH),
                ..PaperSettings::released()
            },
        }
    }
}

/// Trains a projector on labelled pairs.
///
/// # Errors
/// If the settings are wrong, all labels are the same, or the training stops.
pub fn train_projector(
    pairs: &Pairs,
    settings: &FabSettings,
    seed: u64,
    session: &Session<'_>,
) -> Result<Weights> {
    let method = settings.method.clone().validate().map_err(method_error)?;
    let data = labelled(pairs, settings.rows, seed)?;
    let training = PaperTraining::labelled(&data, &method, seed).map_err(method_error)?;
    let trained = training.run(session).map_err(method_error)?;
    Ok(trained.weights)
}

fn method_error(error: impl std::error::Error + Send + Sync + 'static) -> RlError {
    RlError::Method(Box::new(error))
}

/// Pairs as labelled points: y the action, x the observation. Keeps `rows` of them at random.
fn labelled(pairs: &Pairs, rows: Option<usize>, seed: u64) -> Result<LabelledData> {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    if let Some(rows) = rows.filter(|rows| *rows < pairs.len()) {
        order.shuffle(&mut random_stream(seed, Purpose::Guard, 1));
        order.truncate(rows);
    }
    let take = |values: &[f32], width: usize| -> Vec<f64> {
        let rows = order.iter().flat_map(|row| &values[row * width..][..width]);
        rows.map(|value| f64::from(*value)).collect()
    };
    let names = |letter: &str, count: usize| (0..count).map(|i| format!("{letter}{i}")).collect();
    LabelledData::new(
        names("y", pairs.action_dim),
        take(&pairs.actions, pairs.action_dim),
        names("x", pairs.observation_dim),
        take(&pairs.observations, pairs.observation_dim),
        order.iter().map(|row| pairs.feasible[*row]).collect(),
    )
    .map_err(method_error)
}

/// Writes a projector as a model file that `fabproj` reads.
///
/// # Errors
/// [`RlError::Disk`].
pub fn save_projector(weights: &Weights, path: &Path) -> Result<()> {
    let bytes = weights.to_bytes().map_err(method_error)?;
    write_atomically(path, &bytes)
}

/// Reads a projector.
///
/// # Errors
/// [`RlError::Disk`] or [`RlError::Damaged`].
pub fn load_projector(path: &Path) -> Result<Weights> {
    let bytes = read_safetensors(path)?;
    Weights::from_bytes(&bytes).map_err(|error| RlError::damaged(path, error))
}

/// In which units a projector is fed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Units {
    /// The policy's normalised observation and the raw action go into the networks as they are.
    Released,
    /// Raw observation and action, converted to the units of the training and back.
    Right,
}

/// A projector of actions for many rows.
struct FabProjector {
    projector: Projector,
    units: Units,
}

impl FabProjector {
    fn new(weights: &Weights, units: Units) -> Result<Self> {
        let mut weights = weights.clone();
        if units == Units::Released {
            // Without its frames the model is the bare networks.
            weights.frame = Frame::unit(weights.dim);
            weights.x_frame = Frame::unit(weights.x_dim);
            for chart in &mut weights.charts {
                chart.frame = Frame::unit(weights.dim);
            }
        }
        let projector = Projector::new(&weights).map_err(method_error)?;
        Ok(Self { projector, units })
    }
}

impl ActionProjector for FabProjector {
    fn project(&self, observations: &[f32], actions: &[f32]) -> Vec<f32> {
        let projected = self.projector.project_rows(actions, observations);
        // The lengths are checked when a filter meets its task.
        projected.map_or_else(|_| actions.to_vec(), |(projected, _)| projected)
    }

    fn pull_back(&self, observations: &[f32], actions: &[f32], d_projected: &[f32]) -> Vec<f32> {
        let gradient = self.projector.vjp(actions, observations, d_projected);
        gradient.map_or_else(|_| vec![0.0; actions.len()], |(d_actions, _)| d_actions)
    }

    fn wants_normalised(&self) -> bool {
        self.units == Units::Released
    }
}

/// Sends every action through FAB's projector.
pub struct FabFilter {
    projector: Arc<FabProjector>,
    digest: String,
    /// The policy's normalisation, for [`Units::Released`].
    normaliser: Option<Normaliser>,
}

impl FabFilter {
    /// A filter with a projector.
    ///
    /// # Errors
    /// If the weights are invalid.
    pub fn new(weights: &Weights, units: Units) -> Result<Self> {
        let bytes = weights.to_bytes().map_err(method_error)?;
        let digest = &blake3::hash(&bytes).to_hex()[..16];
        Ok(Self {
            projector: Arc::new(FabProjector::new(weights, units)?),
            digest: format!("projector {units:?} {digest}"),
            normaliser: None,
        })
    }

    /// The observation as the projector wants it.
    fn x(&self, observation: &[f64]) -> Vec<f32> {
        let mut x = vec![0.0; observation.len()];
        match &self.normaliser {
            Some(normaliser) => normaliser.normalise(observation, &mut x),
            None => {
                let pairs = x.iter_mut().zip(observation);
                pairs.for_each(|(slot, value)| *slot = *value as f32);
            }
        }
        x
    }
}

impl ActionFilter for FabFilter {
    fn filter(
        &mut self,
        situation: Situation<'_>,
        action: &[f64],
        filtered: &mut [f64],
    ) -> EnvironmentResult<bool> {
        let y: Vec<f32> = action.iter().map(|value| *value as f32).collect();
        let x = self.x(situation.observation);
        let projected = self.projector.projector.project(&y, &x);
        let (projected, _) = projected.map_err(|error| {
            let what = format!("the projector does not fit the task: {error}");
            EnvironmentError::Other(what.into())
        })?;
        for (slot, value) in filtered.iter_mut().zip(projected) {
            *slot = value.into();
        }
        // It never passes an action on: every step counts as corrected.
        Ok(true)
    }

    fn wants_normaliser(&self) -> bool {
        self.projector.units == Units::Released
    }

    fn set_normaliser(&mut self, normaliser: &Normaliser) {
        if self.wants_normaliser() {
            self.normaliser = Some(normaliser.clone());
        }
    }

    fn projector(&self) -> Option<Arc<dyn ActionProjector>> {
        Some(Arc::clone(&self.projector) as Arc<dyn ActionProjector>)
    }

    fn boxed(&self) -> Box<dyn ActionFilter> {
        Box::new(Self {
            projector: Arc::clone(&self.projector),
            digest: self.digest.clone(),
            normaliser: self.normaliser.clone(),
        })
    }

    fn digest(&self) -> String {
        self.digest.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::collect_pairs;
    use crate::ppo_fab::{Mode, PpoFabSettings};
    use crate::task::open;
    use crate::train::{AlgorithmSettings, TrainSettings, train};

    fn quick(mut settings: FabSettings) -> Weights {
        settings.pairs.pairs = 600;
        settings.method.effort = 0.01;
        let mut task = open("double-integrator").unwrap();
        let pairs = collect_pairs(&mut task, &settings.pairs, 0).unwrap();
        train_projector(&pairs, &settings, 0, &Session::new()).unwrap()
    }

    #[test]
    fn both_recipes_train_and_run_in_both_modes() {
        for (settings, units) in [
            (FabSettings::paper(), Units::Right),
            (FabSettings::released(), Units::Released),
        ] {
            let weights = quick(settings);
            assert_eq!((weights.dim, weights.x_dim), (2, 14));
            let filter = FabFilter::new(&weights, units).unwrap();
            for mode in [Mode::PostHoc, Mode::EndToEnd] {
                let algorithm = PpoFabSettings {
                    mode,
                    ..PpoFabSettings::paper()
                };
                let mut settings = TrainSettings {
                    steps: 600,
                    algorithm: AlgorithmSettings::PpoFab(algorithm),
                    ..TrainSettings::default()
                };
                settings.rollout.environments = 3;
                settings.rollout.steps_per_epoch = 300;
                let checked = settings.validate().unwrap();
                let session = crate::train::Session::default();
                let trained = train(&checked, 0, Some(&filter), &session).unwrap();
                assert_eq!(trained.curve[1].intervened, 1.0);
            }
        }
    }

    #[test]
    fn right_units_are_converted_and_released_ones_are_not() {
        let weights = quick(FabSettings::paper());
        let right = FabProjector::new(&weights, Units::Right).unwrap();
        let released = FabProjector::new(&weights, Units::Released).unwrap();
        let (x, y) = (vec![0.3f32; 14], [0.2f32, -0.4]);
        let scaled = |values: &[f32], frame: &Frame| -> Vec<f32> {
            let each = values.iter().zip(&frame.centre).zip(&frame.scale);
            each.map(|((value, centre), scale)| (value - centre) / scale)
                .collect()
        };
        let frame = &weights.charts[0].frame;
        let bare = released.project(&scaled(&x, &weights.x_frame), &scaled(&y, frame));
        let expected: Vec<f32> = bare
            .iter()
            .zip(&frame.centre)
            .zip(&frame.scale)
            .map(|((value, centre), scale)| value * scale + centre)
            .collect();
        for (found, expected) in right.project(&x, &y).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-4, "{found} {expected}");
        }
    }

    #[test]
    fn files_come_back() {
        let weights = quick(FabSettings::paper());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("projector.safetensors");
        save_projector(&weights, &path).unwrap();
        assert_eq!(load_projector(&path).unwrap(), weights);
        std::fs::write(&path, "text").unwrap();
        assert!(load_projector(&path).is_err());
    }
}
