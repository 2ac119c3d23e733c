//! A table of boundary points and a short walk: what membership tests alone give in the plane.
//!
//! f is convex, so that its smallest value on a set is at its unconstrained minimiser or on the boundary. The
//! table holds boundary points that bisection found between feasible and infeasible draws; an answer is the
//! minimiser if it is feasible, else the best point of the table, after the walk of our polish.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use serde_json::Value;

use super::{Method, Polish, Solver, Task, Trained};
use crate::problem::{MOST, Objective, Problem};
use crate::solver_net::unconstrained;
use crate::store::to_value;
use crate::{StudyError, StudySet};

/// Membership tests for random points of the bounds, from which the pairs come.
const DRAWS: usize = 20_000;
/// Halvings of a segment between a feasible and an infeasible point: beyond single precision.
const HALVINGS: usize = 30;

/// A table of boundary points.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Lookup {
    /// Membership tests that the table may cost. Default 200 000.
    pub tests: usize,
    /// Points of the table. Default 1000.
    pub points: usize,
    /// The walk from the best of them. Default our polish without its step.
    pub walk: Polish,
}

impl Default for Lookup {
    fn default() -> Self {
        Self {
            tests: 200_000,
            points: 1000,
            walk: Polish {
                steps: 0,
                ..Polish::default()
            },
        }
    }
}

impl Method for Lookup {
    fn settings(&self) -> Value {
        to_value(self)
    }

    fn train(&self, task: &Task<'_>) -> Result<Trained, StudyError> {
        let mut random = ChaCha8Rng::seed_from_u64(task.seed);
        let found = boundary(&task.set, self.tests, &mut random);
        let points = spread(&found, task.set.dim(), self.points);
        Ok(Trained::new(Table::new(
            points,
            task.objective,
            Arc::clone(&task.set),
            self.walk,
        )))
    }
}

/// Boundary points, each on the feasible side, as many as the tests suffice for.
fn boundary(set: &StudySet, tests: usize, random: &mut ChaCha8Rng) -> Vec<f32> {
    let dim = set.dim();
    let bounds = set.set().bounds();
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    let mut point = vec![0.0_f32; dim];
    for _ in 0..DRAWS.min(tests / 2) {
        for (point, (low, high)) in point.iter_mut().zip(&bounds) {
            *point = (low + (high - low) * random.random::<f64>()) as f32;
        }
        let side = match set.contains(&point) {
            true => &mut inside,
            false => &mut outside,
        };
        side.extend_from_slice(&point);
    }
    let mut found = Vec::new();
    if inside.is_empty() || outside.is_empty() {
        return inside;
    }
    for _ in 0..(tests - DRAWS.min(tests / 2)) / HALVINGS {
        let mut pick = |rows: &[f32]| {
            let row = random.random_range(0..rows.len() / dim);
            rows[row * dim..][..dim].to_vec()
        };
        let (mut feasible, mut infeasible) = (pick(&inside), pick(&outside));
        for _ in 0..HALVINGS {
            for ((point, a), b) in point.iter_mut().zip(&feasible).zip(&infeasible) {
                *point = 0.5 * (a + b);
            }
            match set.contains(&point) {
                true => feasible.copy_from_slice(&point),
                false => infeasible.copy_from_slice(&point),
            }
        }
        found.extend_from_slice(&feasible);
    }
    found
}

/// So many of the rows, each as far as possible from those chosen before.
fn spread(rows: &[f32], dim: usize, count: usize) -> Vec<f32> {
    let rows: Vec<&[f32]> = rows.chunks_exact(dim).collect();
    let mut apart = vec![f32::INFINITY; rows.len()];
    let mut chosen = Vec::new();
    for _ in 0..count.min(rows.len()) {
        let farthest = (0..rows.len()).max_by(|a, b| apart[*a].total_cmp(&apart[*b]));
        let Some(next) = farthest else { break };
        chosen.extend_from_slice(rows[next]);
        for (apart, row) in apart.iter_mut().zip(&rows) {
            let square = row.iter().zip(rows[next]).map(|(a, b)| (a - b) * (a - b));
            *apart = apart.min(square.sum());
        }
    }
    chosen
}

/// The points with their monomials: every objective is linear in them.
struct Table {
    points: Vec<f32>,
    /// Column by column: y; for quadratic problems also the products yᵢyⱼ, i ≤ j; for distances ‖y‖².
    columns: Vec<f32>,
    values: Vec<f32>,
    coefficients: Vec<f32>,
    set: Arc<StudySet>,
    walk: Polish,
}

impl Table {
    fn new(points: Vec<f32>, objective: Objective, set: Arc<StudySet>, walk: Polish) -> Self {
        let dim = set.dim();
        let rows: Vec<&[f32]> = points.chunks_exact(dim).collect();
        let mut columns: Vec<f32> = Vec::new();
        for index in 0..dim {
            columns.extend(rows.iter().map(|row| row[index]));
        }
        match objective {
            Objective::Linear => {}
            Objective::Distance => {
                columns.extend(
                    rows.iter()
                        .map(|row| row.iter().map(|y| y * y).sum::<f32>()),
                );
            }
            Objective::Quadratic => {
                for (i, j) in pairs(dim) {
                    columns.extend(rows.iter().map(|row| row[i] * row[j]));
                }
            }
        }
        let count = rows.len();
        Self {
            values: vec![0.0; count],
            coefficients: vec![0.0; columns.len() / count.max(1)],
            points,
            columns,
            set,
            walk,
        }
    }

    /// What each column counts in the problem.
    fn weigh(&mut self, problem: &Problem) {
        let dim = problem.dim();
        let (linear, rest) = self.coefficients.split_at_mut(dim);
        let factor = match problem.objective() {
            Objective::Distance => -2.0,
            _ => 1.0,
        };
        for (coefficient, entry) in linear.iter_mut().zip(problem.vector()) {
            *coefficient = (factor * entry) as f32;
        }
        match problem.objective() {
            Objective::Linear => {}
            Objective::Distance => rest[0] = 1.0,
            Objective::Quadratic => {
                for (coefficient, (i, j)) in rest.iter_mut().zip(pairs(dim)) {
                    let share = if i == j { 0.5 } else { 1.0 };
                    *coefficient = (share * problem.matrix()[i * dim + j]) as f32;
                }
            }
        }
    }

    /// The row with the smallest value.
    fn best(&mut self) -> usize {
        let count = self.values.len();
        self.values.fill(0.0);
        for (column, coefficient) in self.columns.chunks_exact(count).zip(&self.coefficients) {
            for (value, entry) in self.values.iter_mut().zip(column) {
                *value += coefficient * entry;
            }
        }
        let least = self.values.iter().copied().fold(f32::INFINITY, f32::min);
        let found = self.values.iter().position(|value| *value == least);
        found.unwrap_or(0)
    }
}

/// The places of a symmetric matrix's upper triangle.
fn pairs(dim: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..dim).flat_map(move |i| (i..dim).map(move |j| (i, j)))
}

impl Solver for Table {
    fn answer(&mut self, problem: &Problem, y: &mut [f32]) -> bool {
        let mut minimiser = [0.0; MOST];
        let minimiser = &mut minimiser[..y.len()];
        if unconstrained(problem, minimiser) && self.set.contains(minimiser) {
            y.copy_from_slice(minimiser);
            return true;
        }
        self.weigh(problem);
        let best = self.best();
        y.copy_from_slice(&self.points[best * y.len()..][..y.len()]);
        self.walk.apply(problem, &self.set, y, |_| {});
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lies_on_the_boundary_and_reaches_all_of_it() {
        let set = StudySet::open("concentric-circles").unwrap();
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let points = spread(&boundary(&set, 200_000, &mut random), 2, 1000);
        assert_eq!(points.len(), 2000);
        let (mut inner, mut outer) = (0, 0);
        for point in points.chunks_exact(2) {
            assert!(set.contains(point));
            let radius = point[0].hypot(point[1]);
            inner += usize::from((radius - 1.0).abs() < 1e-4);
            outer += usize::from((radius - 2.0).abs() < 1e-4);
        }
        assert_eq!(inner + outer, 1000);
        // A third of the boundary is the inner circle.
        assert!((250..420).contains(&inner), "{inner}");
    }

    #[test]
    fn values_of_the_table_are_those_of_the_problem() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let set = StudySet::open("shell-3d").unwrap();
        let points = spread(&boundary(&set, 20_000, &mut random), 3, 50);
        for objective in Objective::ALL {
            let problem = Problem::draw(objective, 3, &mut random);
            let mut table = Table::new(
                points.clone(),
                objective,
                Arc::clone(&set),
                Lookup::default().walk,
            );
            table.weigh(&problem);
            let best = table.best();
            let value = |row: &[f32]| {
                let wide: Vec<f64> = row.iter().map(|y| f64::from(*y)).collect();
                problem.value(&wide)
            };
            let least = points
                .chunks_exact(3)
                .map(value)
                .fold(f64::INFINITY, f64::min);
            let found = value(&points[best * 3..][..3]);
            assert!(found - least < 1e-4 * (1.0 + least.abs()), "{objective}");
        }
    }
}
