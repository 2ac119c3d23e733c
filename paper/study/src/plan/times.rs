//! Taking the times of finished runs again, where nothing else runs: results need no calm machine, times do.

use fabproj::Event;

use super::{Plan, Run};
use crate::protocol::Answers;
use crate::store::{Found, RunRecord, Store};
use crate::{Context, StudyError, machine};

/// What taking times again found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retimed {
    /// Runs whose times were taken now.
    pub timed: usize,
    /// Runs whose times had been taken like this on this machine.
    pub kept: usize,
    /// Runs that the store does not have.
    pub missing: usize,
}

/// Trains the methods of finished runs again, one after the other, with the projectors of the store, and puts the
/// times of their answers into the records. Nothing else of a record changes.
///
/// # Errors
/// [`StudyError`] when the store cannot be used, the stop flag is set, or a training fails.
pub fn time_again(
    plan: &Plan,
    context: &Context<'_>,
    store: &Store,
) -> Result<Retimed, StudyError> {
    let (mut found, mut finished) = (Retimed::default(), Vec::new());
    let here = machine::describe();
    for run in &plan.runs {
        match store.run(&run.key(context.effort(), context.protocol()))? {
            Found::This(record) if record.timed_alone && record.machine == here => found.kept += 1,
            Found::This(record) => finished.push((run, record)),
            _ => found.missing += 1,
        }
    }
    let count = finished.len().max(1) as f64;
    for (run, record) in finished {
        context.check_stop()?;
        let progress = |step: u64, timed: usize| {
            context.emit(&Event::Progress {
                unit: &run.name(),
                step,
                steps: 1,
                done: timed as f64 / count,
                losses: &[],
            });
        };
        progress(0, found.timed);
        store.save_run(&retimed(run, record, context)?)?;
        found.timed += 1;
        progress(1, found.timed);
    }
    Ok(found)
}

/// The record with new times.
fn retimed(
    run: &Run,
    mut record: RunRecord,
    context: &Context<'_>,
) -> Result<RunRecord, StudyError> {
    let given = run.answers(context)?;
    let (answers, guarded) = (Answers::of(&given.answers), given.guarded);
    if !are_same(&answers, &record.answers) {
        context.warn(&format!(
            "{}: the answers differ from the kept ones; those are kept, with the new times",
            run.name()
        ));
    }
    record.answers.take_times(&answers);
    if let (Some(kept), Some(guarded)) = (&mut record.guarded, guarded) {
        kept.take_times(&Answers::of(&guarded));
    }
    record.timed_alone = true;
    record.machine = machine::describe();
    Ok(record)
}

/// Whether two sets of answers are the same, as far as a record tells.
fn are_same(a: &Answers, b: &Answers) -> bool {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + a.abs());
    a.feasible == b.feasible
        && close(a.true_gap.mean, b.true_gap.mean)
        && close(a.paper_gap.mean, b.paper_gap.mean)
}
