//! The optimization problems that every method answers, drawn as the paper's code draws them.

use std::fmt;
use std::str::FromStr;

use fabproj::support::near_names;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::StudyError;

/// Added to the diagonal of AᵀA, so that every quadratic problem has one unconstrained minimiser.
const RIDGE: f64 = 0.01;
/// Standard deviation of the targets of distance problems.
const TARGET_SPREAD: f64 = 3.0;
/// More dimensions than any set of the study has: so many fit on the stack, where answers take their memory.
pub(crate) const MOST: usize = 16;

/// The kind of function that is minimised over the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// ½ yᵀQy + pᵀy, Q = AᵀA + 0.01·I with normal A, normal p.
    Quadratic,
    /// cᵀy with normal c.
    Linear,
    /// ‖y − t‖² with t three times normal.
    Distance,
}

impl Objective {
    /// All of them, in the order of the paper's tables.
    pub const ALL: [Self; 3] = [Self::Quadratic, Self::Linear, Self::Distance];

    /// The word for tables, files and the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quadratic => "quadratic",
            Self::Linear => "linear",
            Self::Distance => "distance",
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Objective {
    type Err = StudyError;

    fn from_str(name: &str) -> Result<Self, StudyError> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| StudyError::Unknown {
            what: "objective",
            name: name.to_owned(),
            near: near_names(name, Self::ALL.map(Self::name)),
        })
    }
}

/// One problem: minimise f over a set.
///
/// ```
/// use fab_study::{Objective, Problem};
/// use rand::SeedableRng;
///
/// let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// let problem = Problem::draw(Objective::Distance, 2, &mut random);
/// assert_eq!(problem.value(problem.vector()), 0.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    objective: Objective,
    /// p, c or t.
    vector: Vec<f64>,
    /// Q row by row; empty for the other kinds.
    matrix: Vec<f64>,
    /// The random factor A, kept so that drawing anew allocates nothing.
    factor: Vec<f64>,
}

impl Problem {
    /// A random problem.
    ///
    /// # Panics
    /// For more than 16 dimensions; no set of the study has so many.
    pub fn draw(objective: Objective, dim: usize, random: &mut ChaCha8Rng) -> Self {
        assert!(dim <= MOST, "a problem in {dim} dimensions: at most {MOST}");
        let square = match objective {
            Objective::Quadratic => dim * dim,
            _ => 0,
        };
        let mut problem = Self {
            objective,
            vector: vec![0.0; dim],
            matrix: vec![0.0; square],
            factor: vec![0.0; square],
        };
        problem.redraw(random);
        problem
    }

    /// Becomes another random problem of the same kind.
    pub fn redraw(&mut self, random: &mut ChaCha8Rng) {
        let dim = self.dim();
        self.factor.fill_with(|| random.sample(StandardNormal));
        for row in 0..dim.min(self.matrix.len()) {
            for column in row..dim {
                let products =
                    (0..dim).map(|k| self.factor[k * dim + row] * self.factor[k * dim + column]);
                let ridge = if row == column { RIDGE } else { 0.0 };
                let value = products.sum::<f64>() + ridge;
                self.matrix[row * dim + column] = value;
                self.matrix[column * dim + row] = value;
            }
        }
        let spread = match self.objective {
            Objective::Distance => TARGET_SPREAD,
            _ => 1.0,
        };
        self.vector
            .fill_with(|| spread * random.sample::<f64, _>(StandardNormal));
    }

    /// ½ yᵀQy + pᵀy with a given Q (row by row, symmetric) and p.
    ///
    /// # Panics
    /// If Q does not have as many rows and columns as p has entries, or more than 16.
    pub fn quadratic(matrix: Vec<f64>, vector: Vec<f64>) -> Self {
        assert!(vector.len() <= MOST, "quadratic: more than {MOST} entries");
        assert_eq!(matrix.len(), vector.len() * vector.len(), "quadratic: Q");
        let factor = vec![0.0; matrix.len()];
        Self {
            objective: Objective::Quadratic,
            vector,
            matrix,
            factor,
        }
    }

    /// cᵀy with a given c.
    pub fn linear(vector: Vec<f64>) -> Self {
        Self::of_vector(Objective::Linear, vector)
    }

    /// ‖y − t‖² with a given t.
    pub fn distance(vector: Vec<f64>) -> Self {
        Self::of_vector(Objective::Distance, vector)
    }

    fn of_vector(objective: Objective, vector: Vec<f64>) -> Self {
        Self {
            objective,
            vector,
            matrix: Vec::new(),
            factor: Vec::new(),
        }
    }

    /// The kind of f.
    pub fn objective(&self) -> Objective {
        self.objective
    }

    /// The dimension of y.
    pub fn dim(&self) -> usize {
        self.vector.len()
    }

    /// p, c or t.
    pub fn vector(&self) -> &[f64] {
        &self.vector
    }

    /// Q row by row; empty unless the problem is quadratic.
    pub fn matrix(&self) -> &[f64] {
        &self.matrix
    }

    /// f(y)
    #[inline]
    pub fn value(&self, y: &[f64]) -> f64 {
        match self.objective {
            Objective::Linear => dot(&self.vector, y),
            Objective::Distance => {
                let differences = y.iter().zip(&self.vector).map(|(y, t)| y - t);
                differences.map(|difference| difference * difference).sum()
            }
            Objective::Quadratic => {
                let mut product = [0.0; MOST];
                let product = self.times(y, &mut product);
                let terms = product.iter().zip(y).zip(&self.vector);
                terms.map(|((qy, y), p)| y * (0.5 * qy + p)).sum()
            }
        }
    }

    /// dᵀ∇²f·d, which is the same everywhere.
    #[inline]
    pub fn curvature(&self, direction: &[f64]) -> f64 {
        match self.objective {
            Objective::Linear => 0.0,
            Objective::Distance => 2.0 * dot(direction, direction),
            Objective::Quadratic => {
                let mut product = [0.0; MOST];
                dot(self.times(direction, &mut product), direction)
            }
        }
    }

    /// Writes ∇f(y).
    #[inline]
    pub fn gradient(&self, y: &[f64], gradient: &mut [f64]) {
        match self.objective {
            Objective::Linear => gradient.copy_from_slice(&self.vector),
            Objective::Distance => {
                for ((g, y), t) in gradient.iter_mut().zip(y).zip(&self.vector) {
                    *g = 2.0 * (y - t);
                }
            }
            Objective::Quadratic => {
                let mut product = [0.0; MOST];
                let product = self.times(y, &mut product);
                for ((g, qy), p) in gradient.iter_mut().zip(product).zip(&self.vector) {
                    *g = qy + p;
                }
            }
        }
    }

    /// Q·y, at the beginning of `product`.
    #[inline]
    fn times<'p>(&self, y: &[f64], product: &'p mut [f64; MOST]) -> &'p [f64] {
        debug_assert_eq!(y.len(), self.dim());
        let product = &mut product[..self.dim()];
        // The sizes of the study's sets, in loops of a known length. The bits are those of the last arm.
        match self.dim() {
            2 => times_sized::<2>(&self.matrix, y, product),
            3 => times_sized::<3>(&self.matrix, y, product),
            5 => times_sized::<5>(&self.matrix, y, product),
            10 => times_sized::<10>(&self.matrix, y, product),
            dim => {
                for (product, row) in product.iter_mut().zip(self.matrix.chunks_exact(dim.max(1))) {
                    *product = dot(row, y);
                }
            }
        }
        product
    }
}

/// Q is symmetric, so its rows are its columns: all sums grow side by side, none waits for its last addition.
#[inline]
fn times_sized<const N: usize>(matrix: &[f64], y: &[f64], product: &mut [f64]) {
    let mut sums = [0.0; N];
    let (columns, _) = matrix.as_chunks::<N>();
    for (column, y) in columns.iter().zip(y) {
        for (sum, entry) in sums.iter_mut().zip(column) {
            *sum += entry * y;
        }
    }
    product.copy_from_slice(&sums);
}

/// Single precision in double.
#[inline]
pub(crate) fn widen(y: &[f32], wide: &mut [f64]) {
    for (wide, y) in wide.iter_mut().zip(y) {
        *wide = f64::from(*y);
    }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(crate) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn gradients_agree_with_differences() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        for objective in Objective::ALL {
            let problem = Problem::draw(objective, 5, &mut random);
            let y: Vec<f64> = (0..5).map(|_| random.sample(StandardNormal)).collect();
            let mut gradient = vec![0.0; 5];
            problem.gradient(&y, &mut gradient);
            for j in 0..5 {
                let step = 1e-5;
                let shifted = |sign: f64| {
                    let mut y = y.clone();
                    y[j] += sign * step;
                    problem.value(&y)
                };
                let difference = (shifted(1.0) - shifted(-1.0)) / (2.0 * step);
                assert!((gradient[j] - difference).abs() < 1e-6, "{objective} {j}");
            }
        }
    }

    #[test]
    fn curvatures_agree_with_differences() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        for objective in Objective::ALL {
            let problem = Problem::draw(objective, 4, &mut random);
            let [y, d]: [Vec<f64>; 2] =
                [(); 2].map(|()| (0..4).map(|_| random.sample(StandardNormal)).collect());
            let along = |way: f64| {
                let point: Vec<f64> = y.iter().zip(&d).map(|(y, d)| y + way * d).collect();
                problem.value(&point)
            };
            let difference = along(1.0) - 2.0 * along(0.0) + along(-1.0);
            assert!((problem.curvature(&d) - difference).abs() < 1e-9);
        }
    }

    #[test]
    fn products_of_known_sizes_have_the_bits_of_the_others() {
        let mut random = ChaCha8Rng::seed_from_u64(8);
        for dim in [1, 2, 3, 4, 5, 10, 16] {
            let problem = Problem::draw(Objective::Quadratic, dim, &mut random);
            let y: Vec<f64> = (0..dim).map(|_| random.sample(StandardNormal)).collect();
            let rows = problem.matrix().chunks_exact(dim);
            let expected: Vec<f64> = rows.map(|row| dot(row, &y)).collect();
            assert_eq!(problem.times(&y, &mut [0.0; MOST]), expected);
        }
    }

    #[test]
    fn draws_have_the_stated_moments() {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        let mut problem = Problem::draw(Objective::Quadratic, 3, &mut random);
        let (mut trace, mut square) = (0.0, 0.0);
        let count = 20_000;
        for _ in 0..count {
            problem.redraw(&mut random);
            trace += (0..3).map(|i| problem.matrix()[4 * i]).sum::<f64>();
            square += dot(problem.vector(), problem.vector());
        }
        // The mean of AᵀA is n·I.
        assert!((trace / f64::from(count) - 9.03).abs() < 0.15);
        assert!((square / f64::from(count) - 3.0).abs() < 0.1);
        let mut distance = Problem::draw(Objective::Distance, 3, &mut random);
        let mut square = 0.0;
        for _ in 0..count {
            distance.redraw(&mut random);
            square += dot(distance.vector(), distance.vector());
        }
        assert!((square / f64::from(count) - 27.0).abs() < 0.7);
    }

    #[test]
    fn unknown_objectives_name_their_neighbours() {
        let error = "linaer".parse::<Objective>().unwrap_err().to_string();
        assert!(
            error.contains("`linaer`") && error.contains("linear"),
            "{error}"
        );
    }
}
