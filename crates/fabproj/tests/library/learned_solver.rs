//! Solvers of sets that can only be asked.

use fabproj::Membership;
use fabproj::set::FnSet;
use fabproj::solve::{
    self, FnFunctions, GapPlan, Problem, SolveError, SolveSettings, SolverModel, Tool,
};
use fabproj::{Session, TrainError};
use std::sync::atomic::AtomicBool;

/// A disc around the origin, less a smaller one that moves with x.
fn plate() -> FnSet {
    FnSet::new("plate", [(-2.0, 2.0); 2], |y, x| {
        y[0].hypot(y[1]) <= 1.5 && (y[0] - x[0]).hypot(y[1] - x[1]) >= 0.5
    })
    .with_x([(-1.0, 1.0); 2])
}

/// The nearest point to the hole's centre, and a wave on the way.
fn problem() -> Problem {
    let objective = FnFunctions::new([2, 2, 0], |y, x, _| {
        (y[0] - x[0]).hypot(y[1] - x[1]) + 0.1 * (3.0 * y[0]).sin()
    });
    Problem::asked_of(plate(), objective)
}

/// Shorter than a user's.
fn settings() -> SolveSettings {
    let mut settings = SolveSettings::default();
    settings.quick = true;
    settings.width = 48;
    settings.network_steps = 600;
    settings
}

#[test]
fn answers_are_tested_near_the_best_known_and_kept_in_a_file() {
    let problem = problem();
    let mut model = solve::train(&problem, &settings()).expect("a solver");
    let chosen = &model.record().training.chosen;
    assert_eq!((chosen.tool, chosen.failed), (Tool::Learned, 0));
    let mut plan = GapPlan::default();
    plan.samples = 40;
    let certificate = model
        .certify(&problem, &plan)
        .expect("a certificate")
        .clone();
    assert_eq!(certificate.feasible, 40);
    assert!(certificate.reference.contains("membership tests"));
    assert!(certificate.median < 0.05, "{certificate:?}");
    assert!(certificate.worst >= certificate.median && certificate.median >= 0.0);

    let file = tempfile::tempdir().expect("a temporary folder");
    let file = file.path().join("plate.safetensors");
    model.save(&file).expect("a file");
    let model = SolverModel::load(&file).expect("a model");
    let solver = model.solver(&problem).expect("a solver");
    let (y, answer) = solver.solve(&[0.3, -0.2]).expect("an answer");
    assert!(answer.outcome.is_verified() && plate().contains(&y, &[0.3, -0.2]));
    assert!(answer.objective < 0.7, "{}", answer.objective);
    let (_, answer) = solver.solve(&[5.0, 0.0]).expect("an answer");
    assert!(!answer.x_in_range);
}

#[test]
fn a_stopped_training_says_so() {
    let stop = AtomicBool::new(true);
    let stopped = solve::train_with(&problem(), &settings(), &Session::new().stop(&stop));
    assert!(matches!(stopped, Err(TrainError::Stopped)), "{stopped:?}");
}

#[test]
fn what_a_tool_needs_is_said() {
    let mut settings = settings();
    settings.tool = Some(Tool::Structured);
    let refused = solve::train(&problem(), &settings);
    assert!(matches!(
        refused,
        Err(TrainError::Solve(SolveError::NoSlopes))
    ));

    settings.tool = Some(Tool::Learned);
    let functions = FnFunctions::new([1, 0, 1], |y, _, c| {
        c[0] = y[0] - 1.0;
        y[0]
    });
    let refused = solve::train(&Problem::new("open", functions), &settings);
    assert!(matches!(
        refused,
        Err(TrainError::Solve(SolveError::NoBounds))
    ));
}
