//! A ball with a bite: all points of a ball that are not inside a second, smaller ball.

use super::vector::{PULL, distance, dot, is_finite, norm, positive, squared_distance};
use super::{Description, Interval, Set};
use fabproj_core::Membership;

/// ‖y‖ ≤ radius and ‖y - centre‖ ≥ bite, where the centre is fixed or is x.
pub(super) struct BittenBall {
    name: &'static str,
    radius: f64,
    bite: f64,
    /// `None`: the bite is wherever x says.
    centre: Option<Vec<f64>>,
    bounds: Vec<Interval>,
}

impl BittenBall {
    /// ‖y‖ ≤ 2 and ‖y - (1, 0)‖ ≥ 1. The two circles touch in (2, 0), where two horns meet.
    pub(super) fn blob_with_bite() -> Self {
        Self {
            name: "blob-with-bite",
            radius: 2.0,
            bite: 1.0,
            centre: Some(vec![1.0, 0.0]),
            bounds: vec![(-4.0, 4.0), (-3.0, 3.0)],
        }
    }

    /// ‖y‖ ≤ 2 and ‖y - (1.5, 0, 0)‖ ≥ 1: the bite opens the surface.
    pub(super) fn sphere_with_bite() -> Self {
        Self {
            name: "sphere-with-bite",
            radius: 2.0,
            bite: 1.0,
            centre: Some(vec![1.5, 0.0, 0.0]),
            bounds: vec![(-3.0, 3.0); 3],
        }
    }

    /// ‖y‖ ≤ 1.5 and ‖y - x‖ ≥ 0.6 for x in [-1, 1]²: a hole, or a bite where x is near the rim.
    pub(super) fn moving_obstacle() -> Self {
        Self {
            name: "moving-obstacle",
            radius: 1.5,
            bite: 0.6,
            centre: None,
            bounds: vec![(-3.0, 3.0); 2],
        }
    }

    fn centre<'a>(&'a self, x: &'a [f64]) -> &'a [f64] {
        self.centre.as_deref().unwrap_or(x)
    }
}

impl Membership for BittenBall {
    #[inline]
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        dot(y, y) <= self.radius * self.radius
            && squared_distance(y, self.centre(x)) >= self.bite * self.bite
    }

    fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        gradient.fill(0.0);
        if !is_finite(y) || !is_finite(x) {
            return Some(f64::INFINITY);
        }
        let centre = self.centre(x);
        let mut total = 0.0;
        if dot(y, y) > self.radius * self.radius {
            let length = norm(y);
            total += positive(length - self.radius);
            for (gradient, y) in gradient.iter_mut().zip(y) {
                *gradient += y / length;
            }
        }
        let squared = squared_distance(y, centre);
        if squared < self.bite * self.bite {
            let length = distance(y, centre);
            total += positive(self.bite - length);
            if length > 0.0 {
                for ((gradient, y), centre) in gradient.iter_mut().zip(y).zip(centre) {
                    *gradient -= (y - centre) / length;
                }
            }
        }
        Some(total)
    }
}

impl Set for BittenBall {
    fn dim(&self) -> usize {
        self.bounds.len()
    }

    fn x_dim(&self) -> usize {
        if self.centre.is_some() { 0 } else { self.dim() }
    }

    fn nearest(&self, y: &[f64], x: &[f64], nearest: &mut [f64]) -> bool {
        if !is_finite(y) || !is_finite(x) {
            return false;
        }
        if self.contains(y, x) {
            nearest.copy_from_slice(y);
            return true;
        }
        let plane = Plane::through(y, self.centre(x));
        let section = Section {
            radius: self.radius,
            bite: self.bite,
            centre: plane.centre,
        };
        section.nearest(plane.along, plane.across, |along, across| {
            plane.embed(y, self.centre(x), along, across, nearest);
            self.contains(nearest, x)
        })
    }

    fn bounds(&self) -> Vec<Interval> {
        self.bounds.clone()
    }

    fn x_bounds(&self) -> Vec<Interval> {
        vec![(-1.0, 1.0); self.x_dim()]
    }

    fn description(&self) -> Description {
        Description::built_in(self.name)
    }
}

/// The half-plane that holds the origin, the bite's centre and y. The set is symmetric around the
/// axis through the two centres, so the nearest point of y lies in this half-plane.
struct Plane {
    /// Distance of the bite's centre from the origin.
    centre: f64,
    /// Coordinate of y along the axis.
    along: f64,
    /// Distance of y from the axis.
    across: f64,
}

impl Plane {
    fn through(y: &[f64], centre: &[f64]) -> Self {
        let length = norm(centre);
        let along = if length > 0.0 {
            dot(y, centre) / length
        } else {
            y[0]
        };
        let across = (0..y.len())
            .map(|i| y[i] - along * Self::axis(centre, length, i))
            .fold(0.0_f64, |sum, w| sum.hypot(w));
        Self {
            centre: length,
            along,
            across,
        }
    }

    /// Coordinate i of the unit vector of the axis; the first direction when the centres coincide.
    fn axis(centre: &[f64], length: f64, i: usize) -> f64 {
        if length > 0.0 {
            centre[i] / length
        } else if i == 0 {
            1.0
        } else {
            0.0
        }
    }

    /// Writes the point with these coordinates in the half-plane of y.
    fn embed(&self, y: &[f64], centre: &[f64], along: f64, across: f64, out: &mut [f64]) {
        let axis = |i| Self::axis(centre, self.centre, i);
        // For y close to the axis what is left after one subtraction is partly rounding.
        out.copy_from_slice(y);
        for _ in 0..2 {
            let component: f64 = out.iter().enumerate().map(|(i, w)| w * axis(i)).sum();
            for (i, w) in out.iter_mut().enumerate() {
                *w -= component * axis(i);
            }
        }
        let length = norm(out);
        let on_axis = length <= 1e-13 * self.along.abs();
        for (i, out) in out.iter_mut().enumerate() {
            let sideways = if on_axis {
                self.any_sideways(centre, i)
            } else {
                *out / length
            };
            *out = along * axis(i) + across * sideways;
        }
    }

    /// Coordinate i of a unit vector at right angles to the axis: the coordinate direction that is
    /// least parallel to the axis, made orthogonal.
    fn any_sideways(&self, centre: &[f64], i: usize) -> f64 {
        let axis = |i| Self::axis(centre, self.centre, i);
        let least = (0..centre.len())
            .min_by(|&a, &b| axis(a).abs().total_cmp(&axis(b).abs()))
            .unwrap_or(0);
        let unit = if i == least { 1.0 } else { 0.0 };
        (unit - axis(least) * axis(i)) / (1.0 - axis(least) * axis(least)).sqrt()
    }
}

/// The set in the half-plane: a disc around the origin minus a disc around (centre, 0).
struct Section {
    radius: f64,
    bite: f64,
    centre: f64,
}

/// A point of the boundary with the direction that leads into the set.
#[derive(Clone, Copy)]
struct Candidate {
    point: (f64, f64),
    inward: (f64, f64),
}

impl Section {
    /// Offers points near the nearest one, best first, until `accept` takes one.
    fn nearest(&self, along: f64, across: f64, mut accept: impl FnMut(f64, f64) -> bool) -> bool {
        let distance =
            |candidate: &Candidate| (candidate.point.0 - along).hypot(candidate.point.1 - across);
        // On each circle the distance has one minimum; where that is cut off, the nearest point of
        // the remaining piece is its end, where the circles meet.
        let best = [
            Some(self.on_rim(along, across)),
            Some(self.on_bite(along, across)),
            self.in_corner(),
        ]
        .into_iter()
        .flatten()
        .filter(|candidate| self.nearly_contains(candidate.point))
        .min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let Some(best) = best else { return false };
        // Where the set is thinner than the usual pull (the horns of the blob), a smaller one serves.
        let pulled = (0..8).any(|power| {
            let pull = self.radius * PULL * 0.1_f64.powi(power);
            accept(
                best.point.0 + pull * best.inward.0,
                best.point.1 + pull * best.inward.1,
            )
        });
        pulled || accept(best.point.0, best.point.1) || self.along_rim(best.point, accept)
    }

    /// Walks from a point so thin that rounding hides it along the rim, away from the bite.
    fn along_rim(&self, from: (f64, f64), mut accept: impl FnMut(f64, f64) -> bool) -> bool {
        let start = from.1.atan2(from.0);
        let angles = (0..32).map(|power| start + 1e-9 * 2_f64.powi(power));
        angles
            .take_while(|angle| *angle <= std::f64::consts::PI)
            .any(|angle| {
                let radius = self.radius * (1.0 - 1e-15);
                accept(radius * angle.cos(), radius * angle.sin())
            })
    }

    fn on_rim(&self, along: f64, across: f64) -> Candidate {
        let (x, y) = unit(along, across);
        Candidate {
            point: (self.radius * x, self.radius * y),
            inward: (-x, -y),
        }
    }

    fn on_bite(&self, along: f64, across: f64) -> Candidate {
        let (x, y) = unit(along - self.centre, across);
        Candidate {
            point: (self.centre + self.bite * x, self.bite * y),
            inward: (x, y),
        }
    }

    /// Where the two circles meet.
    fn in_corner(&self) -> Option<Candidate> {
        let (r, b, c) = (self.radius, self.bite, self.centre);
        let along = (r * r + c * c - b * b) / (2.0 * c);
        let across = (r * r - along * along).max(0.0).sqrt();
        let from_bite = unit(along - c, across);
        let from_rim = unit(-along, -across);
        (c > 0.0 && along <= r).then(|| Candidate {
            point: (along, across),
            inward: unit(from_bite.0 + from_rim.0, from_bite.1 + from_rim.1),
        })
    }

    fn nearly_contains(&self, (along, across): (f64, f64)) -> bool {
        let tolerance = 1e-12 * self.radius;
        along.hypot(across) <= self.radius + tolerance
            && (along - self.centre).hypot(across) >= self.bite - tolerance
    }
}

/// The unit vector of (x, y); away from the bite, along the axis, where there is none.
fn unit(x: f64, y: f64) -> (f64, f64) {
    let length = x.hypot(y);
    if length > 0.0 {
        (x / length, y / length)
    } else {
        (-1.0, 0.0)
    }
}
