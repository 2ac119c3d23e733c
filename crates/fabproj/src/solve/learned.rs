//! The learned tool, for sets with a membership test only: a projector of the set, and a network in front of it
//! that the objective has trained.

use fabproj_core::{AffineMap, KnownAnswers, Projector, Proposer, SolverWeights};

use super::black_box::Feasible;
use super::known;
use super::network::Task;
use super::plan::square;
use super::problem::Problem;
use super::reduced::Reduced;
use super::settings::SolveSettings;
use crate::train::{Event, Session, Settings, TrainError, train_weights};

/// The first step downhill of an answer, in units of the set's size.
const STRIDE: f64 = 0.5;
/// Shares of the whole training that are done after the projector, and after the network.
const PROJECTOR: f64 = 0.65;
const NETWORK: f64 = 0.9;

/// Trains the projector, then the network, and keeps answers that both together lead to.
pub(super) fn fit(
    problem: &Problem,
    settings: &SolveSettings,
    session: &Session,
) -> Result<SolverWeights, TrainError> {
    let reduced = Reduced::of(problem)?;
    let set = Feasible::of(problem)?;
    session.emit(&Event::Stage {
        name: "projector onto the set",
    });
    let preset = if settings.quick {
        Settings::quick()
    } else {
        Settings::default()
    };
    let recipe = Settings {
        seed: settings.seed,
        ..preset
    };
    let first = session.part(0.0, PROJECTOR);
    let projector = train_weights(&set, &recipe, &first)?.weights;
    session.count(first.queries());
    let unit = projector.frame.scale.iter().copied().fold(0.0, f32::max);
    let start = middle(&reduced);
    let x_range = problem.distribution().range(reduced.x_dim);
    let runner = Projector::new(&projector)?;
    let task = Task {
        problem,
        projector: &runner,
        set: &set,
        start: &start,
        x_range: &x_range,
        unit: f64::from(unit),
    };
    let network = task.train(settings, &session.part(PROJECTOR, NETWORK))?;
    let mut weights = SolverWeights {
        dim: reduced.dim,
        x_dim: reduced.x_dim,
        rows: problem.functions().rows(),
        bounds: reduced.bounds.to_vec(),
        anchor: start.clone(),
        start,
        multipliers: AffineMap::default(),
        metric: square(&reduced.basis, reduced.dim),
        watched: Vec::new(),
        pulls: Vec::new(),
        gram: Vec::new(),
        margins: Vec::new(),
        active: Vec::new(),
        steps: 0,
        linear: false,
        exact: false,
        near: None,
        x_range,
        proposer: Some(Proposer {
            projector,
            network: network.to_network(),
            tests: settings.tests,
            stride: STRIDE * f64::from(unit),
            known: KnownAnswers::default(),
        }),
        others: Vec::new(),
    };
    let known = known::collect(
        problem,
        (&weights, runner),
        settings,
        &session.part(NETWORK, 1.0),
    )?;
    if let Some(proposer) = &mut weights.proposer {
        proposer.known = known;
    }
    Ok(weights)
}

/// The point on the equations that is nearest to the middle of the bounds, as a map of x.
fn middle(reduced: &Reduced<'_>) -> AffineMap {
    let middle = reduced.bounds.iter().map(|(low, high)| 0.5 * (low + high));
    let middle: Vec<f64> = middle.collect();
    let mut x = vec![0.0; reduced.x_dim];
    let constant = reduced.nearest(&middle, &x);
    let mut by_x = vec![0.0; reduced.dim * x.len()];
    for column in 0..x.len() {
        x.fill(0.0);
        x[column] = 1.0;
        let moved = reduced.nearest(&middle, &x);
        for (row, (moved, constant)) in moved.iter().zip(&constant).enumerate() {
            by_x[row * x.len() + column] = moved - constant;
        }
    }
    AffineMap { constant, by_x }
}
