//! Tests whether C(x) looks empty.

use fabproj_core::{Guard, Membership};
use rand_chacha::ChaCha8Rng;

use super::CertifyError;
use super::draw::{Region, inside};
use crate::set::Set;

/// Uniform draws from the bounds of y in search of a feasible point at one x.
const EMPTY_DRAWS: usize = 1000;

/// The most draws that are asked about together. The first are asked about in smaller parts: nearly always
/// one of them is feasible, and queries can be costly.
const MOST_ROWS: usize = 64;

/// Whether no draw is feasible at x.
pub(super) fn no_draw_is_feasible(
    set: &dyn Set,
    region: &Region,
    x: &[f64],
    rng: &mut ChaCha8Rng,
) -> bool {
    let (mut left, mut rows) = (EMPTY_DRAWS, 1);
    while left > 0 {
        let y = region.points(rows, rng);
        if inside(set, &y, &x.repeat(rows), rows).contains(&true) {
            return false;
        }
        left -= rows;
        rows = (2 * rows).min(MOST_ROWS).min(left);
    }
    true
}

/// Whether neither a draw nor the guard's search, begun in the middle of the bounds, is feasible at x.
pub(super) fn looks_empty<M: Membership>(
    set: &dyn Set,
    guard: &Guard<M>,
    region: &Region,
    x: &[f64],
    rng: &mut ChaCha8Rng,
) -> Result<bool, CertifyError> {
    if !no_draw_is_feasible(set, region, x, rng) {
        return Ok(false);
    }
    let (_, outcome) = guard.project(&region.middle(), x)?;
    Ok(!outcome.is_verified())
}
