//! The margin of a chart: what it leaves of the set, and how it answers failures.

use super::{ChartTraining, encode, out_of_chart};
use crate::data::Pool;
use crate::data::boundary::Boundary;

/// Share of phase 2 after which the margin follows the failures, and how often it does.
const FOLLOW_FROM: f32 = 0.4;
const FOLLOW_EVERY: u64 = 250;
/// Rows of each kind on which failures are measured then.
const FOLLOW_ROWS: usize = 1024;
/// A miss by at most this distance is one that a larger margin can mend.
const NARROW_MISS: f32 = 0.01;
/// The margin does not grow beyond what leaves this share of the boundary.
const SURVIVAL: f32 = 0.85;
/// A margin that leaves less than this share of the boundary is too large for the set to begin with.
const LEAST_SURVIVAL: f32 = 0.5;
/// How often a margin is halved for a thin set, at most.
const MOST_HALVINGS: usize = 6;

/// Targets of a chart's rows: the nearest point that is feasible by the margin.
#[derive(Default)]
pub(super) struct Wanted {
    pub(super) feasible: Vec<f32>,
    pub(super) edge: Vec<f32>,
    pub(super) infeasible: Vec<f32>,
}

impl<'a> ChartTraining<'a> {
    /// Cuts the margin away from the set, and aims every row at what is left.
    pub(super) fn erode(&mut self) {
        let (pool, dim) = (self.pool, self.pool.dim());
        self.eroded = pool
            .boundaries
            .iter()
            .map(|boundary| boundary.eroded(self.margin))
            .collect();
        let target = |y: &[f32], state: u32, otherwise: &[f32]| -> Vec<f32> {
            let eroded = self.eroded.get(state as usize);
            let nearest =
                eroded.and_then(|eroded| eroded.nearest(y).map(|index| eroded.point(index)));
            nearest.unwrap_or(otherwise).to_vec()
        };
        let clear = |y: &[f32], state: u32| {
            pool.boundaries
                .get(state as usize)
                .is_none_or(|boundary| boundary.clearance(y) >= self.margin)
        };
        let row = |rows: &'a [f32], index: u32| &rows[index as usize * dim..][..dim];
        let mut wanted = Wanted::default();
        for index in &self.rows.feasible {
            let (y, state) = (
                row(&pool.feasible.y, *index),
                pool.feasible.state[*index as usize],
            );
            wanted.feasible.extend(if clear(y, state) {
                y.to_vec()
            } else {
                target(y, state, y)
            });
        }
        for index in &self.rows.edge {
            let (y, state) = (row(&pool.edge.y, *index), pool.edge.state[*index as usize]);
            wanted.edge.extend(target(y, state, y));
        }
        let targets = self.rows.targets.chunks_exact(dim);
        for (index, own) in self.rows.infeasible.iter().zip(targets) {
            let state = pool.infeasible.state[*index as usize];
            wanted.infeasible.extend(target(own, state, own));
        }
        self.wanted = wanted;
    }

    /// Begins with a margin that fits: one beyond half of the set's thickness would cut all of it away.
    pub(super) fn fit_margin(&mut self) {
        self.erode();
        for _ in 0..MOST_HALVINGS {
            if self.survival() >= LEAST_SURVIVAL {
                return;
            }
            let (low, high) = self.settings.margin_range;
            self.settings.margin_range = (0.5 * low, 0.5 * high);
            self.margin *= 0.5;
            self.erode();
        }
    }

    /// Lets the margin follow the failures of the averaged weights.
    pub(super) fn follow_failures(&mut self) {
        let progress =
            (self.step - self.settings.phase_one) as f32 / self.settings.phase_two as f32;
        if progress < FOLLOW_FROM || !self.step.is_multiple_of(FOLLOW_EVERY) {
            return;
        }
        let failures = self.measure_failures();
        let (low, high) = self.settings.margin_range;
        let before = self.margin;
        if failures > self.settings.failure_goal {
            self.margin = (self.margin * 1.3).min(high);
        } else if failures < 0.1 * self.settings.failure_goal {
            self.margin = (self.margin / 1.2).max(low);
        }
        if self.margin != before {
            self.erode();
            if self.survival() < SURVIVAL && self.margin > before {
                self.margin = before;
                self.erode();
            }
        }
    }

    /// The largest share of infeasible outputs of the averaged weights over four kinds of points:
    /// latent samples inside and on the surface, feasible and infeasible rows.
    fn measure_failures(&mut self) -> f32 {
        let chart = self.chart();
        let saved = self.settings.rows;
        self.settings.rows = FOLLOW_ROWS;
        let drawn = self.draw_rows(true);
        let encoded = drawn.encoded();
        let samples = 2 * FOLLOW_ROWS;
        encode(&chart.encoder, &self.latent, self.pool, &mut self.scratch);
        self.draw_latents(samples);
        self.settings.rows = saved;
        let decodes = chart.decoder.forward(
            &self.scratch.decoder_input,
            encoded + samples,
            &mut self.scratch.tapes[1],
        );
        let points = out_of_chart(decodes, (&self.centre, self.scale));
        let misses = narrow_misses(self.pool, &points, &self.scratch.states);
        let mut failures = [0u32; 4];
        for (row, miss) in misses.into_iter().enumerate() {
            let kind = if row < drawn.feasible {
                0
            } else if row < encoded {
                1
            } else {
                2 + row % 2
            };
            failures[kind] += u32::from(miss);
        }
        failures.iter().copied().max().unwrap_or(0) as f32 / FOLLOW_ROWS as f32
    }

    /// The share of boundary points that erosion by the margin leaves; all where there is no boundary.
    fn survival(&self) -> f32 {
        if self.pool.boundaries.is_empty() {
            return 1.0;
        }
        let count =
            |boundaries: &[Boundary]| boundaries.iter().map(Boundary::len).sum::<usize>() as f32;
        count(&self.eroded) / count(&self.pool.boundaries).max(1.0)
    }
}

/// Which points miss the set by so little that a margin can help: what lies deeper outside, in a seam that
/// the networks cannot tear, only grows with the margin.
fn narrow_misses(pool: &Pool, points: &[f32], states: &[u32]) -> Vec<bool> {
    let dim = pool.dim();
    let inside = pool.contains_rows(points, states);
    let mut misses: Vec<bool> = inside.iter().map(|inside| !inside).collect();
    if pool.boundaries.is_empty() {
        return misses;
    }
    let (mut asked, mut moved, mut moved_states) = (Vec::new(), Vec::new(), Vec::new());
    for row in (0..states.len()).filter(|row| !inside[*row]) {
        let point = &points[row * dim..][..dim];
        let boundary = &pool.boundaries[states[row] as usize];
        if !pool.regime().depends_on_x() {
            misses[row] = boundary.near(point, NARROW_MISS);
            continue;
        }
        // The points known at one x are too far apart to be near to: a step along the normal tells.
        misses[row] = false;
        if let Some(index) = boundary.nearest(point) {
            let inward = boundary.normal(index).iter().zip(point);
            moved.extend(inward.map(|(n, p)| p + NARROW_MISS * n));
            moved_states.push(states[row]);
            asked.push(row);
        }
    }
    let inside = pool.contains_rows(&moved, &moved_states);
    for (row, inside) in asked.into_iter().zip(inside) {
        misses[row] = inside;
    }
    misses
}
