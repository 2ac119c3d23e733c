//! Assigns rows of the pool to charts.

use std::collections::HashMap;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::chart::{ChartRows, gather};
use crate::data::pieces::Partition;
use crate::data::restore::approach;
use crate::data::{Pool, Rows};
use crate::tree::{Tree, squared_distance};
use fabproj_nn::{Mlp, Tape};

/// Visitors that the gate is asked about at once.
const VISITING: usize = 256;
/// The difference of distances, in working units, up to which a point may be sent to the farther chart.
const HARDLY_NEARER: f32 = 0.1;

/// Which rows of the pool belong to which chart.
pub(crate) struct Assignment {
    /// Rows by chart.
    pub rows: Vec<ChartRows>,
    /// Feasible rows with their charts.
    pub feasible: Vec<(u32, u8)>,
    /// Infeasible rows with the charts of their targets.
    pub infeasible: Vec<(u32, u8)>,
}

impl Assignment {
    /// Labels every row of the pool by the cell that it (or its target) lies in.
    pub(crate) fn new(pool: &Pool, cells: &dyn Partition, rng: &mut ChaCha8Rng) -> Self {
        let dim = pool.dim();
        let label = |y: &[f32], states: &[u32]| -> Vec<(u32, u8)> {
            let labels = (0..).zip(cells.labels(pool, y, states));
            labels
                .filter_map(|(row, label)| Some((row, label? as u8)))
                .collect()
        };
        let feasible = label(&pool.feasible.y, &pool.feasible.state);
        let edge = label(&pool.edge.y, &pool.edge.state);
        let mut targets = pool.targets.clone();
        let mut infeasible = label(&targets, &pool.infeasible.state);
        adopt(pool, cells, &feasible, &mut infeasible, &mut targets, rng);
        let of = |labels: &[(u32, u8)], chart: usize| -> Vec<u32> {
            let own = labels.iter().filter(|(_, label)| *label as usize == chart);
            own.map(|(row, _)| *row).collect()
        };
        let rows = (0..cells.count())
            .map(|chart| {
                let own = of(&infeasible, chart);
                let mut rows = ChartRows {
                    feasible: of(&feasible, chart),
                    edge: of(&edge, chart),
                    targets: gather(&targets, &own, dim),
                    infeasible: own,
                    visitors: Rows::default(),
                };
                if pool.regime().low_dimensional() && pool.regime().depends_on_x() {
                    let others = infeasible.iter().filter(|(_, of)| *of as usize != chart);
                    admit(pool, &mut rows, others.map(|(row, _)| *row));
                }
                rows
            })
            .collect();
        Self {
            rows,
            feasible,
            infeasible,
        }
    }

    /// Draws inputs of interest and hands each to the chart that the gate chooses for it.
    pub(crate) fn invite(&mut self, pool: &Pool, gate: &Mlp, count: usize, rng: &mut ChaCha8Rng) {
        let charts = self.rows.len();
        let (mut tape, mut input) = (Tape::new(), Vec::new());
        for _ in 0..count.div_ceil(VISITING) {
            input.clear();
            let mut states = Vec::with_capacity(VISITING);
            for _ in 0..VISITING {
                let state = rng.random_range(0..pool.states.len());
                input.extend(pool.enlarged_input(state, 1.0 + 0.2 * rng.random::<f64>(), rng));
                input.extend_from_slice(pool.state_inner(state as u32));
                states.push(state);
            }
            let width = input.len() / VISITING;
            let logits = gate.forward(&input, VISITING, &mut tape);
            for (row, logits) in logits.chunks_exact(charts).enumerate() {
                let best = (0..charts).max_by(|a, b| logits[*a].total_cmp(&logits[*b]));
                let visitors = &mut self.rows[best.unwrap_or(0)].visitors;
                visitors.push(&input[row * width..][..pool.dim()], states[row]);
            }
        }
    }
}

/// Adds infeasible rows that are hardly nearer to another chart, with the nearest point of this one as
/// their target: the gate is not sharp, and what it sends here must be served.
fn admit(pool: &Pool, rows: &mut ChartRows, others: impl Iterator<Item = u32>) {
    let dim = pool.dim();
    let mut edges: HashMap<u32, Vec<f32>> = HashMap::new();
    for row in &rows.edge {
        let edge = edges.entry(pool.edge.state[*row as usize]).or_default();
        edge.extend_from_slice(&pool.edge.y[*row as usize * dim..][..dim]);
    }
    let trees: HashMap<u32, Tree<f32>> = edges
        .iter()
        .map(|(state, points)| (*state, Tree::new(points, dim)))
        .collect();
    for row in others {
        let state = pool.infeasible.state[row as usize];
        let y = &pool.infeasible.y[row as usize * dim..][..dim];
        let nearest = squared_distance(y, &pool.targets[row as usize * dim..][..dim]).sqrt();
        let found = trees
            .get(&state)
            .and_then(|tree| tree.nearest_within(y, nearest + HARDLY_NEARER));
        if let Some((index, _)) = found {
            rows.infeasible.push(row);
            rows.targets
                .extend_from_slice(&edges[&state][index * dim..][..dim]);
        }
    }
}

/// Gives infeasible rows whose targets lie in no cell, but in a piece too small to count, a target in the
/// cell of the nearest feasible row: the gate will send such points to some chart, which must know them.
fn adopt(
    pool: &Pool,
    cells: &dyn Partition,
    feasible: &[(u32, u8)],
    infeasible: &mut Vec<(u32, u8)>,
    targets: &mut [f32],
    rng: &mut ChaCha8Rng,
) {
    let (dim, count) = (pool.dim(), pool.infeasible.len());
    if infeasible.len() == count {
        return;
    }
    let mut labelled = vec![false; count];
    infeasible
        .iter()
        .for_each(|(row, _)| labelled[*row as usize] = true);
    let mut homes = HashMap::new();
    for row in (0..count).filter(|row| !labelled[*row]) {
        let state = pool.infeasible.state[row];
        let (members, tree) = homes.entry(state).or_insert_with(|| {
            let members: Vec<(u32, u8)> = feasible
                .iter()
                .filter(|(row, _)| pool.feasible.state[*row as usize] == state)
                .copied()
                .collect();
            let rows: Vec<u32> = members.iter().map(|(row, _)| *row).collect();
            let tree = Tree::new(&gather(&pool.feasible.y, &rows, dim), dim);
            (members, tree)
        });
        let y = &pool.infeasible.y[row * dim..][..dim];
        let Some((nearest, _)) = tree.nearest(y) else {
            continue;
        };
        let (home, chart) = members[nearest];
        let mut target = pool.feasible.y[home as usize * dim..][..dim].to_vec();
        let mut closer = target.clone();
        approach(
            &pool.oracle,
            &pool.states[state as usize],
            y,
            &mut closer,
            rng,
        );
        let chart = match cells.label(pool, &closer, state) {
            Some(label) => {
                target = closer;
                label as u8
            }
            None => chart,
        };
        targets[row * dim..][..dim].copy_from_slice(&target);
        infeasible.push((row as u32, chart));
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::data::PoolSizes;
    use crate::data::pieces::Pieces;
    use crate::set::FnSet;
    use fabproj_nn::MlpSpec;

    /// Two large cubes, and between them four that are too small to be given charts.
    const CUBES: [([f64; 4], f64); 6] = [
        ([-1.2, 0.0, 0.0, 0.0], 0.6),
        ([1.2, 0.0, 0.0, 0.0], 0.6),
        ([0.0, 0.8, 0.0, 0.0], 0.08),
        ([0.0, -0.8, 0.0, 0.0], 0.08),
        ([0.0, 0.0, 0.8, 0.0], 0.08),
        ([0.0, 0.0, -0.8, 0.0], 0.08),
    ];

    fn outside(y: &[f64], cube: &([f64; 4], f64)) -> (f64, usize) {
        let excess = |j: usize| (y[j] - cube.0[j]).abs() - cube.1;
        let worst = (0..4).max_by(|a, b| excess(*a).total_cmp(&excess(*b)));
        let worst = worst.unwrap_or(0);
        (excess(worst).max(0.0), worst)
    }

    #[test]
    fn every_input_has_a_chart_that_knows_it() {
        let nearest = |y: &[f64]| {
            let distances = CUBES.iter().map(|cube| (outside(y, cube), cube));
            distances.min_by(|a, b| a.0.0.total_cmp(&b.0.0)).unwrap()
        };
        let inside = move |y: &[f64], _: &[f64]| nearest(y).0.0 == 0.0;
        let violation = move |y: &[f64], _: &[f64], gradient: &mut [f64]| {
            let ((distance, axis), cube) = nearest(y);
            gradient.fill(0.0);
            if distance > 0.0 {
                gradient[axis] = (y[axis] - cube.0[axis]).signum();
            }
            distance
        };
        let set = FnSet::new("cubes", vec![(-2.0, 2.0); 4], inside).with_violation(violation);
        let sizes = PoolSizes {
            states: 1,
            feasible: 2_000,
            infeasible: 1_000,
            boundary: 100,
            draws: 1 << 20,
        };
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let pool = Pool::draw(&set, &sizes, &mut rng).unwrap();
        let pieces = Pieces::find(&pool, 2_000, &mut rng);
        assert_eq!(pieces.count(), 2);
        let cells = pieces.cells(2, &mut rng);
        let orphans = pool
            .targets
            .chunks_exact(4)
            .filter(|target| cells.label(&pool, target, 0).is_none())
            .count();
        assert!(
            orphans > 10,
            "{orphans} rows have their targets in small cubes"
        );

        let mut assignment = Assignment::new(&pool, &cells, &mut rng);
        let assigned: usize = assignment
            .rows
            .iter()
            .map(|rows| rows.infeasible.len())
            .sum();
        assert_eq!(assigned, pool.infeasible.len());
        for (chart, rows) in assignment.rows.iter().enumerate() {
            for target in rows.targets.chunks_exact(4) {
                assert_eq!(cells.label(&pool, target, 0), Some(chart));
            }
        }

        let gate = Mlp::new(MlpSpec::new(4, &[8], 2), &mut rng).unwrap();
        assignment.invite(&pool, &gate, 1_000, &mut rng);
        let mut tape = Tape::new();
        let visitors: Vec<usize> = assignment
            .rows
            .iter()
            .map(|rows| rows.visitors.len())
            .collect();
        assert_eq!(visitors.iter().sum::<usize>(), 1_024);
        for (chart, rows) in assignment.rows.iter().enumerate() {
            for visitor in rows.visitors.y.chunks_exact(4) {
                let logits = gate.forward(visitor, 1, &mut tape);
                assert!(logits[chart] >= logits[1 - chart]);
            }
        }
    }

    #[test]
    fn rows_between_two_pieces_are_known_to_both() {
        // Two squares, apart by a gap that moves with x.
        let apart = |y: &[f64], x: &[f64]| (y[0] - x[0]).abs() >= 0.3;
        let set = FnSet::new("gap", vec![(-2.0, 2.0); 2], apart).with_x(vec![(-0.5, 0.5)]);
        let sizes = PoolSizes {
            states: 20,
            feasible: 3_000,
            infeasible: 3_000,
            boundary: 8_000,
            draws: 1 << 20,
        };
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let pool = Pool::draw(&set, &sizes, &mut rng).unwrap();
        let pieces = Pieces::find(&pool, 2_000, &mut rng);
        let cells = pieces.cells(2, &mut rng);
        let assignment = Assignment::new(&pool, &cells, &mut rng);
        let mut seen = vec![0; pool.infeasible.len()];
        for (chart, rows) in assignment.rows.iter().enumerate() {
            for (row, target) in rows.infeasible.iter().zip(rows.targets.chunks_exact(2)) {
                let state = pool.infeasible.state[*row as usize];
                assert_eq!(cells.label(&pool, target, state), Some(chart));
                seen[*row as usize] += 1;
            }
        }
        let mut raw = [0.0; 2];
        for (row, seen) in seen.iter().enumerate() {
            pool.oracle
                .units()
                .raw(&pool.infeasible.y[2 * row..][..2], &mut raw);
            let off = raw[0] - pool.states[pool.infeasible.state[row] as usize][0];
            // In the gap, the difference of the distances to its sides is twice that to its middle.
            let difference = 2.0 * off.abs() / pool.oracle.units().scale[0];
            // The boundary's points are some 0.06 apart, so that what lies between is not certain.
            let both = difference < 0.3 * f64::from(HARDLY_NEARER);
            let one = difference > 3.0 * f64::from(HARDLY_NEARER);
            if off.abs() < 0.3 && raw[1].abs() < 1.9 && (both || one) {
                assert_eq!(*seen, 1 + i32::from(both), "{raw:?}");
            }
        }
        assert!(seen.iter().filter(|seen| **seen == 2).count() > 20);
    }
}
