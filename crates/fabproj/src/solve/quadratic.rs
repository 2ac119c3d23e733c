//! Quadratic objectives with linear constraints.

use fabproj_core::Functions;
use fabproj_core::vector::{add_transposed_times, dot, times};

use crate::set::{SetError, finite, length};

/// ½ yᵀ Q y + (p + P x)ᵀ y with G y ≤ h + H x.
///
/// ```
/// use fabproj::solve::{Functions, Quadratic};
///
/// let functions = Quadratic::dense(vec![2.0, 1.0, 1.0, 2.0], vec![-1.0, 0.0], 0)?
///     .with_rows(vec![1.0, 1.0], vec![0.5])?;
/// let mut constraints = [0.0];
/// let objective = functions.values(&[1.0, 1.0], &[], &mut constraints, &mut []);
/// assert_eq!((objective, constraints), (2.0, [1.5]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Quadratic {
    x_dim: usize,
    hessian: Hessian,
    linear: Vec<f64>,
    linear_by_x: Vec<f64>,
    normals: Vec<f64>,
    limits: Vec<f64>,
    limits_by_x: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq)]
enum Hessian {
    Diagonal(Vec<f64>),
    Dense(Vec<f64>),
}

impl Quadratic {
    /// An objective with the diagonal matrix Q, for y of as many coordinates as p has.
    ///
    /// # Errors
    /// [`SetError`] for lengths that differ, and for NaN and infinity.
    pub fn diagonal(q: Vec<f64>, p: Vec<f64>, x_dim: usize) -> Result<Self, SetError> {
        length("the diagonal of Q", p.len(), q.len())?;
        finite("the diagonal of Q", &q)?;
        Self::new(Hessian::Diagonal(q), p, x_dim)
    }

    /// An objective with a matrix Q, row by row. Only its symmetric part matters.
    ///
    /// # Errors
    /// [`SetError`] for lengths that differ, and for NaN and infinity.
    pub fn dense(q: Vec<f64>, p: Vec<f64>, x_dim: usize) -> Result<Self, SetError> {
        let dim = p.len();
        length("Q", dim * dim, q.len())?;
        finite("Q", &q)?;
        let symmetric = (0..dim * dim).map(|at| 0.5 * (q[at] + q[at % dim * dim + at / dim]));
        Self::new(Hessian::Dense(symmetric.collect()), p, x_dim)
    }

    fn new(hessian: Hessian, linear: Vec<f64>, x_dim: usize) -> Result<Self, SetError> {
        finite("p", &linear)?;
        Ok(Self {
            x_dim,
            hessian,
            linear_by_x: Vec::new(),
            linear,
            normals: Vec::new(),
            limits: Vec::new(),
            limits_by_x: Vec::new(),
        })
    }

    /// Adds P, one row for each coordinate of y.
    ///
    /// # Errors
    /// [`SetError`] for a wrong length, and for NaN and infinity.
    pub fn with_linear_by_x(mut self, p: Vec<f64>) -> Result<Self, SetError> {
        length("P", self.dim() * self.x_dim, p.len())?;
        finite("P", &p)?;
        self.linear_by_x = p;
        Ok(self)
    }

    /// Sets the constraints G y ≤ h, with one row of G for each entry of h.
    ///
    /// # Errors
    /// [`SetError`] for a wrong length, and for NaN and infinity.
    pub fn with_rows(mut self, g: Vec<f64>, h: Vec<f64>) -> Result<Self, SetError> {
        length("G", h.len() * self.dim(), g.len())?;
        finite("G", &g)?;
        finite("h", &h)?;
        (self.normals, self.limits) = (g, h);
        self.limits_by_x.clear();
        Ok(self)
    }

    /// Adds H to the constraints, one row for each row of G.
    ///
    /// # Errors
    /// [`SetError`] for a wrong length, and for NaN and infinity.
    pub fn with_limits_by_x(mut self, h: Vec<f64>) -> Result<Self, SetError> {
        length("H", self.rows() * self.x_dim, h.len())?;
        finite("H", &h)?;
        self.limits_by_x = h;
        Ok(self)
    }

    /// A coordinate of p + P x.
    fn linear(&self, row: usize, x: &[f64]) -> f64 {
        let by_x = self.linear_by_x.get(row * x.len()..(row + 1) * x.len());
        self.linear[row] + by_x.map_or(0.0, |by_x| dot(by_x, x))
    }
}

impl Functions for Quadratic {
    fn dim(&self) -> usize {
        self.linear.len()
    }

    fn x_dim(&self) -> usize {
        self.x_dim
    }

    fn rows(&self) -> usize {
        self.limits.len()
    }

    fn values(&self, y: &[f64], x: &[f64], constraints: &mut [f64], _: &mut [f64]) -> f64 {
        times(&self.normals, y, constraints);
        for (row, (value, limit)) in constraints.iter_mut().zip(&self.limits).enumerate() {
            let by_x = self.limits_by_x.get(row * x.len()..(row + 1) * x.len());
            *value -= limit + by_x.map_or(0.0, |by_x| dot(by_x, x));
        }
        let curved = |row: usize| match &self.hessian {
            Hessian::Diagonal(q) => q[row] * y[row],
            Hessian::Dense(q) => dot(&q[row * y.len()..][..y.len()], y),
        };
        let terms = y.iter().enumerate();
        terms
            .map(|(row, value)| value * (0.5 * curved(row) + self.linear(row, x)))
            .sum()
    }

    fn gradient(&self, y: &[f64], x: &[f64], weights: &[f64], gradient: &mut [f64], _: &mut [f64]) {
        for (row, gradient) in gradient.iter_mut().enumerate() {
            let curved = match &self.hessian {
                Hessian::Diagonal(q) => q[row] * y[row],
                Hessian::Dense(q) => dot(&q[row * y.len()..][..y.len()], y),
            };
            *gradient = curved + self.linear(row, x);
        }
        add_transposed_times(&self.normals, weights, gradient);
    }

    fn slopes(&self, _: &[f64], _: &[f64], direction: &[f64], slopes: &mut [f64], _: &mut [f64]) {
        times(&self.normals, direction, slopes);
    }
}
