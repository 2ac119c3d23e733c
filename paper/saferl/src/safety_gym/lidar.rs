//! The pseudo-lidar: how near the objects of a kind are, by direction.

use std::f64::consts::TAU;

/// Directions per lidar.
pub(super) const BINS: usize = 16;

/// Objects farther away than this are not seen.
const REACH: f64 = 3.0;

/// Position and orientation of the agent in the plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    pub xy: [f64; 2],
    /// The agent's forward direction.
    pub forward: [f64; 2],
    /// The agent's left.
    pub left: [f64; 2],
}

/// Writes one reading per direction: 1 at the agent, 0 at the reach or beyond.
///
/// An object fills the bin of its direction, and the two neighbours in proportion to how near its
/// direction is to them.
pub(super) fn scan(frame: &Frame, objects: impl Iterator<Item = [f64; 2]>, bins: &mut [f64]) {
    bins.fill(0.0);
    let width = TAU / BINS as f64;
    for [x, y] in objects {
        let [dx, dy] = [x - frame.xy[0], y - frame.xy[1]];
        let ahead = frame.forward[0] * dx + frame.forward[1] * dy;
        let aside = frame.left[0] * dx + frame.left[1] * dy;
        let angle = aside.atan2(ahead).rem_euclid(TAU);
        // An angle just below 0 may round to a full turn.
        let bin = ((angle / width) as usize).min(BINS - 1);
        let reading = (REACH - ahead.hypot(aside)).max(0.0) / REACH;
        let share = (angle - bin as f64 * width) / width;
        raise(&mut bins[bin], reading);
        raise(&mut bins[(bin + 1) % BINS], share * reading);
        raise(&mut bins[(bin + BINS - 1) % BINS], (1.0 - share) * reading);
    }
}

fn raise(bin: &mut f64, reading: f64) {
    *bin = bin.max(reading);
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame {
        xy: [1.0, 0.0],
        forward: [0.0, 1.0],
        left: [-1.0, 0.0],
    };

    #[test]
    fn an_object_ahead_fills_the_first_bin_and_the_one_before_it() {
        let mut bins = [9.0; BINS];
        scan(&FRAME, [[1.0, 1.5]].into_iter(), &mut bins);
        let mut expected = [0.0; BINS];
        expected[0] = 0.5;
        expected[BINS - 1] = 0.5;
        assert_eq!(bins, expected);
    }

    #[test]
    fn the_nearest_object_of_a_direction_wins_and_far_ones_are_unseen() {
        let mut bins = [0.0; BINS];
        let objects = [[1.0, 1.5], [1.0, 0.3], [1.0, 3.5], [-4.0, 0.0]];
        scan(&FRAME, objects.into_iter(), &mut bins);
        assert!((bins[0] - 0.9).abs() < 1e-15);
        assert_eq!(bins[4], 0.0);
    }

    #[test]
    fn an_angle_that_rounds_to_a_full_turn_stays_in_the_last_bin() {
        let mut bins = [0.0; BINS];
        scan(
            &FRAME,
            [[1.0 + 1e-17, 1.5], [1.0 + 2e-16, 1.5]].into_iter(),
            &mut bins,
        );
        assert!(bins[0] > 0.4 || bins[BINS - 1] > 0.4);
    }
}
