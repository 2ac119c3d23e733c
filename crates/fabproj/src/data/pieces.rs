//! The connected pieces of a set, and connected cells inside them, from a graph over feasible rows.
//!
//! Two rows are neighbours when they are close and the segment between them is feasible. Distances
//! along that graph follow the set round its holes and bends, so cells are connected where k-means
//! cells would not be.

use std::collections::{BinaryHeap, HashSet};

use rand::RngExt;
use rand::seq::index;
use rand_chacha::ChaCha8Rng;

use super::pool::Pool;
use super::segments::{self, Segment};
use crate::tree::{Tree, squared_distance};

/// Neighbours proposed per node.
const NEIGHBOURS: usize = 10;
/// The same above three dimensions, where the nearest rows are often of another piece; as many others are
/// drawn at random.
const NEIGHBOURS_IN_SPACE: usize = 40;
/// Interior points of a segment that must be feasible for an edge.
const EDGE_CHECKS: usize = 7;
/// The same above three dimensions, where segments are long.
const LONG_EDGE_CHECKS: usize = 47;
/// Closest pairs tried, with twice the checks, before two pieces count as separate.
const BRIDGES: usize = 24;
/// A piece with a smaller share of the nodes is noise of the sampling.
const SMALLEST_PIECE: f64 = 0.004;
/// Pieces among which bridges are looked for.
const MOST_PIECES: usize = 40;
/// Rounds of moving the cells' seeds to their middles.
const LLOYD_ROUNDS: usize = 4;

/// Two nodes.
type Pair = (u32, u32);

/// A graph over feasible rows, in (y, x) jointly.
pub(crate) struct Pieces {
    joint_dim: usize,
    /// (y, x) of every node, working units.
    nodes: Vec<f32>,
    tree: Tree<f32>,
    /// Edges of every node, with their lengths.
    edges: Vec<Vec<(u32, f32)>>,
    /// Piece of every node; `usize::MAX` for pieces that are too small to count.
    piece: Vec<usize>,
    count: usize,
}

impl Pieces {
    /// Builds the graph over at most `nodes` feasible rows.
    pub(crate) fn find(pool: &Pool, nodes: usize, rng: &mut ChaCha8Rng) -> Self {
        let joint_dim = pool.dim() + pool.x_dim();
        let rows = index::sample(rng, pool.feasible.len(), nodes.min(pool.feasible.len()));
        let mut points = Vec::with_capacity(rows.len() * joint_dim);
        for row in rows.iter() {
            points.extend_from_slice(&pool.feasible.y[row * pool.dim()..][..pool.dim()]);
            points.extend_from_slice(pool.state_inner(pool.feasible.state[row]));
        }
        let tree = Tree::new(&points, joint_dim);
        let mut pieces = Self {
            joint_dim,
            edges: vec![Vec::new(); rows.len()],
            piece: vec![usize::MAX; rows.len()],
            nodes: points,
            tree,
            count: 0,
        };
        pieces.connect(pool, rng);
        pieces.merge(pool);
        pieces
    }

    /// Number of pieces that are large enough to count; at least one.
    pub(crate) fn count(&self) -> usize {
        self.count.max(1)
    }

    fn node(&self, index: usize) -> &[f32] {
        &self.nodes[index * self.joint_dim..][..self.joint_dim]
    }

    fn connect(&mut self, pool: &Pool, rng: &mut ChaCha8Rng) {
        // A long segment can jump over a gap between two checks.
        let (near, random, checks) = if pool.regime().low_dimensional() {
            (NEIGHBOURS, 0, EDGE_CHECKS)
        } else {
            (NEIGHBOURS_IN_SPACE, NEIGHBOURS_IN_SPACE, LONG_EDGE_CHECKS)
        };
        let proposed = self.propose(near, random, rng);
        // A pair that both its nodes propose is asked about a second time only if the first time failed.
        let all: HashSet<Pair> = proposed.iter().copied().collect();
        let mut seen = HashSet::new();
        let distinct = proposed.iter().copied().filter(|pair| seen.insert(*pair));
        let (again, first): (Vec<Pair>, Vec<Pair>) =
            distinct.partition(|(from, to)| to < from && all.contains(&(*to, *from)));
        let mut joined = self.joined(pool, &first, checks);
        let again: Vec<Pair> = again
            .into_iter()
            .filter(|(from, to)| !joined.contains(&(*to, *from)))
            .collect();
        joined.extend(self.joined(pool, &again, checks));
        for pair in proposed {
            if joined.remove(&pair) {
                self.join(pair.0 as usize, pair.1 as usize);
            }
        }
    }

    /// Pairs of nodes that may be neighbours, by the first of them.
    fn propose(&self, near: usize, random: usize, rng: &mut ChaCha8Rng) -> Vec<Pair> {
        let count = self.piece.len() as u32;
        let mut found = vec![(0.0, 0); near + 1];
        let mut proposed = Vec::new();
        for from in 0..count {
            self.tree
                .nearest_several(self.node(from as usize), &mut found);
            let drawn = (0..random).map(|_| rng.random_range(0..count as usize) as u32);
            let others = found.iter().map(|(_, to)| *to).chain(drawn);
            let others = others.filter(|to| *to != u32::MAX && *to != from);
            proposed.extend(others.map(|to| (from, to)));
        }
        proposed
    }

    /// The pairs that a feasible segment joins.
    fn joined(&self, pool: &Pool, pairs: &[Pair], checks: usize) -> HashSet<Pair> {
        let ends = pairs
            .iter()
            .map(|(from, to)| self.segment(*from as usize, *to as usize));
        let joined = segments::feasible(pool, &ends.collect::<Vec<_>>(), checks);
        let joined = pairs.iter().zip(joined).filter(|(_, joined)| *joined);
        joined.map(|(pair, _)| *pair).collect()
    }

    fn segment(&self, from: usize, to: usize) -> Segment<'_> {
        Segment {
            from: self.node(from),
            to: self.node(to),
            state: None,
        }
    }

    fn join(&mut self, from: usize, to: usize) {
        let length = squared_distance(self.node(from), self.node(to)).sqrt();
        self.edges[from].push((to as u32, length));
        self.edges[to].push((from as u32, length));
    }

    /// Labels the components of the graph, largest first, then joins those between which a direct
    /// feasible segment exists.
    fn merge(&mut self, pool: &Pool) {
        loop {
            let mut members = self.components();
            members.sort_by_key(|nodes| std::cmp::Reverse(nodes.len()));
            let total = self.piece.len() as f64;
            let smallest = (SMALLEST_PIECE * total).max(2.0);
            members.retain(|nodes| nodes.len() as f64 >= smallest);
            members.truncate(MOST_PIECES);
            let pairs: Vec<_> = (0..members.len())
                .flat_map(|a| (0..a).map(move |b| (a, b)))
                .map(|(a, b)| self.closest(&members[a], &members[b]))
                .collect();
            let bridges =
                segments::first_feasible(pool, pairs.len(), LONG_EDGE_CHECKS, |pair, place| {
                    let (_, from, to) = pairs[pair].get(place)?;
                    Some(self.segment(*from, *to))
                });
            let bridges: Vec<(usize, usize)> = pairs
                .iter()
                .zip(bridges)
                .filter_map(|(pairs, place)| place.map(|place| (pairs[place].1, pairs[place].2)))
                .collect();
            let joined = !bridges.is_empty();
            for (from, to) in bridges {
                self.join(from, to);
            }
            if !joined {
                self.piece.fill(usize::MAX);
                for (label, nodes) in members.iter().enumerate() {
                    nodes.iter().for_each(|node| self.piece[*node] = label);
                }
                self.count = members.len();
                return;
            }
        }
    }

    fn components(&self) -> Vec<Vec<usize>> {
        let mut seen = vec![false; self.piece.len()];
        let mut components = Vec::new();
        for start in 0..seen.len() {
            if seen[start] {
                continue;
            }
            seen[start] = true;
            let mut nodes = vec![start];
            let mut next = 0;
            while next < nodes.len() {
                for (to, _) in &self.edges[nodes[next]] {
                    if !std::mem::replace(&mut seen[*to as usize], true) {
                        nodes.push(*to as usize);
                    }
                }
                next += 1;
            }
            components.push(nodes);
        }
        components
    }

    /// The closest pairs of nodes of two components, with their squared distances, nearest first.
    fn closest(&self, a: &[usize], b: &[usize]) -> Vec<(f32, usize, usize)> {
        let (small, large) = if a.len() < b.len() { (a, b) } else { (b, a) };
        let points: Vec<f32> = large
            .iter()
            .flat_map(|node| self.node(*node).to_vec())
            .collect();
        let tree = Tree::new(&points, self.joint_dim);
        let mut pairs: Vec<(f32, usize, usize)> = small
            .iter()
            .filter_map(|node| {
                let (index, square) = tree.nearest(self.node(*node))?;
                Some((square, *node, large[index]))
            })
            .collect();
        pairs.sort_by(|p, q| p.0.total_cmp(&q.0));
        pairs.truncate(BRIDGES);
        pairs
    }

    /// Cuts the pieces into `wanted` connected cells (at least one per piece) of similar extent.
    pub(crate) fn cells(&self, wanted: usize, rng: &mut ChaCha8Rng) -> Cells<'_> {
        let mut seeds: Vec<usize> = (0..self.count)
            .filter_map(|label| self.piece.iter().position(|piece| *piece == label))
            .collect();
        while seeds.len() < wanted.max(self.count) {
            let (distance, _) = self.spread(&seeds, None);
            let farthest = (0..self.piece.len())
                .filter(|node| self.piece[*node] != usize::MAX && distance[*node].is_finite())
                .max_by(|a, b| distance[*a].total_cmp(&distance[*b]));
            match farthest {
                Some(node) if !seeds.contains(&node) => seeds.push(node),
                _ => break,
            }
        }
        let (_, mut label) = self.spread(&seeds, None);
        for _ in 0..LLOYD_ROUNDS {
            for (cell, seed) in seeds.iter_mut().enumerate() {
                *seed = self.middle(cell, *seed, &label, rng);
            }
            label = self.spread(&seeds, None).1;
        }
        Cells {
            pieces: self,
            label,
            count: seeds.len().max(1),
        }
    }

    /// Graph distance from the nearest seed, and which seed that is (`usize::MAX`: unreachable).
    /// With `within`, only nodes of that cell are entered.
    fn spread(&self, seeds: &[usize], within: Option<(&[usize], usize)>) -> (Vec<f32>, Vec<usize>) {
        let mut distance = vec![f32::INFINITY; self.piece.len()];
        let mut label = vec![usize::MAX; self.piece.len()];
        let mut heap = BinaryHeap::new();
        for (cell, seed) in seeds.iter().enumerate() {
            distance[*seed] = 0.0;
            label[*seed] = cell;
            heap.push(Visit {
                distance: 0.0,
                node: *seed,
            });
        }
        while let Some(Visit {
            distance: so_far,
            node,
        }) = heap.pop()
        {
            if so_far > distance[node] {
                continue;
            }
            for (to, length) in &self.edges[node] {
                let to = *to as usize;
                if within.is_some_and(|(label, cell)| label[to] != cell) {
                    continue;
                }
                if so_far + length < distance[to] {
                    distance[to] = so_far + length;
                    label[to] = label[node];
                    heap.push(Visit {
                        distance: distance[to],
                        node: to,
                    });
                }
            }
        }
        (distance, label)
    }

    /// A node near the middle of the cell: the best of a few by summed squared graph distance.
    fn middle(&self, cell: usize, seed: usize, label: &[usize], rng: &mut ChaCha8Rng) -> usize {
        let members: Vec<usize> = (0..label.len())
            .filter(|node| label[*node] == cell)
            .collect();
        let mut candidates = vec![seed];
        if !members.is_empty() {
            candidates.extend((0..8).map(|_| members[rng.random_range(0..members.len())]));
        }
        let cost = |candidate: usize| -> f64 {
            let (distance, _) = self.spread(&[candidate], Some((label, cell)));
            let square = |node: &usize| f64::from(distance[*node]).powi(2);
            members
                .iter()
                .filter(|node| distance[**node].is_finite())
                .map(square)
                .sum()
        };
        candidates
            .into_iter()
            .map(|candidate| (cost(candidate), candidate))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map_or(seed, |(_, node)| node)
    }
}

/// A division of the feasible points among charts.
pub(crate) trait Partition {
    /// Number of parts.
    fn count(&self) -> usize;

    /// The parts of feasible points at their states; `None` for one that belongs to what is too small to
    /// count.
    fn labels(&self, pool: &Pool, y: &[f32], states: &[u32]) -> Vec<Option<usize>>;

    /// The part of one feasible point.
    fn label(&self, pool: &Pool, y: &[f32], state: u32) -> Option<usize> {
        self.labels(pool, y, &[state])[0]
    }
}

/// A partition of the feasible rows into connected cells.
pub(crate) struct Cells<'a> {
    pieces: &'a Pieces,
    label: Vec<usize>,
    count: usize,
}

impl Cells<'_> {
    /// The same cells, but those marked are cut into `parts` connected cells each. Returns for every
    /// new cell the old one that it is, or `None` where it is part of one that was cut.
    pub(crate) fn split(
        &self,
        cut: &[bool],
        parts: usize,
        rng: &mut ChaCha8Rng,
    ) -> (Self, Vec<Option<usize>>) {
        let mut label = vec![usize::MAX; self.label.len()];
        let mut origin = Vec::new();
        for (cell, cut) in cut.iter().enumerate().take(self.count) {
            let members: Vec<usize> = (0..self.label.len())
                .filter(|node| self.label[*node] == cell)
                .collect();
            if !cut || members.len() < 20 * parts {
                members.iter().for_each(|node| label[*node] = origin.len());
                origin.push(Some(cell));
                continue;
            }
            let within = Some((self.label.as_slice(), cell));
            let mut seeds = vec![members[rng.random_range(0..members.len())]];
            // The first seed only serves to find a far end.
            for _ in 0..parts {
                let (distance, _) = self.pieces.spread(&seeds, within);
                let farthest = members
                    .iter()
                    .filter(|node| distance[**node].is_finite())
                    .max_by(|a, b| distance[**a].total_cmp(&distance[**b]));
                seeds.extend(farthest);
            }
            seeds.remove(0);
            let (_, parts) = self.pieces.spread(&seeds, within);
            let first = origin.len();
            for node in members {
                label[node] = if parts[node] == usize::MAX {
                    first
                } else {
                    first + parts[node]
                };
            }
            origin.extend(vec![None; seeds.len()]);
        }
        let cells = Cells {
            pieces: self.pieces,
            label,
            count: origin.len(),
        };
        (cells, origin)
    }
}

impl Partition for Cells<'_> {
    fn count(&self) -> usize {
        self.count
    }

    /// The cell of a feasible point is that of the nearest node which a feasible segment joins to it.
    /// Above three dimensions a point that no segment joins to a cell belongs to none: it is of a piece
    /// that is too small to count.
    fn labels(&self, pool: &Pool, y: &[f32], states: &[u32]) -> Vec<Option<usize>> {
        if self.count == 1 {
            return vec![Some(0); states.len()];
        }
        let space = !pool.regime().low_dimensional();
        let (near, checks) = match space {
            true => (NEIGHBOURS_IN_SPACE, LONG_EDGE_CHECKS),
            false => (6, 3),
        };
        let width = self.pieces.joint_dim;
        let mut joint = Vec::with_capacity(states.len() * width);
        for (y, state) in y.chunks_exact(pool.dim()).zip(states) {
            joint.extend_from_slice(y);
            joint.extend_from_slice(pool.state_inner(*state));
        }
        let mut found = vec![(0.0, 0); near];
        let nodes: Vec<Vec<usize>> = joint
            .chunks_exact(width)
            .map(|point| {
                self.pieces.tree.nearest_several(point, &mut found);
                let nodes = found.iter().filter(|(_, node)| *node != u32::MAX);
                let nodes = nodes.map(|(_, node)| *node as usize);
                nodes
                    .filter(|node| self.label[*node] != usize::MAX)
                    .collect()
            })
            .collect();
        let joined = segments::first_feasible(pool, nodes.len(), checks, |row, place| {
            Some(Segment {
                from: &joint[row * width..][..width],
                to: self.pieces.node(*nodes[row].get(place)?),
                state: None,
            })
        });
        let node = |(nodes, joined): (&Vec<usize>, Option<usize>)| match joined {
            None if space => None,
            joined => nodes.get(joined.unwrap_or(0)).map(|node| self.label[*node]),
        };
        nodes.iter().zip(joined).map(node).collect()
    }
}

/// A heap entry ordered by smallest distance first.
struct Visit {
    distance: f32,
    node: usize,
}

impl PartialEq for Visit {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Visit {}

impl PartialOrd for Visit {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Visit {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other
            .distance
            .total_cmp(&self.distance)
            .then(other.node.cmp(&self.node))
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::data::PoolSizes;
    use crate::set::{FnSet, built_in};

    fn pieces_of(set: &dyn crate::set::Set) -> (usize, usize) {
        let sizes = PoolSizes {
            states: 60,
            feasible: 3_000,
            infeasible: 500,
            boundary: 300,
            draws: 1 << 20,
        };
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let pool = Pool::draw(set, &sizes, &mut rng).unwrap();
        let pieces = Pieces::find(&pool, 2_000, &mut rng);
        let cells = pieces.cells(pieces.count() + 2, &mut rng);
        let mut seen = vec![0usize; cells.count()];
        for (row, state) in pool
            .feasible
            .y
            .chunks_exact(pool.dim())
            .zip(&pool.feasible.state)
        {
            seen[cells.label(&pool, row, *state).unwrap()] += 1;
        }
        assert!(seen.iter().all(|rows| *rows > 20), "cells of {seen:?} rows");
        let (finer, origin) = cells.split(&vec![true; cells.count()], 2, &mut rng);
        assert_eq!(finer.count(), origin.len());
        assert!(finer.count() > cells.count());
        (pieces.count(), cells.count())
    }

    #[test]
    fn pieces_are_counted() {
        for (name, count) in [
            ("concentric-circles", 1),
            ("two-moons-disjoint", 2),
            ("moving-obstacle", 1),
        ] {
            assert_eq!(
                pieces_of(built_in(name).unwrap().as_ref()).0,
                count,
                "{name}"
            );
        }
    }

    #[test]
    fn an_interval_is_one_piece_and_six_islands_are_six() {
        let interval = FnSet::new("interval", vec![(-2.0, 2.0)], |y: &[f64], _: &[f64]| {
            y[0].abs() <= 1.0
        });
        assert_eq!(pieces_of(&interval), (1, 3));
        let islands = |y: &[f64], _: &[f64]| {
            let near = |v: f64| (v - v.round()).abs() <= 0.3;
            (0.5..=3.5).contains(&y[0]) && (0.5..=2.5).contains(&y[1]) && near(y[0]) && near(y[1])
        };
        let islands = FnSet::new("islands", vec![(0.0, 4.0), (0.0, 3.0)], islands);
        assert_eq!(pieces_of(&islands), (6, 8));
    }
}
