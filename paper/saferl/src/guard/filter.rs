//! A guard between a policy and its task.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::autoencoder::{RADIUS, clamp};
use super::discriminator::{OUTPUTS, sigmoid};
use super::features::FEATURES;
use super::model::Guard;
use super::projection::GuardProjector;
use super::set_net::SetTape;
use crate::env::Result as EnvironmentResult;
use crate::error::{Result, check_setting};
use crate::filter::{ActionFilter, ActionProjector, Situation};
use crate::look_ahead::Action;
use crate::steering::{GRID, Judge, Rule, Steering, Verdict, from_units, grid, to_units};

/// Which candidates replace an action, to measure what each contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Candidates {
    /// The projection φ(u), decodes of the latent disc, the wanted throttle with other turns, a grid.
    All,
    /// The projection and decodes of the latent disc.
    Latent,
    /// The projection alone.
    Projection,
    /// The wanted throttle with other turns, and a grid.
    Grid,
}

/// Settings of a [`GuardFilter`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GuardFilterSettings {
    /// Actions pass if the discriminator gives them at least this probability. Default 0.8.
    pub threshold: f64,
    /// How a replacement is chosen. Default detour.
    pub rule: Rule,
    /// What it is chosen from. Default all.
    pub candidates: Candidates,
    /// Tell the policy what the discriminator says about ten actions. Default true.
    pub hints: bool,
    /// Replace actions at all. Without, a policy has the hints only: a control. Default true.
    pub intervenes: bool,
}

impl Default for GuardFilterSettings {
    fn default() -> Self {
        Self {
            threshold: 0.8,
            rule: Rule::Detour,
            candidates: Candidates::All,
            hints: true,
            intervenes: true,
        }
    }
}

impl GuardFilterSettings {
    fn validate(&self) -> Result<()> {
        let share = self.threshold > 0.0 && self.threshold < 1.0;
        check_setting(share, "threshold", "between 0 and 1", self.threshold)
    }
}

/// Passes actions that the discriminator calls safe, and replaces the others.
pub struct GuardFilter {
    guard: Arc<Guard>,
    settings: GuardFilterSettings,
    steering: Steering,
    features: Vec<f32>,
    tape: SetTape,
}

impl GuardFilter {
    /// A filter with a guard.
    ///
    /// # Errors
    /// If the threshold is not between 0 and 1.
    pub fn new(guard: Arc<Guard>, settings: GuardFilterSettings) -> Result<Self> {
        settings.validate()?;
        Ok(Self {
            guard,
            steering: Steering::new(settings.rule),
            settings,
            features: vec![0.0; FEATURES],
            tape: SetTape::default(),
        })
    }

    /// What the discriminator says of actions: logit, recovery cost and hold cost of each.
    fn outputs(&mut self, actions: &[Action]) -> Vec<f32> {
        let inputs: Vec<f32> = actions
            .iter()
            .flatten()
            .map(|value| *value as f32)
            .collect();
        let net = &self.guard.discriminator;
        net.forward(&self.features, &inputs, actions.len(), &mut self.tape)
            .to_vec()
    }

    /// φ(u); unless it is wanted alone also decodes on the way to the centre, and of 13 points.
    fn latent_candidates(&mut self, wanted: Action, projection_only: bool) -> Vec<Action> {
        let autoencoder = &self.guard.autoencoder;
        let input = wanted.map(|value| value as f32);
        let latent = autoencoder.encode(&self.features, &input, 1, &mut self.tape);
        let latent = clamp(&latent);
        let mut latents = latent.clone();
        if !projection_only {
            for share in [0.75, 0.5, 0.25] {
                latents.extend(latent.iter().map(|z| share * z));
            }
            latents.extend([0.0, 0.0]);
            for (count, radius) in [(8, RADIUS), (4, 0.5 * RADIUS)] {
                for index in 0..count {
                    let angle = std::f32::consts::TAU * index as f32 / count as f32;
                    latents.extend([radius * angle.cos(), radius * angle.sin()]);
                }
            }
        }
        let count = latents.len() / 2;
        let decoded = autoencoder.decode(&self.features, &latents, count, &mut self.tape);
        let unit = |value: f32| f64::from(value).clamp(-1.0, 1.0);
        let pairs = decoded.as_chunks::<2>().0.iter();
        pairs.map(|pair| pair.map(unit)).collect()
    }
}

impl Judge for GuardFilter {
    fn judge(&mut self, actions: &[Action]) -> EnvironmentResult<Vec<Verdict>> {
        let threshold = self.settings.threshold;
        let verdict = |output: &[f32]| Verdict {
            safe: f64::from(sigmoid(output[0])) >= threshold,
            recovery: output[1].into(),
            hold: output[2].into(),
        };
        let outputs = self.outputs(actions);
        Ok(outputs.chunks_exact(OUTPUTS).map(verdict).collect())
    }

    fn candidates(&mut self, wanted: Action) -> Vec<Action> {
        let mut candidates: Vec<Action> = Vec::new();
        let kind = self.settings.candidates;
        if kind != Candidates::Grid {
            candidates.extend(self.latent_candidates(wanted, kind == Candidates::Projection));
        }
        if matches!(kind, Candidates::All | Candidates::Grid) {
            candidates.extend(GRID.map(|turn| [wanted[0], turn]));
            candidates.extend(grid());
        }
        candidates
    }
}

impl ActionFilter for GuardFilter {
    fn filter(
        &mut self,
        situation: Situation<'_>,
        action: &[f64],
        filtered: &mut [f64],
    ) -> EnvironmentResult<bool> {
        if !self.settings.intervenes {
            return Ok(false);
        }
        let guard = Arc::clone(&self.guard);
        guard.map.write(situation.observation, &mut self.features);
        let wanted = to_units(action, guard.scale);
        let mut steering = self.steering.clone();
        let replacement = steering.replace(wanted, self)?;
        self.steering = steering;
        if let Some(units) = replacement {
            filtered.copy_from_slice(&from_units(units, guard.scale));
        }
        Ok(replacement.is_some())
    }

    fn reset(&mut self) {
        self.steering.reset();
    }

    fn memory(&self) -> Value {
        self.steering.memory()
    }

    fn recall(&mut self, memory: &Value) -> EnvironmentResult<()> {
        self.steering.recall(memory)
    }

    fn hint_dim(&self) -> usize {
        if self.settings.hints {
            4 * GRID.len()
        } else {
            0
        }
    }

    /// Probability and hold cost of full throttle ahead and back, with five turns each.
    fn hints(&mut self, situation: Situation<'_>, hints: &mut [f64]) -> EnvironmentResult<()> {
        if !self.settings.hints {
            return Ok(());
        }
        let guard = Arc::clone(&self.guard);
        guard.map.write(situation.observation, &mut self.features);
        let ahead = GRID.map(|turn| [1.0, turn]);
        let back = GRID.map(|turn| [-1.0, turn]);
        let outputs = self.outputs(&[ahead, back].concat());
        for (pair, output) in hints.chunks_exact_mut(2).zip(outputs.chunks_exact(OUTPUTS)) {
            pair[0] = sigmoid(output[0]).into();
            pair[1] = output[2].into();
        }
        Ok(())
    }

    fn projector(&self) -> Option<Arc<dyn ActionProjector>> {
        Some(Arc::new(GuardProjector::new(Arc::clone(&self.guard))))
    }

    fn boxed(&self) -> Box<dyn ActionFilter> {
        Box::new(Self {
            guard: Arc::clone(&self.guard),
            settings: self.settings.clone(),
            steering: self.steering.clone(),
            features: self.features.clone(),
            tape: SetTape::default(),
        })
    }

    fn digest(&self) -> String {
        let settings = serde_json::to_string(&self.settings).unwrap_or_default();
        format!("guard {} {settings}", self.guard.digest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::{Controller, EvaluationSettings, Summary, evaluate};
    use crate::guard::data::{CollectSettings, LabelledStates, collect_states};
    use crate::guard::features::FeatureMap;
    use crate::guard::model::GuardSettings;
    use crate::task::open;

    fn states(seed: u64) -> LabelledStates {
        let settings = CollectSettings {
            states: 4000,
            copies: 30,
            rule: Rule::Nearest,
            ..CollectSettings::default()
        };
        let map = FeatureMap::of_task("double-integrator").unwrap();
        let make = || open("double-integrator");
        collect_states(&make, &map, &[], None, &settings, seed).unwrap()
    }

    fn guard() -> Arc<Guard> {
        let mut settings = GuardSettings::default();
        settings.discriminator.steps = 400;
        settings.autoencoder.phase_one = 50;
        settings.autoencoder.phase_two = 200;
        let task = "double-integrator";
        Arc::new(Guard::train(task, &states(1), [1.0; 2], &settings, None, 0).unwrap())
    }

    fn run(filter: Option<&dyn ActionFilter>) -> Summary {
        let settings = EvaluationSettings {
            episodes: 20,
            ..EvaluationSettings::default()
        };
        let make = || open("double-integrator");
        let evaluation = evaluate(&make, &Controller::Random, filter, &settings).unwrap();
        evaluation.summary()
    }

    #[test]
    fn a_learned_guard_lowers_the_cost_of_a_random_policy() {
        let guard = guard();
        let quality = guard.examine(&states(2), 0.8);
        println!("{quality:?}");
        assert!(quality.false_safe < 0.25 && quality.false_unsafe < 0.25);
        let plain = run(None);
        for candidates in [Candidates::All, Candidates::Latent, Candidates::Grid] {
            let settings = GuardFilterSettings {
                rule: Rule::Nearest,
                candidates,
                hints: false,
                ..GuardFilterSettings::default()
            };
            let filter = GuardFilter::new(Arc::clone(&guard), settings).unwrap();
            let guarded = run(Some(&filter));
            println!(
                "{candidates:?}: {:.1} instead of {:.1}",
                guarded.cost.mean, plain.cost.mean
            );
            assert!(guarded.cost.mean < 0.25 * plain.cost.mean);
            assert!(guarded.distance > 1.0);
        }
        // A saved guard is the same guard.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("guard.safetensors");
        guard.save(&path).unwrap();
        let loaded = Guard::load(&path).unwrap();
        assert_eq!(loaded, *guard);
        assert_eq!(loaded.digest(), guard.digest());
        assert!(loaded.check_task("double-integrator").is_ok());
        let other = loaded.check_task("goal2").unwrap_err().to_string();
        assert!(other.contains("double-integrator") && other.contains("--task goal2"));
        std::fs::write(&path, "text").unwrap();
        assert!(Guard::load(&path).is_err());
    }

    #[test]
    fn the_derivative_of_the_projection_equals_finite_differences() {
        let projector = GuardProjector::new(guard());
        let data = states(3);
        // Observations whose features are those of labelled states: velocity, goal, obstacles.
        let observations: Vec<f32> = (0..6)
            .flat_map(|index| {
                let state = data.state(index * 50);
                let mut observation = vec![9.0; 14];
                observation[..2].copy_from_slice(&state[..2]);
                for (slot, place) in state[2..].chunks(4).zip(observation[4..12].chunks_mut(2)) {
                    if slot[3] > 0.0 {
                        place.copy_from_slice(&slot[..2]);
                    }
                }
                observation
            })
            .collect();
        let actions = crate::testing::random_values(12, 5);
        let weights = crate::testing::random_values(12, 6);
        let gradient = projector.pull_back(&observations, &actions, &weights);
        crate::testing::assert_gradient(&actions, &gradient, |actions| {
            let projected = projector.project(&observations, actions);
            projected
                .iter()
                .zip(&weights)
                .map(|(p, w)| f64::from(p * w))
                .sum()
        });
    }

    #[test]
    fn hints_are_probabilities_and_costs() {
        let filter = GuardFilter::new(guard(), GuardFilterSettings::default()).unwrap();
        let mut task =
            crate::filter::Guarded::new(open("double-integrator").unwrap(), Some(Box::new(filter)));
        use crate::env::Environment;
        let mut observation = vec![f64::NAN; task.observation_dim()];
        assert_eq!(observation.len(), 14 + 20);
        task.reset(1, &mut observation).unwrap();
        for pair in observation[14..].chunks(2) {
            assert!((0.0..=1.0).contains(&pair[0]) && pair[1].is_finite());
        }
    }
}
