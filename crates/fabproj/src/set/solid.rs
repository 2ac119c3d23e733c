//! Fixed sets with a closed form: what they say of points outside, and what follows from it.

use fabproj_core::Membership;

use super::vector::is_finite;
use super::{Description, Interval, Set};

/// A fixed built-in set. Only [`holds`](Self::holds) is asked about points inside and points that are not finite.
pub(super) trait Solid: Send + Sync {
    /// Its name in the catalogue.
    const NAME: &str;
    const BOUNDS: &[Interval];

    fn holds(&self, y: &[f64]) -> bool;

    /// How far the point is outside. The gradient is zero before.
    fn excess(&self, y: &[f64], gradient: &mut [f64]) -> f64;

    /// The nearest point of the set, pulled inward a little.
    fn nearest(&self, y: &[f64], nearest: &mut [f64]);
}

/// A [`Solid`] as a set.
pub(super) struct Fixed<T>(pub(super) T);

impl<T: Solid> Membership for Fixed<T> {
    #[inline]
    fn contains(&self, y: &[f64], _: &[f64]) -> bool {
        self.0.holds(y)
    }

    fn violation(&self, y: &[f64], _: &[f64], gradient: &mut [f64]) -> Option<f64> {
        gradient.fill(0.0);
        Some(if !is_finite(y) {
            f64::INFINITY
        } else if self.0.holds(y) {
            0.0
        } else {
            self.0.excess(y, gradient)
        })
    }
}

impl<T: Solid> Set for Fixed<T> {
    fn dim(&self) -> usize {
        T::BOUNDS.len()
    }

    fn nearest(&self, y: &[f64], _: &[f64], nearest: &mut [f64]) -> bool {
        if !is_finite(y) {
            return false;
        }
        if self.0.holds(y) {
            nearest.copy_from_slice(y);
        } else {
            self.0.nearest(y, nearest);
        }
        true
    }

    fn bounds(&self) -> Vec<Interval> {
        T::BOUNDS.to_vec()
    }

    fn description(&self) -> Description {
        Description::built_in(T::NAME)
    }
}
