//! What a training talks to while it runs: observers, a store for checkpoints, and a wish to stop.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Something that happened in a training.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A new part of the work began.
    Stage {
        /// What it is, for a person.
        name: &'a str,
    },
    /// Steps were made (reported now and then, not for every step).
    Progress {
        /// Which unit of work: the same name as its checkpoint.
        unit: &'a str,
        /// Steps done in the unit.
        step: u64,
        /// Steps that the unit has.
        steps: u64,
        /// Share of the whole training that is done, from 0 to 1, as far as it can be known.
        done: f64,
        /// Losses by name.
        losses: &'a [(&'static str, f32)],
    },
    /// A candidate was measured.
    Measured {
        /// The candidate.
        candidate: &'a str,
        /// Figures by name.
        figures: &'a [(&'static str, f64)],
    },
    /// Something that the user should know.
    Warning {
        /// What, for a person.
        message: &'a str,
    },
}

/// Receives the events of a training, from any of its threads.
pub trait Observer: Sync {
    /// Called for every event.
    fn observe(&self, event: &Event);
}

/// Keeps the state of unfinished units of work under their names.
pub trait CheckpointStore: Sync {
    /// The state saved last under the name.
    fn load(&self, unit: &str) -> Option<Vec<u8>>;
    /// Saves a state; a failure is reported to the user by the store and does not end the training.
    fn save(&self, unit: &str, state: &[u8]);
}

/// A training's surroundings. The default observes nothing, saves nothing and never stops.
#[derive(Default)]
pub struct Session<'a> {
    /// Who is told.
    pub observers: Vec<&'a dyn Observer>,
    /// Where checkpoints go.
    pub store: Option<&'a dyn CheckpointStore>,
    /// Set to true from outside to stop cleanly at the next step.
    pub stop: Option<&'a AtomicBool>,
}

impl Session<'_> {
    /// Tells all observers.
    pub fn emit(&self, event: &Event) {
        self.observers
            .iter()
            .for_each(|observer| observer.observe(event));
    }

    /// Whether the training should stop.
    pub fn stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// The saved state of a unit.
    pub fn load(&self, unit: &str) -> Option<Vec<u8>> {
        self.store.and_then(|store| store.load(unit))
    }

    /// Saves the state of a unit.
    pub fn save(&self, unit: &str, state: impl FnOnce() -> Vec<u8>) {
        if let Some(store) = self.store {
            store.save(unit, &state());
        }
    }
}

/// A store in memory, for tests and for programs that keep checkpoints elsewhere.
#[derive(Default)]
pub struct MemoryStore {
    units: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl CheckpointStore for MemoryStore {
    fn load(&self, unit: &str) -> Option<Vec<u8>> {
        self.units.lock().ok()?.get(unit).cloned()
    }

    fn save(&self, unit: &str, state: &[u8]) {
        if let Ok(mut units) = self.units.lock() {
            units.insert(unit.to_owned(), state.to_vec());
        }
    }
}
