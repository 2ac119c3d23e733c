//! Tests whether C(x) looks empty.

use fabproj_core::{Guard, Membership};
use rand_chacha::ChaCha8Rng;

use super::CertifyError;
use super::draw::{Region, inside};
use crate::set::Set;

/// Uniform draws from the bounds of y in search of a feasible point at one x.
const EMPTY_DRAWS: usize = 1000;

/// Draws that are asked about together.
const EMPTY_ROWS: usize = 50;

/// Whether no draw is feasible at x.
pub(super) fn no_draw_is_feasible(
    set: &dyn Set,
    region: &Region,
    x: &[f64],
    rng: &mut ChaCha8Rng,
) -> bool {
    (0..EMPTY_DRAWS / EMPTY_ROWS).all(|_| {
        let y = region.points(EMPTY_ROWS, rng);
        let x = x.repeat(EMPTY_ROWS);
        !inside(set, &y, &x, EMPTY_ROWS).contains(&true)
    })
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
