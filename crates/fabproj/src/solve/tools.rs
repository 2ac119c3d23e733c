//! Which tool answers a problem: chosen by measurement where both can.

use fabproj_core::{Functions, Solver, SolverWeights};

use super::black_box::Feasible;
use super::choose::Measured;
use super::learned;
use super::problem::Problem;
use super::reference::Reference;
use super::settings::{SolveSettings, Tool};
use super::train::{SolveSummary, fit_structured};
use crate::train::{Event, Session, TrainError};

/// The learned tool is tried up to so many free coordinates of y.
const MOST_FREE: usize = 24;
/// x at which other starts are tried, to see whether there are several basins, and starts at each.
const PROBED: usize = 16;
const STARTS: usize = 4;
/// There are several basins if another start is better by this part of the objective at so many of the x.
const BETTER: f64 = 1e-3;
const OFTEN: usize = 2;
/// x that the tools are measured on.
const TESTED: usize = 60;
/// Share of the structured tool in a training that may try both.
const FIRST: f64 = 0.1;

/// Weights of a solver and what training did.
pub(super) fn fit_solver(
    problem: &Problem,
    settings: &SolveSettings,
    session: &Session,
) -> Result<(SolverWeights, SolveSummary), TrainError> {
    problem.check()?;
    settings.check_learned()?;
    match (settings.tool, problem.black_box()) {
        (Some(Tool::Structured), Some(_)) => Err(TrainError::NoGradient),
        (Some(Tool::Structured), None) => fit_structured(problem, settings, session),
        (Some(Tool::Learned), _) | (None, Some(_)) => learned_alone(problem, settings, session),
        (None, None) if is_small(problem) => better(problem, settings, session),
        (None, None) => fit_structured(problem, settings, session),
    }
}

/// Whether the learned tool may be tried: y is bounded, with few free coordinates.
fn is_small(problem: &Problem) -> bool {
    let free = problem.dim().saturating_sub(problem.equations().len());
    free <= MOST_FREE && Feasible::of(problem).is_ok()
}

fn learned_alone(
    problem: &Problem,
    settings: &SolveSettings,
    session: &Session,
) -> Result<(SolverWeights, SolveSummary), TrainError> {
    let weights = learned::fit(problem, settings, session)?;
    let (measured, reference) = measure(problem, settings, &[&weights], session)?;
    let summary = SolveSummary {
        labels: 0,
        without_label: 0,
        active_sets: 0,
        reference,
        chosen: measured[0].clone(),
        candidates: measured,
    };
    Ok((weights, summary))
}

/// The structured tool; where that fails or other starts lead to better optima, the better of both.
fn better(
    problem: &Problem,
    settings: &SolveSettings,
    session: &Session,
) -> Result<(SolverWeights, SolveSummary), TrainError> {
    let second = session.part(FIRST, 1.0);
    let structured = fit_structured(problem, settings, &session.part(0.0, FIRST));
    let (weights, mut summary) = match structured {
        Err(error) => return instead(problem, settings, &second, error),
        Ok(found) => found,
    };
    if !falls_short(problem, &weights, settings, session)? {
        return Ok((weights, summary));
    }
    let other = match learned::fit(problem, settings, &second) {
        // Nothing to learn a projector from.
        Err(TrainError::Pool(_)) => return Ok((weights, summary)),
        other => other?,
    };
    let (mut both, reference) = measure(problem, settings, &[&weights, &other], session)?;
    (both[0].steps, both[0].margin) = (weights.steps, summary.chosen.margin);
    both[0].near = weights.near;
    let key = |one: &Measured| (one.failed, one.mean_gap);
    let learned = key(&both[1]) < key(&both[0]);
    summary.reference += &format!("; both tools measured by {reference}");
    summary.chosen = both[usize::from(learned)].clone();
    summary.candidates = both;
    Ok((if learned { other } else { weights }, summary))
}

/// The learned tool where the structured one found no optimum. Its error stands if there is no feasible point.
fn instead(
    problem: &Problem,
    settings: &SolveSettings,
    session: &Session,
    error: TrainError,
) -> Result<(SolverWeights, SolveSummary), TrainError> {
    let (TrainError::NotSmooth { failed, tried } | TrainError::Infeasible { failed, tried }) =
        error
    else {
        return Err(error);
    };
    match learned_alone(problem, settings, session) {
        Err(TrainError::Pool(_)) => Err(error),
        Err(other) => Err(other),
        Ok((weights, mut summary)) => {
            let found = format!("; the structured tool found no optimum at {failed} of {tried} x");
            summary.reference += &found;
            Ok((weights, summary))
        }
    }
}

/// x of the problem; one where there is no x.
fn draw(problem: &Problem, count: usize, seed: u64) -> Vec<Vec<f64>> {
    let count = if problem.x_dim() == 0 { 1 } else { count };
    problem.distribution().draw(problem.x_dim(), count, seed)
}

/// Whether other starts lead to better optima, or answers are not verified where there are feasible points.
fn falls_short(
    problem: &Problem,
    weights: &SolverWeights,
    settings: &SolveSettings,
    session: &Session,
) -> Result<bool, TrainError> {
    session.emit(&Event::Stage {
        name: "other starts",
    });
    let seed = settings.seed ^ 0xBA51;
    let solver = solver(problem, weights)?;
    let x = draw(problem, PROBED, seed);
    let reference = Reference::one_basin(problem, seed)?.with_starts(STARTS);
    let gaps = reference.gaps(&[&solver], &x, session)?;
    let sorted = gaps[0].sorted();
    let worse = sorted.iter().filter(|gap| **gap > BETTER).count();
    Ok(sorted.len() < gaps[0].optima() || worse >= OFTEN.min(x.len()))
}

/// The figures of solvers on x that they have not seen, beside the same optima, and what found these.
fn measure(
    problem: &Problem,
    settings: &SolveSettings,
    weights: &[&SolverWeights],
    session: &Session,
) -> Result<(Vec<Measured>, String), TrainError> {
    session.emit(&Event::Stage {
        name: "optima to measure the tools",
    });
    let seed = settings.seed ^ 0x7E57;
    let x = draw(problem, TESTED, seed);
    let solvers = weights.iter().map(|weights| solver(problem, weights));
    let solvers = solvers.collect::<Result<Vec<_>, _>>()?;
    let solvers: Vec<_> = solvers.iter().collect();
    // The last one is the learned tool's.
    let reference = Reference::of(problem, solvers[solvers.len() - 1], seed)?;
    let gaps = reference.gaps(&solvers, &x, session)?;
    let measured = gaps.iter().zip(weights).map(|(gaps, weights)| {
        let Some(proposer) = &weights.proposer else {
            return gaps.measured(Tool::Structured);
        };
        let mut measured = gaps.measured(Tool::Learned);
        measured.tests = proposer.tests;
        measured
    });
    let measured: Vec<Measured> = measured.collect();
    for one in &measured {
        session.emit(&Event::Measured {
            candidate: one.tool.name(),
            figures: &one.figures(),
        });
    }
    Ok((measured, reference.name(x.len())))
}

fn solver<'a>(
    problem: &'a Problem,
    weights: &SolverWeights,
) -> Result<Solver<&'a (dyn Functions + Send + Sync)>, TrainError> {
    Ok(Solver::new(weights.clone(), &**problem.functions())?)
}
