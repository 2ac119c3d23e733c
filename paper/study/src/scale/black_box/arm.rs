//! The arm of five links among the project's examples: its constraints are asked as a membership test.

use std::sync::Arc;

use fabproj::solve::{FnFunctions, Functions, Problem};

use super::super::instance::Instance;
use super::{Known, best_by_gradients};

const FILE: &str = include_str!("../../../../../examples/arm/arm.toml");

/// The file's own.
const X_BOUNDS: [(f64, f64); 4] = [(-1.5, 1.5), (-1.5, 1.5), (0.6, 1.4), (-0.8, 0.8)];

type Shared = Arc<dyn Functions + Send + Sync>;

/// # Panics
/// If the file in the tree cannot be read.
pub(super) fn instance(name: &str) -> Instance {
    let file = Problem::from_toml(FILE).expect("the arm's problem file");
    let x_bounds = X_BOUNDS.to_vec();
    let bounds = file.bounds().unwrap_or(&[]).to_vec();
    let functions: Shared = Arc::clone(file.functions());
    let tested = Arc::clone(&functions);
    let contains = move |y: &[f64], x: &[f64]| at(&tested, y, x).1.iter().all(|row| *row <= 0.0);
    let (valued, sloped) = (Arc::clone(&functions), functions);
    let objective = FnFunctions::new([file.dim(), file.x_dim(), 0], move |y, x, _| {
        at(&valued, y, x).0
    })
    .with_gradient(move |y, x, _, gradient| {
        let (_, mut rows, mut memory) = at(&sloped, y, x);
        rows.fill(0.0);
        sloped.gradient(y, x, &rows, gradient, &mut memory);
    });
    let (problem, tests) = super::problem(name, bounds, x_bounds.clone(), contains, objective);
    let black_box = problem.clone();
    let optimum = move |x: &[f64]| best_by_gradients(&file, &black_box, x);
    let known = Known {
        tests,
        optimum: Box::new(optimum),
    };
    Instance::black_box(problem, x_bounds, known)
}

/// Objective, rows, and the memory that gradients need.
fn at(functions: &Shared, y: &[f64], x: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
    let (mut rows, mut memory) = (vec![0.0; functions.rows()], vec![0.0; functions.memory()]);
    let objective = functions.values(y, x, &mut rows, &mut memory);
    (objective, rows, memory)
}
