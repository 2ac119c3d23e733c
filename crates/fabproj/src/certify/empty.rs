//! Is C(x) empty at some x?

use fabproj_core::{Guard, Membership, Projector};
use rand_chacha::ChaCha8Rng;

use super::CertifyError;
use super::draw::{Region, widened};
use crate::set::Set;

/// Uniform draws from the bounds of y in search of a feasible point at one x.
pub const EMPTY_DRAWS: usize = 1000;

/// Whether no draw is feasible at x.
pub fn no_draw_is_feasible(
    set: &dyn Set,
    region: &Region,
    x: &[f64],
    rng: &mut ChaCha8Rng,
) -> bool {
    (0..EMPTY_DRAWS).all(|_| !set.contains(&widened(&region.points(1, rng)), x))
}

/// Whether neither a draw nor the guard's search, begun in the middle of the bounds, is feasible at x.
pub fn looks_empty<M: Membership>(
    set: &dyn Set,
    guard: &Guard<&Projector, M>,
    region: &Region,
    x: &[f32],
    rng: &mut ChaCha8Rng,
) -> Result<bool, CertifyError> {
    if !no_draw_is_feasible(set, region, &widened(x), rng) {
        return Ok(false);
    }
    let mut out = vec![0.0; set.dim()];
    let status = guard.project(&region.middle(), x, &mut out, &mut guard.workspace())?;
    Ok(!status.is_verified())
}
