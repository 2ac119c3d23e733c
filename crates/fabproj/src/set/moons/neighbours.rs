//! The nearest of many points of the plane, by a balanced tree of halves, in f64: membership is
//! decided by it.

/// Points are searched one by one in pieces of at most this size.
const LEAF: usize = 16;

/// A k-d tree without nodes: the middle of every piece of the list splits it, in turn by the
/// coordinate in which the piece is wider.
pub(super) struct Neighbours {
    points: Vec<[f64; 2]>,
    /// The axis by which the piece with this middle is split.
    axes: Vec<u8>,
}

impl Neighbours {
    /// Orders the points.
    pub(super) fn new(mut points: Vec<[f64; 2]>) -> Self {
        let mut axes = vec![0; points.len()];
        split(&mut points, &mut axes);
        Self { points, axes }
    }

    /// The point nearest to y, with its distance; `None` when there are no points.
    pub(super) fn nearest(&self, y: [f64; 2]) -> Option<([f64; 2], f64)> {
        self.nearest_within(y, f64::INFINITY)
    }

    /// The point nearest to y, with its distance, if that is at most `radius`.
    pub(super) fn nearest_within(&self, y: [f64; 2], radius: f64) -> Option<([f64; 2], f64)> {
        let mut best = None;
        let mut squared = radius * radius;
        self.search(0, self.points.len(), y, [0.0; 2], &mut |point, distance| {
            if distance <= squared {
                squared = distance;
                best = Some(*point);
            }
            squared
        });
        best.map(|point| (point, squared.sqrt()))
    }

    /// Appends all points within `radius` of y to `found`.
    pub(super) fn within(&self, y: [f64; 2], radius: f64, found: &mut Vec<[f64; 2]>) {
        let squared = radius * radius;
        self.search(0, self.points.len(), y, [0.0; 2], &mut |point, distance| {
            if distance <= squared {
                found.push(*point);
            }
            squared
        });
    }

    /// The lowest and the highest coordinates.
    pub(super) fn bounding_box(&self) -> ([f64; 2], [f64; 2]) {
        bounding_box(&self.points)
    }

    /// Shows `visit` the points whose squared distance from y may still matter; it answers up to
    /// which squared distance others do. The piece lies at least `gaps` away from y along each axis.
    fn search(
        &self,
        start: usize,
        end: usize,
        y: [f64; 2],
        mut gaps: [f64; 2],
        visit: &mut impl FnMut(&[f64; 2], f64) -> f64,
    ) {
        if end - start <= LEAF {
            for point in &self.points[start..end] {
                visit(point, squared_distance(point, y));
            }
            return;
        }
        let middle = start + (end - start) / 2;
        let axis = self.axes[middle] as usize;
        let gap = y[axis] - self.points[middle][axis];
        let halves = [(start, middle), (middle + 1, end)];
        let near = usize::from(gap > 0.0);
        self.search(halves[near].0, halves[near].1, y, gaps, visit);
        let matters = visit(
            &self.points[middle],
            squared_distance(&self.points[middle], y),
        );
        gaps[axis] = gap;
        if gaps[0] * gaps[0] + gaps[1] * gaps[1] <= matters {
            self.search(halves[1 - near].0, halves[1 - near].1, y, gaps, visit);
        }
    }
}

fn squared_distance(point: &[f64; 2], y: [f64; 2]) -> f64 {
    let (dx, dy) = (y[0] - point[0], y[1] - point[1]);
    dx * dx + dy * dy
}

fn bounding_box(points: &[[f64; 2]]) -> ([f64; 2], [f64; 2]) {
    let start = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    points.iter().fold(start, |(low, high), point| {
        (
            [low[0].min(point[0]), low[1].min(point[1])],
            [high[0].max(point[0]), high[1].max(point[1])],
        )
    })
}

fn split(points: &mut [[f64; 2]], axes: &mut [u8]) {
    if points.len() <= LEAF {
        return;
    }
    let (low, high) = bounding_box(points);
    let axis = usize::from(high[1] - low[1] > high[0] - low[0]);
    let middle = points.len() / 2;
    points.select_nth_unstable_by(middle, |a, b| a[axis].total_cmp(&b[axis]));
    axes[middle] = axis as u8;
    let (left, right) = points.split_at_mut(middle);
    let (left_axes, right_axes) = axes.split_at_mut(middle);
    split(left, left_axes);
    split(&mut right[1..], &mut right_axes[1..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn searches_agree_with_looking_at_every_point(
            // Few different coordinates, so that many points coincide or lie in line.
            points in prop::collection::vec(prop::array::uniform2(0..12_i8), 0..200),
            y in prop::array::uniform2(-3.0..15.0_f64),
            radius in 0.0..8.0_f64,
        ) {
            let points: Vec<_> = points.iter().map(|point| point.map(f64::from)).collect();
            let tree = Neighbours::new(points.clone());
            let squared = |point: &[f64; 2]| squared_distance(point, y);
            let expected = points.iter().map(squared).min_by(f64::total_cmp);
            prop_assert_eq!(tree.nearest(y).map(|(point, _)| squared(&point)), expected);
            let near = expected.filter(|squared| *squared <= radius * radius);
            let found = tree.nearest_within(y, radius).map(|(point, _)| squared(&point));
            prop_assert_eq!(found, near);
            let mut within = Vec::new();
            tree.within(y, radius, &mut within);
            let count = points.iter().filter(|point| squared(point) <= radius * radius).count();
            prop_assert_eq!(within.len(), count);
        }
    }
}
