//! Points in single precision that are feasible although their exact values lie on the boundary.

use crate::StudySet;
use crate::problem::MOST;

/// Tries before a point is given up.
const TRIES: i32 = 24;
/// How far inside the first try aims, in units of the sets; each further one aims twice as far.
const MARGIN: f64 = 1e-7;

/// Writes a point near `y` that passes the set's test; false if there is none near it.
pub(super) fn settle(set: &StudySet, y: &mut [f64], rounded: &mut [f32]) -> bool {
    let mut slope = [0.0; MOST];
    let slope = &mut slope[..y.len()];
    for attempt in 0..TRIES {
        for (rounded, y) in rounded.iter_mut().zip(&*y) {
            *rounded = *y as f32;
        }
        if set.contains(rounded) {
            return true;
        }
        let margin = MARGIN * f64::from(attempt).exp2();
        for (y, rounded) in y.iter_mut().zip(&*rounded) {
            *y = f64::from(*rounded);
        }
        if !restore(set, y, slope, margin) {
            return false;
        }
    }
    false
}

/// Goes back along the violation's gradient, and a margin farther; false where there is none to follow.
pub(super) fn restore(set: &StudySet, y: &mut [f64], slope: &mut [f64], margin: f64) -> bool {
    let Some(violation) = set.set().violation(y, &[], slope) else {
        return false;
    };
    let square: f64 = slope.iter().map(|slope| slope * slope).sum();
    if square == 0.0 {
        return false;
    }
    let length = violation / square + margin / square.sqrt();
    for (y, slope) in y.iter_mut().zip(&*slope) {
        *y -= length * slope;
    }
    true
}
