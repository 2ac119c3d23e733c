//! The learned tool: problems whose set has a membership test only.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fabproj::set::FnSet;
use fabproj::solve::{self, FnFunctions, GapPlan, Problem, SolveSettings, SolverModel, Tool};
use fabproj::{Checkpoints, Event, Membership, Session, TrainError};

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
    Problem::from_set(plate(), objective)
}

/// Shorter than a user's.
fn settings() -> SolveSettings {
    let mut settings = SolveSettings::default();
    settings.quick = true;
    settings.width = 32;
    settings.network_steps = 600;
    settings
}

#[test]
fn answers_pass_the_test_near_the_best_known_and_survive_a_file() {
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
    let known = &model.weights().proposer.as_ref().expect("a network").known;
    assert_eq!((known.y.len(), known.nearest), (2 * 512, 32));
    let entries = known.y.chunks_exact(2).zip(known.x.chunks_exact(2));
    assert!(entries.into_iter().all(|(y, x)| plate().contains(y, x)));
    assert!(certificate.reference.contains("multi-start local search"));
    assert!(certificate.median < 0.05, "{certificate:?}");
    assert!(certificate.worst >= certificate.median && certificate.median >= 0.0);

    let file = tempfile::tempdir().expect("a temporary folder");
    let file = file.path().join("plate.safetensors");
    model.save(&file).expect("a file");
    let read = SolverModel::load(&file).expect("a model");
    assert_eq!(read, model);
    let solver = read.solver(&problem).expect("a solver");
    let (y, answer) = solver.solve(&[0.3, -0.2]).expect("an answer");
    assert!(answer.outcome.is_verified() && plate().contains(&y, &[0.3, -0.2]));
    assert!(answer.objective < 0.7, "{}", answer.objective);
    let (_, answer) = solver.solve(&[5.0, 0.0]).expect("an answer");
    assert!(!answer.x_in_range);
}

#[test]
fn a_training_stops_soon_and_resumes_to_the_same_bits() {
    let (problem, settings) = (problem(), settings());
    let whole = solve::train(&problem, &settings).expect("a solver");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let checkpoints = Checkpoints::folder(folder.path()).expect("checkpoints");
    // Once in the projector, once in the network, once among the known answers.
    for part in [None, Some("network"), Some("known")] {
        let stop = AtomicBool::new(false);
        let since = std::sync::Mutex::new(None);
        let session = Session::new()
            .checkpoints(&checkpoints)
            .stop(&stop)
            .observe(|event| {
                if let Event::Progress { unit: at, .. } = event
                    && part.is_none_or(|part| part == *at)
                    && !stop.swap(true, Ordering::Relaxed)
                {
                    *since.lock().expect("a time") = Some(Instant::now());
                }
            });
        let stopped = solve::train_with(&problem, &settings, &session);
        assert!(matches!(stopped, Err(TrainError::Stopped)), "{stopped:?}");
        let since = since.lock().expect("a time").expect("it was stopped");
        assert!(since.elapsed() < Duration::from_secs(2));
    }
    let session = Session::new().checkpoints(&checkpoints);
    let resumed = solve::train_with(&problem, &settings, &session).expect("a solver");
    assert_eq!(resumed, whole);
}

#[test]
fn without_x_one_known_answer_is_kept_and_none_where_none_is_wanted() {
    let ring = |y: &[f64], _: &[f64]| (0.5..=1.5).contains(&y[0].hypot(y[1]));
    let objective = FnFunctions::new([2, 0, 0], |y, _, _| (y[0] - 0.1).hypot(y[1]));
    let problem = Problem::from_set(FnSet::new("ring", [(-2.0, 2.0); 2], ring), objective);
    let mut settings = settings();
    settings.network_steps = 100;
    for (wanted, found) in [(None, 1), (Some(0), 0)] {
        settings.known = wanted;
        let model = solve::train(&problem, &settings).expect("a solver");
        let known = &model.weights().proposer.as_ref().expect("a network").known;
        assert_eq!((known.y.len(), known.nearest), (2 * found, found));
        let solver = model.solver(&problem).expect("a solver");
        let (_, answer) = solver.solve(&[]).expect("an answer");
        assert!(answer.outcome.is_verified() && answer.objective < 0.45);
    }
}

/// As a program has it that knows of constraint functions only: no tool is asked for.
#[test]
fn a_constraint_of_two_values_is_learned() {
    let functions = FnFunctions::new([2, 2, 1], |y, x, constraints| {
        let finite = y.iter().all(|y| y.is_finite());
        constraints[0] = if finite && plate().contains(y, x) {
            -1.0
        } else {
            1.0
        };
        (y[0] - x[0]).hypot(y[1] - x[1])
    });
    let problem = Problem::new("plate", functions)
        .with_bounds([(-2.0, 2.0); 2])
        .with_x([(-1.0, 1.0); 2]);
    let model = solve::train(&problem, &settings()).expect("a solver");
    let training = &model.record().training;
    assert_eq!(
        (training.chosen.tool, training.chosen.failed),
        (Tool::Learned, 0)
    );
    assert!(
        training.reference.contains("structured tool"),
        "{training:?}"
    );
}

#[test]
fn what_a_tool_needs_is_said() {
    let mut settings = settings();
    settings.tool = Some(Tool::Structured);
    let refused = solve::train(&problem(), &settings);
    assert!(
        matches!(refused, Err(TrainError::NoGradient)),
        "{refused:?}"
    );

    settings.tool = Some(Tool::Learned);
    let functions = FnFunctions::new([1, 0, 1], |y, _, c| {
        c[0] = y[0] - 1.0;
        y[0]
    });
    let refused = solve::train(&Problem::new("open", functions), &settings);
    let message = refused.expect_err("no bounds").to_string();
    assert!(message.contains("bounds of y"), "{message}");

    settings.heads = 0;
    let message = solve::train(&problem(), &settings)
        .expect_err("no heads")
        .to_string();
    assert!(message.contains("heads = 0"), "{message}");

    let beside = FnFunctions::new([2, 2, 1], |_, _, _| 0.0);
    let message = Problem::from_set(plate(), beside)
        .check()
        .expect_err("a row")
        .to_string();
    assert!(
        message.contains("constraints of the objective"),
        "{message}"
    );
}
