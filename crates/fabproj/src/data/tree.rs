//! A kd-tree over a fixed set of points, for nearest-point queries in few dimensions.

/// Points per leaf: below this a linear scan is faster than another split.
const LEAF: usize = 8;

/// An immutable kd-tree. Queries return indices into the points it was built from.
#[derive(Clone, Debug)]
pub struct Tree {
    dim: usize,
    /// Points in tree order.
    points: Vec<f32>,
    /// Original index of each point in tree order.
    order: Vec<u32>,
    /// Split coordinate and value of each inner node, by heap position over halves of `order`.
    splits: Vec<(u8, f32)>,
}

impl Tree {
    /// Builds the tree over `points`, rows of `dim` coordinates.
    pub fn new(points: &[f32], dim: usize) -> Self {
        let count = points.len().checked_div(dim).unwrap_or(0);
        let mut order: Vec<u32> = (0..count as u32).collect();
        let mut splits = Vec::new();
        split(points, dim, &mut order, 0, &mut splits);
        let mut sorted = Vec::with_capacity(points.len());
        for &index in &order {
            sorted.extend_from_slice(&points[index as usize * dim..][..dim]);
        }
        Self {
            dim,
            points: sorted,
            order,
            splits,
        }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// The nearest point's index and its squared distance; `None` for an empty tree.
    pub fn nearest(&self, query: &[f32]) -> Option<(usize, f32)> {
        let mut best = [(f32::INFINITY, u32::MAX)];
        self.search(query, 0, 0, self.order.len(), &mut best);
        (best[0].1 != u32::MAX).then_some((best[0].1 as usize, best[0].0))
    }

    /// The nearest point if it is closer than `radius`: much faster than [`nearest`](Self::nearest)
    /// when mostly there is none.
    pub fn nearest_within(&self, query: &[f32], radius: f32) -> Option<(usize, f32)> {
        let mut best = [(radius * radius, u32::MAX)];
        self.search(query, 0, 0, self.order.len(), &mut best);
        (best[0].1 != u32::MAX).then_some((best[0].1 as usize, best[0].0))
    }

    /// The `found.len()` nearest points as (squared distance, index), nearest first; missing ones
    /// (fewer points than asked for) have index `u32::MAX`.
    pub fn nearest_several(&self, query: &[f32], found: &mut [(f32, u32)]) {
        found.fill((f32::INFINITY, u32::MAX));
        self.search(query, 0, 0, self.order.len(), found);
    }

    fn search(
        &self,
        query: &[f32],
        node: usize,
        start: usize,
        end: usize,
        best: &mut [(f32, u32)],
    ) {
        if end - start <= LEAF {
            for position in start..end {
                let point = &self.points[position * self.dim..][..self.dim];
                let distance = squared_distance(point, query);
                insert(best, distance, self.order[position]);
            }
            return;
        }
        let middle = (start + end) / 2;
        let (axis, value) = self.splits[node];
        let offset = query[axis as usize] - value;
        let (left, right) = ((2 * node + 1, start, middle), (2 * node + 2, middle, end));
        let (near, far) = if offset < 0.0 {
            (left, right)
        } else {
            (right, left)
        };
        self.search(query, near.0, near.1, near.2, best);
        if offset * offset < best[best.len() - 1].0 {
            self.search(query, far.0, far.1, far.2, best);
        }
    }
}

fn insert(best: &mut [(f32, u32)], distance: f32, index: u32) {
    let mut slot = best.len();
    while slot > 0 && distance < best[slot - 1].0 {
        slot -= 1;
    }
    if slot < best.len() {
        best[slot..].rotate_right(1);
        best[slot] = (distance, index);
    }
}

fn split(points: &[f32], dim: usize, order: &mut [u32], node: usize, splits: &mut Vec<(u8, f32)>) {
    if order.len() <= LEAF {
        return;
    }
    let axis = widest_axis(points, dim, order);
    let middle = order.len() / 2;
    let key = |index: &u32| points[*index as usize * dim + axis];
    order.select_nth_unstable_by(middle, |a, b| key(a).total_cmp(&key(b)));
    if splits.len() <= node {
        splits.resize(node + 1, (0, 0.0));
    }
    splits[node] = (axis as u8, key(&order[middle]));
    let (left, right) = order.split_at_mut(middle);
    split(points, dim, left, 2 * node + 1, splits);
    split(points, dim, right, 2 * node + 2, splits);
}

fn widest_axis(points: &[f32], dim: usize, order: &[u32]) -> usize {
    let mut widest = (0, f32::NEG_INFINITY);
    for axis in 0..dim {
        let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
        for &index in order {
            let value = points[index as usize * dim + axis];
            low = low.min(value);
            high = high.max(value);
        }
        if high - low > widest.1 {
            widest = (axis, high - low);
        }
    }
    widest.0
}

/// ‖a − b‖².
pub fn squared_distance(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(p, q)| (p - q) * (p - q)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_linear_scan(
            dim in 1usize..5,
            values in prop::collection::vec(-2.0f32..2.0, 4..600),
            query in prop::collection::vec(-3.0f32..3.0, 5),
        ) {
            let count = values.len() / dim;
            let points = &values[..count * dim];
            let tree = Tree::new(points, dim);
            let mut distances: Vec<f32> =
                points.chunks(dim).map(|point| squared_distance(point, &query[..dim])).collect();
            let (index, distance) = tree.nearest(&query[..dim]).unwrap();
            prop_assert_eq!(distance, distances[index]);
            let within = tree.nearest_within(&query[..dim], 1.0);
            prop_assert_eq!(within, (distance < 1.0).then_some((index, distance)));
            let mut found = [(0.0, 0); 5];
            tree.nearest_several(&query[..dim], &mut found);
            distances.sort_by(f32::total_cmp);
            for (rank, (distance, _)) in found.iter().enumerate().take(count) {
                prop_assert_eq!(*distance, distances[rank]);
            }
        }
    }

    #[test]
    fn an_empty_tree_finds_nothing() {
        assert_eq!(Tree::new(&[], 2).nearest(&[0.0, 0.0]), None);
    }
}
