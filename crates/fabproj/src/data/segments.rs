//! Segments between points: does the set hold all of them?

use super::pool::Pool;

/// Segments that are asked about together.
const AT_ONCE: usize = 4096;

/// A segment between two points in working units.
#[derive(Clone, Copy)]
pub(super) struct Segment<'a> {
    pub(super) from: &'a [f32],
    pub(super) to: &'a [f32],
    /// The state that all of it lies at; `None` where both ends hold their own x after y.
    pub(super) state: Option<u32>,
}

/// Whether `checks` evenly spaced interior points of each segment are feasible. Segments are asked about
/// together, point after point; one that has failed is not asked about again.
pub(super) fn feasible(pool: &Pool, segments: &[Segment], checks: usize) -> Vec<bool> {
    let mut feasible = vec![true; segments.len()];
    for (segments, feasible) in segments.chunks(AT_ONCE).zip(feasible.chunks_mut(AT_ONCE)) {
        for step in 1..=checks {
            let open: Vec<usize> = (0..segments.len()).filter(|i| feasible[*i]).collect();
            if open.is_empty() {
                break;
            }
            let share = step as f32 / (checks + 1) as f32;
            let points = open.iter().map(|index| &segments[*index]);
            let inside = ask(pool, points, share);
            for (index, inside) in open.into_iter().zip(inside) {
                feasible[index] = inside;
            }
        }
    }
    feasible
}

/// Whether the point at a share of the way along each segment is feasible.
fn ask<'a>(pool: &Pool, segments: impl Iterator<Item = &'a Segment<'a>>, share: f32) -> Vec<bool> {
    let (dim, x_dim) = (pool.dim(), pool.x_dim());
    let (mut y, mut x) = (Vec::new(), Vec::new());
    let mut inner = Vec::new();
    for segment in segments {
        let ends = segment.from.iter().zip(segment.to);
        let mut point = ends.map(|(a, b)| a + share * (b - a));
        y.extend(point.by_ref().take(dim));
        match segment.state {
            Some(state) => x.extend_from_slice(&pool.states[state as usize]),
            None => {
                inner.clear();
                inner.extend(point);
                let start = x.len();
                x.resize(start + x_dim, 0.0);
                pool.x_units.raw(&inner, &mut x[start..]);
            }
        }
    }
    pool.oracle
        .contains_rows(&y, |row| &x[row * x_dim..][..x_dim])
}

/// For each of `count` points, the place of its first candidate that a feasible segment joins to it.
/// `candidate` gives the segment to the candidate at a place, and `None` behind the last.
pub(super) fn first_feasible<'a>(
    pool: &Pool,
    count: usize,
    checks: usize,
    candidate: impl Fn(usize, usize) -> Option<Segment<'a>>,
) -> Vec<Option<usize>> {
    let mut found = vec![None; count];
    let mut open: Vec<usize> = (0..count).collect();
    for place in 0.. {
        let asked = open.iter();
        let asked = asked.filter_map(|point| Some((*point, candidate(*point, place)?)));
        let (points, segments): (Vec<usize>, Vec<Segment>) = asked.unzip();
        if points.is_empty() {
            break;
        }
        open.clear();
        for (point, joined) in points.into_iter().zip(feasible(pool, &segments, checks)) {
            if joined {
                found[point] = Some(place);
            } else {
                open.push(point);
            }
        }
    }
    found
}
