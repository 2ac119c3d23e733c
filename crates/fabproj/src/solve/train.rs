//! The structured tool: optima to learn from, then steps of quadratic programming from affine starts.

use fabproj_core::SolverWeights;
use serde::{Deserialize, Serialize};

use super::basins;
use super::checkpoint::{self, Found};
use super::choose::{Measured, choose};
use super::label::{Label, NoLabel};
use super::pilot::pilot;
use super::plan::{Plan, active};
use super::problem::Problem;
use super::reduced::Reduced;
use super::settings::SolveSettings;
use crate::train::{Event, Session, TrainError};

/// Labels beside four for each coordinate of x.
const LABELS: usize = 300;
/// Optima that are searched between two checkpoints.
const BATCH: usize = 64;

/// What training did, for the model file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SolveSummary {
    /// Optima that were learned from.
    pub labels: usize,
    /// x whose optimum was not found.
    pub without_label: usize,
    /// Different active sets among the labels.
    pub active_sets: usize,
    /// How the optima were found; those that tools were compared by.
    pub reference: String,
    /// The candidate that was chosen.
    pub chosen: Measured,
    /// All candidates.
    pub candidates: Vec<Measured>,
}

/// Weights of a solver and what training did.
pub(super) fn fit_structured(
    problem: &Problem,
    settings: &SolveSettings,
    session: &Session,
) -> Result<(SolverWeights, SolveSummary), TrainError> {
    let reduced = Reduced::of(problem)?;
    let x_dim = problem.x_dim();
    let per_label = 2 * x_dim + problem.dim() + reduced.rows() + 1;
    settings.check(2 * per_label)?;
    let wanted = if settings.labels > 0 {
        settings.labels
    } else {
        LABELS + 4 * x_dim
    };
    // The largest of few gaps says little about that of many.
    let tests = wanted / 2;
    let x = problem
        .distribution()
        .draw(x_dim, wanted + tests, settings.seed);
    let found = find_all(&reduced, &x, settings.seed, session)?;
    check_found(&found, &x)?;
    let mut branches = vec![found];
    let alone = Plan::all(problem, &reduced, &[known(&branches[0])], &x);
    if !alone[0].weights.exact {
        let several = basins::all(&reduced, &x, &branches[0], settings, session)?;
        branches = several.unwrap_or(branches);
    }
    // The last ones test; what has no optimum is left out of both.
    let (places, best) = best_of(&branches);
    let tests = tests.min(best.len() / 3).max(1);
    let (labels, tests) = best.split_at(best.len() - tests);
    session.emit(&Event::Stage {
        name: "metric, start and anchor",
    });
    // Rows of x may be equal: tests are told from labels by their place.
    let first_test = places[labels.len()];
    let learned = branches.iter().map(|found| known(&found[..first_test]));
    let learned = learned.filter(|labels| !labels.is_empty());
    let plans = Plan::all(problem, &reduced, &learned.collect::<Vec<_>>(), &x);
    let (chosen, candidates) = choose(&plans, problem, tests, settings, session)?;
    let active_sets: std::collections::BTreeSet<Vec<usize>> = labels.iter().map(active).collect();
    let summary = SolveSummary {
        labels: labels.len(),
        without_label: x.len() - best.len(),
        active_sets: active_sets.len(),
        reference: format!(
            "sequential quadratic programming, {}",
            match branches.len() {
                1 => "one start".into(),
                count => format!("from {count} basins"),
            }
        ),
        chosen: chosen.1,
        candidates,
    };
    Ok((chosen.0, summary))
}

/// What was found at each x, in the order of x.
pub(super) type Branch = Vec<Found>;

fn known(branch: &[Found]) -> Vec<Label> {
    branch.iter().flatten().cloned().collect()
}

/// Numbers of the x that have an optimum, and the best one at each.
fn best_of(branches: &[Branch]) -> (Vec<usize>, Vec<Label>) {
    let at = |place: usize| {
        let found = branches
            .iter()
            .filter_map(|branch| branch[place].as_ref().ok());
        let best = found.min_by(|a, b| a.objective.total_cmp(&b.objective))?;
        Some((place, best.clone()))
    };
    (0..branches[0].len()).filter_map(at).unzip()
}

/// Searches at all x, in batches after which the training can be stopped and resumed.
fn find_all(
    reduced: &Reduced<'_>,
    x: &[Vec<f64>],
    seed: u64,
    session: &Session,
) -> Result<Branch, TrainError> {
    session.emit(&Event::Stage {
        name: "optima to learn from",
    });
    let sizes = [reduced.x_dim, reduced.dim, reduced.rows()];
    let mut found = match session.load(checkpoint::UNIT) {
        None => Vec::new(),
        Some(bytes) => {
            checkpoint::decode(&bytes, sizes).map_err(|error| TrainError::Checkpoint {
                unit: checkpoint::UNIT.to_owned(),
                reason: error.to_string(),
            })?
        }
    };
    let first = pilot(reduced, x, seed)?;
    while found.len() < x.len() {
        if session.stopped() {
            return Err(TrainError::Stopped);
        }
        let next = &x[found.len()..x.len().min(found.len() + BATCH)];
        found.extend(first.follow(reduced, next, session)?);
        session.save(checkpoint::UNIT, || Ok(checkpoint::encode(&found)));
        session.emit(&Event::Progress {
            unit: checkpoint::UNIT,
            step: found.len() as u64,
            steps: x.len() as u64,
            done: 0.8 * found.len() as f64 / x.len() as f64,
            losses: &[],
        });
    }
    Ok(found)
}

/// Refuses a problem with too few x that have an optimum.
fn check_found(found: &[Found], x: &[Vec<f64>]) -> Result<(), TrainError> {
    let count = |kind| {
        found
            .iter()
            .filter(|one| one.as_ref().err() == Some(&kind))
            .count()
    };
    let (infeasible, slow) = (count(NoLabel::Infeasible), count(NoLabel::Slow));
    let tried = x.len();
    if let Some(at) = found
        .iter()
        .position(|one| one.as_ref().err() == Some(&NoLabel::Unbounded))
    {
        return Err(TrainError::Unbounded { x: x[at].clone() });
    }
    let optima = found.iter().flatten().count();
    if 2 * optima >= tried && optima >= 2 {
        return Ok(());
    }
    Err(if infeasible >= slow {
        let failed = infeasible;
        TrainError::Infeasible { failed, tried }
    } else {
        let failed = slow;
        TrainError::NotSmooth { failed, tried }
    })
}
