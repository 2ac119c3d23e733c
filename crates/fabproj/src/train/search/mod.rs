//! From a set to weights: draw a pool, find the set's pieces, train candidates
//! from the simplest up until one is good enough, and keep the best.

mod cover;

use fabproj_core::Weights;
use serde::{Deserialize, Serialize};

use super::TrainError;
use super::anchors;
use super::atlas::Atlas;
use super::fit::{LatentKind, hole};
use super::measure::{ChartQuality, Goals, Missed, Quality};
use super::purpose::Purpose;
use super::session::{Event, Session};
use super::settings::Settings;
use super::sparing::train_sparingly;
use crate::data::pieces::{Partition, Pieces};
use crate::data::restore::Restorer;
use crate::data::slices::Slices;
use crate::data::{Pool, PoolSizes, Regime};
use crate::set::{Calibration, Set};
use cover::MANY_CHARTS;

/// Nodes of the graph that finds the pieces.
const GRAPH_NODES: usize = 4_000;
/// A shell is tried if the hole around the centre has at least this relative size.
const SHELL_HOLE: f32 = 0.15;
/// Parts into which a chart that falls short is cut.
const PARTS: usize = 3;
/// Efforts where cutting does not help, first and then for longer: of each of several kinds of latent
/// sets and of the best of them, for few charts and for many; of a single kind.
const EFFORTS_OF_SEVERAL: (f64, f64) = (0.15, 1.25);
const EFFORTS_OF_MANY_CHARTS: (f64, f64) = (0.4, 2.5);
const EFFORTS_OF_ONE: (f64, f64) = (1.0, 1.6);
/// The second of them where C(x) comes apart at some x and not at others.
const EFFORT_OF_SLICES: f64 = 4.0;
/// The largest number of charts of a model.
const MOST_CHARTS: usize = 48;
/// A larger shortfall gets one round more than usual.
const FAR: f64 = 2.5;

/// One way to cover the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Candidate {
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

/// What a training did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// Connected pieces that were found.
    pub pieces: usize,
    /// Share of uniform draws from the bounds that were feasible.
    pub feasible_fraction: f64,
    /// Share of the values of x at which nothing feasible was found.
    pub empty_fraction: f64,
    /// Membership queries made.
    pub queries: u64,
    /// Where queries were limited: how far the discriminator that answered in the set's place agrees
    /// with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// The candidate that was kept.
    pub chosen: Candidate,
    /// Margins of its charts at the end, working units.
    pub margins: Vec<f32>,
    /// All candidates that were trained, with how they measured.
    pub candidates: Vec<(Candidate, Quality)>,
    /// The goals that the chosen one missed.
    pub missed: Vec<Missed>,
}

/// Trains for a set without equations.
///
/// # Errors
/// [`TrainError`] when the settings are out of range, no pool can be drawn, or the session stops.
pub(crate) fn train(
    set: &dyn Set,
    settings: &Settings,
    session: &Session,
) -> Result<(Weights, Summary), TrainError> {
    settings.validate()?;
    if let Some(queries) = settings.training_queries() {
        return train_sparingly(set, settings, queries, session);
    }
    let seed = settings.seed;
    session.emit(&Event::Stage {
        name: "sampling the set",
    });
    let pool = Pool::draw(set, &sizes(set, settings), &mut Purpose::Pool.stream(seed))?;
    let pieces = Pieces::find(&pool, GRAPH_NODES, &mut Purpose::Pieces.stream(seed));
    let restorer = (!pool.regime().low_dimensional())
        .then(|| Restorer::new(&pool.feasible, pool.states.len(), pool.dim()));
    let goals = Goals::new(pool.regime(), settings.moved);
    let search = Search {
        settings,
        seed,
        session,
        pool: &pool,
        pieces: &pieces,
        restorer,
        goals,
    };
    let mut trials = Trials::default();
    search.run(&mut trials)?;
    let Some(best) = trials.best else {
        return Err(TrainError::Diverged {
            unit: "every candidate".to_owned(),
            step: settings.phase_two,
            loss: f64::NAN,
        });
    };
    let mut weights = best.atlas.weights(pool.oracle.units(), &pool.x_units);
    session.emit(&Event::Stage {
        name: "finding anchors",
    });
    let count = settings.anchors * if pool.regime().depends_on_x() { 4 } else { 1 };
    weights.anchors = anchors::find(&weights, &pool, count, &mut Purpose::Anchors.stream(seed));
    let summary = Summary {
        pieces: pieces.count(),
        feasible_fraction: pool.feasible_fraction,
        empty_fraction: pool.empty_fraction,
        queries: pool.oracle.queries(),
        calibration: None,
        chosen: best.candidate,
        margins: best.margins,
        candidates: trials.tried,
        missed: best.quality.missed(&goals),
    };
    Ok((weights, summary))
}

/// The best of what was trained so far.
#[derive(Default)]
struct Trials {
    tried: Vec<(Candidate, Quality)>,
    best: Option<Best>,
}

struct Best {
    candidate: Candidate,
    quality: Quality,
    shortfall: f64,
    atlas: Atlas,
    margins: Vec<f32>,
}

impl Trials {
    fn shortfall(&self) -> f64 {
        self.best
            .as_ref()
            .map_or(f64::INFINITY, |best| best.shortfall)
    }

    fn enter(
        &mut self,
        candidate: Candidate,
        quality: Quality,
        goals: &Goals,
        atlas: Atlas,
        margins: Vec<f32>,
    ) {
        let shortfall = quality.shortfall(goals);
        self.tried.push((candidate, quality.clone()));
        if shortfall < self.shortfall() {
            self.best = Some(Best {
                candidate,
                quality,
                shortfall,
                atlas,
                margins,
            });
        }
    }
}

fn sizes(set: &dyn Set, settings: &Settings) -> PoolSizes {
    let regime = Regime::of(set);
    let factor = if regime.depends_on_x() { 2 } else { 1 };
    // Above three dimensions every infeasible row costs a restoration of about a thousand queries.
    let infeasible = match regime.low_dimensional() {
        true => settings.infeasible,
        false => settings.infeasible / 2,
    };
    // A surface needs more points than a curve to be as dense.
    let boundary = if regime.depends_on_x() {
        settings.states * settings.boundary / 60
    } else if regime.low_dimensional() && !regime.in_plane() {
        3 * settings.boundary
    } else {
        settings.boundary
    };
    PoolSizes {
        states: settings.states,
        feasible: factor * settings.feasible,
        infeasible: factor * infeasible,
        boundary,
        draws: settings.draws,
    }
}

/// What all candidates of one training share.
struct Search<'a> {
    settings: &'a Settings,
    seed: u64,
    session: &'a Session<'a>,
    pool: &'a Pool<'a>,
    pieces: &'a Pieces,
    restorer: Option<Restorer>,
    goals: Goals,
}

impl Search<'_> {
    /// Kinds of latent sets to try: a shell first where the centre is in a hole; above three dimensions
    /// a box as well.
    fn kinds(&self) -> Vec<LatentKind> {
        if let Some(kind) = self.settings.latent {
            return vec![kind];
        }
        let pool = self.pool;
        let one = self.pieces.count() == 1 && self.settings.charts.unwrap_or(1) == 1;
        let mut kinds = Vec::new();
        if one && !pool.regime().depends_on_x() && hole(&pool.feasible.y, pool.dim()) > SHELL_HOLE {
            kinds.push(LatentKind::Shell);
        }
        kinds.push(LatentKind::Ball);
        if !pool.regime().low_dimensional() {
            kinds.push(LatentKind::Box);
        }
        kinds
    }

    /// Trains candidates until one meets the goals or nothing is left to try.
    fn run(&self, trials: &mut Trials) -> Result<(), TrainError> {
        let kinds = self.kinds();
        // Cells of an input-dependent set are empty at some x, and above three dimensions cuts follow
        // the sampling rather than the set: both gain more from longer training.
        if !self.pool.regime().is_filled() {
            return self.lengthen(&kinds, trials);
        }
        for (index, latent) in kinds.iter().enumerate() {
            self.refine(*latent, index, kinds.len(), trials)?;
            if trials.shortfall() <= 1.0 {
                break;
            }
        }
        Ok(())
    }

    /// Tries every kind of latent set, and trains the best of them longer; where an input-dependent set
    /// comes apart at some x, by its pieces there.
    fn lengthen(&self, kinds: &[LatentKind], trials: &mut Trials) -> Result<(), TrainError> {
        let mut rng = Purpose::Cells { kind: 0 }.stream(self.seed);
        let cells = self
            .pieces
            .cells(self.settings.charts.unwrap_or(1), &mut rng);
        let efforts = match (kinds.len(), cells.count()) {
            (1, _) => EFFORTS_OF_ONE,
            (_, ..=MANY_CHARTS) => EFFORTS_OF_SEVERAL,
            _ => EFFORTS_OF_MANY_CHARTS,
        };
        let mut total = efforts.0 * kinds.len() as f64 + efforts.1;
        let (mut number, mut done) = (0, 0.0);
        let mut attempt =
            |latent, parts: &dyn Partition, effort: f64, total: f64, trials: &mut _| {
                let mut charts = vec![None; parts.count()];
                let attempt = Attempt {
                    latent,
                    number,
                    effort,
                    done: (done / total, effort / total),
                };
                (number, done) = (number + 1, done + effort);
                self.cover(&attempt, parts, &mut charts, &mut rng, trials)
            };
        for latent in kinds {
            attempt(*latent, &cells, efforts.0, total, trials)?;
            if trials.shortfall() <= 1.0 {
                return Ok(());
            }
        }
        let Some(best) = trials.best.as_ref().map(|best| best.candidate.latent) else {
            return Ok(());
        };
        let slices = self
            .slices()
            .filter(|slices| slices.count() > cells.count());
        if let Some(slices) = slices {
            total += EFFORT_OF_SLICES - efforts.1;
            attempt(best, &slices, EFFORT_OF_SLICES, total, trials)?;
        } else {
            attempt(best, &cells, efforts.1, total, trials)?;
        }
        Ok(())
    }

    /// The pieces of an input-dependent set at each x, where charts may be chosen by them.
    fn slices(&self) -> Option<Slices> {
        let regime = self.pool.regime();
        let sought = regime.depends_on_x() && regime.low_dimensional();
        let sought = sought && self.settings.charts.is_none();
        sought.then(|| Slices::find(self.pool))
    }

    /// Covers the set with one chart per piece (or the number asked for), then cuts the charts that
    /// fall short and trains their parts, until all are good enough.
    fn refine(
        &self,
        latent: LatentKind,
        index: usize,
        kinds: usize,
        trials: &mut Trials,
    ) -> Result<(), TrainError> {
        let mut rng = Purpose::Cells { kind: index }.stream(self.seed);
        let mut cells = self
            .pieces
            .cells(self.settings.charts.unwrap_or(1), &mut rng);
        let mut charts = vec![None; cells.count()];
        // In the plane a round is short: what is far from the goals gets one more.
        let rounds = self.settings.rounds + usize::from(self.pool.regime().in_plane());
        let share = 1.0 / (kinds * rounds) as f64;
        for round in 0..rounds {
            // Another kind comes only after a shell, which is never cut: no number comes twice.
            let number = index * self.settings.rounds + round;
            let attempt = Attempt {
                latent,
                number,
                effort: 1.0,
                done: ((index * rounds + round) as f64 * share, share),
            };
            let quality = self.cover(&attempt, &cells, &mut charts, &mut rng, trials)?;
            let cut = to_cut(&quality, &self.goals);
            let fixed = self.settings.charts.is_some() || latent == LatentKind::Shell;
            let many =
                cells.count() + (PARTS - 1) * cut.iter().filter(|cut| **cut).count() > MOST_CHARTS;
            let last = round + 1 >= self.settings.rounds;
            let enough = if last { FAR } else { 1.0 };
            if trials.shortfall() <= enough || fixed || many {
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
}

/// One training of all charts that a candidate still misses.
struct Attempt {
    latent: LatentKind,
    /// Its number among all attempts: random streams and checkpoints are named by it.
    number: usize,
    /// Multiple of the usual number of steps.
    effort: f64,
    /// The share of the whole training before it, and its own.
    done: (f64, f64),
}

/// The charts that miss the goals; if none does, the worst of them.
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
