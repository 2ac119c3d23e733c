//! Membership of many points at once.

use rayon::prelude::*;

use super::{Result, Set, SetError};

/// Rows that one task labels: enough to be worth handing over.
const ROWS_PER_TASK: usize = 1024;

/// Whether each row of `ys` is in C(x) for the same row of `xs` (empty for a fixed set), in f64
/// whatever the rows are stored in.
///
/// # Errors
///
/// When the lengths are not those of whole rows, or not of the same number of rows.
///
/// ```
/// use fabproj::set::{built_in, label};
/// let ring = built_in("concentric-circles")?;
/// let inside = label(ring.as_ref(), &[1.5_f32, 0.0, 0.0, 0.0], &[])?;
/// assert_eq!(inside, [true, false]);
/// # Ok::<(), fabproj::set::SetError>(())
/// ```
pub fn label<T>(set: &dyn Set, ys: &[T], xs: &[T]) -> Result<Vec<bool>>
where
    T: Copy + Into<f64> + Sync,
{
    let (dim, x_dim) = (set.dim(), set.x_dim());
    let rows = ys.len() / dim;
    check("points to label", rows * dim, ys.len())?;
    check("x of the points to label", rows * x_dim, xs.len())?;
    let mut labels = vec![false; rows];
    labels
        .par_chunks_mut(ROWS_PER_TASK)
        .enumerate()
        .for_each(|(task, labels)| {
            let widen = |values: &[T], dim: usize| -> Vec<f64> {
                let rows = &values[task * ROWS_PER_TASK * dim..][..labels.len() * dim];
                rows.iter().map(|value| (*value).into()).collect()
            };
            let (y, x) = (widen(ys, dim), widen(xs, x_dim));
            set.contains_rows(&y, &x, labels);
        });
    Ok(labels)
}

fn check(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        Ok(())
    } else {
        Err(SetError::Length {
            what,
            expected,
            found,
        })
    }
}
