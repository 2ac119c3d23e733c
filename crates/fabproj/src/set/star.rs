//! The star of five tips whose radius is linear in the angle.

use std::f64::consts::{PI, TAU};

use super::Interval;
use super::solid::Solid;
use super::vector::{PULL, positive};

/// ‖y‖ ≤ ρ(θ): ρ falls linearly in the angle from 2 at a tip to 1 at a valley and rises again. Valleys
/// at 0°, 72°, …; tips at 36°, 108°, ….
pub(super) struct Star;

/// The angle from a valley to the next tip.
const ARC: f64 = PI / 5.0;

/// The arc is searched for minima of the distance in this many parts.
const PARTS: usize = 32;

/// ρ(θ) and its slope, for θ in (-π, π].
fn radius(angle: f64) -> (f64, f64) {
    let u = (angle + TAU + ARC) % (2.0 * ARC) / ARC;
    if u <= 1.0 {
        (2.0 - u, -1.0 / ARC)
    } else {
        (u, 1.0 / ARC)
    }
}

impl Solid for Star {
    const NAME: &str = "star-shaped";
    const BOUNDS: &[Interval] = &[(-3.0, 3.0); 2];

    #[inline]
    fn holds(&self, y: &[f64]) -> bool {
        let squared = y[0] * y[0] + y[1] * y[1];
        // Most points need no angle: the star lies between the discs of radius 1 and 2.
        squared <= 1.0 || (squared <= 4.0 && squared.sqrt() <= radius(y[1].atan2(y[0])).0)
    }

    fn excess(&self, y: &[f64], gradient: &mut [f64]) -> f64 {
        let length = y[0].hypot(y[1]);
        let (radius, slope) = radius(y[1].atan2(y[0]));
        let (cos, sin) = (y[0] / length, y[1] / length);
        gradient[0] = cos + slope * sin / length;
        gradient[1] = sin - slope * cos / length;
        positive(length - radius)
    }

    fn nearest(&self, y: &[f64], nearest: &mut [f64]) {
        // The star has the symmetries of a regular pentagon. Whatever the point, of all mirror images
        // of a boundary point the one in its own tenth of the plane is the nearest: one arc suffices.
        let angle = y[1].atan2(y[0]);
        let turn = (angle / (2.0 * ARC)).round() * 2.0 * ARC;
        let offset = angle - turn;
        let on_arc = nearest_on_arc(y[0].hypot(y[1]), offset.abs());
        let angle = turn + on_arc.copysign(offset);
        let length = (1.0 + on_arc / ARC) * (1.0 - PULL);
        nearest[0] = length * angle.cos();
        nearest[1] = length * angle.sin();
    }
}

/// The angle t in [0, ARC] at which the arc (1 + t/ARC)·(cos t, sin t) comes nearest to the point with
/// these polar coordinates.
fn nearest_on_arc(length: f64, angle: f64) -> f64 {
    let squared_distance = |t: f64| {
        let radius = 1.0 + t / ARC;
        // A difference of squares would cancel for far points.
        let gap = length - radius;
        gap * gap + 4.0 * length * radius * ((t - angle) / 2.0).sin().powi(2)
    };
    let slope = slope_of(length, angle);
    let step = ARC / PARTS as f64;
    (0..PARTS)
        .map(|part| refine(part as f64 * step, (part + 1) as f64 * step, &slope))
        .min_by(|&a, &b| squared_distance(a).total_cmp(&squared_distance(b)))
        .map_or(0.0, |t| t.min(ARC))
}

/// Half the derivative of the squared distance along the arc.
fn slope_of(length: f64, angle: f64) -> impl Fn(f64) -> f64 {
    move |t| {
        let radius = 1.0 + t / ARC;
        let (sin, cos) = (t - angle).sin_cos();
        (radius - length * cos) / ARC + radius * length * sin
    }
}

/// A zero of `slope` in the bracket where it rises through zero, else the end that the slope points to.
fn refine(mut low: f64, mut high: f64, slope: &impl Fn(f64) -> f64) -> f64 {
    if slope(low) >= 0.0 {
        return low;
    }
    if slope(high) <= 0.0 {
        return high;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if slope(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}
