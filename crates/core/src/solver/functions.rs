//! What a solver asks a problem.

/// Objective and inequality constraints of a problem: minimise f(y, x) over y with c(y, x) ≤ 0, row by row.
///
/// Affine equations and bounds of y are not among the constraints: they belong to the problem itself.
///
/// Every `y`, `gradient` and `direction` has [`dim`](Self::dim) entries, every `x`
/// [`x_dim`](Self::x_dim), everything by constraint [`rows`](Self::rows). A value that does not exist at a
/// point (a simulation that fails, a logarithm of a negative number) is NaN or infinite: such a point is
/// infeasible.
///
/// `memory` has [`memory`](Self::memory) entries and belongs to one thread.
/// [`gradient`](Self::gradient) and [`slopes`](Self::slopes) are called at the point of the last
/// [`values`](Self::values) alone, with the same memory: what was computed there, such as the state of a
/// simulated network, can be kept in it. It is all zeros before the first call for an x, and before the one
/// that decides whether an answer is feasible.
///
/// ```
/// use fabproj_core::Functions;
///
/// /// The point of a disc of radius x that is nearest to (2, 1).
/// struct Disc;
///
/// impl Functions for Disc {
///     fn dim(&self) -> usize {
///         2
///     }
///     fn x_dim(&self) -> usize {
///         1
///     }
///     fn rows(&self) -> usize {
///         1
///     }
///     fn values(&self, y: &[f64], x: &[f64], constraints: &mut [f64], _: &mut [f64]) -> f64 {
///         constraints[0] = y[0] * y[0] + y[1] * y[1] - x[0] * x[0];
///         (y[0] - 2.0).powi(2) + (y[1] - 1.0).powi(2)
///     }
///     fn gradient(&self, y: &[f64], _: &[f64], weights: &[f64], gradient: &mut [f64], _: &mut [f64]) {
///         gradient[0] = 2.0 * (y[0] - 2.0) + weights[0] * 2.0 * y[0];
///         gradient[1] = 2.0 * (y[1] - 1.0) + weights[0] * 2.0 * y[1];
///     }
///     fn slopes(&self, y: &[f64], _: &[f64], direction: &[f64], slopes: &mut [f64], _: &mut [f64]) {
///         slopes[0] = 2.0 * (y[0] * direction[0] + y[1] * direction[1]);
///     }
/// }
/// let mut constraints = [0.0];
/// assert_eq!(Disc.values(&[0.0, 0.0], &[1.0], &mut constraints, &mut []), 5.0);
/// assert_eq!(constraints, [-1.0]);
/// ```
pub trait Functions {
    /// Dimension of y.
    fn dim(&self) -> usize;

    /// Dimension of x; 0 for a single problem.
    fn x_dim(&self) -> usize;

    /// Number of inequality constraints.
    fn rows(&self) -> usize;

    /// How many numbers the other calls want to keep between them.
    fn memory(&self) -> usize {
        0
    }

    /// Returns f(y, x) and writes c(y, x) into `constraints`.
    fn values(&self, y: &[f64], x: &[f64], constraints: &mut [f64], memory: &mut [f64]) -> f64;

    /// f(y, x) alone, for functions whose constraints take long: a point that is not better is not asked for them.
    /// None where [`values`](Self::values) gives both at once.
    fn objective(&self, y: &[f64], x: &[f64], memory: &mut [f64]) -> Option<f64> {
        let _ = (y, x, memory);
        None
    }

    /// Writes ∇f + Σ weights_i ∇c_i into `gradient`. Most weights are zero.
    fn gradient(
        &self,
        y: &[f64],
        x: &[f64],
        weights: &[f64],
        gradient: &mut [f64],
        memory: &mut [f64],
    );

    /// Writes the Jacobian of c times `direction` into `slopes`. Only training asks.
    fn slopes(
        &self,
        y: &[f64],
        x: &[f64],
        direction: &[f64],
        slopes: &mut [f64],
        memory: &mut [f64],
    );
}

/// Functions behind a pointer are functions.
macro_rules! through_pointer {
    ($pointer:ty) => {
        impl<F: Functions + ?Sized> Functions for $pointer {
            fn dim(&self) -> usize {
                (**self).dim()
            }

            fn x_dim(&self) -> usize {
                (**self).x_dim()
            }

            fn rows(&self) -> usize {
                (**self).rows()
            }

            fn memory(&self) -> usize {
                (**self).memory()
            }

            fn values(
                &self,
                y: &[f64],
                x: &[f64],
                constraints: &mut [f64],
                memory: &mut [f64],
            ) -> f64 {
                (**self).values(y, x, constraints, memory)
            }

            fn objective(&self, y: &[f64], x: &[f64], memory: &mut [f64]) -> Option<f64> {
                (**self).objective(y, x, memory)
            }

            fn gradient(
                &self,
                y: &[f64],
                x: &[f64],
                weights: &[f64],
                gradient: &mut [f64],
                memory: &mut [f64],
            ) {
                (**self).gradient(y, x, weights, gradient, memory);
            }

            fn slopes(
                &self,
                y: &[f64],
                x: &[f64],
                direction: &[f64],
                slopes: &mut [f64],
                memory: &mut [f64],
            ) {
                (**self).slopes(y, x, direction, slopes, memory);
            }
        }
    };
}

through_pointer!(&F);
through_pointer!(alloc::boxed::Box<F>);
#[cfg(target_has_atomic = "ptr")]
through_pointer!(alloc::sync::Arc<F>);
