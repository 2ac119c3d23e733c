//! A k-d tree over a fixed set of points, for nearest-point queries in few dimensions.

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Mul, Sub};

/// Points per leaf: below this a linear scan is faster than another split.
const LEAF: usize = 8;

/// The numbers that a tree can hold.
pub(crate) trait Number:
    Copy + Default + PartialOrd + Sub<Output = Self> + Mul<Output = Self> + Sum
{
    const INFINITY: Self;

    fn total_cmp(&self, other: &Self) -> Ordering;
}

impl Number for f32 {
    const INFINITY: Self = Self::INFINITY;

    fn total_cmp(&self, other: &Self) -> Ordering {
        Self::total_cmp(self, other)
    }
}

impl Number for f64 {
    const INFINITY: Self = Self::INFINITY;

    fn total_cmp(&self, other: &Self) -> Ordering {
        Self::total_cmp(self, other)
    }
}

/// An immutable k-d tree. Queries return indices into the points it was built from.
#[derive(Clone, Debug)]
pub(crate) struct Tree<T> {
    dim: usize,
    /// Points in tree order.
    points: Vec<T>,
    /// Original index of each point in tree order.
    order: Vec<u32>,
    /// Split coordinate and value of each inner node, by heap position over halves of `order`.
    splits: Vec<(u8, T)>,
}

impl<T: Number> Tree<T> {
    /// Builds the tree over `points`, rows of `dim` coordinates.
    pub(crate) fn new(points: &[T], dim: usize) -> Self {
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
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// The nearest point's index and its squared distance; `None` for an empty tree.
    pub(crate) fn nearest(&self, query: &[T]) -> Option<(usize, T)> {
        self.nearest_below(query, T::INFINITY)
    }

    /// The nearest point if it is closer than `radius`: much faster than [`nearest`](Self::nearest)
    /// when mostly there is none.
    pub(crate) fn nearest_within(&self, query: &[T], radius: T) -> Option<(usize, T)> {
        self.nearest_below(query, radius * radius)
    }

    fn nearest_below(&self, query: &[T], square: T) -> Option<(usize, T)> {
        let mut best = (square, u32::MAX);
        self.search(query, &mut |distance, index| {
            if distance < best.0 {
                best = (distance, index);
            }
            best.0
        });
        (best.1 != u32::MAX).then_some((best.1 as usize, best.0))
    }

    /// The `found.len()` nearest points as (squared distance, index), nearest first; missing ones
    /// (fewer points than asked for) have index `u32::MAX`.
    pub(crate) fn nearest_several(&self, query: &[T], found: &mut [(T, u32)]) {
        found.fill((T::INFINITY, u32::MAX));
        self.search(query, &mut |distance, index| {
            insert(found, distance, index);
            found[found.len() - 1].0
        });
    }

    /// The indices of all points within `radius`.
    pub(crate) fn within(&self, query: &[T], radius: T) -> Vec<usize> {
        let (square, mut found) = (radius * radius, Vec::new());
        self.search(query, &mut |distance, index| {
            if distance <= square {
                found.push(index as usize);
            }
            square
        });
        found
    }

    /// Shows `visit` the points whose squared distance may matter; it answers up to which one others do.
    fn search(&self, query: &[T], visit: &mut impl FnMut(T, u32) -> T) {
        self.search_node(query, 0, (0, self.order.len()), visit);
    }

    fn search_node(
        &self,
        query: &[T],
        node: usize,
        (start, end): (usize, usize),
        visit: &mut impl FnMut(T, u32) -> T,
    ) -> T {
        if end - start <= LEAF {
            let mut limit = T::INFINITY;
            for position in start..end {
                let point = &self.points[position * self.dim..][..self.dim];
                limit = visit(squared_distance(point, query), self.order[position]);
            }
            return limit;
        }
        let middle = (start + end) / 2;
        let (axis, value) = self.splits[node];
        let offset = query[axis as usize] - value;
        let (left, right) = (
            (2 * node + 1, (start, middle)),
            (2 * node + 2, (middle, end)),
        );
        let (near, far) = if offset < T::default() {
            (left, right)
        } else {
            (right, left)
        };
        let limit = self.search_node(query, near.0, near.1, visit);
        if offset * offset <= limit {
            return self.search_node(query, far.0, far.1, visit);
        }
        limit
    }
}

fn insert<T: Number>(best: &mut [(T, u32)], distance: T, index: u32) {
    let mut slot = best.len();
    while slot > 0 && distance < best[slot - 1].0 {
        slot -= 1;
    }
    if slot < best.len() {
        best[slot..].rotate_right(1);
        best[slot] = (distance, index);
    }
}

fn split<T: Number>(
    points: &[T],
    dim: usize,
    order: &mut [u32],
    node: usize,
    splits: &mut Vec<(u8, T)>,
) {
    if order.len() <= LEAF {
        return;
    }
    let axis = widest_axis(points, dim, order);
    let middle = order.len() / 2;
    let key = |index: &u32| points[*index as usize * dim + axis];
    order.select_nth_unstable_by(middle, |a, b| key(a).total_cmp(&key(b)));
    if splits.len() <= node {
        splits.resize(node + 1, (0, T::default()));
    }
    splits[node] = (axis as u8, key(&order[middle]));
    let (left, right) = order.split_at_mut(middle);
    split(points, dim, left, 2 * node + 1, splits);
    split(points, dim, right, 2 * node + 2, splits);
}

fn widest_axis<T: Number>(points: &[T], dim: usize, order: &[u32]) -> usize {
    let mut widest = (0, T::default() - T::INFINITY);
    for axis in 0..dim {
        let (mut low, mut high) = (T::INFINITY, T::default() - T::INFINITY);
        for &index in order {
            let value = points[index as usize * dim + axis];
            low = if value < low { value } else { low };
            high = if value > high { value } else { high };
        }
        if high - low > widest.1 {
            widest = (axis, high - low);
        }
    }
    widest.0
}

/// ‖a − b‖².
pub(crate) fn squared_distance<T: Number>(a: &[T], b: &[T]) -> T {
    a.iter().zip(b).map(|(p, q)| (*p - *q) * (*p - *q)).sum()
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

        #[test]
        fn agrees_with_a_linear_scan_where_points_coincide(
            // Few different coordinates, so that many points coincide or lie in line.
            points in prop::collection::vec(prop::array::uniform2(0..12_i8), 0..200),
            y in prop::array::uniform2(-3.0..15.0_f64),
            radius in 0.0..8.0_f64,
        ) {
            let points: Vec<f64> = points.into_iter().flatten().map(f64::from).collect();
            let tree = Tree::new(&points, 2);
            let squared: Vec<f64> = points.chunks(2).map(|point| squared_distance(point, &y)).collect();
            let expected = squared.iter().copied().min_by(f64::total_cmp);
            prop_assert_eq!(tree.nearest(&y).map(|(_, square)| square), expected);
            let near = expected.filter(|square| *square < radius * radius);
            prop_assert_eq!(tree.nearest_within(&y, radius).map(|(_, square)| square), near);
            let mut within = tree.within(&y, radius);
            within.sort_unstable();
            let all: Vec<usize> =
                (0..squared.len()).filter(|index| squared[*index] <= radius * radius).collect();
            prop_assert_eq!(within, all);
        }
    }

    #[test]
    fn an_empty_tree_finds_nothing() {
        assert_eq!(Tree::new(&[], 2).nearest(&[0.0, 0.0]), None);
    }
}
