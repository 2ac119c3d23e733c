//! States with labelled actions: what a guard learns from.

use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::features::{FEATURES, FeatureMap};
use crate::agent::{Purpose, random_stream};
use crate::env::Environment;
use crate::error::{Result, check_setting};
use crate::evaluate::Controller;
use crate::filter::{ActionFilter, Guarded};
use crate::look_ahead::{Action, LookAheadSettings};
use crate::shield::Shield;
use crate::steering::{Rule, from_units, grid, to_units};
use crate::task::Task;

/// Actions per state: a 5 × 5 grid with jitter, and the one that the policy wanted.
pub const ACTIONS: usize = 26;

/// Jitter of the grid.
const JITTER: f64 = 0.25;

/// Settings of a collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CollectSettings {
    /// States to collect. Default 90,000.
    pub states: usize,
    /// Copies of the task. Default 200.
    pub copies: usize,
    /// Every so many steps a state is labelled. Default 7.
    pub every: usize,
    /// Mean number of steps for which a random action is held. Default 25.
    pub hold: f64,
    /// Copies with an interrupted filter switch it off for this share of the time. Default 0.3.
    pub off_share: f64,
    /// … in blocks of so many steps. Default 40.
    pub off_block: usize,
    /// How actions are labelled.
    pub look_ahead: LookAheadSettings,
    /// How the shield corrects. Default detour.
    pub rule: Rule,
}

impl Default for CollectSettings {
    fn default() -> Self {
        Self {
            states: 90_000,
            copies: 200,
            every: 7,
            hold: 25.0,
            off_share: 0.3,
            off_block: 40,
            look_ahead: LookAheadSettings::default(),
            rule: Rule::Detour,
        }
    }
}

impl CollectSettings {
    fn validate(&self) -> Result<()> {
        for (name, count) in [
            ("states", self.states),
            ("copies", self.copies),
            ("every", self.every),
            ("off_block", self.off_block),
        ] {
            let within = (1..=1 << 24).contains(&count);
            check_setting(within, name, "from 1 to 16777216", count)?;
        }
        check_setting(self.hold >= 1.0, "hold", "at least 1", self.hold)?;
        let share = (0.0..=1.0).contains(&self.off_share);
        check_setting(share, "off_share", "in [0, 1]", self.off_share)?;
        self.look_ahead.validate()
    }
}

/// States with [`ACTIONS`] labelled actions each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelledStates {
    /// [`FEATURES`] numbers per state.
    pub features: Vec<f32>,
    /// Actions in units of the actuators: two numbers each.
    pub actions: Vec<f32>,
    /// Steps with a cost in spite of the best recovery; 0 is safe.
    pub recovery: Vec<f32>,
    /// Steps with a cost while the action is held.
    pub hold: Vec<f32>,
}

impl LabelledStates {
    /// Number of states.
    pub fn len(&self) -> usize {
        self.features.len() / FEATURES
    }

    /// Whether there are no states.
    pub fn is_empty(&self) -> bool {
        self.features.is_empty()
    }

    /// The features of a state.
    pub fn state(&self, index: usize) -> &[f32] {
        &self.features[index * FEATURES..][..FEATURES]
    }

    /// The recovery costs of a state's actions.
    pub fn recovery_of(&self, index: usize) -> &[f32] {
        &self.recovery[index * ACTIONS..][..ACTIONS]
    }

    /// The actions of a state.
    pub(crate) fn actions_of(&self, index: usize) -> &[f32] {
        &self.actions[index * ACTIONS * 2..][..ACTIONS * 2]
    }

    /// Whether a state has both safe and unsafe actions.
    pub fn is_mixed(&self, index: usize) -> bool {
        let costs = self.recovery_of(index);
        let safe = costs.iter().filter(|cost| **cost == 0.0).count();
        safe > 0 && safe < costs.len()
    }

    /// Adds the states of another collection.
    pub fn extend(&mut self, other: &Self) {
        self.features.extend(&other.features);
        self.actions.extend(&other.actions);
        self.recovery.extend(&other.recovery);
        self.hold.extend(&other.hold);
    }

    /// The first states, and the others.
    pub fn split(&self, first: usize) -> (Self, Self) {
        let part = |from: usize, to: usize| Self {
            features: self.features[from * FEATURES..to * FEATURES].to_vec(),
            actions: self.actions[from * ACTIONS * 2..to * ACTIONS * 2].to_vec(),
            recovery: self.recovery[from * ACTIONS..to * ACTIONS].to_vec(),
            hold: self.hold[from * ACTIONS..to * ACTIONS].to_vec(),
        };
        let first = first.min(self.len());
        (part(0, first), part(first, self.len()))
    }

    /// Adds the current state of a task, its actions labelled.
    fn add(
        &mut self,
        task: &Guarded,
        map: &FeatureMap,
        wanted: Action,
        settings: &LookAheadSettings,
        random: &mut ChaCha8Rng,
    ) -> Result<()> {
        let scale = task.action_scale();
        let mut jitter =
            |value: f64| (value + random.random_range(-JITTER..JITTER)).clamp(-1.0, 1.0);
        let mut units: Vec<Action> = grid().map(|action| action.map(&mut jitter)).collect();
        units.push(wanted);
        let actions: Vec<Action> = units.iter().map(|u| from_units(*u, scale)).collect();
        let outlooks = task.outlooks(&actions, settings)?;
        let start = self.features.len();
        self.features.resize(start + FEATURES, 0.0);
        map.write(task.task_observation(), &mut self.features[start..]);
        self.actions
            .extend(units.iter().flatten().map(|value| *value as f32));
        self.recovery
            .extend(outlooks.iter().map(|o| o.recovery_cost as f32));
        self.hold
            .extend(outlooks.iter().map(|o| o.hold_cost as f32));
        Ok(())
    }
}

/// How the filter of a copy is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Off,
    On,
    /// Off in blocks.
    Interrupted,
}

/// Collects labelled states.
///
/// Copies take turns in who acts (random actions that are held, and each of `controllers`, sampled)
/// and in whether a filter corrects: not at all, always, or with interruptions. The filter is `guard`,
/// or the [`Shield`] if there is none. Without corrected data hardly any state has both safe and
/// unsafe actions.
///
/// # Errors
/// If a task fails or has no model.
pub fn collect_states(
    make: &dyn Fn() -> Result<Box<dyn Task>>,
    map: &FeatureMap,
    controllers: &[Controller],
    guard: Option<&dyn ActionFilter>,
    settings: &CollectSettings,
    seed: u64,
) -> Result<LabelledStates> {
    settings.validate()?;
    let shield = Shield::new(settings.look_ahead.clone(), settings.rule);
    let filter = guard.unwrap_or(&shield);
    let copies = settings.copies.min(settings.states);
    let tasks: Result<Vec<Guarded>> = (0..copies)
        .map(|_| Ok(Guarded::new(make()?, Some(filter.boxed()))))
        .collect();
    let parts: Result<Vec<LabelledStates>> = tasks?
        .into_par_iter()
        .enumerate()
        .map(|(copy, task)| {
            let quota = settings.states / copies + usize::from(copy < settings.states % copies);
            let behaviours = controllers.len() + 1;
            let mode = [Mode::Off, Mode::On, Mode::Interrupted][copy / behaviours % 3];
            let mut run = Copy {
                task,
                controller: (copy % behaviours).checked_sub(1).map(|i| &controllers[i]),
                mode,
                random: random_stream(seed, Purpose::Collect, copy),
                settings,
                map,
            };
            run.collect(quota)
        })
        .collect();
    let mut all = LabelledStates::default();
    parts?.iter().for_each(|part| all.extend(part));
    Ok(all)
}

/// One copy of the task.
struct Copy<'a> {
    task: Guarded,
    /// `None`: random actions that are held.
    controller: Option<&'a Controller>,
    mode: Mode,
    random: ChaCha8Rng,
    settings: &'a CollectSettings,
    map: &'a FeatureMap,
}

impl Copy<'_> {
    fn collect(&mut self, quota: usize) -> Result<LabelledStates> {
        let mut states = LabelledStates::default();
        let mut observation = vec![0.0; self.task.observation_dim()];
        let mut action = vec![0.0; self.task.action_dim()];
        let mut tape = fabproj_nn::Tape::new();
        self.task.reset(self.random.next_u32(), &mut observation)?;
        for step in 0.. {
            if states.len() == quota {
                break;
            }
            self.switch(step);
            match self.controller {
                None => self.hold_or_draw(step, &mut action),
                Some(controller) => {
                    let scratch = (&mut tape, &mut self.random);
                    controller.act(&observation, &self.task, scratch, &mut action);
                }
            }
            if (step + 1).is_multiple_of(self.settings.every) {
                let wanted = to_units(&action, self.task.action_scale());
                let (task, random) = (&self.task, &mut self.random);
                states.add(task, self.map, wanted, &self.settings.look_ahead, random)?;
            }
            if self.task.step(&action, &mut observation)?.ended() {
                self.task.reset(self.random.next_u32(), &mut observation)?;
            }
        }
        Ok(states)
    }

    /// Turns the filter on or off.
    fn switch(&mut self, step: usize) {
        match self.mode {
            Mode::Off => self.task.set_executes(false),
            Mode::On => self.task.set_executes(true),
            Mode::Interrupted if step.is_multiple_of(self.settings.off_block) => {
                let off = self.random.random_bool(self.settings.off_share);
                self.task.set_executes(!off);
            }
            Mode::Interrupted => {}
        }
    }

    /// Uniform actions in units of the actuators, each held for a random time.
    fn hold_or_draw(&mut self, step: usize, action: &mut [f64]) {
        if step == 0 || self.random.random_bool(1.0 / self.settings.hold) {
            let scale = self.task.action_scale();
            for (slot, scale) in action.iter_mut().zip(scale) {
                *slot = scale * self.random.random_range(-1.0..1.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::open;

    fn collect(seed: u64) -> LabelledStates {
        let settings = CollectSettings {
            states: 300,
            copies: 9,
            rule: Rule::Nearest,
            ..CollectSettings::default()
        };
        let map = FeatureMap::of_task("double-integrator").unwrap();
        let make = || open("double-integrator");
        collect_states(&make, &map, &[Controller::Random], None, &settings, seed).unwrap()
    }

    #[test]
    fn states_are_labelled_and_some_are_mixed() {
        let states = collect(4);
        assert_eq!(states.len(), 300);
        let mixed = (0..300).filter(|index| states.is_mixed(*index)).count();
        assert!(mixed > 20, "{mixed}");
        assert!(states.actions.iter().all(|value| value.abs() <= 1.0));
        assert_eq!(states, collect(4));
        assert_ne!(states, collect(5));
        let (first, rest) = states.split(100);
        assert_eq!((first.len(), rest.len()), (100, 200));
        assert_eq!(rest.state(0), states.state(100));
    }
}
