//! What one step sees: rows of the pool, visitors, latent samples.

use rand::RngExt;

use super::{ChartTraining, Scratch};
use crate::data::{Pool, Rows};
use fabproj_nn::sample;

/// Share of the feasible rows of a batch that lie on the boundary.
const EDGE_SHARE: f32 = 0.35;

/// Rows of one step that are encoded, in this order.
pub(super) struct Drawn {
    /// To be reproduced.
    pub(super) feasible: usize,
    /// To be carried to their targets.
    pub(super) infeasible: usize,
    /// To be carried to any feasible point.
    visitors: usize,
}

impl Drawn {
    pub(super) fn encoded(&self) -> usize {
        self.feasible + self.infeasible + self.visitors
    }
}

impl ChartTraining<'_> {
    /// Fills `input` (chart units, then x), `wanted` (working units) and `states`.
    pub(super) fn draw_rows(&mut self, phase_two: bool) -> Drawn {
        let (count, dim, pool) = (self.settings.rows, self.pool.dim(), self.pool);
        let frame = (self.centre.as_slice(), self.scale);
        self.scratch.input.clear();
        self.scratch.wanted.clear();
        self.scratch.states.clear();
        for _ in 0..count {
            let edge = !self.rows.edge.is_empty() && self.rng.random::<f32>() < EDGE_SHARE;
            let (rows, indices, wanted) = if edge {
                (&pool.edge, &self.rows.edge, &self.wanted.edge)
            } else {
                (&pool.feasible, &self.rows.feasible, &self.wanted.feasible)
            };
            let pick = self.rng.random_range(0..indices.len());
            let wanted = &wanted[pick * dim..][..dim];
            self.scratch.push(pool, frame, rows, indices[pick], wanted);
        }
        let mut drawn = Drawn {
            feasible: count,
            infeasible: 0,
            visitors: 0,
        };
        if phase_two && !self.rows.infeasible.is_empty() {
            drawn.infeasible = count;
            for _ in 0..count {
                let indices = &self.rows.infeasible;
                let pick = self.rng.random_range(0..indices.len());
                let wanted = &self.wanted.infeasible[pick * dim..][..dim];
                self.scratch
                    .push(pool, frame, &pool.infeasible, indices[pick], wanted);
            }
        }
        if phase_two && !self.rows.visitors.is_empty() {
            drawn.visitors = count;
            for _ in 0..count {
                let visitors = &self.rows.visitors;
                let pick = self.rng.random_range(0..visitors.len());
                self.scratch.push(pool, frame, visitors, pick as u32, &[]);
            }
        }
        drawn
    }

    /// Appends latent samples, half inside and half on the surface, at random states of the chart.
    pub(super) fn draw_latents(&mut self, samples: usize) {
        let dim = self.latent_dim;
        for sample in 0..samples {
            // A cell may be empty at some x; its decodes there must be feasible all the same.
            let state = if sample % 4 < 2 || !self.pool.regime().depends_on_x() {
                let row = self.rng.random_range(0..self.rows.feasible.len());
                self.pool.feasible.state[self.rows.feasible[row] as usize]
            } else {
                self.rng.random_range(0..self.pool.states.len() as u32)
            };
            let scratch = &mut self.scratch;
            let start = scratch.decoder_input.len();
            scratch.decoder_input.resize(start + dim, 0.0);
            let latent = &mut scratch.decoder_input[start..];
            if sample % 2 == 0 {
                sample::inside(&self.latent, latent, &mut self.rng);
            } else {
                sample::surface(&self.latent, latent, &mut self.rng);
            }
            scratch
                .decoder_input
                .extend_from_slice(self.pool.state_inner(state));
            scratch.states.push(state);
        }
    }
}

impl Scratch {
    fn push(&mut self, pool: &Pool, frame: (&[f32], f32), rows: &Rows, row: u32, wanted: &[f32]) {
        let ((centre, scale), dim) = (frame, pool.dim());
        let y = &rows.y[row as usize * dim..][..dim];
        let state = rows.state[row as usize];
        self.input
            .extend(y.iter().zip(centre).map(|(v, c)| (v - c) / scale));
        self.input.extend_from_slice(pool.state_inner(state));
        self.wanted.extend_from_slice(wanted);
        self.states.push(state);
    }
}
