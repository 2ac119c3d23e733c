//! Problems that papers measure themselves on, made from their seeds.

use fabproj::core::vector::{add_transposed_times, dot, dot3, times};
use fabproj::set::Equation;
use fabproj::solve::{Functions, Problem};

mod clarabel;
mod random_state;

pub use clarabel::clarabel;
pub use random_state::RandomState;

/// Minimise ½ Σ q_i y_i² + Σ p_i y_i (or p_i sin y_i) with A y = x and ½ Σ_j H_ij y_j² + G_i y ≤ h_i.
#[derive(Clone)]
pub struct Family {
    pub q: Vec<f64>,
    pub p: Vec<f64>,
    pub a: Vec<f64>,
    pub g: Vec<f64>,
    pub h: Vec<f64>,
    /// Empty for linear constraints.
    pub curvature: Vec<f64>,
    pub sine: bool,
    pub x_limit: f64,
    /// The x of the paper's own data set, row by row.
    pub x: Vec<f64>,
}

impl Family {
    /// DC3's quadratic programs, `[dimension, equations, inequalities]`, and the variant with sines.
    pub fn dc3(sizes: [usize; 3], sine: bool, seed: u32) -> Self {
        let [dim, equations, rows] = sizes;
        let mut random = RandomState::new(seed);
        let q = random.many(dim, RandomState::unit);
        let p = random.many(dim, RandomState::unit);
        let a = random.many(equations * dim, RandomState::normal);
        let x = random.many(10_000 * equations, RandomState::signed);
        let g = random.many(rows * dim, RandomState::normal);
        let h = reach(&g, &a, dim, equations);
        let (curvature, x_limit) = (Vec::new(), 1.0);
        Self {
            q,
            p,
            a,
            g,
            h,
            curvature,
            sine,
            x_limit,
            x,
        }
    }

    /// Convex quadratic constraints, by the generator of Homeomorphic Projection.
    pub fn qcqp(sizes: [usize; 3], seed: u32) -> Self {
        let [dim, equations, rows] = sizes;
        let mut random = RandomState::new(seed);
        let q = random.many(dim, |random| 0.5 * random.unit());
        let p = random.many(dim, RandomState::signed);
        let a = random.many(equations * dim, RandomState::signed);
        let x = random.many(2_000 * equations, |random| random.unit() - 0.5);
        let g = random.many(rows * dim, RandomState::signed);
        let h = reach(&g, &a, dim, equations);
        let curvature = random.many(rows * dim, |random| 0.1 * random.unit());
        Self {
            q,
            p,
            a,
            g,
            h,
            curvature,
            sine: false,
            x_limit: 0.5,
            x,
        }
    }

    pub fn equations(&self) -> usize {
        self.a.len() / self.p.len()
    }

    pub fn problem(&self, name: &str) -> Problem {
        let (dim, equations) = (self.dim(), self.equations());
        let rows = self.a.chunks_exact(dim).enumerate();
        let stated = rows.map(|(i, normal)| {
            let mut slopes = vec![0.0; equations];
            slopes[i] = 1.0;
            let normal = normal.to_vec();
            Equation {
                normal,
                constant: 0.0,
                slopes,
            }
        });
        Problem::new(name, self.clone())
            .with_equations(stated.collect())
            .with_x(vec![(-self.x_limit, self.x_limit); equations])
    }

    /// The largest |A y − x|.
    pub fn off_equations(&self, y: &[f64], x: &[f64]) -> f64 {
        let rows = self.a.chunks_exact(y.len()).zip(x);
        let off = rows.map(|(row, x)| (dot(row, y) - x).abs());
        off.fold(0.0, f64::max)
    }
}

impl Functions for Family {
    fn dim(&self) -> usize {
        self.p.len()
    }

    fn x_dim(&self) -> usize {
        self.equations()
    }

    fn rows(&self) -> usize {
        self.h.len()
    }

    fn values(&self, y: &[f64], _: &[f64], constraints: &mut [f64], _: &mut [f64]) -> f64 {
        times(&self.g, y, constraints);
        for (value, limit) in constraints.iter_mut().zip(&self.h) {
            *value -= limit;
        }
        let curved = self.curvature.chunks_exact(y.len());
        for (value, row) in constraints.iter_mut().zip(curved) {
            *value += 0.5 * dot3(row, y, y);
        }
        let linear = if self.sine {
            self.p.iter().zip(y).map(|(p, y)| p * y.sin()).sum()
        } else {
            dot(&self.p, y)
        };
        0.5 * dot3(&self.q, y, y) + linear
    }

    fn gradient(&self, y: &[f64], _: &[f64], weights: &[f64], gradient: &mut [f64], _: &mut [f64]) {
        let terms = self.q.iter().zip(&self.p).zip(y);
        for (gradient, ((q, p), y)) in gradient.iter_mut().zip(terms) {
            *gradient = q * y + if self.sine { p * y.cos() } else { *p };
        }
        add_transposed_times(&self.g, weights, gradient);
        let curved = self.curvature.chunks_exact(y.len()).zip(weights);
        for (row, weight) in curved.filter(|(_, weight)| **weight != 0.0) {
            for (gradient, (h, y)) in gradient.iter_mut().zip(row.iter().zip(y)) {
                *gradient += weight * h * y;
            }
        }
    }

    fn slopes(&self, y: &[f64], _: &[f64], direction: &[f64], slopes: &mut [f64], _: &mut [f64]) {
        times(&self.g, direction, slopes);
        let curved = self.curvature.chunks_exact(y.len());
        for (slope, row) in slopes.iter_mut().zip(curved) {
            *slope += dot3(row, y, direction);
        }
    }
}

/// Σ_j |G A⁺|_ij: the constraints hold at A⁺ x for all x between −1 and 1.
fn reach(g: &[f64], a: &[f64], dim: usize, equations: usize) -> Vec<f64> {
    let row = |i: usize| &a[i * dim..][..dim];
    let square: Vec<Vec<f64>> = (0..equations)
        .map(|i| (0..equations).map(|j| dot(row(i), row(j))).collect())
        .collect();
    let sides: Vec<Vec<f64>> = g
        .chunks_exact(dim)
        .map(|g| (0..equations).map(|i| dot(row(i), g)).collect())
        .collect();
    let solved = eliminate(square, sides);
    let sums = solved
        .iter()
        .map(|row| row.iter().map(|value| value.abs()).sum());
    sums.collect()
}

/// Solves matrix · v = side for several sides, with pivots.
fn eliminate(mut matrix: Vec<Vec<f64>>, mut sides: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let size = matrix.len();
    for column in 0..size {
        let magnitude = |row: usize| matrix[row][column].abs();
        let best = (column..size).max_by(|a, b| magnitude(*a).total_cmp(&magnitude(*b)));
        let best = best.expect("rows");
        matrix.swap(column, best);
        sides.iter_mut().for_each(|side| side.swap(column, best));
        let pivot = matrix[column].clone();
        for row in (0..size).filter(|row| *row != column) {
            let factor = matrix[row][column] / pivot[column];
            for (value, pivot) in matrix[row].iter_mut().zip(&pivot).skip(column) {
                *value -= factor * pivot;
            }
            for side in &mut sides {
                side[row] -= factor * side[column];
            }
        }
    }
    for side in &mut sides {
        for (row, value) in side.iter_mut().enumerate() {
            *value /= matrix[row][row];
        }
    }
    sides
}
