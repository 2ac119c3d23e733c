//! The nearest of many points of the plane, by a balanced tree of halves.

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

    /// The point nearest to y, with its squared distance; `None` when there are no points.
    pub(super) fn nearest(&self, y: [f64; 2]) -> Option<([f64; 2], f64)> {
        let mut best = (f64::INFINITY, *self.points.first()?);
        self.search(0, self.points.len(), y, &mut best);
        Some((best.1, best.0))
    }

    fn search(&self, start: usize, end: usize, y: [f64; 2], best: &mut (f64, [f64; 2])) {
        if end - start <= LEAF {
            for point in &self.points[start..end] {
                consider(point, y, best);
            }
            return;
        }
        let middle = start + (end - start) / 2;
        let axis = self.axes[middle] as usize;
        let gap = y[axis] - self.points[middle][axis];
        consider(&self.points[middle], y, best);
        let halves = [(start, middle), (middle + 1, end)];
        let near = usize::from(gap > 0.0);
        self.search(halves[near].0, halves[near].1, y, best);
        if gap * gap < best.0 {
            self.search(halves[1 - near].0, halves[1 - near].1, y, best);
        }
    }
}

fn consider(point: &[f64; 2], y: [f64; 2], best: &mut (f64, [f64; 2])) {
    let (dx, dy) = (y[0] - point[0], y[1] - point[1]);
    let squared = dx * dx + dy * dy;
    if squared < best.0 {
        *best = (squared, *point);
    }
}

fn split(points: &mut [[f64; 2]], axes: &mut [u8]) {
    if points.len() <= LEAF {
        return;
    }
    let width = |axis: usize| {
        let (low, high) = points
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| {
                (low.min(p[axis]), high.max(p[axis]))
            });
        high - low
    };
    let axis = usize::from(width(1) > width(0));
    let middle = points.len() / 2;
    points.select_nth_unstable_by(middle, |a, b| a[axis].total_cmp(&b[axis]));
    axes[middle] = axis as u8;
    let (left, right) = points.split_at_mut(middle);
    let (left_axes, right_axes) = axes.split_at_mut(middle);
    split(left, left_axes);
    split(&mut right[1..], &mut right_axes[1..]);
}
