//! The number of steps, their margin, and when a search follows: chosen by measurement.

use fabproj_core::{Answer, SolveOutcome, Solver, SolverWeights};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::label::Label;
use super::plan::Plan;
use super::problem::Problem;
use super::settings::{SolveSettings, Tool};
use crate::train::{Event, Session, TrainError};

/// Margins that are tried, as parts of the spread of the optima in the metric.
const MARGINS: [f64; 6] = [0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2];

/// Lengths of the last step that are tried, as parts of y's size: after a longer one a search follows.
const NEAR: [f64; 7] = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7];

/// What training measured of one candidate, on x that it had not learned from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Measured {
    /// The tool.
    #[serde(default)]
    pub tool: Tool,
    /// Membership tests that improve an answer of the learned tool.
    #[serde(default)]
    pub tests: usize,
    /// Steps per answer of the structured tool.
    pub steps: usize,
    /// The margin of the steps, as a part of the spread of the optima in the metric.
    pub margin: f64,
    /// The length of the last step, as a part of y's size, beyond which a search follows; none for no search.
    #[serde(default)]
    pub near: Option<f64>,
    /// Tested x.
    pub tested: usize,
    /// Answers that a search found.
    #[serde(default)]
    pub searched: usize,
    /// Answers that were pulled toward the anchor.
    pub pulled: usize,
    /// Answers that were not verified.
    pub failed: usize,
    /// Mean of the relative gap.
    pub mean_gap: f64,
    /// The largest relative gap.
    pub worst_gap: f64,
}

impl Measured {
    /// Figures for observers.
    pub(super) fn figures(&self) -> [(&'static str, f64); 5] {
        [
            ("mean gap", self.mean_gap),
            ("worst gap", self.worst_gap),
            ("pulled", self.pulled as f64),
            ("failed", self.failed as f64),
            ("searched", self.searched as f64),
        ]
    }
}

/// Tries numbers of steps and margins, until the goal is met; where it is not, a search after steps that
/// do not settle.
pub(super) fn choose(
    plans: &[Plan],
    problem: &Problem,
    tests: &[Label],
    settings: &SolveSettings,
    session: &Session,
) -> Result<(Candidate, Vec<Measured>), TrainError> {
    let first = &plans[0].weights;
    let most = if first.exact {
        1
    } else {
        settings.max_steps.max(1)
    };
    let margins = if plans.iter().all(|plan| plan.weights.linear) {
        &MARGINS[..1]
    } else {
        &MARGINS[..]
    };
    let near_enough = |one: &Measured| one.worst_gap <= settings.goal;
    let met = |one: &Candidate| one.1.failed == 0 && near_enough(&one.1);
    let mut candidates: Vec<Candidate> = Vec::new();
    for steps in 1..=most {
        for margin in margins {
            candidates.push(measured(
                plans,
                problem,
                tests,
                (steps, *margin, None),
                session,
            )?);
        }
        if candidates.iter().any(met) {
            break;
        }
    }
    let known = candidates.iter().find(|one| met(one));
    let known = known.map(|one| (one.1.steps, one.1.margin));
    let tried = match known {
        _ if first.exact => Vec::new(),
        // As soon as no tested answer searches: it is for x unlike them.
        Some(known) => vec![known],
        // Fewer steps are cheaper; more leave fewer answers to a search.
        None if most > 1 => vec![(1, 0.0), (most, 0.0)],
        None => vec![(1, 0.0)],
    };
    for (steps, margin) in tried {
        for near in NEAR {
            let candidate = (steps, margin, Some(near));
            candidates.push(measured(plans, problem, tests, candidate, session)?);
            let last = &candidates[candidates.len() - 1].1;
            let done = match known {
                Some(_) => last.searched > 0,
                None => near_enough(last) || last.searched == last.tested,
            };
            if done {
                break;
            }
        }
    }
    let all = candidates.iter().map(|one| one.1.clone()).collect();
    // Searches and pulls take longer than steps.
    let key = |one: &Candidate| {
        let near_enough = near_enough(&one.1);
        let longer = match near_enough {
            true => (one.1.searched, one.1.pulled, one.1.steps),
            false => (0, 0, 0),
        };
        (one.1.failed, !near_enough, longer)
    };
    let best = candidates.into_iter().min_by(|a, b| {
        let gap = |one: &Candidate| match near_enough(&one.1) {
            true => 0.0,
            false => one.1.worst_gap,
        };
        // A shorter last step takes more steps; without a length, nothing is searched for x unlike those here.
        let near = |one: &Candidate| one.1.near.unwrap_or(0.0);
        let order = key(a).cmp(&key(b));
        let order = order.then(gap(a).total_cmp(&gap(b)));
        order.then(near(b).total_cmp(&near(a)))
    });
    // There is at least one number of steps and one margin.
    let best = best.ok_or(TrainError::Infeasible {
        failed: 0,
        tried: 0,
    })?;
    Ok((best, all))
}

/// Weights with so many steps, a margin, and a length beyond which a search follows; and their measures.
fn measured(
    plans: &[Plan],
    problem: &Problem,
    tests: &[Label],
    (steps, margin, near): (usize, f64, Option<f64>),
    session: &Session,
) -> Result<Candidate, TrainError> {
    if session.stopped() {
        return Err(TrainError::Stopped);
    }
    let mut basins = plans.iter().map(|plan| plan.with((steps, margin, near)));
    let first = basins.next();
    let weights = SolverWeights {
        others: basins.collect(),
        // There is at least one.
        ..first.unwrap_or_else(|| plans[0].weights.clone())
    };
    let solver = Solver::new(weights, &**problem.functions())?;
    let measured = measure(&solver, tests, margin);
    let search = near.map_or(String::new(), |near| format!(", search beyond {near:e}"));
    session.emit(&Event::Measured {
        candidate: &format!("{steps} steps, margin {margin:e}{search}"),
        figures: &measured.figures(),
    });
    Ok((solver.weights().clone(), measured))
}

/// Weights, and what was measured of them.
pub(super) type Candidate = (SolverWeights, Measured);

/// The gap of a solver on labels.
fn measure<F: fabproj_core::Functions + Sync>(
    solver: &Solver<F>,
    labels: &[Label],
    margin: f64,
) -> Measured {
    let memory = || (solver.workspace(), vec![0.0; solver.dim()]);
    let answers: Vec<Answer> = labels
        .par_iter()
        .map_init(memory, |(workspace, y), label| {
            // The lengths are those of the problem.
            let answer = solver.solve_into(&label.x, y, workspace);
            answer.unwrap_or_default()
        })
        .collect();
    let count = |is: &dyn Fn(&Answer) -> bool| answers.iter().filter(|one| is(one)).count();
    let typical = labels.iter().map(|one| one.objective.abs()).sum::<f64>() / labels.len() as f64;
    let pairs = answers.iter().zip(labels);
    let verified = pairs.filter(|(answer, _)| answer.outcome.is_verified());
    let gaps: Vec<f64> = verified
        .map(|(answer, label)| relative_gap(answer.objective, label.objective, typical))
        .collect();
    Measured {
        tool: Tool::Structured,
        tests: 0,
        steps: solver.weights().steps,
        margin,
        near: solver.weights().near,
        tested: labels.len(),
        searched: count(&|answer| answer.searched),
        pulled: count(&|answer| answer.outcome == SolveOutcome::Pulled),
        failed: labels.len() - gaps.len(),
        mean_gap: gaps.iter().sum::<f64>() / gaps.len().max(1) as f64,
        worst_gap: gaps.iter().fold(0.0, |most, gap| most.max(*gap)),
    }
}

/// (f − f*) / |f*|, with a hundredth of the typical |f*| as the least divisor.
pub(super) fn relative_gap(objective: f64, optimum: f64, typical: f64) -> f64 {
    (objective - optimum) / optimum.abs().max(0.01 * typical).max(f64::MIN_POSITIVE)
}
