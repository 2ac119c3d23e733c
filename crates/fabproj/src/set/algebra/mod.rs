//! Sets made of sets: intersection, union, complement, affine image, and a margin.

mod affine;
mod combine;
mod not;
mod shrink;

pub use self::affine::Affine;
pub use self::combine::{And, Or};
pub use self::not::Not;
pub use self::shrink::Shrink;

use super::Set;

/// The part of x that a set reads: all of it, or nothing where the set is fixed but stands beside one
/// that is not.
#[inline]
fn x_of<'a>(set: &dyn Set, x: &'a [f64]) -> &'a [f64] {
    if set.x_dim() == 0 { &[] } else { x }
}
