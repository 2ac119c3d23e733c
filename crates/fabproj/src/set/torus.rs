//! The solid torus.

use super::Interval;
use super::solid::Solid;
use super::vector::{PULL, positive};

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

impl Solid for Torus {
    const NAME: &str = "torus";
    const BOUNDS: &[Interval] = &[(-2.5, 2.5), (-2.5, 2.5), (-1.0, 1.0)];

    fn holds(&self, y: &[f64]) -> bool {
        let outward = (y[0] * y[0] + y[1] * y[1]).sqrt() - RING;
        outward * outward + y[2] * y[2] <= TUBE * TUBE
    }

    fn excess(&self, y: &[f64], gradient: &mut [f64]) -> f64 {
        let (axial, offset, length) = from_ring(y);
        // On the axis every horizontal direction is as good: the gradient keeps its vertical part.
        if axial > 0.0 {
            let [cos, sin] = outward(y, axial);
            gradient[0] = offset[0] / length * cos;
            gradient[1] = offset[0] / length * sin;
        }
        gradient[2] = offset[1] / length;
        positive(length - TUBE)
    }

    fn nearest(&self, y: &[f64], nearest: &mut [f64]) {
        let (axial, offset, length) = from_ring(y);
        let reach = TUBE * (1.0 - PULL);
        let new_axial = RING + offset[0] / length * reach;
        let [cos, sin] = outward(y, axial);
        nearest[0] = new_axial * cos;
        nearest[1] = new_axial * sin;
        nearest[2] = offset[1] / length * reach;
    }
}
