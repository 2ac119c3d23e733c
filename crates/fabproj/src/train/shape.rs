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
use super::measure::Quality;
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
        let kind = match self.latent {
            LatentKind::Ball => "ball",
            LatentKind::Shell => "shell",
            LatentKind::Box => "box",
            LatentKind::Simplex => "simplex",
        };
        match self.charts {
            1 => write!(formatter, "{kind}"),
            count => write!(formatter, "{count}-{kind}s"),
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
    let plan = plan(config, &pool, pieces.count());
    let shaping = Shaping {
        config,
        seed,
        session,
        pool: &pool,
        pieces: &pieces,
        restorer,
    };
    let mut tried: Vec<(Candidate, Quality)> = Vec::new();
    let mut best: Option<(f64, Atlas, Vec<f32>, Candidate)> = None;
    for (index, candidate) in plan.iter().enumerate() {
        let done = index as f64 / plan.len() as f64;
        let (atlas, margins) =
            shaping.candidate(*candidate, index, done, 1.0 / plan.len() as f64)?;
        let quality = atlas.measure(&pool, config.samples, seed ^ 0x6d65_6173);
        let shortfall = quality.shortfall();
        session.emit(&Event::Measured {
            candidate: &candidate.to_string(),
            figures: &quality.figures(),
        });
        tried.push((*candidate, quality));
        if best.as_ref().is_none_or(|(least, ..)| shortfall < *least) {
            best = Some((shortfall, atlas, margins, *candidate));
        }
        if shortfall <= 1.0 {
            break;
        }
    }
    let Some((shortfall, atlas, margins, chosen)) = best else {
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
        candidates: tried,
        accepted: shortfall <= 1.0,
    };
    Ok((model, summary))
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
        boundary: if conditional {
            config.states * config.boundary / 100
        } else {
            config.boundary
        },
        draws: config.draws,
    }
}

/// Candidates from the simplest up.
fn plan(config: &ShapeConfig, pool: &Pool, pieces: usize) -> Vec<Candidate> {
    let kinds = match config.latent {
        Some(kind) => vec![kind],
        None => kinds_worth_trying(pool, pieces),
    };
    let counts = match config.charts {
        Some(count) => vec![count],
        None if pool.dim() > BANK_DIMENSIONS => vec![pieces],
        None => vec![pieces, (2 * pieces).max(3), (3 * pieces).max(6)],
    };
    let mut plan = Vec::new();
    for charts in counts {
        for latent in &kinds {
            let several_shells = charts > 1 && *latent == LatentKind::Shell && kinds.len() > 1;
            if !several_shells {
                plan.push(Candidate {
                    latent: *latent,
                    charts,
                });
            }
        }
    }
    plan.truncate(config.candidates);
    plan
}

/// A shell first where the centre is in a hole; above three dimensions also a box.
fn kinds_worth_trying(pool: &Pool, pieces: usize) -> Vec<LatentKind> {
    let mut kinds = Vec::new();
    if pieces == 1 && pool.parameter_dim() == 0 && hole(&pool.feasible.y, pool.dim()) > SHELL_HOLE {
        kinds.push(LatentKind::Shell);
    }
    kinds.push(LatentKind::Ball);
    if pool.dim() > BANK_DIMENSIONS {
        kinds.push(LatentKind::Box);
    }
    kinds
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
    /// Trains one candidate, its charts side by side.
    fn candidate(
        &self,
        candidate: Candidate,
        index: usize,
        done: f64,
        share: f64,
    ) -> Result<(Atlas, Vec<f32>), TrainError> {
        let first_stream = 1_000 * (index as u64 + 1);
        self.session.emit(&Event::Stage {
            name: &format!("training {candidate}"),
        });
        let cells = self
            .pieces
            .cells(candidate.charts, &mut stream(self.seed, first_stream));
        let assignment = Assignment::new(self.pool, &cells);
        let mut gate_rng = stream(self.seed, first_stream + 1);
        let gate = train_gate(
            self.pool,
            &assignment,
            self.config.gate_width,
            self.config.gate_steps,
            &mut gate_rng,
        )?;
        let chart_config = self.chart_config(candidate.latent, assignment.rows.len());
        let trained: Result<Vec<(TrainedChart, f32)>, TrainError> = assignment
            .rows
            .par_iter()
            .enumerate()
            .map(|(chart, rows)| {
                let rng = stream(self.seed, first_stream + 2 + chart as u64);
                let mut training = ChartTraining::new(
                    chart_config.clone(),
                    self.pool,
                    rows.clone(),
                    self.restorer.as_ref(),
                    rng,
                )?;
                self.run(
                    &mut training,
                    &format!("{candidate}-{index}-chart-{chart}"),
                    done,
                    share,
                )?;
                Ok((training.chart(), training.margin()))
            })
            .collect();
        let (charts, margins) = trained?.into_iter().unzip();
        Ok((Atlas { gate, charts }, margins))
    }

    fn chart_config(&self, latent: LatentKind, charts: usize) -> ChartConfig {
        ChartConfig {
            width: self.config.width,
            depth: self.config.depth,
            latent,
            smooth: self.config.smooth,
            phase_one: self.config.phase_one,
            phase_two: self.config.phase_two,
            // More charts see fewer rows each, so that a candidate costs about the same.
            rows: (2 * self.config.rows / (1 + charts))
                .max(self.config.rows / 4)
                .max(8),
            learning_rate: self.config.learning_rate,
            margin: self.config.margin,
            margin_range: (self.config.margin_low, self.config.margin_high),
            failure_goal: self.config.failure_goal,
            hinge: self.config.hinge,
        }
    }

    /// Runs a chart to its end, from its checkpoint if there is one.
    fn run(
        &self,
        training: &mut ChartTraining,
        unit: &str,
        done: f64,
        share: f64,
    ) -> Result<(), TrainError> {
        if let Some(state) = self.session.load(unit)
            && !training.restore(&state)
        {
            return Err(TrainError::Checkpoint {
                unit: unit.to_owned(),
            });
        }
        let steps = self.config.phase_one + self.config.phase_two;
        while !training.finished() {
            let report = training.step();
            let step = training.step_count();
            if step.is_multiple_of(REPORT_EVERY) {
                self.session.emit(&Event::Progress {
                    unit,
                    step,
                    steps,
                    done: done + share * step as f64 / steps as f64,
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
