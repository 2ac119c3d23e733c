//! The test that decides.

use alloc::boxed::Box;
use alloc::sync::Arc;

/// Whether a point is feasible: the test that a [`Guard`](super::Guard) applies to its outputs.
///
/// Answers must depend on the arguments alone. A guard never asks about NaN or infinity. For a closure
/// there is [`Guard::from_fn`](super::Guard::from_fn).
///
/// ```
/// use fabproj_core::{Guard, LatentSet, Membership, Projector, Weights};
///
/// struct RightHalf;
///
/// impl Membership for RightHalf {
///     fn contains(&self, y: &[f64], _x: &[f64]) -> bool {
///         y[0] >= 0.0
///     }
/// }
///
/// let disc = LatentSet::Ball { radius: 0.5, smooth: None };
/// let projector = Projector::new(&Weights::identity(2, disc))?;
/// let guard = Guard::new(projector, &RightHalf)?;
/// let (y, outcome) = guard.project(&[-3.0, 4.0], &[])?;
/// assert!(outcome.is_verified() && RightHalf.contains(&y, &[]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Membership {
    /// Whether y is in C(x); x is empty for a fixed set.
    fn contains(&self, y: &[f64], x: &[f64]) -> bool;

    /// [`contains`](Self::contains) for as many rows of y and x as `inside` is long.
    ///
    /// Override it where many points are answered faster together, as by a network or a simulator. The
    /// answers must be those of [`contains`](Self::contains).
    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        let rows = inside.len().max(1);
        let (dim, x_dim) = (y.len() / rows, x.len() / rows);
        for (row, inside) in inside.iter_mut().enumerate() {
            *inside = self.contains(&y[row * dim..][..dim], &x[row * x_dim..][..x_dim]);
        }
    }

    /// How far y is from C(x), in any measure that falls on the way there, and its gradient with respect
    /// to y in `gradient`, as long as y. `None` where that is not known.
    ///
    /// A guard asks about points that have failed the test. Where it finds none that passes, it returns
    /// the least violating one; it does not read the gradient.
    fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let _ = (y, x, gradient);
        None
    }
}

macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<M: Membership + ?Sized> Membership for $pointer {
            fn contains(&self, y: &[f64], x: &[f64]) -> bool {
                (**self).contains(y, x)
            }
            fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
                (**self).contains_rows(y, x, inside);
            }
            fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
                (**self).violation(y, x, gradient)
            }
        }
    )*};
}

forward!(&M, Box<M>, Arc<M>);

/// A closure as a membership test, from [`Guard::from_fn`](super::Guard::from_fn).
#[derive(Clone, Copy, Debug)]
pub struct FnMembership<F>(pub(super) F);

impl<F: Fn(&[f64], &[f64]) -> bool> Membership for FnMembership<F> {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        (self.0)(y, x)
    }
}
