//! Runs the steps of a phase: resumes, reports, saves, stops.

use fabproj::{Event, Session, TrainError};
use fabproj_nn::state::State;
use serde::{Deserialize, Serialize};

use super::losses::Losses;

/// Steps between two progress events.
const REPORT_EVERY: u64 = 50;
/// Steps between two checkpoints.
const SAVE_EVERY: u64 = 5_000;

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
    /// The name in checkpoints and events.
    pub(super) name: String,
    /// A digest of all that the state depends on.
    pub(super) fingerprint: String,
    pub(super) steps: u64,
    pub(super) steps_per_epoch: u64,
    /// Shares of the whole training that are done before and after this unit.
    pub(super) done: (f64, f64),
}

/// Where a phase is, and what its losses were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    fingerprint: String,
    pub(super) step: u64,
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

/// Trains to the end, from the unit's checkpoint if there is one.
///
/// # Errors
/// [`TrainError::Stopped`], [`TrainError::Diverged`], and [`TrainError::Checkpoint`] for a checkpoint that
/// does not fit.
pub(super) fn drive<P: Phase>(
    mut phase: P,
    unit: &Unit,
    session: &Session,
) -> Result<(P, Progress), TrainError> {
    let mut progress = restore(&mut phase, unit, session)?;
    while progress.step < unit.steps {
        if session.stopped() {
            save(&phase, &progress, unit, session);
            return Err(TrainError::Stopped);
        }
        let losses = phase.step(progress.step);
        progress.record(&losses, unit.steps_per_epoch);
        let total: f64 = losses.named().iter().map(|(_, loss)| loss).sum();
        if !total.is_finite() {
            return Err(TrainError::Diverged {
                unit: unit.name.clone(),
                step: progress.step,
                loss: total,
            });
        }
        let finished = progress.step == unit.steps;
        if progress.step.is_multiple_of(REPORT_EVERY) || finished {
            report(&losses, progress.step, unit, session);
        }
        if progress.step.is_multiple_of(SAVE_EVERY) || finished {
            save(&phase, &progress, unit, session);
        }
    }
    Ok((phase, progress))
}

/// Restores the phase from its checkpoint, if there is one.
fn restore<P: Phase>(
    phase: &mut P,
    unit: &Unit,
    session: &Session,
) -> Result<Progress, TrainError> {
    let Some(bytes) = session.load(&unit.name) else {
        return Ok(Progress {
            fingerprint: unit.fingerprint.clone(),
            ..Progress::default()
        });
    };
    let damaged = |reason: &str| TrainError::Checkpoint {
        unit: unit.name.clone(),
        reason: reason.to_owned(),
    };
    let state = State::from_bytes(&bytes).ok_or_else(|| damaged("it is not a checkpoint"))?;
    let progress: Progress = state
        .value()
        .ok_or_else(|| damaged("it is of another kind"))?;
    let fits = progress.fingerprint == unit.fingerprint
        && progress.step <= unit.steps
        && phase.load(progress.step, &state);
    if fits {
        Ok(progress)
    } else {
        Err(damaged("it does not fit this training"))
    }
}

fn report(losses: &Losses, step: u64, unit: &Unit, session: &Session) {
    let mut present = [("", 0.0); Losses::COUNT];
    let mut count = 0;
    for (name, loss) in losses.named() {
        if loss as f32 != 0.0 {
            present[count] = (name, loss as f32);
            count += 1;
        }
    }
    let (before, after) = unit.done;
    session.emit(&Event::Progress {
        unit: &unit.name,
        step,
        steps: unit.steps,
        done: before + (after - before) * step as f64 / unit.steps as f64,
        losses: &present[..count],
    });
}

fn save<P: Phase>(phase: &P, progress: &Progress, unit: &Unit, session: &Session) {
    session.save(&unit.name, || {
        let mut state = State::new(progress);
        phase.save(&mut state);
        state.to_bytes()
    });
}
