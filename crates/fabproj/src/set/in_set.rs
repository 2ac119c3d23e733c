//! A constraint set as the test of a guard.

use fabproj_core::Membership;

use super::Set;

/// Dimensions up to which a violation is computed without an allocation.
const SMALL: usize = 64;

/// The membership test of a set (or of a reference, `Box` or `Arc` of one) for a
/// [`Guard`](fabproj_core::Guard), with the set's violation where it knows one.
///
/// ```
/// use fabproj::core::Membership;
/// use fabproj::set::{InSet, built_in};
///
/// let ring = built_in("concentric-circles")?;
/// let test = InSet(ring);
/// assert!(!test.contains(&[0.0, 0.5], &[]));
/// assert!((test.violation(&[0.0, 0.5], &[]).unwrap() - 0.5).abs() < 1e-12);
/// # Ok::<(), fabproj::set::SetError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct InSet<S>(pub S);

impl<S: Set> Membership for InSet<S> {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        self.0.contains(y, x)
    }

    fn violation(&self, y: &[f64], x: &[f64]) -> Option<f64> {
        if y.len() <= SMALL {
            return self.0.violation(y, x, &mut [0.0; SMALL][..y.len()]);
        }
        self.0.violation(y, x, &mut vec![0.0; y.len()])
    }
}
