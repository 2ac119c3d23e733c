//! The structured tool: steps of quadratic programming from an affine start.

use fabproj_core::{AffineMap, Answer, SolveOutcome, Solver, SolverWeights};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::affine::{anchor, multipliers, start};
use super::basins;
use super::checkpoint::{self, Found};
use super::label::{Label, NoLabel};
use super::pilot::pilot;
use super::problem::Problem;
use super::quadratic::dot;
use super::reduced::{Metric, Point, Reduced, gram};
use super::settings::{SolveSettings, Tool};
use crate::train::{Event, Session, TrainError};

/// Labels beside four for each coordinate of x.
const LABELS: usize = 300;
/// Labels that the metric is averaged over: more change it little.
const CURVED: usize = 48;
/// Optima that are searched between two checkpoints.
const BATCH: usize = 64;
/// With more constraints than this, those that never come near are left out of the steps.
const WATCH_ALL: usize = 128;
/// A row is active in a label if its multiplier is more than this part of the largest.
const ACTIVE: f64 = 1e-9;
/// The Jacobian is constant if it differs by no more than this part of its largest entry.
const CONSTANT: f64 = 1e-9;
/// Margins against rounding, as a part of the numbers that are rounded.
const ROUNDING: f64 = 4e-13;
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

/// Rows with a multiplier.
fn active(label: &Label) -> Vec<usize> {
    let most = label
        .multipliers
        .iter()
        .fold(0.0_f64, |most, l| most.max(*l));
    let rows = label.multipliers.iter().enumerate();
    rows.filter(|(_, l)| **l > ACTIVE * most)
        .map(|(row, _)| row)
        .collect()
}

pub(super) fn mean<'a>(rows: impl ExactSizeIterator<Item = &'a [f64]>, width: usize) -> Vec<f64> {
    let count = rows.len() as f64;
    let mut sums = vec![0.0; width];
    for row in rows {
        sums.iter_mut()
            .zip(row)
            .for_each(|(sum, value)| *sum += value / count);
    }
    sums
}

/// What is known around the optima of one basin.
struct Around<'a> {
    labels: &'a [Label],
    metric: Metric,
    y_mean: Vec<f64>,
    centre: Point,
    jacobian: Vec<f64>,
    /// The Jacobian in the metric.
    white: Vec<f64>,
    linear: bool,
}

impl<'a> Around<'a> {
    fn of(reduced: &Reduced<'_>, labels: &'a [Label]) -> Self {
        let metric = Metric::of(&mean_hessian(reduced, labels), reduced.free());
        let y_mean = mean(labels.iter().map(|one| one.y.as_slice()), reduced.dim);
        let x_mean = mean(labels.iter().map(|one| one.x.as_slice()), reduced.x_dim);
        let mut centre = reduced.point(reduced.nearest(&y_mean, &x_mean), &x_mean);
        let jacobian = reduced.jacobian(&mut centre, &x_mean);
        Self {
            linear: is_constant(reduced, &jacobian, labels),
            white: metric.whiten(&jacobian, reduced.free()),
            labels,
            metric,
            y_mean,
            centre,
            jacobian,
        }
    }
}

/// Weights but for the number of steps and their margins.
struct Plan {
    weights: SolverWeights,
    /// √ of the Gram matrix's diagonal times the spread of the optima: what margins are measured in.
    units: Vec<f64>,
    rounding: Vec<f64>,
}

impl Plan {
    /// Plans for basins, all with the same watched constraints.
    fn all(
        problem: &Problem,
        reduced: &Reduced<'_>,
        basins: &[Vec<Label>],
        x: &[Vec<f64>],
    ) -> Vec<Self> {
        let around = basins.iter().map(|labels| Around::of(reduced, labels));
        let around: Vec<Around<'_>> = around.collect();
        let seen = around.iter().flat_map(|basin| watched(reduced, basin));
        let seen: std::collections::BTreeSet<usize> = seen.collect();
        let seen: Vec<usize> = seen.into_iter().collect();
        let plans = around.iter();
        plans
            .map(|basin| Self::of(problem, reduced, basin, &seen, x))
            .collect()
    }

    fn of(
        problem: &Problem,
        reduced: &Reduced<'_>,
        basin: &Around<'_>,
        watched: &[usize],
        x: &[Vec<f64>],
    ) -> Self {
        let (dim, free, rows) = (reduced.dim, reduced.free(), reduced.rows());
        let Around {
            labels,
            metric,
            y_mean,
            centre,
            jacobian,
            ..
        } = basin;
        let directions = metric.directions(reduced);
        let white: Vec<f64> = watched
            .iter()
            .flat_map(|row| basin.white[row * free..][..free].to_vec())
            .collect();
        let gram = gram(&white, free);
        let spread = spread(reduced, labels, metric, y_mean);
        let units = (0..watched.len()).map(|i| gram[i * watched.len() + i].sqrt() * spread);
        let units: Vec<f64> = units.collect();
        let size = y_mean.iter().fold(1.0_f64, |most, y| most.max(y.abs()));
        let rounding = watched.iter().map(|row| {
            let steep = dot(
                &jacobian[row * free..][..free],
                &jacobian[row * free..][..free],
            );
            ROUNDING * (size * steep.sqrt() + centre.constraints[*row].abs())
        });
        let rounding: Vec<f64> = rounding.collect();
        let (start, exact) = start(reduced, labels, x, &directions, basin.linear);
        let frequency = |row: &usize| {
            let held = labels
                .iter()
                .filter(|one| active(one).binary_search(row).is_ok());
            2 * held.count() > labels.len()
        };
        let often = (0..watched.len()).filter(|place| frequency(&watched[*place]));
        let mut weights = SolverWeights {
            dim,
            x_dim: reduced.x_dim,
            rows: rows - 2 * reduced.bounds.len(),
            bounds: reduced.bounds.to_vec(),
            start,
            multipliers: AffineMap::default(),
            anchor: AffineMap::default(),
            metric: square(&directions, dim),
            pulls: combine(&white, &directions, dim),
            gram,
            margins: rounding.clone(),
            active: often.collect(),
            steps: 1,
            linear: basin.linear,
            exact,
            near: None,
            x_range: problem.distribution().range(reduced.x_dim),
            proposer: None,
            others: Vec::new(),
            watched: watched.to_vec(),
        };
        if !basin.linear {
            weights.multipliers = multipliers(labels, &weights.watched);
        }
        weights.anchor = anchor(reduced, labels, x, &weights, &units);
        Self {
            weights,
            units,
            rounding,
        }
    }

    /// The weights with so many steps, a margin, and a length beyond which a search follows.
    fn with(&self, (steps, margin, near): (usize, f64, Option<f64>)) -> SolverWeights {
        let units = self.rounding.iter().zip(&self.units);
        SolverWeights {
            steps,
            near,
            margins: units.map(|(least, unit)| margin * unit + least).collect(),
            ..self.weights.clone()
        }
    }
}

/// Tries numbers of steps and margins, until the goal is met; where it is not, a search after steps that
/// do not settle.
fn choose(
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
type Candidate = (SolverWeights, Measured);

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

fn mean_hessian(reduced: &Reduced<'_>, labels: &[Label]) -> Vec<f64> {
    let few = labels.len().min(CURVED);
    let every = labels.iter().step_by(labels.len() / few).take(few);
    let hessians: Vec<Vec<f64>> = every
        .collect::<Vec<_>>()
        .par_iter()
        .map(|label| reduced.hessian(&label.y, &label.x, &label.multipliers))
        .collect();
    mean(
        hessians.iter().map(Vec::as_slice),
        reduced.free() * reduced.free(),
    )
}

/// Whether the Jacobian of the functions is the same at other points.
fn is_constant(reduced: &Reduced<'_>, jacobian: &[f64], labels: &[Label]) -> bool {
    let most = jacobian
        .iter()
        .fold(0.0_f64, |most, value| most.max(value.abs()));
    labels
        .iter()
        .step_by(labels.len().div_ceil(5))
        .all(|label| {
            let mut point = reduced.point(label.y.clone(), &label.x);
            let other = reduced.jacobian(&mut point, &label.x);
            let pairs = jacobian.iter().zip(&other);
            let mut differences = pairs.map(|(a, b)| (a - b).abs());
            differences.all(|difference| difference <= CONSTANT * most)
        })
}

/// Constraints that are active in a label, or that a step without constraints would come near to.
fn watched(reduced: &Reduced<'_>, basin: &Around<'_>) -> Vec<usize> {
    /// How near, as a part of the way that the step goes in the metric.
    const NEAR: f64 = 0.5;
    let (rows, free) = (reduced.rows(), reduced.free());
    if rows <= WATCH_ALL {
        return (0..rows).filter(|row| is_bounded(reduced, *row)).collect();
    }
    let mut seen = vec![false; rows];
    for label in basin.labels {
        let mut point = reduced.point(label.y.clone(), &label.x);
        let gradient = reduced.gradient(&mut point, &label.x, &vec![0.0; rows]);
        let mut descent = reduced.along(&gradient);
        basin.metric.factor.forward(&mut descent);
        let way = NEAR * dot(&descent, &descent).sqrt();
        let values = point.constraints.iter().zip(basin.white.chunks_exact(free));
        for (seen, (value, row)) in seen.iter_mut().zip(values) {
            let after = value - dot(row, &descent);
            let length = dot(row, row).sqrt();
            *seen |= value.max(after) > -way * length * NEAR;
        }
    }
    (0..rows)
        .filter(|row| seen[*row] && is_bounded(reduced, *row))
        .collect()
}

/// Whether a row is anything but an infinite bound.
fn is_bounded(reduced: &Reduced<'_>, row: usize) -> bool {
    let own = reduced.rows() - 2 * reduced.bounds.len();
    row < own || {
        let (low, high) = reduced.bounds[(row - own) / 2];
        if (row - own).is_multiple_of(2) {
            high.is_finite()
        } else {
            low.is_finite()
        }
    }
}

/// How far the optima are from their mean, in the metric: the root mean square.
fn spread(reduced: &Reduced<'_>, labels: &[Label], metric: &Metric, mean: &[f64]) -> f64 {
    let squares = labels.iter().map(|label| {
        let offset: Vec<f64> = label.y.iter().zip(mean).map(|(y, mean)| y - mean).collect();
        metric.factor.square(&reduced.along(&offset))
    });
    (squares.sum::<f64>() / labels.len() as f64)
        .sqrt()
        .max(1e-9)
}

/// Σ dᵀ d over directions: the metric's inverse along y.
pub(super) fn square(directions: &[Vec<f64>], dim: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; dim * dim];
    for direction in directions {
        for (row, a) in matrix.chunks_exact_mut(dim).zip(direction) {
            row.iter_mut()
                .zip(direction)
                .for_each(|(value, b)| *value += a * b);
        }
    }
    matrix
}

/// Whitened rows as rows over y.
fn combine(white: &[f64], directions: &[Vec<f64>], dim: usize) -> Vec<f64> {
    let rows = white.chunks_exact(directions.len());
    rows.flat_map(|row| {
        let mut sum = vec![0.0; dim];
        for (weight, direction) in row.iter().zip(directions) {
            sum.iter_mut()
                .zip(direction)
                .for_each(|(sum, d)| *sum += weight * d);
        }
        sum
    })
    .collect()
}
