//! A training's environment: observers, checkpoints, stop flag.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::checkpoints::Checkpoints;

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
    /// A warning for the user.
    Warning {
        /// What, for a person.
        message: &'a str,
    },
}

/// Receives the events of a training, from any of its threads.
type Observer<'a> = dyn Fn(&Event) + Sync + 'a;

/// A training's environment. The default observes nothing, saves nothing and never stops.
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use fabproj::{Event, Session};
///
/// let stop = AtomicBool::new(false);
/// let session = Session::new().stop(&stop).observe(|event| {
///     if let Event::Progress { done, .. } = event {
///         println!("{:.0} %", 100.0 * done);
///     }
/// });
/// # let _ = session;
/// ```
#[derive(Default)]
pub struct Session<'a> {
    observers: Vec<Box<Observer<'a>>>,
    checkpoints: Option<&'a Checkpoints>,
    stop: Option<&'a AtomicBool>,
    warned: AtomicBool,
    queries: AtomicU64,
}

impl<'a> Session<'a> {
    /// An environment without observers, checkpoints and stop flag.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an observer, which is told of every event, by any thread of the training.
    #[must_use]
    pub fn observe(mut self, observer: impl Fn(&Event) + Sync + 'a) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// Sets where checkpoints go.
    #[must_use]
    pub fn checkpoints(mut self, checkpoints: &'a Checkpoints) -> Self {
        self.checkpoints = Some(checkpoints);
        self
    }

    /// Sets the stop flag: once it is true, the training saves a checkpoint and ends with
    /// [`TrainError::Stopped`](crate::TrainError::Stopped).
    #[must_use]
    pub fn stop(mut self, stop: &'a AtomicBool) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Tells all observers.
    pub fn emit(&self, event: &Event) {
        self.observers.iter().for_each(|observer| observer(event));
    }

    /// The environment of a part of the training: from one share of the whole to another.
    pub(crate) fn part(&self, from: f64, to: f64) -> Session<'_> {
        let tell = move |event: &Event| match *event {
            Event::Progress {
                unit,
                step,
                steps,
                done,
                losses,
            } => self.emit(&Event::Progress {
                unit,
                step,
                steps,
                done: from + (to - from) * done,
                losses,
            }),
            _ => self.emit(event),
        };
        Session {
            checkpoints: self.checkpoints,
            stop: self.stop,
            ..Session::new().observe(tell)
        }
    }

    /// How many membership queries trainings in this environment have made so far.
    pub fn queries(&self) -> u64 {
        self.queries.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self, queries: u64) {
        self.queries.fetch_add(queries, Ordering::Relaxed);
    }

    /// Whether the stop flag is set.
    pub fn stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// The saved state of a unit of work.
    pub fn load(&self, unit: &str) -> Option<Vec<u8>> {
        self.checkpoints
            .and_then(|checkpoints| checkpoints.load(unit))
    }

    /// Saves the state of a unit of work. A failure is a warning, said once: it does not end the training.
    pub fn save(&self, unit: &str, state: impl FnOnce() -> io::Result<Vec<u8>>) {
        let Some(checkpoints) = self.checkpoints else {
            return;
        };
        let saved = state().and_then(|state| checkpoints.save(unit, &state));
        if let Err(error) = saved
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            let message =
                format!("cannot write checkpoints: {error}; training goes on without them");
            self.emit(&Event::Warning { message: &message });
        }
    }

    pub(crate) fn claim(
        &self,
        identity: impl FnOnce() -> super::checkpoints::Identity,
    ) -> Result<(), super::TrainError> {
        match self.checkpoints {
            Some(checkpoints) => checkpoints.claim(&identity()),
            None => Ok(()),
        }
    }
}
