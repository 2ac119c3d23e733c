//! Measures a trained atlas on fresh points, to choose between candidates.

use std::collections::HashSet;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::atlas::Atlas;
use super::chart::TrainedChart;
use crate::data::boundary::Boundary;
use crate::data::restore::Restorer;
use crate::data::{Pool, Regime};
use crate::tree::squared_distance;
use fabproj_nn::Tape;
use fabproj_nn::sample::{self, Sampler};

/// Rows evaluated at once.
const BATCH: usize = 1024;

/// Inputs above three dimensions whose nearest point is looked for: each costs about a thousand queries.
const RESTORED: usize = 400;

/// How good a candidate is. Distances are in working units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Quality {
    /// Figures by chart; raw, moved and excess over the inputs that the gate sends to it.
    pub charts: Vec<ChartQuality>,
    /// Figures over all inputs; inside and surface are those of the worst chart.
    pub overall: ChartQuality,
    /// Share of the feasible cells that some decode reaches; up to three dimensions.
    pub coverage: Option<f64>,
}

/// Figures of one chart, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChartQuality {
    /// Share of feasible decodes of uniform latent points.
    pub inside: f64,
    /// The same for the latent set's surface.
    pub surface: f64,
    /// Share of feasible outputs for inputs from the bounds.
    pub raw: f64,
    /// Mean distance by which feasible inputs are moved.
    pub moved: f64,
    /// Mean distance of infeasible inputs to their outputs, beyond that to the nearest boundary point
    /// known; above three dimensions, beyond that to a nearly nearest point of a few hundred of them.
    pub excess: Option<f64>,
}

/// What is allowed of each defect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Goals {
    /// Share of infeasible decodes.
    pub decodes: f64,
    /// Share of infeasible outputs.
    pub raw: f64,
    /// Share of feasible cells that no decode reaches.
    pub uncovered: f64,
    /// Mean distance by which feasible inputs are moved, working units.
    pub moved: f64,
    /// Mean distance beyond the nearest point, working units.
    pub excess: f64,
}

impl Goals {
    /// Goals for sets of a regime: lengths grow with the diagonal of the unit cube, and more above the
    /// plane, where networks of the same size have more to do.
    pub(crate) fn new(regime: Regime, moved: f64) -> Self {
        let plane = regime.in_plane();
        let hard = !plane || regime.depends_on_x();
        let diagonal = (regime.dim() as f64 / 2.0).sqrt().max(1.0);
        let stretch = diagonal * if plane { 1.0 } else { 2.0 };
        Self {
            decodes: 0.004,
            raw: 0.002,
            uncovered: 0.012,
            moved: moved * if hard { 2.0 } else { 1.0 } * stretch,
            excess: if hard { 0.035 } else { 0.02 } * stretch,
        }
    }
}

/// A goal that was missed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Missed {
    /// The defect.
    pub defect: String,
    /// How much there is of it.
    pub found: f64,
    /// How much is allowed.
    pub allowed: f64,
}

impl ChartQuality {
    /// The defects by name: how much there is of each, and how much is allowed.
    fn defects(&self, goals: &Goals) -> [(&'static str, f64, f64); 4] {
        let decodes = 1.0 - self.inside.min(self.surface);
        [
            ("infeasible decodes", decodes, goals.decodes),
            ("infeasible projections", 1.0 - self.raw, goals.raw),
            ("move of feasible inputs", self.moved, goals.moved),
            (
                "distance beyond the nearest point",
                self.excess.unwrap_or(0.0),
                goals.excess,
            ),
        ]
    }

    /// How far from the goals: the largest ratio of a defect to what is allowed of it. At most one is
    /// good enough.
    pub(crate) fn shortfall(&self, goals: &Goals) -> f64 {
        largest_ratio(&self.defects(goals))
    }
}

fn largest_ratio(defects: &[(&str, f64, f64)]) -> f64 {
    let ratios = defects.iter().map(|(_, found, allowed)| found / allowed);
    ratios.fold(0.0, f64::max)
}

impl Quality {
    /// Coverage and distances count as much as feasibility, so that a decoder which collapses to a few
    /// safe points is not rewarded.
    fn defects(&self, goals: &Goals) -> Vec<(&'static str, f64, f64)> {
        let uncovered = 1.0 - self.coverage.unwrap_or(1.0);
        let mut defects = self.overall.defects(goals).to_vec();
        defects.push(("cells that are not reached", uncovered, goals.uncovered));
        defects
    }

    /// How far from the goals.
    pub(crate) fn shortfall(&self, goals: &Goals) -> f64 {
        largest_ratio(&self.defects(goals))
    }

    /// The goals that are missed; none if the shortfall is at most one.
    pub(crate) fn missed(&self, goals: &Goals) -> Vec<Missed> {
        let defects = self.defects(goals).into_iter();
        defects
            .filter(|(_, found, allowed)| found / allowed > 1.0)
            .map(|(defect, found, allowed)| Missed {
                defect: defect.to_owned(),
                found,
                allowed,
            })
            .collect()
    }

    /// Figures by name, for observers.
    pub(crate) fn figures(&self) -> Vec<(&'static str, f64)> {
        let overall = &self.overall;
        let mut figures = vec![
            ("raw", overall.raw),
            ("inside", overall.inside),
            ("surface", overall.surface),
            ("moved", overall.moved),
        ];
        figures.extend(self.coverage.map(|value| ("coverage", value)));
        figures.extend(overall.excess.map(|value| ("excess", value)));
        figures
    }
}

impl Atlas {
    /// Projects rows of y at the given states of the pool: writes the outputs in working units, and
    /// returns the chart of every row.
    pub(crate) fn project(
        &self,
        pool: &Pool,
        y: &[f32],
        states: &[u32],
        out: &mut Vec<f32>,
    ) -> Vec<usize> {
        let dim = pool.dim();
        let mut chosen = vec![0; states.len()];
        let mut tape = Tape::new();
        if let Some(gate) = &self.gate {
            let mut input = Vec::new();
            for (row, state) in y.chunks_exact(dim).zip(states) {
                input.extend_from_slice(row);
                input.extend_from_slice(pool.state_inner(*state));
            }
            let logits = gate.forward(&input, states.len(), &mut tape);
            for (choice, logits) in chosen
                .iter_mut()
                .zip(logits.chunks_exact(self.charts.len()))
            {
                *choice = argmax(logits);
            }
        }
        out.clear();
        out.resize(y.len(), 0.0);
        for index in 0..self.charts.len() {
            let rows: Vec<usize> = (0..states.len())
                .filter(|row| chosen[*row] == index)
                .collect();
            if rows.is_empty() {
                continue;
            }
            let at: Vec<u32> = rows.iter().map(|row| states[*row]).collect();
            let own: Vec<f32> = rows
                .iter()
                .flat_map(|row| y[row * dim..][..dim].iter().copied())
                .collect();
            let mut decoded = Vec::new();
            self.project_by(pool, index, &own, &at, &mut tape, &mut decoded);
            for (row, point) in rows.iter().zip(decoded.chunks_exact(dim)) {
                out[row * dim..][..dim].copy_from_slice(point);
            }
        }
        chosen
    }

    /// Projects rows by one chart, whichever the gate would choose.
    pub(crate) fn project_by(
        &self,
        pool: &Pool,
        index: usize,
        y: &[f32],
        states: &[u32],
        tape: &mut Tape,
        out: &mut Vec<f32>,
    ) {
        let chart = &self.charts[index];
        let mut input = Vec::new();
        for (point, state) in y.chunks_exact(pool.dim()).zip(states) {
            let inner = point.iter().zip(&chart.centre);
            input.extend(inner.map(|(v, c)| (v - c) / chart.scale));
            input.extend_from_slice(pool.state_inner(*state));
        }
        let mut latents = chart.encoder.forward(&input, states.len(), tape).to_vec();
        let latent_dim = chart.encoder.spec().outputs;
        latents.chunks_exact_mut(latent_dim).for_each(|latent| {
            chart.latent.clamp(latent);
        });
        self.decode(pool, index, &latents, states, tape, out);
    }

    /// Decodes latent points of one chart into working units.
    pub(crate) fn decode(
        &self,
        pool: &Pool,
        chart: usize,
        latents: &[f32],
        states: &[u32],
        tape: &mut Tape,
        out: &mut Vec<f32>,
    ) {
        let dim = pool.dim();
        let chart = &self.charts[chart];
        let mut input = Vec::new();
        for (latent, state) in latents
            .chunks_exact(chart.encoder.spec().outputs)
            .zip(states)
        {
            input.extend_from_slice(latent);
            input.extend_from_slice(pool.state_inner(*state));
        }
        out.clear();
        for point in chart
            .decoder
            .forward(&input, states.len(), tape)
            .chunks_exact(dim)
        {
            out.extend(
                point
                    .iter()
                    .zip(&chart.centre)
                    .map(|(v, c)| v * chart.scale + c),
            );
        }
    }

    /// Measures on `samples` fresh inputs, and as many latent points inside and on the surface of
    /// every chart.
    pub(crate) fn measure(&self, pool: &Pool, samples: usize, rng: &mut ChaCha8Rng) -> Quality {
        let mut cells = Cells::new(pool);
        let mut charts = vec![ChartQuality::default(); self.charts.len()];
        for (chart, quality) in charts.iter_mut().enumerate() {
            quality.inside =
                self.measure_decodes(pool, chart, sample::inside, samples, &mut cells, rng);
            quality.surface =
                self.measure_decodes(pool, chart, sample::surface, samples, &mut cells, rng);
        }
        let overall = self.measure_inputs(pool, samples, &mut charts, rng);
        Quality {
            charts,
            overall,
            coverage: cells.coverage(pool),
        }
    }

    fn measure_decodes(
        &self,
        pool: &Pool,
        chart: usize,
        sampler: Sampler,
        samples: usize,
        cells: &mut Cells,
        rng: &mut ChaCha8Rng,
    ) -> f64 {
        let dim = pool.dim();
        let (mut tape, mut decoded) = (Tape::new(), Vec::new());
        let mut feasible = 0;
        for start in (0..samples).step_by(BATCH) {
            let count = BATCH.min(samples - start);
            let TrainedChart {
                encoder, latent, ..
            } = &self.charts[chart];
            let latents = sample::rows(sampler, latent, count, encoder.spec().outputs, rng);
            let states: Vec<u32> = (0..count)
                .map(|_| rng.random_range(0..pool.states.len() as u32))
                .collect();
            self.decode(pool, chart, &latents, &states, &mut tape, &mut decoded);
            let inside = pool.contains_rows(&decoded, &states);
            feasible += inside.into_iter().filter(|inside| *inside).count();
            decoded
                .chunks_exact(dim)
                .for_each(|point| cells.visit(point));
        }
        feasible as f64 / samples as f64
    }

    /// Fills in the figures of the charts that are about inputs, and returns the overall ones.
    fn measure_inputs(
        &self,
        pool: &Pool,
        samples: usize,
        charts: &mut [ChartQuality],
        rng: &mut ChaCha8Rng,
    ) -> ChartQuality {
        let dim = pool.dim();
        let mut tallies = vec![InputTally::default(); charts.len() + 1];
        let bank = !pool.boundaries.is_empty();
        let restorer = (!bank).then(|| Restorer::new(&pool.feasible, pool.states.len(), dim));
        let mut restorations = RESTORED;
        let mut out = Vec::new();
        for start in (0..samples).step_by(BATCH) {
            let count = BATCH.min(samples - start);
            let mut y = Vec::new();
            let states: Vec<u32> = (0..count)
                .map(|_| rng.random_range(0..pool.states.len() as u32))
                .collect();
            for state in &states {
                let x = &pool.states[*state as usize];
                let raw = pool.oracle.draw_input(x, rng);
                pool.oracle.units().push(&raw, &mut y);
            }
            let chosen = self.project(pool, &y, &states, &mut out);
            let passed = pool.contains_rows(&out, &states);
            let feasible = pool.contains_rows(&y, &states);
            for row in 0..count {
                let (input, output) = (&y[row * dim..][..dim], &out[row * dim..][..dim]);
                let boundary = pool.boundaries.get(states[row] as usize);
                let answers = (feasible[row], passed[row]);
                let mut tally = InputTally::of(boundary, input, output, answers);
                if let Some(restorer) = restorer.as_ref().filter(|_| restorations > 0) {
                    let restored = tally.restore(pool, restorer, input, output, states[row], rng);
                    restorations -= usize::from(restored);
                }
                tallies[chosen[row]].add(&tally);
                tallies[charts.len()].add(&tally);
            }
        }
        for (chart, tally) in charts.iter_mut().zip(&tallies) {
            *chart = ChartQuality {
                inside: chart.inside,
                surface: chart.surface,
                ..tally.quality()
            };
        }
        let least = |of: fn(&ChartQuality) -> f64| charts.iter().map(of).fold(1.0, f64::min);
        ChartQuality {
            inside: least(|chart| chart.inside),
            surface: least(|chart| chart.surface),
            ..tallies[charts.len()].quality()
        }
    }
}

/// Sums over inputs.
#[derive(Clone, Copy, Debug, Default)]
struct InputTally {
    inputs: f64,
    passed: f64,
    feasible: f64,
    moved: f64,
    /// Inputs of which the nearest point is known, and the sum of their distances beyond it.
    known: f64,
    excess: f64,
}

impl InputTally {
    /// One input, with what the set says of it and of its output.
    fn of(
        boundary: Option<&Boundary>,
        input: &[f32],
        output: &[f32],
        (feasible, passed): (bool, bool),
    ) -> Self {
        let mut tally = Self {
            inputs: 1.0,
            passed: f64::from(u8::from(passed)),
            ..Self::default()
        };
        let distance = f64::from(squared_distance(input, output).sqrt());
        if feasible {
            tally.feasible = 1.0;
            tally.moved = distance;
        } else if let Some(boundary) = boundary {
            let nearest = boundary.nearest(input).map(|index| boundary.point(index));
            let least = nearest.map_or(0.0, |point| squared_distance(input, point).sqrt());
            tally.known = 1.0;
            tally.excess = distance - f64::from(least);
        }
        tally
    }

    /// Looks for the nearest point of an infeasible input, where no bank of them is; whether it did.
    fn restore(
        &mut self,
        pool: &Pool,
        restorer: &Restorer,
        input: &[f32],
        output: &[f32],
        state: u32,
        rng: &mut ChaCha8Rng,
    ) -> bool {
        let mut nearest = vec![0.0; input.len()];
        let x = &pool.states[state as usize];
        if self.feasible > 0.0
            || !restorer.restore(&pool.oracle, x, state, input, &mut nearest, rng)
        {
            return false;
        }
        let least = f64::from(squared_distance(input, &nearest).sqrt());
        self.known = 1.0;
        self.excess = f64::from(squared_distance(input, output).sqrt()) - least;
        true
    }

    fn add(&mut self, other: &Self) {
        self.inputs += other.inputs;
        self.passed += other.passed;
        self.feasible += other.feasible;
        self.moved += other.moved;
        self.known += other.known;
        self.excess += other.excess;
    }

    fn quality(&self) -> ChartQuality {
        // A chart that no input reached has no failures.
        let raw = if self.inputs > 0.0 {
            self.passed / self.inputs
        } else {
            1.0
        };
        ChartQuality {
            raw,
            moved: self.moved / self.feasible.max(1.0),
            excess: (self.known > 0.0).then(|| self.excess / self.known),
            ..ChartQuality::default()
        }
    }
}

fn argmax(values: &[f32]) -> usize {
    let mut best = 0;
    for (index, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = index;
        }
    }
    best
}

/// A grid in working units of the cells that decodes have reached.
struct Cells {
    visited: HashSet<Vec<i32>>,
    side: f32,
    use_grid: bool,
}

impl Cells {
    fn new(pool: &Pool) -> Self {
        // In three dimensions the cells are coarser, or nearly all of them would need more decodes.
        let side = if pool.regime().in_plane() { 0.1 } else { 0.25 };
        let use_grid = pool.regime().is_filled();
        Self {
            visited: HashSet::new(),
            side,
            use_grid,
        }
    }

    fn key(&self, point: &[f32]) -> Vec<i32> {
        point
            .iter()
            .map(|v| (v / self.side).floor() as i32)
            .collect()
    }

    fn visit(&mut self, point: &[f32]) {
        if self.use_grid {
            let key = self.key(point);
            self.visited.insert(key);
        }
    }

    /// The share of cells with a feasible middle that were visited, over cells that feasible rows of
    /// the pool point to.
    fn coverage(&self, pool: &Pool) -> Option<f64> {
        if !self.use_grid {
            return None;
        }
        let rows = pool.feasible.y.chunks_exact(pool.dim());
        let keys: HashSet<Vec<i32>> = rows.map(|row| self.key(row)).collect();
        let keys: Vec<Vec<i32>> = keys.into_iter().collect();
        let middle = |k: &i32| (*k as f32 + 0.5) * self.side;
        let middles: Vec<f32> = keys.iter().flatten().map(middle).collect();
        let inside = pool.contains_rows(&middles, &vec![0; keys.len()]);
        let feasible = keys.iter().zip(inside).filter(|(_, inside)| *inside);
        let feasible: Vec<&Vec<i32>> = feasible.map(|(key, _)| key).collect();
        let reached = feasible.iter().filter(|key| self.visited.contains(**key));
        Some(reached.count() as f64 / feasible.len().max(1) as f64)
    }
}
