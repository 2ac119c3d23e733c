//! The learned tool, for sets that can only be asked: a projector of the set, and a network in front of it
//! that the objective has trained.

use fabproj_core::{AffineMap, Projector, Proposer, Solver, SolverWeights};

use super::affine::fit_on_equations;
use super::asked::Feasible;
use super::problem::Problem;
use super::proposer::Task;
use super::reduced::Reduced;
use super::reference::Reference;
use super::settings::{Measured, SolveError, SolveSettings, Tool};
use crate::train::{Event, Session, Settings, TrainError, train_weights};

/// x that the start is fitted to.
const FITTED: usize = 200;
/// Steps of the search for the lowest point of the bounds.
const DESCENTS: usize = 60;
/// x that the tool is tested on.
const TESTED: usize = 60;
/// The first step downhill of an answer, in units of the set's size.
const STRIDE: f64 = 0.5;

/// Trains the tool and measures it on x that it has not seen.
pub(super) fn fit(
    problem: &Problem,
    settings: &SolveSettings,
    session: &Session,
) -> Result<(SolverWeights, Measured), TrainError> {
    let reduced = Reduced::of(problem)?;
    let set = Feasible::of(problem).ok_or(SolveError::NoBounds)?;
    session.emit(&Event::Stage {
        name: "projector of the set",
    });
    let recipe = Settings {
        seed: settings.seed,
        ..if settings.quick {
            Settings::quick()
        } else {
            Settings::default()
        }
    };
    let projector = train_weights(&set, &recipe, session)?.weights;
    let runs = Projector::new(&projector)?;
    let scales = projector.frame.scale.iter();
    let unit = scales.clone().copied().fold(0.0, f32::max);
    let x_range = problem.distribution().range(reduced.x_dim);
    let x = problem
        .distribution()
        .draw(reduced.x_dim, FITTED, settings.seed ^ 0x57A7);
    let start = lowest_of_bounds(problem, &reduced, &x);
    let task = Task {
        problem,
        projector: &runs,
        start: &start,
        x_range: &x_range,
        unit: f64::from(unit),
    };
    let network = task.train(settings, session)?.to_network();
    let weights = SolverWeights {
        dim: reduced.dim,
        x_dim: reduced.x_dim,
        rows: problem.functions().rows(),
        bounds: reduced.bounds.to_vec(),
        anchor: start.clone(),
        start,
        multipliers: AffineMap::default(),
        metric: along_equations(&reduced),
        watched: Vec::new(),
        pulls: Vec::new(),
        gram: Vec::new(),
        margins: Vec::new(),
        active: Vec::new(),
        steps: 0,
        linear: false,
        exact: false,
        x_range,
        proposer: Some(Proposer {
            projector,
            network,
            tests: settings.tests,
            stride: STRIDE * f64::from(unit),
        }),
    };
    let measured = measure(problem, &weights, settings)?;
    session.emit(&Event::Measured {
        candidate: "learned",
        figures: &measured.figures(),
    });
    Ok((weights, measured))
}

/// Whether there are bounds to draw points from.
pub(super) fn is_possible(problem: &Problem) -> bool {
    Feasible::of(problem).is_some()
}

/// x that the tool has not learned from.
pub(super) fn tested(problem: &Problem, settings: &SolveSettings) -> Vec<Vec<f64>> {
    let seed = settings.seed ^ 0x7E57;
    problem.distribution().draw(problem.x_dim(), TESTED, seed)
}

/// The gap on fresh x.
fn measure(
    problem: &Problem,
    weights: &SolverWeights,
    settings: &SolveSettings,
) -> Result<Measured, TrainError> {
    let solver = Solver::new(weights.clone(), &**problem.functions())?;
    let x = tested(problem, settings);
    let gaps = Reference::of(problem, &solver)?.gaps(&solver, &x, settings.seed);
    Ok(gaps.measured(Tool::Learned, settings.tests))
}

/// Σ b bᵀ over the directions that the equations leave.
fn along_equations(reduced: &Reduced<'_>) -> Vec<f64> {
    let dim = reduced.dim;
    let mut matrix = vec![0.0; dim * dim];
    for basis in &reduced.basis {
        for (row, a) in matrix.chunks_exact_mut(dim).zip(basis) {
            row.iter_mut()
                .zip(basis)
                .for_each(|(value, b)| *value += a * b);
        }
    }
    matrix
}

/// An affine map to where the objective is lowest within the bounds, whatever the set is.
fn lowest_of_bounds(problem: &Problem, reduced: &Reduced<'_>, x: &[Vec<f64>]) -> AffineMap {
    let lowest = |x: &Vec<f64>| descend(problem, reduced, x);
    let points: Vec<Vec<f64>> = x.iter().map(lowest).collect();
    fit_on_equations(reduced, x, &points)
}

/// Downhill from the middle of the bounds, by steps that grow and shrink.
fn descend(problem: &Problem, reduced: &Reduced<'_>, x: &[f64]) -> Vec<f64> {
    let (objective, bounds) = (problem.objective(), reduced.bounds);
    let none = vec![0.0; objective.rows()];
    let mut constraints = none.clone();
    let mut memory = vec![0.0; objective.memory()];
    let middle: Vec<f64> = bounds
        .iter()
        .map(|(low, high)| 0.5 * (low + high))
        .collect();
    let widths = bounds.iter().map(|(low, high)| high - low);
    let mut stride = 0.25 * widths.fold(0.0, f64::max);
    let mut y = reduced.nearest(&middle, x);
    let mut gradient = vec![0.0; y.len()];
    for _ in 0..DESCENTS {
        let value = objective.values(&y, x, &mut constraints, &mut memory);
        objective.gradient(&y, x, &none, &mut gradient, &mut memory);
        let along = reduced.along(&gradient);
        let length = along.iter().map(|value| value * value).sum::<f64>().sqrt();
        if !(length > 0.0 && length.is_finite()) {
            break;
        }
        let mut moved = y.clone();
        let scaled: Vec<f64> = along.iter().map(|value| -stride * value / length).collect();
        reduced.add(&mut moved, &scaled);
        for (y, (low, high)) in moved.iter_mut().zip(bounds) {
            *y = y.clamp(*low, *high);
        }
        let moved = reduced.nearest(&moved, x);
        let better = objective.values(&moved, x, &mut constraints, &mut memory) < value;
        stride *= if better { 1.3 } else { 0.5 };
        if better {
            y = moved;
        }
    }
    y
}
