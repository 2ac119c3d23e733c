//! The ray map: from a feasible base toward a point, and no farther than the boundary.

use super::family::Rows;
use super::linear::{dot, dot3};
use super::map::{Map, Work};

impl Map<'_> {
    /// How far from the base the set reaches in the direction, at most 1, and the row that ends it.
    pub(super) fn reach(&self, x: &[f64], work: &mut Work) -> (f64, Option<usize>) {
        /// Rounding must not put the end outside.
        const INSIDE: f64 = 1.0 - 1e-12;
        let (base, direction) = (&work.base, &work.direction);
        let dim = base.len();
        let mut best = (1.0 / INSIDE, None);
        let mut end = |share: f64, row: usize| {
            if share < best.0 {
                best = (share, Some(row));
            }
        };
        let Some(family) = &self.instance.family else {
            return self.reach_by_bisection(x, work);
        };
        match &family.rows {
            Rows::Linear { g, h } => {
                for (i, (row, limit)) in g.chunks_exact(dim).zip(h).enumerate() {
                    let along = dot(row, direction);
                    if along > 0.0 {
                        end((limit - dot(row, base)) / along, i);
                    }
                }
            }
            Rows::Quadratic { g, h, curvature } => {
                let rows = g.chunks_exact(dim).zip(curvature.chunks_exact(dim));
                for (i, ((row, bent), limit)) in rows.zip(h).enumerate() {
                    let square = 0.5 * dot3(bent, direction, direction);
                    let linear = dot(row, direction) + dot3(bent, base, direction);
                    let room = limit - dot(row, base) - 0.5 * dot3(bent, base, base);
                    end(root(square, linear, room), i);
                }
            }
            Rows::Cones { g, h, c, d } => {
                let height = h.len() / d.len();
                for i in 0..d.len() {
                    let normal = &c[i * dim..][..dim];
                    let (length, slope) = (dot(normal, base) + d[i], dot(normal, direction));
                    let matrix = g[i * height * dim..].chunks_exact(dim);
                    let (mut square, mut linear, mut room) =
                        (-slope * slope, -2.0 * length * slope, length * length);
                    for (row, offset) in matrix.zip(&h[i * height..][..height]) {
                        let (image, moved) = (dot(row, base) + offset, dot(row, direction));
                        square += moved * moved;
                        linear += 2.0 * image * moved;
                        room -= image * image;
                    }
                    end(root(square, linear, room), i);
                }
            }
            Rows::Sine { .. } => return self.reach_by_bisection(x, work),
        }
        if let Some(limit) = family.limit {
            for (i, (base, direction)) in base.iter().zip(direction).enumerate() {
                let room = limit - base * direction.signum();
                end(
                    room / direction.abs().max(f64::MIN_POSITIVE),
                    self.instance.rows() + i,
                );
            }
        }
        ((best.0 * INSIDE).clamp(0.0, 1.0), best.1)
    }

    /// For rows without a closed form. The base need not be feasible; then the share is 0.
    fn reach_by_bisection(&self, x: &[f64], work: &mut Work) -> (f64, Option<usize>) {
        let mut y = work.base.clone();
        let (mut low, mut high, mut share, mut row) = (0.0, 1.0, 1.0, None);
        for _ in 0..30 {
            let ends = work.base.iter().zip(&work.direction);
            let pairs = y.iter_mut().zip(ends);
            pairs.for_each(|(y, (base, direction))| *y = base + share * direction);
            match self.worst_row(x, &y, work) {
                None => low = share,
                found => (high, row) = (share, found),
            }
            if low == 1.0 {
                return (1.0, None);
            }
            share = 0.5 * (low + high);
        }
        (low, row)
    }

    /// The row that is violated most, bounds after rows.
    pub(super) fn worst_row(&self, x: &[f64], y: &[f64], work: &mut Work) -> Option<usize> {
        let (constraints, memory) = (&mut work.constraints, &mut work.memory);
        let functions = self.instance.functions();
        functions.values(y, x, constraints, memory);
        let limits = self.instance.bounds().iter().zip(y);
        let values = constraints.iter().copied();
        let values = values.chain(limits.map(|((low, high), y)| (y - high).max(low - y)));
        let outside = values.enumerate().filter(|(_, value)| *value > 0.0);
        outside
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(row, _)| row)
    }
}

/// The least positive t with a t² + b t = c, for c > 0.
fn root(a: f64, b: f64, c: f64) -> f64 {
    if c <= 0.0 {
        return 0.0;
    }
    let square = b * b + 4.0 * a * c;
    let below = b + square.max(0.0).sqrt();
    if square < 0.0 || below <= 0.0 {
        return f64::INFINITY;
    }
    2.0 * c / below
}
