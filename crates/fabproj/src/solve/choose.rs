//! Which tool answers a problem: chosen by measurement where both can.

use fabproj_core::{Solver, SolverWeights};

use super::problem::Problem;
use super::reference::Reference;
use super::settings::{Measured, SolveError, SolveSettings, SolveSummary, Tool};
use super::{learned, structured};
use crate::train::{Event, Session, TrainError};

/// The learned tool is tried up to so many free coordinates of y.
const MOST_FREE: usize = 24;
/// x at which other starts are tried, to see whether there are several basins.
const PROBED: usize = 40;
/// There are several basins if another start is better by this part at so many of the x.
const BETTER: f64 = 1e-3;
const OFTEN: f64 = 0.05;

/// Weights of a solver and what training did.
pub(super) fn fit(
    problem: &Problem,
    settings: &SolveSettings,
    session: &Session,
) -> Result<(SolverWeights, SolveSummary), TrainError> {
    problem.check().map_err(SolveError::from)?;
    match (settings.tool, problem.asked()) {
        (Some(Tool::Structured), Some(_)) => Err(SolveError::NoSlopes.into()),
        (Some(Tool::Structured), None) => structured::fit(problem, settings, session),
        (Some(Tool::Learned), _) | (None, Some(_)) => learned_alone(problem, settings, session),
        (None, None) => measured(problem, settings, session),
    }
}

fn learned_alone(
    problem: &Problem,
    settings: &SolveSettings,
    session: &Session,
) -> Result<(SolverWeights, SolveSummary), TrainError> {
    let (weights, measured) = learned::fit(problem, settings, session)?;
    let reference = Reference::of(problem, &solver(problem, &weights)?)?.name();
    let summary = SolveSummary {
        labels: 0,
        without_label: 0,
        active_sets: 0,
        reference,
        chosen: measured.clone(),
        candidates: vec![measured],
    };
    Ok((weights, summary))
}

/// The structured tool; where that fails or sees one basin of several, the better one of both.
fn measured(
    problem: &Problem,
    settings: &SolveSettings,
    session: &Session,
) -> Result<(SolverWeights, SolveSummary), TrainError> {
    let possible =
        problem.dim() <= MOST_FREE + problem.equations().len() && learned::is_possible(problem);
    let structured = match structured::fit(problem, settings, session) {
        Err(TrainError::Solve(SolveError::NotSmooth { .. })) if possible => None,
        other => Some(other?),
    };
    let Some((weights, mut summary)) = structured else {
        return learned_alone(problem, settings, session);
    };
    if !possible || !falls_short(problem, &weights, settings, session)? {
        return Ok((weights, summary));
    }
    let (other, _) = learned::fit(problem, settings, session)?;
    let solvers = [solver(problem, &weights)?, solver(problem, &other)?];
    let x = learned::tested(problem, settings);
    let reference = Reference::of(problem, &solvers[1])?;
    let gaps = solvers
        .each_ref()
        .map(|one| reference.gaps(one, &x, settings.seed));
    let mut both = [
        gaps[0].measured(Tool::Structured, 0),
        gaps[1].measured(Tool::Learned, settings.tests),
    ];
    both[0].steps = weights.steps;
    both[0].margin = summary.chosen.margin;
    let key = |one: &Measured| (one.failed, one.mean_gap);
    let learned = key(&both[1]) < key(&both[0]);
    summary.reference += &format!("; tools compared by {}", reference.name());
    summary.chosen = both[usize::from(learned)].clone();
    summary.candidates.extend(both);
    Ok((if learned { other } else { weights }, summary))
}

/// Whether other starts lead to better optima, or some answers are not verified.
fn falls_short(
    problem: &Problem,
    weights: &SolverWeights,
    settings: &SolveSettings,
    session: &Session,
) -> Result<bool, TrainError> {
    session.emit(&Event::Stage {
        name: "other starts",
    });
    let solver = solver(problem, weights)?;
    let x = problem
        .distribution()
        .draw(problem.x_dim(), PROBED, settings.seed ^ 0xBA51);
    let gaps =
        Reference::of(problem, &solver)?
            .with_random_starts()
            .gaps(&solver, &x, settings.seed);
    let sorted = gaps.sorted();
    let worse = sorted.iter().filter(|gap| **gap > BETTER).count();
    Ok(worse as f64 > OFTEN * sorted.len() as f64 || sorted.len() < gaps.optima())
}

fn solver<'a>(
    problem: &'a Problem,
    weights: &SolverWeights,
) -> Result<Solver<&'a (dyn fabproj_core::Functions + Send + Sync)>, SolveError> {
    Ok(Solver::new(weights.clone(), &**problem.functions())?)
}
