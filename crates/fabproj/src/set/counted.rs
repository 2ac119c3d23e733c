//! A set that counts how often it is asked.

use fabproj_core::Membership;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Set;
use super::delegate::same_set;

/// Counts the membership queries that a set answers.
pub(crate) struct Counted<'a> {
    set: &'a dyn Set,
    queries: AtomicU64,
}

impl<'a> Counted<'a> {
    /// Starts counting at zero.
    pub(crate) fn new(set: &'a dyn Set) -> Self {
        Self {
            set,
            queries: AtomicU64::new(0),
        }
    }

    /// How many membership queries were made so far, by all threads. Asking for violations and
    /// nearest points is not counted.
    pub(crate) fn queries(&self) -> u64 {
        self.queries.load(Ordering::Relaxed)
    }
}

impl Membership for Counted<'_> {
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

impl Set for Counted<'_> {
    same_set!(self => self.set);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::{Description, built_in, label};

    #[test]
    fn queries_are_counted_across_threads() {
        let moons = built_in("two-moons").unwrap();
        let set = Counted::new(&moons);
        let points = vec![0.25_f32; 2 * 5000];
        let labels = label(&set, &points, &[]).unwrap();
        assert_eq!((labels.len(), set.queries()), (5000, 5000));
        set.nearest(&[9.0, 9.0], &[], &mut [0.0; 2]);
        assert_eq!(set.queries(), 5000);
        assert_eq!(set.description(), Description::built_in("two-moons"));
    }
}
