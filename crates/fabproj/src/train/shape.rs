//! The `default` recipe from a set to a model: draw a pool, find the set's pieces, train candidates
//! from the simplest up until one is good enough, and keep the best.

use fabproj_core::Model;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::TrainError;
use super::anchors;
use super::atlas::{Assignment, Atlas, train_gate};
use super::chart::{ChartConfig, ChartTraining, TrainedChart};
use super::config::ShapeConfig;
use super::fit::{LatentKind, hole};
use super::measure::{ChartQuality, Goals, Quality};
use super::session::{Event, Session};
use crate::data::pieces::Pieces;
use crate::data::pool::BANK_DIMENSIONS;
use crate::data::restore::Restorer;
use crate::data::{Pool, PoolSizes};
use crate::set::ConstraintSet;

/// Nodes of the graph that finds the pieces.
const GRAPH_NODES: usize = 4_000;
/// A hole of this relative size around the centre makes a shell worth trying.
const SHELL_HOLE: f32 = 0.15;
/// Steps between two reports, and between two looks at the wish to stop.
const REPORT_EVERY: u64 = 50;
/// Steps between two checkpoints of a chart.
const SAVE_EVERY: u64 = 1_000;

/// Parts into which a chart that falls short is cut.
const PARTS: usize = 3;
/// Charts that a model has at most.
const MOST_CHARTS: usize = 48;

/// One way to cover the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The latent sets' kind.
    pub latent: LatentKind,
    /// Number of charts.
    pub charts: usize,
}

impl std::fmt::Display for Candidate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (one, several) = match self.latent {
            LatentKind::Ball => ("ball", "balls"),
            LatentKind::Shell => ("shell", "shells"),
            LatentKind::Box => ("box", "boxes"),
            LatentKind::Simplex => ("simplex", "simplices"),
        };
        match self.charts {
            1 => write!(formatter, "{one}"),
            count => write!(formatter, "{count} {several}"),
        }
    }
}

/// What a training by the `default` recipe did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShapeSummary {
    /// Connected pieces that were found.
    pub pieces: usize,
    /// Share of uniform draws from the bounds that were feasible.
    pub feasible_fraction: f64,
    /// Membership queries made.
    pub queries: u64,
    /// The candidate that was kept.
    pub chosen: Candidate,
    /// Margins of its charts at the end, working units.
    pub margins: Vec<f32>,
    /// All candidates that were trained, with how they measured.
    pub candidates: Vec<(Candidate, Quality)>,
    /// Whether the chosen one met the goals.
    pub accepted: bool,
}

/// Trains by the `default` recipe.
///
/// # Errors
/// [`TrainError`] when the settings are out of range, no pool can be drawn, or the session stops.
pub fn shape(
    set: &dyn ConstraintSet,
    config: &ShapeConfig,
    seed: u64,
    session: &Session,
) -> Result<(Model, ShapeSummary), TrainError> {
    config.validate()?;
    session.emit(&Event::Stage {
        name: "sampling the set",
    });
    let pool = Pool::draw(set, &sizes(set, config), &mut stream(seed, 0))?;
    let pieces = Pieces::find(&pool, GRAPH_NODES, &mut stream(seed, 1));
    let restorer = (pool.dim() > BANK_DIMENSIONS)
        .then(|| Restorer::new(&pool.feasible, pool.states.len(), pool.dim()));
    let shaping = Shaping {
        config,
        seed,
        session,
        pool: &pool,
        pieces: &pieces,
        restorer,
    };
    let mut contest = Contest::default();
    for (index, latent) in shaping.kinds().into_iter().enumerate() {
        shaping.refine(latent, index, &mut contest)?;
        if contest.shortfall() <= 1.0 {
            break;
        }
    }
    let accepted = contest.shortfall() <= 1.0;
    let Some((_, atlas, margins, chosen)) = contest.best else {
        return Err(TrainError::NoCandidate);
    };
    let mut model = atlas.model(pool.oracle.units(), &pool.parameter_units);
    session.emit(&Event::Stage {
        name: "finding anchors",
    });
    let count = config.anchors * if pool.parameter_dim() > 0 { 4 } else { 1 };
    model.anchors = anchors::find(&model, &pool, count, &mut stream(seed, 2));
    let summary = ShapeSummary {
        pieces: pieces.count(),
        feasible_fraction: pool.feasible_fraction,
        queries: pool.oracle.queries(),
        chosen,
        margins,
        candidates: contest.tried,
        accepted,
    };
    Ok((model, summary))
}

/// The best of what was trained so far.
#[derive(Default)]
struct Contest {
    tried: Vec<(Candidate, Quality)>,
    best: Option<(f64, Atlas, Vec<f32>, Candidate)>,
}

impl Contest {
    fn shortfall(&self) -> f64 {
        self.best
            .as_ref()
            .map_or(f64::INFINITY, |(shortfall, ..)| *shortfall)
    }

    fn enter(
        &mut self,
        candidate: Candidate,
        quality: Quality,
        goals: &Goals,
        atlas: &Atlas,
        margins: &[f32],
    ) {
        let shortfall = quality.shortfall(goals);
        self.tried.push((candidate, quality));
        if shortfall < self.shortfall() {
            self.best = Some((shortfall, atlas.clone(), margins.to_vec(), candidate));
        }
    }
}

/// Independent random numbers for each use, so that one does not shift another.
fn stream(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

fn sizes(set: &dyn ConstraintSet, config: &ShapeConfig) -> PoolSizes {
    let conditional = set.parameter_dim() > 0;
    let factor = if conditional { 2 } else { 1 };
    // Above three dimensions every infeasible row costs a restoration of about a thousand queries.
    let infeasible = if set.dim() > BANK_DIMENSIONS {
        config.infeasible / 2
    } else {
        config.infeasible
    };
    PoolSizes {
        states: config.states,
        feasible: factor * config.feasible,
        infeasible: factor * infeasible,
        // A surface needs more points than a curve to be as dense.
        boundary: match (conditional, set.dim()) {
            (true, _) => config.states * config.boundary / 60,
            (false, 3) => 3 * config.boundary,
            (false, _) => config.boundary,
        },
        draws: config.draws,
    }
}

/// What all candidates of one training share.
struct Shaping<'a> {
    config: &'a ShapeConfig,
    seed: u64,
    session: &'a Session<'a>,
    pool: &'a Pool<'a>,
    pieces: &'a Pieces,
    restorer: Option<Restorer>,
}

impl Shaping<'_> {
    /// Kinds of latent sets to try: a shell first where the centre is in a hole; above three dimensions
    /// a box as well.
    fn kinds(&self) -> Vec<LatentKind> {
        if let Some(kind) = self.config.latent {
            return vec![kind];
        }
        let pool = self.pool;
        let one = self.pieces.count() == 1 && self.config.charts.unwrap_or(1) == 1;
        let fixed = pool.parameter_dim() == 0;
        let mut kinds = Vec::new();
        if one && fixed && hole(&pool.feasible.y, pool.dim()) > SHELL_HOLE {
            kinds.push(LatentKind::Shell);
        }
        kinds.push(LatentKind::Ball);
        if pool.dim() > BANK_DIMENSIONS {
            kinds.push(LatentKind::Box);
        }
        kinds
    }

    /// Covers the set with one chart per piece (or the number asked for), then cuts the charts that
    /// fall short and trains their parts, until all are good enough.
    fn refine(
        &self,
        latent: LatentKind,
        index: usize,
        contest: &mut Contest,
    ) -> Result<(), TrainError> {
        let first_stream = 100_000 * (index as u64 + 1);
        let mut rng = stream(self.seed, first_stream);
        let goals = Goals::of_dimension(self.pool.dim());
        let mut cells = self.pieces.cells(self.config.charts.unwrap_or(1), &mut rng);
        let mut charts: Vec<Option<(TrainedChart, f32)>> = vec![None; cells.count()];
        for round in 0..self.config.rounds {
            let candidate = Candidate {
                latent,
                charts: cells.count(),
            };
            self.session.emit(&Event::Stage {
                name: &format!("training {candidate}"),
            });
            let assignment = Assignment::new(self.pool, &cells);
            let width = self.config.gate_width;
            let gate = train_gate(
                self.pool,
                &assignment,
                width,
                self.config.gate_steps,
                &mut rng,
            )?;
            self.train_missing(latent, &mut charts, &assignment, (index, round))?;
            let (trained, margins): (Vec<_>, Vec<_>) = charts.iter().flatten().cloned().unzip();
            let atlas = Atlas {
                gate,
                charts: trained,
            };
            let quality = atlas.measure(self.pool, self.config.samples, self.seed ^ 0x6d65_6173);
            let (candidate_name, figures) = (candidate.to_string(), quality.figures());
            self.session.emit(&Event::Measured {
                candidate: &candidate_name,
                figures: &figures,
            });
            let cut = to_cut(&quality, &goals);
            contest.enter(candidate, quality, &goals, &atlas, &margins);
            // Pieces of an input-dependent set that were cut in (y, x) are empty at some x: their
            // decodes there could not be feasible.
            let fixed = self.config.charts.is_some()
                || latent == LatentKind::Shell
                || self.pool.parameter_dim() > 0;
            let many =
                cells.count() + (PARTS - 1) * cut.iter().filter(|cut| **cut).count() > MOST_CHARTS;
            if contest.shortfall() <= 1.0 || fixed || many || self.pool.dim() > BANK_DIMENSIONS {
                break;
            }
            let (finer, origin) = cells.split(&cut, PARTS, &mut rng);
            if finer.count() == cells.count() {
                break;
            }
            charts = origin
                .iter()
                .map(|old| old.and_then(|old| charts[old].clone()))
                .collect();
            cells = finer;
        }
        Ok(())
    }

    /// Trains the charts that are not there yet, side by side.
    fn train_missing(
        &self,
        latent: LatentKind,
        charts: &mut [Option<(TrainedChart, f32)>],
        assignment: &Assignment,
        (index, round): (usize, usize),
    ) -> Result<(), TrainError> {
        let first_stream = 100_000 * (index as u64 + 1) + 1_000 * (round as u64 + 1);
        let (unit, round) = (format!("{index}-round-{round}"), round as f64);
        let missing = charts.iter().filter(|chart| chart.is_none()).count();
        let chart_config = self.chart_config(latent, missing);
        let rounds = self.config.rounds as f64;
        let assignment_order: Vec<usize> = charts
            .iter()
            .scan(0, |next, chart| {
                Some(std::mem::replace(
                    next,
                    *next + usize::from(chart.is_none()),
                ))
            })
            .collect();
        let trained: Result<Vec<_>, TrainError> = charts
            .par_iter()
            .enumerate()
            .map(|(chart, existing)| {
                if let Some(existing) = existing {
                    return Ok(existing.clone());
                }
                let rng = stream(self.seed, first_stream + chart as u64);
                let rows = assignment.rows[chart].clone();
                let restorer = self.restorer.as_ref();
                let mut training =
                    ChartTraining::new(chart_config.clone(), self.pool, rows, restorer, rng)?;
                let before = assignment_order[chart] as f64;
                let done = (
                    (round + before / missing as f64) / rounds,
                    1.0 / (missing as f64 * rounds),
                );
                self.run(&mut training, &format!("{unit}-chart-{chart}"), done)?;
                Ok((training.chart(), training.margin()))
            })
            .collect();
        for (slot, chart) in charts.iter_mut().zip(trained?) {
            *slot = Some(chart);
        }
        Ok(())
    }

    fn chart_config(&self, latent: LatentKind, charts: usize) -> ChartConfig {
        // One network that serves every x has more to learn, and seams that move.
        let conditional = self.pool.parameter_dim() > 0;
        let (effort, hinge) = if conditional { (1.6, 2.0) } else { (1.0, 1.0) };
        ChartConfig {
            width: self.config.width,
            depth: self.config.depth,
            latent,
            smooth: self.config.smooth,
            phase_one: self.config.phase_one,
            phase_two: (self.config.phase_two as f64 * effort) as u64,
            // More charts see fewer rows each, so that a candidate costs about the same.
            rows: (2 * self.config.rows / (1 + charts))
                .max(self.config.rows / 4)
                .max(8),
            learning_rate: self.config.learning_rate,
            margin: self.config.margin,
            margin_range: (self.config.margin_low, self.config.margin_high),
            failure_goal: self.config.failure_goal,
            hinge: self.config.hinge * hinge,
        }
    }

    /// Runs a chart to its end, from its checkpoint if there is one. `done` is the share of the whole
    /// training before this chart, and the chart's own share.
    fn run(
        &self,
        training: &mut ChartTraining,
        unit: &str,
        done: (f64, f64),
    ) -> Result<(), TrainError> {
        let saved = self.session.load(unit);
        if saved.is_some_and(|state| !training.restore(&state)) {
            return Err(TrainError::Checkpoint {
                unit: unit.to_owned(),
            });
        }
        let steps = training.steps();
        while !training.finished() {
            let report = training.step();
            let step = training.step_count();
            if step.is_multiple_of(REPORT_EVERY) {
                self.session.emit(&Event::Progress {
                    unit,
                    step,
                    steps,
                    done: done.0 + done.1 * step as f64 / steps as f64,
                    losses: &report.losses(),
                });
                if self.session.stopped() {
                    self.session.save(unit, || training.state());
                    return Err(TrainError::Stopped);
                }
            }
            if step.is_multiple_of(SAVE_EVERY) || training.finished() {
                self.session.save(unit, || training.state());
            }
        }
        Ok(())
    }
}

/// The charts that fall short by themselves; if none does, the worst of them.
fn to_cut(quality: &Quality, goals: &Goals) -> Vec<bool> {
    let shortfalls: Vec<f64> = quality
        .charts
        .iter()
        .map(|chart: &ChartQuality| chart.shortfall(goals))
        .collect();
    let worst = shortfalls.iter().copied().fold(0.0, f64::max);
    let bar = worst.min(1.0);
    shortfalls
        .iter()
        .map(|shortfall| *shortfall >= bar)
        .collect()
}
