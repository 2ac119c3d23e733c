//! Stops a training or a certificate from wherever it is: every question to the set, about one row or many, asks
//! the stop flag, and is counted.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use fabproj_core::Membership;

use super::Session;
use crate::set::Set;
use crate::set::delegate::same_set;

/// How long work may go on after the stop flag is set, to end by itself with a checkpoint.
const GRACE: Duration = Duration::from_millis(200);

/// What unwinds work that has not ended by itself.
struct Stop;

/// The set of work that can be stopped.
pub(crate) struct Stoppable<'a> {
    set: &'a dyn Set,
    session: &'a Session<'a>,
    /// When the stop flag was first seen.
    seen: OnceLock<Instant>,
}

impl<'a> Stoppable<'a> {
    pub(crate) fn new(set: &'a dyn Set, session: &'a Session<'a>) -> Self {
        Self {
            set,
            session,
            seen: OnceLock::new(),
        }
    }

    /// Unwinds if the work should have ended. Its checkpoints are whole, as after any other end.
    fn ask(&self) {
        if self.session.stopped() && self.seen.get_or_init(Instant::now).elapsed() > GRACE {
            resume_unwind(Box::new(Stop));
        }
    }
}

/// Runs work; `stopped` if it was unwound.
pub(crate) fn stoppable<T, E>(stopped: E, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|reason: Box<dyn Any + Send>| match reason
        .is::<Stop>(
    ) {
        true => Err(stopped),
        false => resume_unwind(reason),
    })
}

impl Membership for Stoppable<'_> {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        self.ask();
        self.session.count(1);
        self.set.contains(y, x)
    }

    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        self.ask();
        self.session.count(inside.len() as u64);
        self.set.contains_rows(y, x, inside);
    }

    fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        self.ask();
        self.set.violation(y, x, gradient)
    }
}

impl Set for Stoppable<'_> {
    same_set!(self => self.set);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use super::*;
    use crate::set::FnSet;
    use crate::train::{Settings, TrainError, train_with};

    #[test]
    fn drawing_rows_of_a_slow_set_stops() {
        static STOP: AtomicBool = AtomicBool::new(false);
        static ANSWERS: AtomicU64 = AtomicU64::new(0);
        // The first answer stops the training; a whole one asks for hundreds of thousands.
        let slow = FnSet::new("slow", [(-2.0, 2.0); 2], |y, _x| {
            std::thread::sleep(Duration::from_micros(100));
            STOP.store(true, Ordering::Relaxed);
            ANSWERS.fetch_add(1, Ordering::Relaxed);
            y[0].hypot(y[1]) <= 1.0
        });
        let session = Session::new().stop(&STOP);
        let trained = train_with(&slow, &Settings::quick(), &session);
        assert!(matches!(trained, Err(TrainError::Stopped)), "{trained:?}");
        // Rows that are asked about together are answered together.
        let answers = ANSWERS.load(Ordering::Relaxed);
        assert!(answers < 20_000, "{answers}");
    }

    #[test]
    fn other_panics_go_on() {
        let panics = || stoppable((), || -> Result<(), ()> { panic!("another reason") });
        assert!(catch_unwind(panics).is_err());
    }
}
