//! Sets made of sets: intersection, union, complement, affine image, and a margin.

mod affine;
mod combine;
mod not;
mod shrink;

use std::sync::Arc;

pub(crate) use self::affine::Affine;
pub(crate) use self::combine::Combined;
pub(crate) use self::not::Not;
pub(crate) use self::shrink::Shrink;

use super::{Result, Set};

/// Set algebra. Sets that depend on x share it; fixed sets may stand beside them.
impl dyn Set {
    /// The intersection of two sets.
    ///
    /// Its violation is the sum of theirs, known where both are. Its region of interest is the intersection of
    /// theirs. The nearest point is not known: it need not be nearest in either of them.
    ///
    /// # Errors
    /// When dimensions differ, or when the bounds do not meet.
    ///
    /// ```
    /// use fabproj::set::built_in;
    /// let lens = built_in("star-shaped")?.and(built_in("blob-with-bite")?)?;
    /// assert!(lens.contains(&[-0.5, 0.0], &[]));
    /// assert!(!lens.contains(&[0.5, 0.0], &[]), "in the bite");
    /// # Ok::<(), fabproj::set::SetError>(())
    /// ```
    pub fn and(self: Arc<Self>, other: Arc<Self>) -> Result<Arc<Self>> {
        Ok(Arc::new(Combined::and(vec![self, other])?))
    }

    /// The union of two sets.
    ///
    /// Its violation is the smaller of theirs and its nearest point the nearer of theirs, known where both are. Its
    /// region of interest is the smallest box that holds theirs.
    ///
    /// # Errors
    /// When dimensions or equations differ.
    ///
    /// ```
    /// use fabproj::set::built_in;
    /// let both = built_in("shell-2d")?.or(built_in("two-moons")?)?;
    /// assert!(both.contains(&[-1.5, 0.0], &[]) && both.contains(&[0.0, 0.75], &[]));
    /// # Ok::<(), fabproj::set::SetError>(())
    /// ```
    pub fn or(self: Arc<Self>, other: Arc<Self>) -> Result<Arc<Self>> {
        Ok(Arc::new(Combined::or(vec![self, other])?))
    }

    /// The complement of the set within its bounds.
    ///
    /// Sets are closed, so this one is open where it borders the other: boundary points of the original are *not*
    /// in the complement. Towards the region's own faces it is closed. Violation and nearest point do not follow
    /// from those of the original and are unknown.
    ///
    /// # Errors
    /// When the points of the set obey equations: their complement is nearly everything.
    ///
    /// ```
    /// use fabproj::set::built_in;
    /// let outside = built_in("concentric-circles")?.complement()?;
    /// assert!(outside.contains(&[0.0, 0.0], &[]));
    /// assert!(!outside.contains(&[1.0, 0.0], &[]), "the boundary stays with the ring");
    /// assert!(!outside.contains(&[9.0, 0.0], &[]), "beyond the region of interest");
    /// # Ok::<(), fabproj::set::SetError>(())
    /// ```
    pub fn complement(self: Arc<Self>) -> Result<Arc<Self>> {
        Ok(Arc::new(Not::new(self)?))
    }

    /// The image of the set under y ↦ A y + b; `matrix` holds A row by row, `offset` is b.
    ///
    /// The violation is that of the point's origin. The nearest point is known where the map is a similarity
    /// (rotation, reflection and one scale), since only such maps keep the order of distances. A point is judged
    /// at its origin A⁻¹(y - b), so boundaries are exact up to rounding.
    ///
    /// # Errors
    /// When the sizes do not fit the set, when a number is not finite, or when A has no inverse.
    ///
    /// ```
    /// use fabproj::set::built_in;
    /// let wide = built_in("concentric-circles")?.affine(vec![3.0, 0.0, 0.0, 1.0], vec![10.0, 0.0])?;
    /// assert!(wide.contains(&[14.5, 0.0], &[]));
    /// assert!(!wide.contains(&[10.0, 0.0], &[]));
    /// # Ok::<(), fabproj::set::SetError>(())
    /// ```
    pub fn affine(self: Arc<Self>, matrix: Vec<f64>, offset: Vec<f64>) -> Result<Arc<Self>> {
        Ok(Arc::new(Affine::new(self, matrix, offset)?))
    }

    /// The set without the points nearer than `margin` to its boundary.
    ///
    /// Decided by the set's membership alone: a point belongs to the shrunk set when it and a fixed pattern of
    /// probes on the sphere of radius `margin` around it belong to the original (16 equally spaced ones in the
    /// plane; the ends of the axes and 64 more above). The result is therefore a little larger than the exact
    /// inner parallel set: by up to 2 % of the margin in the plane along straight boundaries, by more in many
    /// dimensions; an obstacle that fits between the probes is not seen. The violation, where the set knows one,
    /// is the largest over these points, so it is zero exactly where membership says so.
    ///
    /// # Errors
    /// When the margin is not a positive number, or when equations of the set contradict each other.
    ///
    /// ```
    /// use fabproj::set::built_in;
    /// let ring = built_in("concentric-circles")?.shrink(0.1)?;
    /// assert!(ring.contains(&[1.2, 0.0], &[]));
    /// assert!(!ring.contains(&[1.05, 0.0], &[]));
    /// # Ok::<(), fabproj::set::SetError>(())
    /// ```
    pub fn shrink(self: Arc<Self>, margin: f64) -> Result<Arc<Self>> {
        Ok(Arc::new(Shrink::new(self, margin)?))
    }
}

/// The part of x that a set reads: all of it, or nothing where the set is fixed but stands beside one
/// that is not.
#[inline]
fn x_of<'a>(set: &dyn Set, x: &'a [f64]) -> &'a [f64] {
    if set.x_dim() == 0 { &[] } else { x }
}
