//! From a problem to verified answers.

use fabproj::core::SolveOutcome;
use fabproj::set::{Equation, SetError};
use fabproj::solve::{
    self, FnFunctions, Functions, GapPlan, Problem, Quadratic, SolveSettings, SolverModel, Tool,
};
use fabproj::{Checkpoints, Event, FileError, Model, Session, TrainError};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::instances::{Family, RandomState, clarabel};

/// Answers at x of the family's own data set.
fn check(family: &Family, worst_allowed: f64) -> SolverModel {
    let problem = family.problem("family");
    let model =
        solve::train(&problem, &SolveSettings::default()).expect("a problem that can be solved");
    let solver = model
        .solver(&problem)
        .expect("a problem that can be solved");
    let x = family.x.chunks_exact(family.equations()).take(60);
    for x in x {
        let (y, answer) = solver.solve(x).expect("a problem that can be solved");
        assert!(answer.outcome.is_verified() && answer.x_in_range);
        assert!(family.off_equations(&y, x) < 1e-12);
        let mut constraints = vec![0.0; family.h.len()];
        let objective = family.values(&y, x, &mut constraints, &mut []);
        assert_eq!(objective, answer.objective);
        assert!(constraints.iter().all(|value| *value <= 0.0));
        if !family.sine {
            let optimum = clarabel(family, x, 1e-9).expect("a problem that can be solved");
            let gap = (objective - optimum) / optimum.abs();
            assert!(gap < worst_allowed && gap > -1e-7, "{gap:e}");
        }
    }
    model
}

#[test]
fn numpy_draws_the_same_numbers() {
    // np.random.seed(17); np.random.rand(3), and np.random.seed(17); np.random.normal(size=3)
    let mut random = RandomState::new(17);
    let expected = [0.294_665_00, 0.530_586_76, 0.191_520_79];
    for expected in expected {
        assert!((random.unit() - expected).abs() < 1e-8);
    }
    let mut random = RandomState::new(17);
    let expected = [0.276_265_89, -1.854_628_08, 0.623_901_11];
    for expected in expected {
        assert!((random.normal() - expected).abs() < 1e-8);
    }
}

#[test]
fn quadratic_programs_are_solved_exactly() {
    let model = check(&Family::dc3([20, 10, 10], false, 17), 1e-7);
    assert!(model.weights().exact && model.weights().linear);
    assert!(model.record().training.chosen.worst_gap < 1e-9);
}

#[test]
fn sines_in_the_objective() {
    let family = Family::dc3([20, 10, 10], true, 17);
    let mut model = check(&family, 1e-5);
    assert!(model.weights().linear && !model.weights().exact);
    let plan = GapPlan::default();
    let certificate = model.certify(&family.problem("family"), &plan).unwrap();
    assert_eq!((certificate.feasible, certificate.samples), (500, 500));
    assert!(certificate.worst < 1e-5, "{certificate:?}");
    assert!(certificate.mean <= certificate.percentile_99);
    assert!(certificate.percentile_99 <= certificate.worst);
}

#[test]
fn quadratic_constraints() {
    let model = check(&Family::qcqp([20, 10, 10], 2023), 1e-5);
    assert!(!model.weights().linear);
}

/// The gradient of weights · y with respect to x beside differences of optima that a search finds. Rows that
/// become active between the two ends have no gradient there; such x are left out.
fn check_pullback(problem: &Problem, x: &[Vec<f64>]) {
    let model = solve::train(problem, &SolveSettings::default()).expect("a trained solver");
    let solver = model.solver(problem).expect("the same problem");
    let mut workspace = solver.pullback_workspace();
    let delta: Vec<f64> = (0..solver.dim()).map(|i| (1.3 * i as f64).sin()).collect();
    let mut compared = 0;
    for x in x {
        let mut gradient = vec![f64::NAN; x.len()];
        let answer = solver.pullback(x, &delta, &mut gradient, &mut workspace);
        assert!(answer.expect("lengths that fit").outcome.is_verified());
        let (from, _) = solver.solve(x).expect("lengths that fit");
        let at = |i: usize, step: f64| {
            let mut x = x.clone();
            x[i] += step;
            let (y, _) = problem.local_optimum(&x, &from).expect("an optimum");
            y.iter().zip(&delta).map(|(y, d)| y * d).sum::<f64>()
        };
        for (i, found) in gradient.iter().enumerate() {
            let (step, here) = (1e-4, at(i, 0.0));
            let (above, below) = ((at(i, step) - here) / step, (here - at(i, -step)) / step);
            if (above - below).abs() < 1e-3 * (1.0 + above.abs()) {
                let expected = 0.5 * (above + below);
                let off = (found - expected).abs();
                assert!(off < 2e-3 * (1.0 + expected.abs()), "{found} {expected}");
                compared += 1;
            }
        }
    }
    assert!(2 * compared > x.len() * solver.x_dim(), "{compared}");
}

#[test]
fn gradients_of_answers_agree_with_differences() {
    // Linear rows, and an objective that is quadratic or not.
    for sine in [false, true] {
        let family = Family::dc3([20, 8, 10], sine, 3);
        let x: Vec<Vec<f64>> = family
            .x
            .chunks_exact(8)
            .take(5)
            .map(<[f64]>::to_vec)
            .collect();
        check_pullback(&family.problem("rows"), &x);
    }
    // A curved row that moves with x, bounds, and the cost vector in x.
    let functions = FnFunctions::new([3, 3, 1], |y, x, constraints| {
        constraints[0] = y[0] * y[0] + 2.0 * y[1] * y[1] + y[2] * y[2] - 2.0 - x[2];
        let square: f64 = y.iter().map(|y| 0.5 * y * y).sum();
        square + 0.1 * y[0].powi(4) + (x[0] - 3.0) * y[0] + x[1] * y[1]
            - 2.5 * y[2] * (1.0 + 0.2 * x[0])
    });
    let problem = Problem::new("curved", functions)
        .with_bounds(vec![(-2.0, 2.0), (-2.0, 0.3), (-2.0, 2.0)])
        .with_x([(-0.5, 0.5), (-2.0, 1.0), (-0.5, 0.5)]);
    let x: Vec<Vec<f64>> = (0..8)
        .map(|i| {
            let at = f64::from(i);
            vec![
                0.4 * at.sin(),
                -0.5 + 1.2 * at.cos(),
                0.3 * (2.0 * at).sin(),
            ]
        })
        .collect();
    check_pullback(&problem, &x);
}

/// ½ ‖y − t‖² with 200 random rows, in 50 dimensions, t = x.
#[test]
fn many_more_rows_than_dimensions_with_a_cost_that_varies() {
    let mut random = RandomState::new(5);
    let (dim, rows) = (20, 80);
    let g = random.many(rows * dim, RandomState::normal);
    let mut by_x = vec![0.0; dim * dim];
    (0..dim).for_each(|i| by_x[i * dim + i] = -1.0);
    let functions = Quadratic::diagonal(vec![1.0; dim], vec![0.0; dim], dim)
        .and_then(|one| one.with_linear_by_x(by_x))
        .and_then(|one| one.with_rows(g, vec![1.0; rows]))
        .unwrap();
    let problem = Problem::new("crowded", functions.clone()).with_x(vec![(-3.0, 3.0); dim]);
    let mut model = solve::train(&problem, &SolveSettings::default()).unwrap();
    assert!(model.weights().exact);
    let certificate = model.certify(&problem, &GapPlan::default()).unwrap();
    assert_eq!(certificate.feasible, certificate.samples);
    assert!(certificate.worst < 1e-9, "{certificate:?}");
}

#[test]
fn x_may_be_missing_or_always_the_same() {
    // The point of a disc nearest to (1, 2).
    let functions = |x_dim| {
        FnFunctions::new([2, x_dim, 1], |y, _, constraints| {
            constraints[0] = y[0] * y[0] + y[1] * y[1] - 1.0;
            (y[0] - 1.0).powi(2) + (y[1] - 2.0).powi(2)
        })
    };
    let bounds = [(-2.0, 2.0); 2];
    let without = Problem::new("disc", functions(0)).with_bounds(bounds);
    let same = Problem::new("disc", functions(1)).with_bounds(bounds);
    for (problem, x) in [
        (without, vec![]),
        (same.with_x_rows(vec![0.5; 40]), vec![0.5]),
    ] {
        let mut settings = SolveSettings::default();
        settings.labels = 20;
        let model = solve::train(&problem, &settings).unwrap();
        let (y, answer) = model.solver(&problem).unwrap().solve(&x).unwrap();
        assert!(answer.outcome.is_verified());
        let optimum = [1.0 / 5.0_f64.sqrt(), 2.0 / 5.0_f64.sqrt()];
        assert!(
            (y[0] - optimum[0]).abs() + (y[1] - optimum[1]).abs() < 1e-4,
            "{y:?}"
        );
    }
}

#[test]
fn bounds_and_rows_of_data() {
    // The point of a box nearest to x, where x comes as rows.
    let functions = FnFunctions::new([3, 3, 0], |y, x, _| {
        y.iter().zip(x).map(|(y, x)| (y - x) * (y - x)).sum()
    });
    let rows: Vec<f64> = (0..900).map(|i| 2.0 * (f64::from(i) * 0.7).sin()).collect();
    let infinite = f64::INFINITY;
    let problem = Problem::new("box", functions)
        .with_bounds([(-1.0, 1.0), (-infinite, 0.5), (0.0, infinite)])
        .with_x_rows(rows.clone());
    let mut drawn: Vec<Vec<f64>> = problem
        .draw_x(400, 1)
        .chunks(3)
        .map(<[f64]>::to_vec)
        .collect();
    assert_eq!(drawn.len(), 300);
    drawn.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let mut all: Vec<Vec<f64>> = rows.chunks(3).map(<[f64]>::to_vec).collect();
    all.sort_by(|a, b| a.partial_cmp(b).unwrap());
    assert_eq!(drawn, all);
    let model = solve::train(&problem, &SolveSettings::default()).unwrap();
    let solver = model.solver(&problem).unwrap();
    let (y, answer) = solver.solve(&[1.5, -1.2, -0.4]).unwrap();
    assert_eq!(answer.outcome, SolveOutcome::Solved);
    for (y, expected) in y.iter().zip([1.0, -1.2, 0.0]) {
        assert!((y - expected).abs() < 1e-6, "{y} but {expected}");
    }
    assert!(!solver.solve(&[3.0, 0.0, 0.0]).unwrap().1.x_in_range);
    let (_, answer) = solver.solve(&[f64::NAN, 0.0, 0.0]).unwrap();
    assert_eq!(answer.outcome, SolveOutcome::NotFinite);
    assert!(solver.solve(&[0.0; 2]).is_err());
}

#[test]
fn files_keep_every_bit_and_say_what_they_are() {
    let family = Family::qcqp([8, 3, 4], 1);
    let problem = family.problem("small");
    let mut model = solve::train(&problem, &SolveSettings::default()).unwrap();
    model.certify(&problem, &GapPlan::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.safetensors");
    model.save(&path).unwrap();
    assert_eq!(SolverModel::load(&path).unwrap(), model);
    assert_eq!(
        solve::train(&problem, &SolveSettings::default())
            .unwrap()
            .weights(),
        model.weights(),
        "the same seed gives the same weights"
    );
    let error = Model::load(&path).unwrap_err();
    assert!(matches!(error, FileError::OtherKind { .. }));
    assert!(
        error.to_string().contains("`fabproj solve` runs it"),
        "{error}"
    );
    let disc = fabproj::core::LatentSet::Ball {
        radius: 0.5,
        smooth: None,
    };
    let projector = fabproj::core::Weights::identity(2, disc)
        .to_bytes()
        .unwrap();
    let error = SolverModel::from_bytes(&projector).unwrap_err();
    assert!(error.to_string().contains("no solver"), "{error}");
    let bytes = model.to_bytes().unwrap();
    for cut in [0, 7, 100, bytes.len() / 2, bytes.len() - 1] {
        assert!(SolverModel::from_bytes(&bytes[..cut]).is_err());
    }
}

#[test]
fn a_stopped_training_goes_on_to_the_same_bits() {
    let problem = Family::dc3([10, 4, 4], true, 3).problem("stopped");
    let settings = SolveSettings::default();
    let whole = solve::train(&problem, &settings).unwrap();
    let checkpoints = Checkpoints::memory();
    let stop = AtomicBool::new(false);
    let optima = AtomicU64::new(0);
    let watch = |event: &Event| {
        if let Event::Progress { step, .. } = event {
            optima.store(*step, Ordering::Relaxed);
            stop.store(*step >= 100, Ordering::Relaxed);
        }
    };
    let session = Session::new()
        .observe(watch)
        .stop(&stop)
        .checkpoints(&checkpoints);
    let stopped = solve::train_with(&problem, &settings, &session);
    assert!(matches!(stopped, Err(TrainError::Stopped)));
    let done = optima.load(Ordering::Relaxed);
    let first = AtomicU64::new(u64::MAX);
    let watch = |event: &Event| {
        if let Event::Progress { step, .. } = event {
            first.fetch_min(*step, Ordering::Relaxed);
        }
    };
    let session = Session::new().observe(watch).checkpoints(&checkpoints);
    let mut other = settings.clone();
    other.seed = 1;
    let refused = solve::train_with(&problem, &other, &session);
    assert!(matches!(refused, Err(TrainError::OtherTraining { .. })));
    assert_eq!(
        solve::train_with(&problem, &settings, &session).unwrap(),
        whole
    );
    assert!(
        first.load(Ordering::Relaxed) > done,
        "what was done is not done again"
    );
}

#[test]
fn an_x_without_feasible_point_is_reported() {
    // y ≤ x and y ≥ 0.
    let functions = Quadratic::diagonal(vec![1.0], vec![1.0], 1)
        .and_then(|one| one.with_rows(vec![1.0, -1.0], vec![0.0, 0.0]))
        .and_then(|one| one.with_limits_by_x(vec![1.0, 0.0]))
        .unwrap();
    let problem = Problem::new("empty", functions).with_x([(-0.1, 1.0)]);
    let model = solve::train(&problem, &SolveSettings::default()).unwrap();
    assert!(model.record().training.without_label > 0);
    let solver = model.solver(&problem).unwrap();
    let (_, answer) = solver.solve(&[0.5]).unwrap();
    assert!(answer.outcome.is_verified());
    let (_, answer) = solver.solve(&[-0.05]).unwrap();
    assert_eq!(answer.outcome, SolveOutcome::MaybeInfeasible);
}

#[test]
fn problems_that_cannot_be_solved() {
    let train = |problem: Problem| {
        solve::train(&problem, &SolveSettings::default()).expect_err("no solver")
    };
    let falling = Quadratic::diagonal(vec![0.0, 1.0], vec![-1.0, 0.0], 0).unwrap();
    let error = train(Problem::new("unbounded", falling.clone()));
    assert!(matches!(error, TrainError::Unbounded { .. }), "{error}");
    let error = train(
        Problem::new("nowhere", falling.clone()).with_equations(vec![
            Equation {
                normal: vec![1.0, 1.0],
                constant: 1.0,
                slopes: vec![],
            },
            Equation {
                normal: vec![1.0, 1.0],
                constant: 2.0,
                slopes: vec![],
            },
        ]),
    );
    assert!(
        matches!(error, TrainError::Set(SetError::Equations { .. })),
        "{error}"
    );
    let contradiction = falling
        .with_rows(vec![1.0, 0.0, -1.0, 0.0], vec![-1.0, -1.0])
        .unwrap();
    let error = train(Problem::new("empty", contradiction));
    assert!(matches!(error, TrainError::Infeasible { .. }), "{error}");
    let error = Quadratic::diagonal(vec![1.0, f64::NAN], vec![0.0; 2], 0).unwrap_err();
    assert!(
        matches!(error, SetError::NotFinite { index: 1, .. }),
        "{error}"
    );
    let error = Quadratic::dense(vec![1.0; 3], vec![0.0; 2], 0).unwrap_err();
    assert_eq!(error.to_string(), "Q: expected 4 values, found 3");
    let one = Quadratic::diagonal(vec![1.0], vec![0.0], 1).unwrap();
    let error = train(Problem::new("x", one.clone()).with_x([(1.0, -1.0)]));
    assert!(
        matches!(error, TrainError::Set(SetError::Interval { .. })),
        "{error}"
    );
    let error = train(Problem::new("x", one).with_x_rows(vec![]));
    assert!(
        matches!(error, TrainError::Set(SetError::Length { .. })),
        "{error}"
    );
}

#[test]
fn problem_files_are_trained_saved_and_built_again() {
    let text = r#"
        name = "dispatch"
        y = 3
        bounds = [0.0, 5.0]
        x = 1
        x_bounds = [1.0, 4.0]
        arrays = { cost = [1.0, 2.0, 4.0] }
        [objective]
        minimise = "cost @ y^2"
        [[constraint]]
        expr = "sum(y) == x[0]"
        [[constraint]]
        expr = "y[0] <= 1 + y[1]"
    "#;
    let problem = Problem::from_toml(text).unwrap();
    let model = solve::train(&problem, &SolveSettings::default()).unwrap();
    let model = SolverModel::from_bytes(&model.to_bytes().unwrap()).unwrap();
    let problem = model.problem().unwrap();
    let solver = model.solver(&problem).unwrap();
    for step in 0..=30 {
        let x = 1.0 + 0.1 * f64::from(step);
        let (y, answer) = solver.solve(&[x]).unwrap();
        assert!(answer.outcome.is_verified());
        assert!((y.iter().sum::<f64>() - x).abs() < 1e-12 && y[0] <= 1.0 + y[1]);
        // Without the constraint each marginal cost 2 c y is the same: y = x (4, 2, 1) / 7.
        let expected = [4.0, 2.0, 1.0].map(|part| x * part / 7.0);
        if expected[0] < 0.99 + expected[1] {
            for (y, expected) in y.iter().zip(expected) {
                assert!((y - expected).abs() < 1e-6, "{x}: {y} but {expected}");
            }
        } else if expected[0] > 1.01 + expected[1] {
            assert!((y[0] - y[1] - 1.0).abs() < 1e-6);
        }
    }
}

/// Without a look at the other tool.
fn structured() -> SolveSettings {
    let mut settings = SolveSettings::default();
    settings.tool = Some(Tool::Structured);
    settings
}

/// A problem of two variables within ±2, from a text.
fn two(objective: &str, constraint: &str) -> Problem {
    let text = format!(
        "y = 2\nbounds = [-2.0, 2.0]\n[objective]\nminimise = \"{objective}\"\n\
         [[constraint]]\nexpr = \"{constraint}\"\n"
    );
    Problem::from_toml(&text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_search_does_not_end_where_it_begins() {
    // The middle of the bounds is a maximum, a saddle, no feasible point, or has no objective.
    let cases = [
        ("-y @ y", "y[1] <= 1", -8.0),
        ("y[0] * y[1]", "y[1] <= 1", -2.0),
        ("y[0]", "y @ y >= 1", -2.0),
        ("1 / y[0] + y[1]^2", "y[0] >= 0.5", 0.5),
    ];
    for (objective, constraint, least) in cases {
        let model = solve::train(&two(objective, constraint), &structured());
        let model = model.unwrap_or_else(|error| panic!("{objective}: {error}"));
        let problem = model.problem().expect("a text");
        let solver = model.solver(&problem).expect("weights that run");
        let (_, answer) = solver.solve(&[]).expect("no x");
        assert!(answer.outcome.is_verified(), "{objective}");
        // The product has a second, lower optimum, which not every start leads to.
        assert!(answer.objective < least + 1e-5, "{objective}: {answer:?}");
    }
}

/// One optimum at each end; the sign of x says which is better.
fn two_ends() -> Problem {
    let text = "y = 1\nbounds = [-1.0, 1.0]\nx = 1\nx_bounds = [-1.0, 1.0]\n[objective]\n\
                minimise = \"0.2 * x[0] * y[0] + 0.5 - 0.5 * y[0]^2\"\n[[constraint]]\nexpr = \"y[0] <= 2\"\n";
    Problem::from_toml(text).expect("a problem")
}

#[test]
fn a_solver_answers_with_the_better_of_two_optima() {
    let problem = two_ends();
    let model = solve::train(&problem, &structured()).expect("a solver");
    assert_eq!(model.weights().others.len(), 1);
    let solver = model.solver(&problem).expect("weights that run");
    for (x, best) in [(-0.9, 1.0), (-0.1, 1.0), (0.1, -1.0), (0.9, -1.0)] {
        let (y, answer) = solver.solve(&[x]).expect("one x");
        assert!(answer.outcome.is_verified());
        assert!((y[0] - best).abs() < 1e-6, "{x}: {y:?}");
    }
    let bytes = model.to_bytes().expect("a file");
    assert_eq!(
        solve::SolverModel::from_bytes(&bytes).expect("a solver"),
        model
    );
}

#[test]
fn a_certificate_sees_what_a_local_optimum_misses() {
    let problem = two_ends();
    // Where the left end is always the better one.
    let narrow = problem.clone().with_x([(0.5, 1.0)]);
    let mut model = solve::train(&narrow, &structured()).expect("a solver");
    let certificate = model
        .certify(&problem, &GapPlan::default())
        .expect("optima");
    assert!(certificate.worst > 0.1, "{certificate:?}");
    let (stop, mut plan) = (AtomicBool::new(true), GapPlan::default());
    plan.stop = Some(&stop);
    let stopped = model.certify(&problem, &plan);
    assert_eq!(stopped, Err(fabproj::CertifyError::Stopped));
}
