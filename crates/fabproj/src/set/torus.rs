//! The solid torus.

use super::vector::{PULL, is_finite, positive};
use super::{Description, Interval, Set};
use fabproj_core::Membership;

/// Everything within 0.5 of the circle of radius 1.5 in the plane of the first two coordinates.
pub(super) struct Torus;

const RING: f64 = 1.5;
const TUBE: f64 = 0.5;

/// Distance from the axis, and the offset (outward, upward) from the ring with its length.
fn from_ring(y: &[f64]) -> (f64, [f64; 2], f64) {
    let axial = y[0].hypot(y[1]);
    let offset = [axial - RING, y[2]];
    (axial, offset, offset[0].hypot(offset[1]))
}

/// The unit vector away from the axis; the first direction on the axis itself.
fn outward(y: &[f64], axial: f64) -> [f64; 2] {
    if axial > 0.0 {
        [y[0] / axial, y[1] / axial]
    } else {
        [1.0, 0.0]
    }
}

impl Membership for Torus {
    fn contains(&self, y: &[f64], _: &[f64]) -> bool {
        let outward = (y[0] * y[0] + y[1] * y[1]).sqrt() - RING;
        outward * outward + y[2] * y[2] <= TUBE * TUBE
    }

    fn violation(&self, y: &[f64], _: &[f64], gradient: &mut [f64]) -> Option<f64> {
        gradient.fill(0.0);
        if !is_finite(y) {
            return Some(f64::INFINITY);
        }
        if self.contains(y, &[]) {
            return Some(0.0);
        }
        let (axial, offset, length) = from_ring(y);
        // On the axis every horizontal direction is as good: the gradient keeps its vertical part.
        if axial > 0.0 {
            let [cos, sin] = outward(y, axial);
            gradient[0] = offset[0] / length * cos;
            gradient[1] = offset[0] / length * sin;
        }
        gradient[2] = offset[1] / length;
        Some(positive(length - TUBE))
    }
}

impl Set for Torus {
    fn dim(&self) -> usize {
        3
    }

    fn nearest(&self, y: &[f64], _: &[f64], nearest: &mut [f64]) -> bool {
        if !is_finite(y) {
            return false;
        }
        if self.contains(y, &[]) {
            nearest.copy_from_slice(y);
            return true;
        }
        let (axial, offset, length) = from_ring(y);
        let reach = TUBE * (1.0 - PULL);
        let new_axial = RING + offset[0] / length * reach;
        let [cos, sin] = outward(y, axial);
        nearest[0] = new_axial * cos;
        nearest[1] = new_axial * sin;
        nearest[2] = offset[1] / length * reach;
        true
    }

    fn bounds(&self) -> Vec<Interval> {
        vec![(-2.5, 2.5), (-2.5, 2.5), (-1.0, 1.0)]
    }

    fn description(&self) -> Description {
        Description::built_in("torus")
    }
}
