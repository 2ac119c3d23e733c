//! The test that decides.

/// Whether a point is feasible. Implemented for closures `Fn(&[f64], &[f64]) -> bool`.
///
/// The answer must depend on the arguments alone. The guard never asks about NaN or infinity.
pub trait Membership {
    /// Whether y is in C(x); x is empty for a fixed set.
    fn contains(&self, y: &[f64], x: &[f64]) -> bool;

    /// How far y is from C(x), in any measure that falls on the way there; `None` where that is not
    /// known, as for closures. The guard of an input-dependent set asks about points that have failed
    /// the test, and where it finds none that passes it returns the one that violates least.
    fn violation(&self, y: &[f64], x: &[f64]) -> Option<f64> {
        let _ = (y, x);
        None
    }
}

impl<F: Fn(&[f64], &[f64]) -> bool> Membership for F {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        self(y, x)
    }
}
