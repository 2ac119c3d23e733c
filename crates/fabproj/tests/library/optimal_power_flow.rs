//! The worked example of AC optimal power flow: derivatives, known optima, answers.

use fabproj::solve::{self, Functions, SolveSettings};

#[path = "../../../../examples/power-flow/grid.rs"]
mod grid;
use grid::Grid;

const CASE: &str = include_str!("../../../../examples/power-flow/cases/case57.json");
/// A case whose branches have limits.
const LIMITED: &str = include_str!("../../../../examples/power-flow/cases/case30.json");
const OPTIMA: &str = include_str!("../../../../examples/power-flow/cases/case57-optima.csv");

/// Values at a point, from a cold start.
fn values(grid: &Grid, y: &[f64], x: &[f64]) -> (f64, Vec<f64>) {
    let mut constraints = vec![0.0; grid.rows()];
    let mut memory = vec![0.0; grid.memory()];
    let objective = grid.values(y, x, &mut constraints, &mut memory);
    (objective, constraints)
}

#[test]
fn derivatives_go_through_the_power_flow() {
    for case in [CASE, LIMITED] {
        let grid = Grid::from_json(case).unwrap();
        let x: Vec<f64> = (0..grid.x_dim())
            .map(|i| 1.0 + 0.1 * (i as f64).sin())
            .collect();
        let middle = grid
            .bounds()
            .into_iter()
            .map(|(low, high)| 0.4 * high + 0.6 * low);
        let mut y: Vec<f64> = middle.collect();
        let powers = y.len() / 2;
        y[..powers]
            .iter_mut()
            .for_each(|power| *power = power.min(1.5));
        let (mut constraints, mut memory) = (vec![0.0; grid.rows()], vec![0.0; grid.memory()]);
        let objective = grid.values(&y, &x, &mut constraints, &mut memory);
        assert!(objective.is_finite());
        // Power flows that start elsewhere end at the same state.
        let elsewhere = grid.centred_at(&y, &x).unwrap();
        let again = values(&elsewhere, &y, &x);
        assert!((again.0 - objective).abs() < 1e-5);
        let pairs = again.1.iter().zip(&constraints);
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-8));
        let weights: Vec<f64> = (0..grid.rows())
            .map(|i| 100.0 * (i as f64 * 0.7).cos())
            .collect();
        let mut gradient = vec![0.0; grid.dim()];
        grid.gradient(&y, &x, &weights, &mut gradient, &mut memory);
        for i in 0..grid.dim() {
            let step = 1e-5;
            let at = |sign: f64| {
                let mut moved = y.clone();
                moved[i] += sign * step;
                values(&grid, &moved, &x)
            };
            let (above, below) = (at(1.0), at(-1.0));
            let lagrangian = |(objective, constraints): &(f64, Vec<f64>)| {
                let terms = constraints.iter().zip(&weights);
                objective + terms.map(|(value, weight)| value * weight).sum::<f64>()
            };
            let slope = (lagrangian(&above) - lagrangian(&below)) / (2.0 * step);
            let close = (gradient[i] - slope).abs() < 1e-4 * slope.abs().max(100.0);
            assert!(close, "{i}: {} but {slope}", gradient[i]);
            let (mut direction, mut slopes) = (vec![0.0; grid.dim()], vec![0.0; grid.rows()]);
            direction[i] = 1.0;
            grid.slopes(&y, &x, &direction, &mut slopes, &mut memory);
            for (row, found) in slopes.iter().enumerate() {
                let slope = (above.1[row] - below.1[row]) / (2.0 * step);
                assert!(
                    (found - slope).abs() < 1e-5 * slope.abs().max(1.0),
                    "{row}: {found} but {slope}"
                );
            }
        }
    }
}

/// The optima in the file are those of another program (an interior-point method, to about 1e-7).
#[test]
fn answers_are_feasible_and_optimal() {
    let (grid, _) = Grid::from_json(CASE).unwrap().at_optimum().unwrap();
    let problem = grid.problem("case57", 0.1);
    let model = solve::train(&problem, &SolveSettings::default()).unwrap();
    let solver = model.solver(&problem).unwrap();
    let mut tested = 0;
    for line in OPTIMA.lines().skip(1) {
        let numbers: Vec<f64> = line.split(',').map(|word| word.parse().unwrap()).collect();
        let (p, q) = numbers[1..].split_at(57);
        let x = grid.x_of(p, q);
        let (y, answer) = solver.solve(&x).unwrap();
        assert!(answer.outcome.is_verified());
        let (objective, constraints) = values(&grid, &y, &x);
        assert!(constraints.iter().all(|value| *value <= 1e-9));
        assert!((objective - answer.objective).abs() < 1e-4);
        let gap = (answer.objective - numbers[0]) / numbers[0];
        assert!(gap < 5e-5 && gap > -1e-6, "{gap:e}");
        tested += 1;
    }
    assert_eq!(tested, 20);
}
