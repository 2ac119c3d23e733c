//! Closures as functions of a problem.

use fabproj_core::Functions;

type Values = Box<dyn Fn(&[f64], &[f64], &mut [f64]) -> f64 + Send + Sync>;
type Gradient = Box<dyn Fn(&[f64], &[f64], &[f64], &mut [f64]) + Send + Sync>;
type Slopes = Box<dyn Fn(&[f64], &[f64], &[f64], &mut [f64]) + Send + Sync>;

/// Step of central differences, as a part of the size of a coordinate: the cube root of the rounding error.
const DIFFERENCE: f64 = 6e-6;

/// Objective and constraints given by closures of the program.
///
/// Without [`with_gradient`](Self::with_gradient) and [`with_slopes`](Self::with_slopes) derivatives are
/// central differences: that suffices for training, and costs two calls per coordinate of y.
///
/// ```
/// use fabproj::solve::{FnFunctions, Functions};
///
/// // minimise y0 + y1 with y0² + y1² <= x0
/// let functions = FnFunctions::new([2, 1, 1], |y, x, constraints| {
///     constraints[0] = y[0] * y[0] + y[1] * y[1] - x[0];
///     y[0] + y[1]
/// });
/// let mut gradient = [0.0; 2];
/// functions.gradient(&[1.0, 0.5], &[1.0], &[2.0], &mut gradient, &mut []);
/// assert!((gradient[0] - 5.0).abs() < 1e-8 && (gradient[1] - 3.0).abs() < 1e-8);
/// ```
pub struct FnFunctions {
    sizes: [usize; 3],
    values: Values,
    gradient: Option<Gradient>,
    slopes: Option<Slopes>,
}

impl FnFunctions {
    /// Functions of `[dimension of y, dimension of x, constraints]`: the closure takes y, x and the place
    /// for the constraints, and returns the objective.
    pub fn new(
        sizes: [usize; 3],
        values: impl Fn(&[f64], &[f64], &mut [f64]) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self {
            sizes,
            values: Box::new(values),
            gradient: None,
            slopes: None,
        }
    }

    /// Adds [`Functions::gradient`]: y, x, weights, and the place for ∇f + Σ weights_i ∇c_i.
    #[must_use]
    pub fn with_gradient(
        mut self,
        gradient: impl Fn(&[f64], &[f64], &[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> Self {
        self.gradient = Some(Box::new(gradient));
        self
    }

    /// Adds [`Functions::slopes`]: y, x, a direction, and the place for the Jacobian times it.
    #[must_use]
    pub fn with_slopes(
        mut self,
        slopes: impl Fn(&[f64], &[f64], &[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> Self {
        self.slopes = Some(Box::new(slopes));
        self
    }
}

impl Functions for FnFunctions {
    fn dim(&self) -> usize {
        self.sizes[0]
    }

    fn x_dim(&self) -> usize {
        self.sizes[1]
    }

    fn rows(&self) -> usize {
        self.sizes[2]
    }

    fn values(&self, y: &[f64], x: &[f64], constraints: &mut [f64], _: &mut [f64]) -> f64 {
        (self.values)(y, x, constraints)
    }

    fn gradient(&self, y: &[f64], x: &[f64], weights: &[f64], gradient: &mut [f64], _: &mut [f64]) {
        if let Some(known) = &self.gradient {
            return known(y, x, weights, gradient);
        }
        let mut moved = y.to_vec();
        let mut constraints = vec![0.0; self.rows()];
        let mut lagrangian = |y: &[f64]| {
            let objective = (self.values)(y, x, &mut constraints);
            let terms = weights.iter().zip(&constraints);
            // A constraint without weight may be without value.
            let terms = terms.filter(|(weight, _)| **weight != 0.0);
            objective + terms.map(|(weight, value)| weight * value).sum::<f64>()
        };
        for (i, gradient) in gradient.iter_mut().enumerate() {
            let step = DIFFERENCE * y[i].abs().max(1.0);
            moved[i] = y[i] + step;
            let above = lagrangian(&moved);
            moved[i] = y[i] - step;
            *gradient = (above - lagrangian(&moved)) / (2.0 * step);
            moved[i] = y[i];
        }
    }

    fn slopes(&self, y: &[f64], x: &[f64], direction: &[f64], slopes: &mut [f64], _: &mut [f64]) {
        if let Some(known) = &self.slopes {
            return known(y, x, direction, slopes);
        }
        let largest = |values: &[f64]| values.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        let length = largest(direction);
        if length == 0.0 {
            return slopes.fill(0.0);
        }
        let step = DIFFERENCE * largest(y).max(1.0) / length;
        let at = |step: f64| -> Vec<f64> {
            let moved = y.iter().zip(direction).map(|(y, d)| y + step * d);
            let moved: Vec<f64> = moved.collect();
            let mut constraints = vec![0.0; self.rows()];
            (self.values)(&moved, x, &mut constraints);
            constraints
        };
        let differences = at(step).into_iter().zip(at(-step));
        for (slope, (above, below)) in slopes.iter_mut().zip(differences) {
            *slope = (above - below) / (2.0 * step);
        }
    }
}
