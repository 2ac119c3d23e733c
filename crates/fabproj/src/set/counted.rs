//! A set that counts how often it is asked.

use fabproj_core::Membership;
use std::sync::atomic::{AtomicU64, Ordering};

use super::delegate::same_coordinates;
use super::{Description, Equation, Interval, Learned, Set};

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
    same_coordinates!();

    fn nearest(&self, y: &[f64], x: &[f64], nearest: &mut [f64]) -> bool {
        self.set.nearest(y, x, nearest)
    }

    fn bounds(&self) -> Vec<Interval> {
        self.set.bounds()
    }

    fn draw_input(&self, x: &[f64], uniform: &mut dyn FnMut() -> f64, y: &mut [f64]) {
        self.set.draw_input(x, uniform, y);
    }

    fn constraints(&self) -> Vec<String> {
        self.set.constraints()
    }

    fn violated(&self, y: &[f64], x: &[f64]) -> Vec<String> {
        self.set.violated(y, x)
    }

    fn equations(&self) -> Vec<Equation> {
        self.set.equations()
    }

    fn learned(&self) -> Option<&Learned> {
        self.set.learned()
    }

    fn description(&self) -> Description {
        self.set.description()
    }
}
