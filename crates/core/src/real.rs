//! The numbers that calls take and give.

use core::fmt::Debug;
use core::ops::{Add, Div, Mul, Sub};

/// The number type of a call: f32 or f64.
///
/// Networks run in f32 either way. With f64 everything around them is computed in f64: the change of
/// units, the equations, and the points that a [`Guard`](crate::Guard) tests and returns.
///
/// ```
/// use fabproj_core::{LatentSet, Projector, Real, Weights};
///
/// fn first<T: Real>(projector: &Projector, y: &[T]) -> f64 {
///     projector.project(y, &[]).map_or(f64::NAN, |(y, _)| y[0].to_f64())
/// }
/// let disc = LatentSet::Ball { radius: 0.5, smooth: None };
/// let projector = Projector::new(&Weights::identity(2, disc))?;
/// assert_eq!(first(&projector, &[0.25_f32, 0.0]), first(&projector, &[0.25_f64, 0.0]));
/// # Ok::<(), fabproj_core::WeightsError>(())
/// ```
pub trait Real:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Send
    + Sync
    + 'static
    + sealed::Sealed
{
    /// The same number in f64.
    fn to_f64(self) -> f64;
    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;
    /// The nearest f32.
    fn to_f32(self) -> f32;
    /// The same number in this type.
    fn from_f32(value: f32) -> Self;
}

pub(crate) mod sealed {
    use crate::guard::{GuardBuffers, PointBuffers};

    /// Keeps [`Real`](super::Real) to f32 and f64, and holds what is nobody else's business.
    pub trait Sealed: Sized {
        /// Whether this is f64.
        const DOUBLE: bool;
        /// The largest finite number.
        const LARGEST: Self;
        /// Whether it is neither NaN nor infinite.
        fn finite(self) -> bool;
        /// A guard's points of this type.
        fn points(
            buffers: &mut GuardBuffers,
        ) -> (&mut PointBuffers<Self>, &mut crate::guard::Shared);
    }
}

macro_rules! real {
    ($type:ty, $double:literal, $points:ident) => {
        impl Real for $type {
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as Self
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn from_f32(value: f32) -> Self {
                value.into()
            }
        }

        impl sealed::Sealed for $type {
            const DOUBLE: bool = $double;
            const LARGEST: Self = Self::MAX;
            #[inline(always)]
            fn finite(self) -> bool {
                self.is_finite()
            }
            fn points(
                buffers: &mut crate::guard::GuardBuffers,
            ) -> (
                &mut crate::guard::PointBuffers<Self>,
                &mut crate::guard::Shared,
            ) {
                (&mut buffers.$points, &mut buffers.shared)
            }
        }
    };
}

real!(f32, false, narrow);
real!(f64, true, wide);

#[inline]
pub(crate) fn all_finite<T: Real>(values: &[T]) -> bool {
    values.iter().all(|value| value.finite())
}

/// The nearest finite number: NaN becomes 0, what is too large the largest.
pub(crate) fn saturate<T: Real>(value: f64) -> T {
    let largest = T::LARGEST.to_f64();
    let value = if value.is_nan() { 0.0 } else { value };
    T::from_f64(value.clamp(-largest, largest))
}
