//! Runs the steps of a phase: resumes, reports, saves, stops.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::error::PaperTrainError;
use super::losses::Losses;
use fabproj::train::{Event, Session};
use fabproj_nn::state::State;

/// Between two progress events.
const REPORT_EVERY: Duration = Duration::from_millis(300);
/// Between two checkpoints.
const SAVE_EVERY: Duration = Duration::from_secs(10);

/// Something that is trained step by step and whose state can be saved.
pub(super) trait Phase {
    /// One step; which one is all that it may depend on beside its own state.
    fn step(&mut self, step: u64) -> Losses;

    /// Writes everything that steps change.
    fn save(&self, state: &mut State);

    /// Restores it after `steps` steps; false if it does not fit, and then nothing may be used.
    fn load(&mut self, steps: u64, state: &State) -> bool;
}

/// A phase's name and length.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// The name that checkpoints and events carry.
    pub(super) name: String,
    /// What the state belongs to: another key, another training.
    pub(super) key: String,
    pub(super) steps: u64,
    pub(super) steps_per_epoch: u64,
    /// Shares of the whole training that are done before and after this unit.
    pub(super) done: (f64, f64),
}

/// Where a phase is, and what its losses were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    key: String,
    pub(super) step: u64,
    pub(super) seconds: f64,
    /// Means over the first and the latest whole epoch.
    pub(super) first: Losses,
    pub(super) last: Losses,
    /// The sum since the epoch began.
    sum: Losses,
}

impl Progress {
    fn record(&mut self, losses: &Losses, steps_per_epoch: u64) {
        self.step += 1;
        self.sum.add(losses, 1.0);
        if self.step.is_multiple_of(steps_per_epoch) {
            let mut mean = Losses::default();
            mean.add(&self.sum, 1.0 / steps_per_epoch as f64);
            if self.step == steps_per_epoch {
                self.first = mean;
            }
            self.last = mean;
            self.sum = Losses::default();
        }
    }
}

/// Trains to the end, or from where the session's store left off. `fresh` makes the phase at its
/// start; it is called again if a stored state turns out not to fit.
///
/// # Errors
/// When the session stops it, or a loss is no number.
pub(super) fn drive<P: Phase>(
    fresh: impl Fn() -> Result<P, PaperTrainError>,
    unit: &Unit,
    session: &Session,
) -> Result<(P, Progress), PaperTrainError> {
    let (mut phase, mut progress) = resumed(fresh, unit, session)?;
    let (start, before) = (Instant::now(), progress.seconds);
    let (mut reported, mut saved) = (start, start);
    let mut changed = false;
    while progress.step < unit.steps {
        if session.stopped() {
            save(&phase, &progress, unit, session);
            return Err(PaperTrainError::Stopped {
                unit: unit.name.clone(),
                step: progress.step,
                steps: unit.steps,
            });
        }
        let losses = phase.step(progress.step);
        progress.record(&losses, unit.steps_per_epoch);
        changed = true;
        let total: f64 = losses.named().iter().map(|(_, loss)| loss).sum();
        if !total.is_finite() {
            return Err(PaperTrainError::Diverged {
                unit: unit.name.clone(),
                step: progress.step,
                loss: total,
            });
        }
        let now = Instant::now();
        progress.seconds = before + (now - start).as_secs_f64();
        if now - reported >= REPORT_EVERY {
            reported = now;
            report(&losses, &progress, unit, session);
        }
        if now - saved >= SAVE_EVERY {
            saved = now;
            save(&phase, &progress, unit, session);
        }
    }
    if changed {
        report(&progress.last, &progress, unit, session);
        save(&phase, &progress, unit, session);
    }
    Ok((phase, progress))
}

fn resumed<P: Phase>(
    fresh: impl Fn() -> Result<P, PaperTrainError>,
    unit: &Unit,
    session: &Session,
) -> Result<(P, Progress), PaperTrainError> {
    let start = Progress {
        key: unit.key.clone(),
        ..Progress::default()
    };
    let Some(bytes) = session.load(&unit.name) else {
        return Ok((fresh()?, start));
    };
    let mut phase = fresh()?;
    let state = State::from_bytes(&bytes);
    let stored = state
        .as_ref()
        .and_then(|state| state.value::<Progress>())
        .filter(|progress| progress.key == unit.key && progress.step <= unit.steps);
    if let (Some(state), Some(progress)) = (state, stored)
        && phase.load(progress.step, &state)
    {
        return Ok((phase, progress));
    }
    let message = format!(
        "the checkpoint of {} belongs to another training; starting again",
        unit.name
    );
    session.emit(&Event::Warning { message: &message });
    Ok((fresh()?, start))
}

fn report(losses: &Losses, progress: &Progress, unit: &Unit, session: &Session) {
    if session.observers.is_empty() {
        return;
    }
    let share = progress.step as f64 / unit.steps as f64;
    let named = losses.named().map(|(name, loss)| (name, loss as f32));
    let present: Vec<(&'static str, f32)> =
        named.into_iter().filter(|(_, loss)| *loss != 0.0).collect();
    session.emit(&Event::Progress {
        unit: &unit.name,
        step: progress.step,
        steps: unit.steps,
        done: unit.done.0 + (unit.done.1 - unit.done.0) * share,
        losses: &present,
    });
}

fn save<P: Phase>(phase: &P, progress: &Progress, unit: &Unit, session: &Session) {
    session.save(&unit.name, || {
        let mut state = State::new(progress);
        phase.save(&mut state);
        state.to_bytes()
    });
}
