//! A set that counts how often it is asked.

use std::sync::atomic::{AtomicU64, Ordering};

use super::delegate::same_coordinates;
use super::{Calibration, Description, Interval, Reduced, Set};

/// Counts the membership queries that a set answers, so that training can say what it cost.
///
/// ```
/// use fabproj::set::{Set, Counted, built_in};
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

impl<S: Set> Set for Counted<S> {
    same_coordinates!();

    #[inline]
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        self.queries.fetch_add(1, Ordering::Relaxed);
        self.set.contains(y, x)
    }

    fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        self.set.violation(y, x, gradient)
    }

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

    fn reduced(&self) -> Option<&Reduced> {
        self.set.reduced()
    }

    fn calibration(&self) -> Option<Calibration> {
        self.set.calibration()
    }

    fn description(&self) -> Description {
        self.set.description()
    }
}
