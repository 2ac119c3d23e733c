//! Answers of a solver with weights made by hand: half the squared distance to x, over a set.

use fabproj_core::{
    AffineMap, Answer, CallError, FormatError, Functions, LatentSet, SolveOutcome, Solver,
    SolverWeights, Weights, WeightsError,
};

use crate::common::counting::counted;

/// ½ ‖y − x‖² within a ring: 1 ≤ ‖y‖² ≤ 4, and y0 ≤ 1.5. Fails left of -3, as a simulation might.
struct Ring;

impl Functions for Ring {
    fn dim(&self) -> usize {
        2
    }
    fn x_dim(&self) -> usize {
        2
    }
    fn rows(&self) -> usize {
        3
    }
    fn values(&self, y: &[f64], x: &[f64], constraints: &mut [f64], _: &mut [f64]) -> f64 {
        let square = y[0] * y[0] + y[1] * y[1];
        constraints.copy_from_slice(&[square - 4.0, 1.0 - square, y[0] - 1.5]);
        if y[0] < -3.0 {
            return f64::NAN;
        }
        0.5 * ((y[0] - x[0]).powi(2) + (y[1] - x[1]).powi(2))
    }
    fn gradient(&self, y: &[f64], x: &[f64], weights: &[f64], gradient: &mut [f64], _: &mut [f64]) {
        for i in 0..2 {
            gradient[i] = y[i] - x[i] + 2.0 * (weights[0] - weights[1]) * y[i];
        }
        gradient[0] += weights[2];
    }
    fn slopes(&self, y: &[f64], _: &[f64], d: &[f64], slopes: &mut [f64], _: &mut [f64]) {
        let along = 2.0 * (y[0] * d[0] + y[1] * d[1]);
        slopes.copy_from_slice(&[along, -along, d[0]]);
    }
}

/// Made around the point (0, 1.9). The Hessian of the Lagrangian is between 1 and 2 times the identity.
fn weights() -> SolverWeights {
    let metric = 1.0 / 1.5;
    let slopes = [0.0, 3.8, 0.0, -3.8, 1.0, 0.0];
    let rows: Vec<&[f64]> = slopes.chunks_exact(2).collect();
    let product = |a: &[f64], b: &[f64]| metric * (a[0] * b[0] + a[1] * b[1]);
    let gram = rows.iter().flat_map(|a| rows.iter().map(|b| product(a, b)));
    SolverWeights {
        dim: 2,
        x_dim: 2,
        rows: 3,
        bounds: vec![(-2.5, 2.5), (-2.5, f64::INFINITY)],
        start: AffineMap {
            constant: vec![0.0, 1.9],
            by_x: vec![0.0; 4],
        },
        multipliers: AffineMap::default(),
        anchor: AffineMap {
            constant: vec![0.0, 1.5],
            by_x: vec![0.0; 4],
        },
        metric: vec![metric, 0.0, 0.0, metric],
        watched: vec![0, 1, 2],
        gram: gram.collect(),
        pulls: slopes.map(|slope| metric * slope).to_vec(),
        margins: vec![0.0; 3],
        active: vec![0],
        steps: 6,
        linear: false,
        exact: false,
        near: None,
        x_range: vec![(-1.0, 1.0), (1.0, 4.0)],
        proposer: None,
        others: vec![],
    }
}

#[test]
fn answers_are_feasible_and_near_the_best() {
    let solver = Solver::new(weights(), Ring).unwrap();
    for i in 0..200 {
        let x = [
            (f64::from(i) * 0.7).sin(),
            2.5 + 1.4 * (f64::from(i) * 1.3).sin(),
        ];
        let (y, answer) = solver.solve(&x).unwrap();
        assert!(answer.outcome.is_verified() && answer.x_in_range);
        let square = y[0] * y[0] + y[1] * y[1];
        assert!((1.0..=4.0).contains(&square) && y[0] <= 1.5);
        let length = x[0].hypot(x[1]);
        let best = 0.5 * (length - length.min(2.0)).powi(2);
        assert!(
            answer.objective < best + 0.02,
            "{x:?}: {} but {best}",
            answer.objective
        );
    }
}

/// A ring whose outer circle is measured from where the last measurement ended: a simulation with a tolerance.
struct Measured;

impl Functions for Measured {
    fn dim(&self) -> usize {
        2
    }
    fn x_dim(&self) -> usize {
        2
    }
    fn rows(&self) -> usize {
        3
    }
    fn memory(&self) -> usize {
        1
    }
    fn values(&self, y: &[f64], x: &[f64], constraints: &mut [f64], memory: &mut [f64]) -> f64 {
        let objective = Ring.values(y, x, constraints, &mut []);
        constraints[0] += 1e-9 * (1.0 - memory[0]);
        memory[0] = 1.0;
        objective
    }
    fn gradient(&self, y: &[f64], x: &[f64], weights: &[f64], gradient: &mut [f64], _: &mut [f64]) {
        Ring.gradient(y, x, weights, gradient, &mut []);
    }
    fn slopes(&self, y: &[f64], x: &[f64], d: &[f64], slopes: &mut [f64], _: &mut [f64]) {
        Ring.slopes(y, x, d, slopes, &mut []);
    }
}

#[test]
fn answers_are_feasible_to_whoever_evaluates_them_alone() {
    for near in [None, Some(1e-7)] {
        let weights = SolverWeights { near, ..weights() };
        let solver = Solver::new(weights, Measured).unwrap();
        for i in 0..200 {
            let turn = f64::from(i) * 0.7;
            let x = [3.0 * turn.sin(), 2.5 + 1.4 * (1.9 * turn).sin()];
            let (y, answer) = solver.solve(&x).unwrap();
            assert!(answer.outcome.is_verified(), "{x:?}");
            let mut constraints = [0.0; 3];
            Measured.values(&y, &x, &mut constraints, &mut [0.0]);
            assert!(
                constraints.iter().all(|c| *c <= 0.0),
                "{x:?} {constraints:?}"
            );
        }
    }
}

#[test]
fn a_search_follows_steps_that_do_not_settle() {
    let mut careful = weights();
    careful.near = Some(1e-7);
    let careful = Solver::new(careful, Ring).unwrap();
    let mut searched = 0;
    for i in 0..200 {
        let turn = f64::from(i) * 0.7;
        let x = [3.0 * turn.sin(), 2.5 + 1.4 * (1.9 * turn).sin()];
        let (y, answer) = careful.solve(&x).unwrap();
        assert!(answer.outcome.is_verified(), "{x:?}: {}", answer.outcome);
        let square = y[0] * y[0] + y[1] * y[1];
        assert!((1.0..=4.0).contains(&square) && y[0] <= 1.5);
        searched += usize::from(answer.searched);
        // The nearest point of the disc, or of its chord at 1.5.
        let length = x[0].hypot(x[1]);
        let radial = [
            x[0] / length * 2.0_f64.min(length),
            x[1] / length * 2.0_f64.min(length),
        ];
        let high = 1.75_f64.sqrt();
        let best = if radial[0] > 1.5 {
            [1.5, x[1].clamp(-high, high)]
        } else {
            radial
        };
        let best = 0.5 * ((x[0] - best[0]).powi(2) + (x[1] - best[1]).powi(2));
        // Steps end when they are short, and a pull before the boundary.
        let most = if answer.searched { 1e-8 } else { 1e-5 };
        let gap = answer.objective - best;
        assert!(gap < most, "{x:?}: {y:?} {gap:e}, {answer:?}");
    }
    assert!((10..200).contains(&searched), "{searched}");
}

#[test]
fn x_far_outside_is_flagged_and_answered() {
    let solver = Solver::new(weights(), Ring).unwrap();
    for x in [[100.0, -50.0], [-40.0, 3.0], [0.0, 1e9], [-1e100, 1e100]] {
        let (y, answer) = solver.solve(&x).unwrap();
        assert!(!answer.x_in_range);
        assert!(answer.outcome.is_verified(), "{x:?}: {}", answer.outcome);
        let square = y[0] * y[0] + y[1] * y[1];
        assert!((1.0..=4.0).contains(&square) && y[0] <= 1.5);
    }
    let (y, answer) = solver.solve(&[f64::INFINITY, 0.0]).unwrap();
    assert_eq!(answer.outcome, SolveOutcome::NotFinite);
    assert!(y.iter().all(|y| y.is_finite()) && answer.objective.is_nan());
}

#[test]
fn without_a_feasible_point_the_least_violating_is_returned() {
    let mut empty = weights();
    empty.bounds = vec![(-0.5, 0.5), (-0.5, 0.5)];
    let solver = Solver::new(empty, Ring).unwrap();
    let (_, answer) = solver.solve(&[0.0, 2.0]).unwrap();
    assert_eq!(answer.outcome, SolveOutcome::MaybeInfeasible);
    assert!(!answer.outcome.is_verified());
}

/// ½ (y − x)² where y² ≥ 4. Fails right of 0, as a simulation might.
struct Brittle;

impl Functions for Brittle {
    fn dim(&self) -> usize {
        1
    }
    fn x_dim(&self) -> usize {
        1
    }
    fn rows(&self) -> usize {
        1
    }
    fn values(&self, y: &[f64], x: &[f64], constraints: &mut [f64], _: &mut [f64]) -> f64 {
        constraints[0] = 4.0 - y[0] * y[0];
        if y[0] > 0.0 {
            return f64::NAN;
        }
        0.5 * (y[0] - x[0]).powi(2)
    }
    fn gradient(&self, y: &[f64], x: &[f64], weights: &[f64], gradient: &mut [f64], _: &mut [f64]) {
        gradient[0] = match y[0] > 0.0 {
            true => f64::NAN,
            false => y[0] - x[0] - 2.0 * weights[0] * y[0],
        };
    }
    fn slopes(&self, y: &[f64], _: &[f64], d: &[f64], slopes: &mut [f64], _: &mut [f64]) {
        slopes[0] = -2.0 * y[0] * d[0];
    }
}

#[test]
fn where_a_search_finds_nothing_another_starts_at_the_anchor() {
    let constant = |value| AffineMap {
        constant: vec![value],
        by_x: vec![0.0],
    };
    let weights = SolverWeights {
        dim: 1,
        x_dim: 1,
        rows: 1,
        bounds: vec![(-4.0, 4.0)],
        start: constant(1.0),
        // Not feasible itself, so that no pull leads inside.
        anchor: constant(-1.5),
        metric: vec![1.0],
        watched: vec![0],
        gram: vec![1.0],
        pulls: vec![1.0],
        margins: vec![0.0],
        active: vec![],
        steps: 1,
        near: Some(1e-7),
        x_range: vec![(0.0, 2.0)],
        ..weights()
    };
    let solver = Solver::new(weights, Brittle).unwrap();
    let (y, answer) = solver.solve(&[1.0]).unwrap();
    assert!(
        answer.outcome.is_verified() && answer.searched,
        "{answer:?}"
    );
    assert!((y[0] + 2.0).abs() < 1e-6, "{y:?}");
}

#[test]
fn calls_do_not_allocate_and_rows_equal_points() {
    let solver = Solver::new(weights(), Ring).unwrap();
    let mut workspace = solver.workspace();
    let rows = 50_i32;
    let x: Vec<f64> = (0..2 * rows)
        .map(|i| 2.0 + (f64::from(i) * 0.9).sin())
        .collect();
    let rows = rows as usize;
    let mut y = vec![0.0; 2 * rows];
    let mut answers = vec![Answer::default(); rows];
    let (result, count) =
        counted(|| solver.solve_rows_into(&x, &mut y, &mut answers, &mut workspace));
    result.unwrap();
    assert_eq!(count.allocations, 0);
    for (row, x) in x.chunks_exact(2).enumerate() {
        let (point, answer) = solver.solve(x).unwrap();
        assert_eq!((&point[..], answer), (&y[2 * row..][..2], answers[row]));
    }
}

#[test]
fn misuse_is_refused() {
    let solver = Solver::new(weights(), Ring).unwrap();
    let error = solver.solve(&[0.0]).unwrap_err();
    assert!(matches!(
        error,
        CallError::Length {
            argument: "x",
            expected: 2,
            found: 1
        }
    ));
    let mut other = weights();
    (other.watched, other.active) = (vec![0], vec![]);
    (other.pulls, other.gram, other.margins) = (vec![0.0, 3.8], vec![14.44], vec![0.0]);
    let other = Solver::new(other, Ring).unwrap();
    let error = solver.solve_into(&[0.0; 2], &mut [0.0; 2], &mut other.workspace());
    assert_eq!(error.unwrap_err(), CallError::Workspace);
    let faults: [fn(&mut SolverWeights); 6] = [
        |weights| weights.gram[3] = f64::NAN,
        |weights| weights.watched[2] = 1,
        |weights| weights.watched[2] = 99,
        |weights| weights.active.push(7),
        |weights| weights.margins.truncate(2),
        |weights| weights.rows = 4,
    ];
    for fault in faults {
        let mut bad = weights();
        fault(&mut bad);
        assert!(Solver::new(bad, Ring).is_err());
    }
    assert!(matches!(
        SolverWeights {
            dim: 0,
            ..weights()
        }
        .validate(),
        Err(WeightsError::Empty { .. })
    ));
}

/// The same with a start on the other side of the ring.
fn both_sides() -> SolverWeights {
    let mut below = weights();
    below.start.constant[1] = -1.9;
    below.anchor.constant[1] = -1.5;
    for row in below.pulls.chunks_exact_mut(2) {
        row[1] = -row[1];
    }
    // Between the last row and the others there is no product along y1.
    SolverWeights {
        others: vec![below],
        ..weights()
    }
}

#[test]
fn the_best_of_several_basins_is_the_answer() {
    let (one, both) = (
        Solver::new(weights(), Ring).unwrap(),
        Solver::new(both_sides(), Ring).unwrap(),
    );
    let mut workspace = both.workspace();
    let mut y = [0.0; 2];
    for x in [[0.2, 3.0], [0.2, -3.0], [-0.3, 3.5], [0.4, -2.4]] {
        let (answer, count) = counted(|| both.solve_into(&x, &mut y, &mut workspace).unwrap());
        assert!(count.allocations == 0 && answer.outcome.is_verified());
        let best = 0.5 * (x[0].hypot(x[1]) - 2.0).powi(2);
        assert!((answer.objective - best).abs() < 0.01, "{x:?} {answer:?}");
        let (_, alone) = one.solve(&x).unwrap();
        assert!(x[1] > 0.0 || alone.objective > answer.objective + 1.0);
    }
    // Its gradient is that of the basin which answered.
    let mut weights = both_sides();
    (weights.steps, weights.others[0].steps) = (60, 60);
    let solver = Solver::new(weights, Ring).unwrap();
    let mut gradient = [0.0; 2];
    let mut workspace = solver.pullback_workspace();
    let x = [0.4, -3.0];
    solver
        .pullback(&x, &[1.0, 0.0], &mut gradient, &mut workspace)
        .unwrap();
    // y0 = 2 x0 / |x|
    let expected = 2.0 * x[1] * x[1] / x[0].hypot(x[1]).powi(3);
    assert!(
        (gradient[0] - expected).abs() < 1e-5,
        "{} but {expected}",
        gradient[0]
    );
}

#[test]
fn another_basin_must_be_one_of_the_same_problem() {
    let faults: [fn(&mut SolverWeights); 4] = [
        |other| other.bounds[0].1 = 9.0,
        |other| other.watched[2] = 4,
        |other| other.others = vec![weights()],
        |other| other.gram[3] = f64::NAN,
    ];
    for fault in faults {
        let mut bad = both_sides();
        fault(&mut bad.others[0]);
        assert!(bad.validate().is_err());
    }
}

#[test]
fn files_keep_every_bit() {
    let bytes = both_sides().to_bytes().unwrap();
    assert_eq!(SolverWeights::from_bytes(&bytes).unwrap(), both_sides());
    let bytes = weights().to_bytes().unwrap();
    assert_eq!(SolverWeights::from_bytes(&bytes).unwrap(), weights());
    assert_eq!(
        Weights::from_bytes(&bytes).unwrap_err(),
        FormatError::Solver
    );
    let disc = LatentSet::Ball {
        radius: 0.5,
        smooth: None,
    };
    let projector = Weights::identity(2, disc).to_bytes().unwrap();
    assert_eq!(
        SolverWeights::from_bytes(&projector).unwrap_err(),
        FormatError::NoSolver
    );
    // Every byte that can be wrong is refused or gives weights that validate.
    for place in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x5A;
        if let Ok(read) = SolverWeights::from_bytes(&damaged) {
            read.validate().unwrap();
        }
    }
}

/// Weights that are exact only to first order: many steps, so that answers are optima to many digits.
fn precise() -> Solver<Ring> {
    let mut weights = weights();
    weights.steps = 60;
    Solver::new(weights, Ring).expect("valid weights")
}

#[test]
fn the_gradient_to_x_agrees_with_differences() {
    let solver = precise();
    let mut workspace = solver.pullback_workspace();
    let delta = [0.7, -1.3];
    let value = |x: &[f64; 2]| {
        let (y, answer) = solver.solve(x).unwrap();
        assert!(answer.outcome.is_verified());
        delta[0] * y[0] + delta[1] * y[1]
    };
    // Inside; at the outer circle; at its corner with y0 = 1.5; at y0 = 1.5 alone.
    for x in [[0.3, 1.5], [0.4, 3.0], [2.6, 2.2], [2.0, 0.9]] {
        let mut gradient = [0.0; 2];
        let answer = solver
            .pullback(&x, &delta, &mut gradient, &mut workspace)
            .unwrap();
        assert!(answer.outcome.is_verified());
        for i in 0..2 {
            let (mut above, mut below) = (x, x);
            above[i] += 1e-4;
            below[i] -= 1e-4;
            let expected = (value(&above) - value(&below)) / 2e-4;
            assert!(
                (gradient[i] - expected).abs() < 1e-5,
                "{x:?}, x{i}: {} but {expected}",
                gradient[i]
            );
        }
    }
}

#[test]
fn a_pullback_does_not_allocate_and_refuses_misuse() {
    let solver = precise();
    let mut workspace = solver.pullback_workspace();
    let mut gradient = [0.0; 2];
    let (answer, count) =
        counted(|| solver.pullback(&[0.4, 3.0], &[1.0, 0.0], &mut gradient, &mut workspace));
    assert_eq!(
        (count.allocations, answer.unwrap().outcome.is_verified()),
        (0, true)
    );
    assert!(gradient[0] > 0.1);
    let answer = solver.pullback(&[f64::NAN, 3.0], &[1.0, 0.0], &mut gradient, &mut workspace);
    assert_eq!(answer.unwrap().outcome, SolveOutcome::NotFinite);
    assert_eq!(gradient, [0.0; 2]);
    let short = solver.pullback(&[0.4, 3.0], &[1.0], &mut gradient, &mut workspace);
    assert!(matches!(
        short,
        Err(CallError::Length {
            argument: "delta",
            expected: 2,
            found: 1
        })
    ));
    let mut other = weights();
    (other.bounds, other.steps) = (vec![], 1);
    let mut other = Solver::new(other, Ring).unwrap().pullback_workspace();
    let foreign = solver.pullback(&[0.4, 3.0], &[1.0, 0.0], &mut gradient, &mut other);
    assert_eq!(foreign.unwrap_err(), CallError::Workspace);
}
