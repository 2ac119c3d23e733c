//! Two moons without noise: two tubes around the arcs that do not touch.

use super::Interval;
use super::solid::Solid;
use super::vector::{PULL, positive};

/// Everything within 0.15 of one of two half circles of radius 1: the upper half around (0, 0) and the
/// lower half around (1, 0.5). The arcs are 0.5 apart, so a gap of 0.2 separates the two tubes; 0.15 is
/// the distance of the paper's oracle.
pub(super) struct DisjointMoons;

/// How far from its arc a tube reaches.
const THICKNESS: f64 = 0.15;

/// Squares of the radii between which a tube lies.
const SQUARED_RADII: (f64, f64) = (
    (1.0 - THICKNESS) * (1.0 - THICKNESS),
    (1.0 + THICKNESS) * (1.0 + THICKNESS),
);

/// Centre, and the sign of the half plane in which the arc lies.
const ARCS: [([f64; 2], f64); 2] = [([0.0, 0.0], 1.0), ([1.0, 0.5], -1.0)];

/// The point of a half circle of radius 1 that is nearest to y.
fn nearest_of_arc(y: &[f64], centre: [f64; 2], side: f64) -> [f64; 2] {
    let (x, height) = (y[0] - centre[0], (y[1] - centre[1]) * side);
    if height < 0.0 {
        return [centre[0] + 1.0_f64.copysign(x), centre[1]];
    }
    let length = x.hypot(height);
    if length > 0.0 {
        [centre[0] + x / length, centre[1] + side * height / length]
    } else {
        [centre[0], centre[1] + side]
    }
}

/// The nearest point of both arcs and its distance from y.
fn nearest_of_arcs(y: &[f64]) -> ([f64; 2], f64) {
    let [first, second] = ARCS.map(|(centre, side)| {
        let point = nearest_of_arc(y, centre, side);
        (point, (y[0] - point[0]).hypot(y[1] - point[1]))
    });
    if first.1 <= second.1 { first } else { second }
}

impl Solid for DisjointMoons {
    const NAME: &str = "two-moons-disjoint";
    /// The bounding box of the tubes, widened by 0.5 as that of the noisy moons is.
    const BOUNDS: &[Interval] = &[(-1.65, 2.65), (-1.15, 1.65)];

    #[inline]
    fn holds(&self, y: &[f64]) -> bool {
        ARCS.iter().any(|(centre, side)| {
            let (x, height) = (y[0] - centre[0], (y[1] - centre[1]) * side);
            let squared = x * x + height * height;
            if height >= 0.0 {
                squared >= SQUARED_RADII.0 && squared <= SQUARED_RADII.1
            } else {
                let past_end = x.abs() - 1.0;
                past_end * past_end + height * height <= THICKNESS * THICKNESS
            }
        })
    }

    fn excess(&self, y: &[f64], gradient: &mut [f64]) -> f64 {
        let (point, distance) = nearest_of_arcs(y);
        gradient[0] = (y[0] - point[0]) / distance;
        gradient[1] = (y[1] - point[1]) / distance;
        positive(distance - THICKNESS)
    }

    fn nearest(&self, y: &[f64], nearest: &mut [f64]) {
        let (point, distance) = nearest_of_arcs(y);
        let length = THICKNESS * (1.0 - PULL);
        nearest[0] = point[0] + (y[0] - point[0]) / distance * length;
        nearest[1] = point[1] + (y[1] - point[1]) / distance * length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tubes_are_disjoint() {
        let angle = |i: u32| f64::from(i) * std::f64::consts::PI / 2000.0;
        let closest = (0..=2000)
            .map(|i| {
                let on_outer = [angle(i).cos(), angle(i).sin()];
                let other = nearest_of_arc(&on_outer, ARCS[1].0, ARCS[1].1);
                (on_outer[0] - other[0]).hypot(on_outer[1] - other[1])
            })
            .fold(f64::INFINITY, f64::min);
        assert!((closest - 0.5).abs() < 1e-6, "{closest}");
        assert!(closest > 2.0 * THICKNESS);
    }
}
