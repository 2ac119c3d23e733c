//! The pieces of an input-dependent set at each of its states, followed from state to state.
//!
//! A set can be in one piece over (y, x) jointly and in two at a given x: an obstacle that blocks the way
//! at some x cuts what is joined around it at others. A chart's decodes at one x are connected, so its
//! share of C(x) should be. Here C(x) is taken apart state by state, and pieces of neighbouring states
//! that continue each other are given the same label, never two pieces of one state.

use std::collections::{BTreeMap, BTreeSet};

use super::pieces::Partition;
use super::pool::Pool;
use super::tree::{Tree, squared_distance};

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
pub struct Slices {
    slices: Vec<Slice>,
    count: usize,
}

/// The points of one state with the labels of their pieces; `usize::MAX` for those too small to count.
struct Slice {
    /// The state's own rows, then what it borrowed.
    points: Vec<f32>,
    own: usize,
    tree: Tree,
    label: Vec<usize>,
}

impl Slices {
    /// Takes C(x) apart at every state of the pool.
    pub fn find(pool: &Pool) -> Self {
        let dim = pool.dim();
        let states = Tree::new(&pool.states_inner, pool.x_dim());
        let mut own = vec![Vec::new(); pool.states.len()];
        for (y, state) in pool.feasible.y.chunks_exact(dim).zip(&pool.feasible.state) {
            own[*state as usize].extend_from_slice(y);
        }
        let mut slices: Vec<Slice> = (0..pool.states.len())
            .map(|state| Slice::new(pool, state as u32, &states, &own))
            .collect();
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
    fn label(&self, pool: &Pool, y: &[f32], state: u32) -> Option<usize> {
        let slice = &self.slices[state as usize];
        let mut found = [(0.0, 0); NEIGHBOURS];
        slice.tree.nearest_several(y, &mut found);
        let labelled = |point: u32| point != u32::MAX && slice.label[point as usize] != usize::MAX;
        let joined = found.iter().find(|(_, point)| {
            labelled(*point) && joined(pool, state, y, slice.point(*point as usize, pool.dim()))
        });
        let nearest = || found.iter().find(|(_, point)| labelled(*point));
        let (_, point) = joined.or_else(nearest)?;
        Some(slice.label[*point as usize])
    }
}

impl Slice {
    fn new(pool: &Pool, state: u32, states: &Tree, own: &[Vec<f32>]) -> Self {
        let dim = pool.dim();
        let mut points = own[state as usize].clone();
        let mut near = [(0.0, 0); LENDING_STATES + 1];
        states.nearest_several(pool.state_inner(state), &mut near);
        let others = near
            .iter()
            .filter(|(_, other)| *other != u32::MAX && *other != state);
        for row in others.flat_map(|(_, other)| own[*other as usize].chunks_exact(dim)) {
            if points.len() >= POINTS * dim {
                break;
            }
            if pool.contains(row, state) {
                points.extend_from_slice(row);
            }
        }
        let mut slice = Self {
            tree: Tree::new(&points, dim),
            own: own[state as usize].len() / dim,
            label: vec![usize::MAX; points.len() / dim],
            points,
        };
        slice.find_pieces(pool, state);
        slice
    }

    fn point(&self, index: usize, dim: usize) -> &[f32] {
        &self.points[index * dim..][..dim]
    }

    /// Labels the connected pieces, leaving out those that are too small.
    fn find_pieces(&mut self, pool: &Pool, state: u32) {
        let (dim, count) = (pool.dim(), self.label.len());
        let mut parent: Vec<usize> = (0..count).collect();
        let mut found = [(0.0, 0); NEIGHBOURS + 1];
        for from in 0..count {
            self.tree.nearest_several(self.point(from, dim), &mut found);
            for (_, to) in found.iter().filter(|(_, to)| *to != u32::MAX) {
                let (a, b) = (root(&mut parent, from), root(&mut parent, *to as usize));
                if a != b
                    && joined(
                        pool,
                        state,
                        self.point(from, dim),
                        self.point(*to as usize, dim),
                    )
                {
                    parent[a] = b;
                }
            }
        }
        while self.bridge(pool, state, &mut parent) {}
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for point in 0..count {
            members
                .entry(root(&mut parent, point))
                .or_default()
                .push(point);
        }
        let smallest = (SMALLEST_PIECE * count as f64).max(2.0);
        let large = members
            .values()
            .filter(|points| points.len() as f64 >= smallest);
        for (piece, points) in large.enumerate() {
            points.iter().for_each(|point| self.label[*point] = piece);
        }
    }

    /// Joins two components between whose closest points a segment is feasible; whether there were any.
    fn bridge(&self, pool: &Pool, state: u32, parent: &mut [usize]) -> bool {
        let (dim, count) = (pool.dim(), self.label.len());
        let mut pairs: BTreeMap<(usize, usize), Vec<Pair>> = BTreeMap::new();
        for a in 0..count {
            for b in 0..a {
                let (p, q) = (root(parent, a), root(parent, b));
                if p != q {
                    let square = squared_distance(self.point(a, dim), self.point(b, dim));
                    pairs
                        .entry((p.min(q), p.max(q)))
                        .or_default()
                        .push((square, a, b));
                }
            }
        }
        let mut bridged = false;
        for pairs in pairs.values_mut() {
            pairs.sort_by(|p, q| p.0.total_cmp(&q.0));
            let bridge = pairs
                .iter()
                .take(BRIDGES)
                .find(|(_, a, b)| joined(pool, state, self.point(*a, dim), self.point(*b, dim)));
            if let Some((_, a, b)) = bridge {
                let (a, b) = (root(parent, *a), root(parent, *b));
                parent[a] = b;
                bridged |= a != b;
            }
        }
        bridged
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

/// Gives every piece of every state a family: families that overlap most where they meet are joined first,
/// and no family gets two pieces of one state.
fn families(pool: &Pool, states: &Tree, slices: &[Slice]) -> Vec<Vec<usize>> {
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
        parent: (0..total).collect(),
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
                .entry(root(&mut family.parent, first[state] + piece))
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
                        .get(&root(&mut family.parent, piece))
                        .copied()
                        .unwrap_or(usize::MAX)
                })
                .collect()
        })
        .collect()
}

/// Families in the making. What is said of a family is kept at the piece that stands for it.
struct Families {
    /// States at which a family has a piece.
    states: Vec<BTreeSet<usize>>,
    /// With which families it meets: the sum of overlaps, and their number.
    overlaps: Vec<BTreeMap<usize, (f64, f64)>>,
    parent: Vec<usize>,
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
        self.parent[from] = into;
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

fn root(parent: &mut [usize], mut node: usize) -> usize {
    while parent[node] != node {
        parent[node] = parent[parent[node]];
        node = parent[node];
    }
    node
}

/// Whether the segment between two points is feasible at the state.
fn joined(pool: &Pool, state: u32, a: &[f32], b: &[f32]) -> bool {
    let mut point = vec![0.0; a.len()];
    (1..=CHECKS).all(|step| {
        let share = step as f32 / (CHECKS + 1) as f32;
        for (value, (a, b)) in point.iter_mut().zip(a.iter().zip(b)) {
            *value = a + share * (b - a);
        }
        pool.contains(&point, state)
    })
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
