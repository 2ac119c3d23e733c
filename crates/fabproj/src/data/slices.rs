//! The pieces of an input-dependent set at each of its states, followed from state to state.
//!
//! A set can be in one piece over (y, x) jointly and in two at a given x: an obstacle that blocks the way
//! at some x cuts what is joined around it at others. A chart's decodes at one x are connected, so its
//! share of C(x) should be. Here C(x) is taken apart state by state, and pieces of neighbouring states
//! that continue each other are given the same label, never two pieces of one state.

use std::collections::{BTreeMap, BTreeSet};

use super::pieces::Partition;
use super::pool::Pool;
use super::segments::{self, Segment};
use crate::tree::{Tree, squared_distance};

/// Points that a state's pieces are looked for with: its own rows, and those of the nearest states that
/// are feasible here too.
const POINTS: usize = 120;
const LENDING_STATES: usize = 7;
/// Neighbours proposed per point.
const NEIGHBOURS: usize = 8;
/// Interior points of a segment that must be feasible for it to join two points.
const CHECKS: usize = 11;
/// Closest pairs tried before two pieces of a state count as separate.
const BRIDGES: usize = 8;
/// A piece with a smaller share of its state's points is noise of the sampling.
const SMALLEST_PIECE: f64 = 0.04;
/// Neighbouring states that pieces are compared with: so many that a gap in the drawn states does not cut
/// what continues across it.
const NEAR_STATES: usize = 14;
/// Least mean overlap of two families of pieces, where they meet, that makes them one.
const LEAST_OVERLAP: f64 = 0.9;
/// A family with a smaller share of all rows gets no label of its own.
const SMALLEST_FAMILY: f64 = 0.02;

/// Two points, after their squared distance.
type Pair = (f32, usize, usize);

/// Pieces by state, and which of them continue each other.
pub(crate) struct Slices {
    slices: Vec<Slice>,
    count: usize,
}

/// The points of one state with the labels of their pieces; `usize::MAX` for those too small to count.
struct Slice {
    state: u32,
    dim: usize,
    /// The state's own rows, then what it borrowed.
    points: Vec<f32>,
    own: usize,
    tree: Tree<f32>,
    label: Vec<usize>,
}

impl Slices {
    /// Takes C(x) apart at every state of the pool.
    pub(crate) fn find(pool: &Pool) -> Self {
        let dim = pool.dim();
        let states = Tree::new(&pool.states_inner, pool.x_dim());
        let mut own = vec![Vec::new(); pool.states.len()];
        for (y, state) in pool.feasible.y.chunks_exact(dim).zip(&pool.feasible.state) {
            own[*state as usize].extend_from_slice(y);
        }
        let mut slices: Vec<Slice> = (0..pool.states.len())
            .map(|state| Slice::new(pool, state as u32, &states, &own))
            .collect();
        find_pieces(pool, &mut slices);
        let families = families(pool, &states, &slices);
        let count = families
            .iter()
            .flatten()
            .filter(|label| **label != usize::MAX)
            .max();
        let count = count.map_or(1, |label| label + 1);
        for (slice, families) in slices.iter_mut().zip(&families) {
            for label in slice.label.iter_mut().filter(|label| **label != usize::MAX) {
                *label = families[*label];
            }
        }
        Self { slices, count }
    }
}

impl Partition for Slices {
    fn count(&self) -> usize {
        self.count
    }

    /// The label of the nearest point of the state that a feasible segment joins to y, or else of the
    /// nearest.
    fn labels(&self, pool: &Pool, y: &[f32], states: &[u32]) -> Vec<Option<usize>> {
        let dim = pool.dim();
        let slice = |row: usize| &self.slices[states[row] as usize];
        let mut found = [(0.0, 0); NEIGHBOURS];
        let near: Vec<Vec<usize>> = (0..states.len())
            .map(|row| {
                let slice = slice(row);
                slice
                    .tree
                    .nearest_several(&y[row * dim..][..dim], &mut found);
                let points = found.iter().filter(|(_, point)| *point != u32::MAX);
                let points = points.map(|(_, point)| *point as usize);
                points
                    .filter(|point| slice.label[*point] != usize::MAX)
                    .collect()
            })
            .collect();
        let joined = segments::first_feasible(pool, states.len(), CHECKS, |row, place| {
            Some(Segment {
                from: &y[row * dim..][..dim],
                to: slice(row).point(*near[row].get(place)?),
                state: Some(states[row]),
            })
        });
        let label = |(row, joined): (usize, Option<usize>)| {
            let point = near[row].get(joined.unwrap_or(0))?;
            Some(slice(row).label[*point])
        };
        joined.into_iter().enumerate().map(label).collect()
    }
}

impl Slice {
    fn new(pool: &Pool, state: u32, states: &Tree<f32>, own: &[Vec<f32>]) -> Self {
        let dim = pool.dim();
        let mut points = own[state as usize].clone();
        let mut near = [(0.0, 0); LENDING_STATES + 1];
        states.nearest_several(pool.state_inner(state), &mut near);
        let others = near
            .iter()
            .filter(|(_, other)| *other != u32::MAX && *other != state);
        let rows: Vec<f32> = others
            .flat_map(|(_, other)| own[*other as usize].iter().copied())
            .collect();
        let mut rows = rows.as_slice();
        while points.len() < POINTS * dim && !rows.is_empty() {
            // So many are needed at least.
            let (asked, later) = rows.split_at(rows.len().min(POINTS * dim - points.len()));
            rows = later;
            let inside = pool.contains_rows(asked, &vec![state; asked.len() / dim]);
            let lent = asked
                .chunks_exact(dim)
                .zip(inside)
                .filter(|(_, inside)| *inside);
            points.extend(lent.flat_map(|(row, _)| row));
        }
        Self {
            state,
            dim,
            tree: Tree::new(&points, dim),
            own: own[state as usize].len() / dim,
            label: vec![usize::MAX; points.len() / dim],
            points,
        }
    }

    fn point(&self, index: usize) -> &[f32] {
        &self.points[index * self.dim..][..self.dim]
    }

    fn segment(&self, from: usize, to: usize) -> Segment<'_> {
        Segment {
            from: self.point(from),
            to: self.point(to),
            state: Some(self.state),
        }
    }

    /// Each point with its neighbours.
    fn neighbours(&self) -> Vec<(usize, usize)> {
        let mut found = [(0.0, 0); NEIGHBOURS + 1];
        let mut neighbours = Vec::new();
        for from in 0..self.label.len() {
            self.tree.nearest_several(self.point(from), &mut found);
            let known = found.iter().filter(|(_, to)| *to != u32::MAX);
            neighbours.extend(known.map(|(_, to)| (from, *to as usize)));
        }
        neighbours
    }

    /// The closest points of every two components, nearest first.
    fn closest(&self, joined: &mut Components) -> Vec<Vec<Pair>> {
        let mut pairs: BTreeMap<(usize, usize), Vec<Pair>> = BTreeMap::new();
        for a in 0..self.label.len() {
            for b in 0..a {
                let (p, q) = (joined.root(a), joined.root(b));
                if p != q {
                    let square = squared_distance(self.point(a), self.point(b));
                    let pairs = pairs.entry((p.min(q), p.max(q))).or_default();
                    pairs.push((square, a, b));
                }
            }
        }
        let mut pairs: Vec<Vec<Pair>> = pairs.into_values().collect();
        for pairs in &mut pairs {
            pairs.sort_by(|p, q| p.0.total_cmp(&q.0));
            pairs.truncate(BRIDGES);
        }
        pairs
    }

    /// Labels the components, leaving out those that are too small.
    fn set_labels(&mut self, joined: &mut Components) {
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for point in 0..self.label.len() {
            members.entry(joined.root(point)).or_default().push(point);
        }
        let smallest = (SMALLEST_PIECE * self.label.len() as f64).max(2.0);
        let large = members
            .values()
            .filter(|points| points.len() as f64 >= smallest);
        for (piece, points) in large.enumerate() {
            points.iter().for_each(|point| self.label[*point] = piece);
        }
    }

    fn pieces(&self) -> usize {
        let labels = self.label.iter().filter(|label| **label != usize::MAX);
        labels.max().map_or(0, |label| label + 1)
    }

    /// For each pair of pieces, here and in another slice, the share of the points here whose nearest
    /// point there is of that piece.
    fn shares(&self, other: &Self, dim: usize) -> Vec<Vec<f64>> {
        let mut shares = vec![vec![0.0; other.pieces()]; self.pieces()];
        let mut totals = vec![0.0; self.pieces()];
        for (point, piece) in self.points.chunks_exact(dim).zip(&self.label) {
            let Some((nearest, _)) = other.tree.nearest(point) else {
                continue;
            };
            if *piece == usize::MAX {
                continue;
            }
            totals[*piece] += 1.0;
            if other.label[nearest] != usize::MAX {
                shares[*piece][other.label[nearest]] += 1.0;
            }
        }
        for (shares, total) in shares.iter_mut().zip(totals) {
            shares
                .iter_mut()
                .for_each(|share| *share /= f64::max(total, 1.0));
        }
        shares
    }
}

/// Labels the connected pieces of every slice. Slices do not depend on each other, so the set is asked about
/// all of them at once.
fn find_pieces(pool: &Pool, slices: &mut [Slice]) {
    let mut joined: Vec<Components> = slices
        .iter()
        .map(|slice| Components::new(slice.label.len()))
        .collect();
    join_neighbours(pool, slices, &mut joined);
    let mut open: Vec<usize> = (0..slices.len()).collect();
    while !open.is_empty() {
        open = bridge(pool, slices, &open, &mut joined);
    }
    for (slice, joined) in slices.iter_mut().zip(&mut joined) {
        slice.set_labels(joined);
    }
}

/// Joins neighbours between which a segment is feasible, unless others have joined them already.
fn join_neighbours(pool: &Pool, slices: &[Slice], joined: &mut [Components]) {
    let mut waiting: Vec<_> = slices
        .iter()
        .map(|slice| slice.neighbours().into_iter())
        .collect();
    loop {
        let next = waiting.iter_mut().zip(joined.iter_mut()).enumerate();
        let next = next.filter_map(|(slice, (waiting, joined))| {
            let (from, to) = waiting.find(|(from, to)| joined.root(*from) != joined.root(*to))?;
            Some((slice, from, to))
        });
        let asked: Vec<(usize, usize, usize)> = next.collect();
        if asked.is_empty() {
            return;
        }
        let segments = asked
            .iter()
            .map(|(slice, from, to)| slices[*slice].segment(*from, *to));
        let feasible = segments::feasible(pool, &segments.collect::<Vec<_>>(), CHECKS);
        for ((slice, from, to), _) in asked.iter().zip(feasible).filter(|(_, yes)| *yes) {
            joined[*slice].join(*from, *to);
        }
    }
}

/// Joins components between whose closest points a segment is feasible; the slices where there were any.
fn bridge(pool: &Pool, slices: &[Slice], open: &[usize], joined: &mut [Components]) -> Vec<usize> {
    let closest = open.iter().flat_map(|slice| {
        let pairs = slices[*slice].closest(&mut joined[*slice]);
        pairs.into_iter().map(|pairs| (*slice, pairs))
    });
    let closest: Vec<(usize, Vec<Pair>)> = closest.collect();
    let bridges = segments::first_feasible(pool, closest.len(), CHECKS, |index, place| {
        let (slice, pairs) = &closest[index];
        let (_, from, to) = pairs.get(place)?;
        Some(slices[*slice].segment(*from, *to))
    });
    let mut bridged = Vec::new();
    for ((slice, pairs), place) in closest.iter().zip(bridges) {
        let Some((_, from, to)) = place.map(|place| pairs[place]) else {
            continue;
        };
        if joined[*slice].join(from, to) {
            bridged.push(*slice);
        }
    }
    bridged.dedup();
    bridged
}

/// Gives every piece of every state a family: families that overlap most where they meet are joined first,
/// and no family gets two pieces of one state.
fn families(pool: &Pool, states: &Tree<f32>, slices: &[Slice]) -> Vec<Vec<usize>> {
    let mut first = vec![0];
    for slice in slices {
        first.push(first[first.len() - 1] + slice.pieces());
    }
    let total = first[slices.len()];
    let mut family = Families {
        states: (0..slices.len())
            .flat_map(|state| vec![BTreeSet::from([state]); slices[state].pieces()])
            .collect(),
        overlaps: vec![BTreeMap::new(); total],
        joined: Components::new(total),
    };
    let mut near = [(0.0, 0); NEAR_STATES + 1];
    for (state, slice) in slices.iter().enumerate() {
        states.nearest_several(pool.state_inner(state as u32), &mut near);
        for (_, other) in near
            .iter()
            .filter(|(_, other)| *other != u32::MAX && *other as usize != state)
        {
            let other = *other as usize;
            let there = slice.shares(&slices[other], pool.dim());
            let back = slices[other].shares(slice, pool.dim());
            for a in 0..slice.pieces() {
                for b in 0..slices[other].pieces() {
                    family.meet(
                        first[state] + a,
                        first[other] + b,
                        there[a][b].min(back[b][a]),
                    );
                }
            }
        }
    }
    while family.join() {}
    let mut points: BTreeMap<usize, usize> = BTreeMap::new();
    let mut all = 0;
    for (state, slice) in slices.iter().enumerate() {
        // Charts are trained on rows of the pool, so only these count.
        let own = slice.label[..slice.own].iter();
        for piece in own.filter(|piece| **piece != usize::MAX) {
            *points
                .entry(family.joined.root(first[state] + piece))
                .or_default() += 1;
            all += 1;
        }
    }
    let smallest = SMALLEST_FAMILY * all as f64;
    let large = points
        .iter()
        .filter(|(_, points)| **points as f64 >= smallest);
    let labels: BTreeMap<usize, usize> = large
        .enumerate()
        .map(|(label, (root, _))| (*root, label))
        .collect();
    (0..slices.len())
        .map(|state| {
            (first[state]..first[state + 1])
                .map(|piece| {
                    labels
                        .get(&family.joined.root(piece))
                        .copied()
                        .unwrap_or(usize::MAX)
                })
                .collect()
        })
        .collect()
}

/// Families while they are joined. The figures of a family are kept at its root piece.
struct Families {
    /// States at which a family has a piece.
    states: Vec<BTreeSet<usize>>,
    /// With which families it meets: the sum of overlaps, and their number.
    overlaps: Vec<BTreeMap<usize, (f64, f64)>>,
    joined: Components,
}

impl Families {
    fn meet(&mut self, a: usize, b: usize, overlap: f64) {
        if overlap == 0.0 {
            return;
        }
        for (from, to) in [(a, b), (b, a)] {
            let entry = self.overlaps[from].entry(to).or_default();
            entry.0 += overlap;
            entry.1 += 1.0;
        }
    }

    /// Joins the two families that overlap most, unless they share a state; `false` if none are left.
    fn join(&mut self) -> bool {
        let mut best = (LEAST_OVERLAP, None);
        for (from, overlaps) in self.overlaps.iter().enumerate() {
            for (to, (sum, count)) in overlaps.range(from + 1..) {
                if sum / count > best.0 {
                    best = (sum / count, Some((from, *to)));
                }
            }
        }
        let Some((into, from)) = best.1 else {
            return false;
        };
        if !self.states[into].is_disjoint(&self.states[from]) {
            self.overlaps[into].remove(&from);
            self.overlaps[from].remove(&into);
            return true;
        }
        self.joined.join(from, into);
        let states = std::mem::take(&mut self.states[from]);
        self.states[into].extend(states);
        for (other, (sum, count)) in std::mem::take(&mut self.overlaps[from]) {
            self.overlaps[other].remove(&from);
            if other != into {
                for (a, b) in [(into, other), (other, into)] {
                    let entry = self.overlaps[a].entry(b).or_default();
                    entry.0 += sum;
                    entry.1 += count;
                }
            }
        }
        true
    }
}

/// Connected components of nodes.
struct Components {
    parent: Vec<usize>,
}

impl Components {
    fn new(count: usize) -> Self {
        Self {
            parent: (0..count).collect(),
        }
    }

    /// The root of a node's component.
    fn root(&mut self, mut node: usize) -> usize {
        let parent = &mut self.parent;
        while parent[node] != node {
            parent[node] = parent[parent[node]];
            node = parent[node];
        }
        node
    }

    /// Joins two components; whether they were two.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a] = b;
        a != b
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::data::PoolSizes;
    use crate::set::FnSet;

    fn slices_of(
        contains: impl Fn(&[f64], &[f64]) -> bool + Send + Sync + 'static,
    ) -> (Slices, Vec<Vec<usize>>, Vec<f64>) {
        let set = FnSet::new("slices", vec![(-2.0, 2.0); 2], contains).with_x(vec![(0.0, 3.0)]);
        let sizes = PoolSizes {
            states: 300,
            feasible: 8_000,
            infeasible: 1_000,
            boundary: 300,
            draws: 1 << 20,
        };
        let pool = Pool::draw(&set, &sizes, &mut ChaCha8Rng::seed_from_u64(3)).unwrap();
        let slices = Slices::find(&pool);
        let labels = (0..pool.states.len() as u32)
            .map(|state| {
                let mut found: Vec<usize> = slices.slices[state as usize].label.clone();
                found.sort_unstable();
                found.dedup();
                found
            })
            .collect();
        let x = pool.states.iter().map(|x| x[0]).collect();
        (slices, labels, x)
    }

    #[test]
    fn halves_that_turn_keep_their_labels() {
        let (slices, labels, _) = slices_of(|y, x| {
            let across = y[1] * x[0].cos() - y[0] * x[0].sin();
            y[0].hypot(y[1]) <= 1.5 && across.abs() >= 0.3
        });
        assert_eq!(slices.count(), 2);
        assert!(labels.iter().all(|labels| *labels == [0, 1]));
    }

    #[test]
    fn a_wall_that_rises_cuts_where_it_stands() {
        let open = |x: f64| x < 1.5;
        let (slices, labels, x) = slices_of(move |y, x| {
            y[0].abs() <= 1.5 && y[1].abs() <= 1.5 && (y[0].abs() >= 0.2 || open(x[0]))
        });
        assert_eq!(slices.count(), 3);
        // One part of the square while it is open, the two others behind and before the wall.
        let of = |open_too: bool| -> BTreeSet<Vec<usize>> {
            let chosen = labels.iter().zip(&x);
            chosen
                .filter(|(_, x)| open(**x) == open_too)
                .map(|(labels, _)| labels.clone())
                .collect()
        };
        let (whole, cut) = (of(true), of(false));
        assert_eq!((whole.len(), cut.len()), (1, 1), "{whole:?} {cut:?}");
        let (whole, cut) = (whole.first().unwrap(), cut.first().unwrap());
        assert_eq!((whole.len(), cut.len()), (1, 2));
        assert!(!cut.contains(&whole[0]));
    }
}
