//! A set that counts how often it is asked.

use fabproj_core::Membership;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Set;
use super::delegate::same_set;

/// Counts the membership queries that a set answers.
///
/// ```
/// use fabproj::Membership;
/// use fabproj::set::{Counted, built_in};
/// let set = Counted::new(built_in("torus")?);
/// set.contains(&[1.5, 0.0, 0.0], &[]);
/// assert_eq!(set.queries(), 1);
/// # Ok::<(), fabproj::set::SetError>(())
/// ```
pub struct Counted<S> {
    set: S,
    queries: AtomicU64,
}

impl<S: Set> Counted<S> {
    /// Starts counting at zero.
    pub fn new(set: S) -> Self {
        Self {
            set,
            queries: AtomicU64::new(0),
        }
    }

    /// How many membership queries were made so far, by all threads. Asking for violations and
    /// nearest points is not counted.
    pub fn queries(&self) -> u64 {
        self.queries.load(Ordering::Relaxed)
    }
}

impl<S: Set> Membership for Counted<S> {
    #[inline]
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        self.queries.fetch_add(1, Ordering::Relaxed);
        self.set.contains(y, x)
    }

    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        self.queries
            .fetch_add(inside.len() as u64, Ordering::Relaxed);
        self.set.contains_rows(y, x, inside);
    }

    fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        self.set.violation(y, x, gradient)
    }
}

impl<S: Set> Set for Counted<S> {
    same_set!(self => self.set);
}
