//! The test that decides.

/// Whether a point is feasible. Implemented for closures `Fn(&[f64], &[f64]) -> bool`.
///
/// The answer must depend on the arguments alone. The guard never asks about NaN or infinity.
pub trait Membership {
    /// Whether y is in C(x); x is empty for a fixed set.
    fn contains(&self, y: &[f64], x: &[f64]) -> bool;
}

impl<F: Fn(&[f64], &[f64]) -> bool> Membership for F {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        self(y, x)
    }
}
