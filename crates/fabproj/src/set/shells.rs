//! Shells: all points between two spheres around a centre, or around one of several centres.

use super::vector::{
    PULL, at_radius, distance, is_finite, positive, scaled_offset, squared_distance,
};
use super::{Description, Interval, Set};
use fabproj_core::Membership;

/// inner ≤ ‖y - centre‖ ≤ outer for one of the centres. The shells do not touch each other.
pub(super) struct Shells {
    name: String,
    inner: f64,
    outer: f64,
    /// Kept as they are defined (1, 2 or 4), since the square of √2 is not 2 in f64.
    inner_squared: f64,
    outer_squared: f64,
    centres: Vec<Vec<f64>>,
    bounds: Vec<Interval>,
}

impl Shells {
    /// 1 ≤ ‖y‖ ≤ 2: `concentric-circles` and `shell-Nd`.
    pub(super) fn released(name: String, dim: usize) -> Self {
        Self::around_origin(name, dim, 1.0, 4.0)
    }

    /// 1 ≤ ‖y‖² ≤ 2: `shell-sq-Nd`.
    pub(super) fn printed(name: String, dim: usize) -> Self {
        Self::around_origin(name, dim, 1.0, 2.0)
    }

    /// Two shells of radii 0.5 and 1 around (±1.5, 0, 0): a gap of 1 between them, and a void in each.
    pub(super) fn disconnected() -> Self {
        Self {
            name: "disconnected-shells".into(),
            inner: 0.5,
            outer: 1.0,
            inner_squared: 0.25,
            outer_squared: 1.0,
            centres: vec![vec![-1.5, 0.0, 0.0], vec![1.5, 0.0, 0.0]],
            bounds: vec![(-3.0, 3.0), (-2.0, 2.0), (-2.0, 2.0)],
        }
    }

    fn around_origin(name: String, dim: usize, inner_squared: f64, outer_squared: f64) -> Self {
        let outer = outer_squared.sqrt();
        // Beyond five dimensions the corners of the bounding box alone are nearly all of the box:
        // a wider one would only make feasible samples rarer.
        let half = if dim <= 5 { 1.5 * outer } else { outer };
        Self {
            name,
            inner: inner_squared.sqrt(),
            outer,
            inner_squared,
            outer_squared,
            centres: vec![vec![0.0; dim]],
            bounds: vec![(-half, half); dim],
        }
    }

    /// How far y is from the shell around `centre`: negative sign below the inner sphere.
    fn signed_excess(&self, y: &[f64], centre: &[f64]) -> f64 {
        let squared = squared_distance(y, centre);
        if squared > self.outer_squared {
            positive(distance(y, centre) - self.outer)
        } else if squared < self.inner_squared {
            -positive(self.inner - squared.sqrt())
        } else {
            0.0
        }
    }

    /// The centre whose shell is nearest, with the signed excess there.
    fn nearest_shell(&self, y: &[f64]) -> (&[f64], f64) {
        let mut best = (
            self.centres[0].as_slice(),
            self.signed_excess(y, &self.centres[0]),
        );
        for centre in &self.centres[1..] {
            let excess = self.signed_excess(y, centre);
            if excess.abs() < best.1.abs() {
                best = (centre, excess);
            }
        }
        best
    }
}

impl Membership for Shells {
    #[inline]
    fn contains(&self, y: &[f64], _: &[f64]) -> bool {
        self.centres.iter().any(|centre| {
            let squared = squared_distance(y, centre);
            squared >= self.inner_squared && squared <= self.outer_squared
        })
    }

    fn violation(&self, y: &[f64], _: &[f64], gradient: &mut [f64]) -> Option<f64> {
        gradient.fill(0.0);
        if !is_finite(y) {
            return Some(f64::INFINITY);
        }
        let (centre, excess) = self.nearest_shell(y);
        let length = distance(y, centre);
        if excess != 0.0 && length > 0.0 {
            scaled_offset(y, centre, excess.signum() / length, gradient);
        }
        Some(excess.abs())
    }
}

impl Set for Shells {
    fn dim(&self) -> usize {
        self.bounds.len()
    }

    fn nearest(&self, y: &[f64], _: &[f64], nearest: &mut [f64]) -> bool {
        if !is_finite(y) {
            return false;
        }
        let (centre, excess) = self.nearest_shell(y);
        if excess > 0.0 {
            at_radius(y, centre, self.outer * (1.0 - PULL), nearest);
        } else if excess < 0.0 {
            at_radius(y, centre, self.inner * (1.0 + PULL), nearest);
        } else {
            nearest.copy_from_slice(y);
        }
        true
    }

    fn bounds(&self) -> Vec<Interval> {
        self.bounds.clone()
    }

    fn description(&self) -> Description {
        Description::built_in(&self.name)
    }
}
