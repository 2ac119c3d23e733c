//! The optimization problems that every method answers, drawn as the paper's code draws them.

use std::fmt;
use std::str::FromStr;

use fabproj::near::near_names;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::StudyError;

/// Added to the diagonal of AᵀA, so that every quadratic problem has one unconstrained minimiser.
const RIDGE: f64 = 0.01;
/// Standard deviation of the targets of distance problems.
const TARGET_SPREAD: f64 = 3.0;

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
/// use fabproj_study::{Objective, Problem};
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
    pub fn draw(objective: Objective, dim: usize, random: &mut ChaCha8Rng) -> Self {
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
    /// If Q does not have as many rows and columns as p has entries.
    pub fn quadratic(matrix: Vec<f64>, vector: Vec<f64>) -> Self {
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
                let rows = self.matrix.chunks_exact(self.dim().max(1));
                let terms = rows.zip(y).zip(&self.vector);
                terms
                    .map(|((row, y_i), p)| y_i * (0.5 * dot(row, y) + p))
                    .sum()
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
                let rows = self.matrix.chunks_exact(self.dim().max(1));
                for ((g, row), p) in gradient.iter_mut().zip(rows).zip(&self.vector) {
                    *g = dot(row, y) + p;
                }
            }
        }
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
            let problem = Problem::draw(objective, 4, &mut random);
            let y: Vec<f64> = (0..4).map(|_| random.sample(StandardNormal)).collect();
            let mut gradient = vec![0.0; 4];
            problem.gradient(&y, &mut gradient);
            for j in 0..4 {
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
