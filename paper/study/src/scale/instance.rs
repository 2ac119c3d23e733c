//! A problem with x to test on.

use fabproj::set::Equation;
use fabproj::solve::{Functions, Problem};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::black_box::Known;
use super::catalogue::Case;
use super::family::Family;
use super::grid::Grid;

/// x to test on that are drawn where a paper keeps none.
const TESTS: usize = 1_000;

/// An instance of a family.
pub struct Instance {
    problem: Problem,
    /// Its matrices, for peers; none for a power network.
    pub(super) family: Option<Family>,
    /// Of a set that is known by a membership test only.
    known: Option<Known>,
    test_x: Vec<Vec<f64>>,
    x_bounds: Vec<(f64, f64)>,
    /// A point that searches start from.
    pub(super) middle: Vec<f64>,
}

impl Instance {
    pub(super) fn of_family(name: &str, family: Family) -> Self {
        Self {
            problem: family.problem(name),
            test_x: family.test_x(),
            x_bounds: family.x_bounds.clone(),
            middle: vec![0.0; family.dim()],
            family: Some(family),
            known: None,
        }
    }

    /// Optimal power flow. The grid's power flows start at a good set-point for nominal loads.
    pub(super) fn network(name: &str, case: Case, number: u64) -> Self {
        let grid = Grid::from_json(case.json).and_then(|grid| grid.at_optimum());
        let (grid, middle) = grid.expect("a case file of the tree");
        let x_bounds = vec![(1.0 - case.part, 1.0 + case.part); grid.x_dim()];
        let problem = grid.problem(name, case.part);
        Self {
            problem,
            family: None,
            known: None,
            test_x: draw(&x_bounds, TESTS, 1_000 + number),
            x_bounds,
            middle,
        }
    }

    /// A problem of a membership test.
    pub(super) fn black_box(problem: Problem, x_bounds: Vec<(f64, f64)>, known: Known) -> Self {
        let bounds = problem.bounds().unwrap_or(&[]).iter();
        Self {
            family: None,
            known: Some(known),
            test_x: draw(&x_bounds, TESTS, 1_000),
            x_bounds,
            middle: bounds.map(|(low, high)| 0.5 * (low + high)).collect(),
            problem,
        }
    }

    /// Whether the set is known by a membership test only.
    pub(super) fn is_black_box(&self) -> bool {
        self.known.is_some()
    }

    /// How often the membership test was asked, where it is all that is known.
    pub(super) fn tests(&self) -> u64 {
        self.known.as_ref().map_or(0, Known::tests)
    }

    /// The best answer's objective that is known of a set with a membership test only.
    pub(super) fn best_by_tests(&self, x: &[f64]) -> Option<f64> {
        self.known.as_ref()?.best(x)
    }

    /// The problem that a solver is trained for.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Whether clarabel can solve it.
    pub fn is_convex(&self) -> bool {
        self.family.as_ref().is_some_and(Family::is_convex)
    }

    /// Rows of x to test on.
    pub fn test_x(&self) -> impl Iterator<Item = &[f64]> {
        self.test_x.iter().map(Vec::as_slice)
    }

    /// Other x.
    pub(super) fn fresh_x(&self, count: usize, seed: u64) -> Vec<Vec<f64>> {
        draw(&self.x_bounds, count, seed)
    }

    /// Rows of x for a step of a training.
    pub(super) fn draw_x(&self, rows: &mut [f64], random: &mut ChaCha8Rng) {
        for x in rows.chunks_exact_mut(self.x_bounds.len()) {
            for (x, (low, high)) in x.iter_mut().zip(&self.x_bounds) {
                *x = random.random_range(*low..*high);
            }
        }
    }

    /// The region of x.
    pub(super) fn x_bounds(&self) -> &[(f64, f64)] {
        &self.x_bounds
    }

    pub(super) fn functions(&self) -> &dyn Functions {
        &**self.problem.functions()
    }

    pub(super) fn dim(&self) -> usize {
        self.problem.dim()
    }

    pub(super) fn x_dim(&self) -> usize {
        self.problem.x_dim()
    }

    /// Inequalities without bounds.
    pub(super) fn rows(&self) -> usize {
        self.functions().rows()
    }

    /// Number of equations.
    pub(super) fn equations(&self) -> usize {
        self.problem.equations().len()
    }

    /// Bounds of y, or none.
    pub(super) fn bounds(&self) -> &[(f64, f64)] {
        self.problem.bounds().unwrap_or(&[])
    }

    /// The objective, the largest constraint with bounds, and the largest error of an equation.
    pub fn measure(&self, y: &[f64], x: &[f64]) -> (f64, f64, f64) {
        let functions = self.functions();
        let mut constraints = vec![0.0; functions.rows()];
        let mut memory = vec![0.0; functions.memory()];
        let objective = functions.values(y, x, &mut constraints, &mut memory);
        let bounds = self.bounds().iter().zip(y);
        constraints.extend(bounds.flat_map(|((low, high), y)| [y - high, low - y]));
        let most = |most: f64, value: f64| {
            if value.is_nan() {
                f64::INFINITY
            } else {
                most.max(value)
            }
        };
        let error = |equation: &Equation| {
            let left = equation.normal.iter().zip(y).map(|(a, y)| a * y);
            let right = equation.slopes.iter().zip(x).map(|(b, x)| b * x);
            (left.sum::<f64>() - right.sum::<f64>() - equation.constant).abs()
        };
        let errors = self.problem.equations().iter().map(error);
        (
            objective,
            constraints.into_iter().fold(f64::NEG_INFINITY, most),
            errors.fold(0.0, most),
        )
    }
}

fn draw(bounds: &[(f64, f64)], count: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut one = || {
        let numbers = bounds.iter().map(|(low, high)| {
            let part: f64 = random.random();
            low + (high - low) * part
        });
        numbers.collect()
    };
    (0..count).map(|_| one()).collect()
}
