//! A problem: functions, equations, bounds, and where x comes from.

use std::sync::Arc;

use fabproj_core::Functions;

use crate::set::{Description, Equation, Interval};

/// Minimise f(y, x) over y with c(y, x) ≤ 0, A y = b + B x and bounds, for every x of a distribution.
///
/// ```
/// use fabproj::set::Equation;
/// use fabproj::solve::{Problem, Quadratic};
///
/// // ½ (y0² + 3 y1²) − y0 with y0 + 2 y1 <= 1 and y0 − y1 = x0
/// let functions = Quadratic::diagonal(vec![1.0, 3.0], vec![-1.0, 0.0], 1)?
///     .with_rows(vec![1.0, 2.0], vec![1.0])?;
/// let equation = Equation { normal: vec![1.0, -1.0], constant: 0.0, slopes: vec![1.0] };
/// let problem = Problem::new("two", functions)
///     .with_equations(vec![equation])
///     .with_x([(-1.0, 1.0)]);
/// problem.check()?;
/// assert_eq!((problem.dim(), problem.x_dim()), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Problem {
    description: Description,
    functions: Arc<dyn Functions + Send + Sync>,
    bounds: Option<Vec<Interval>>,
    distribution: Distribution,
    equations: Vec<Equation>,
    names: Vec<String>,
    x_names: Vec<String>,
}

/// Where x comes from, in training and in certificates.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// Uniformly from a region.
    Region(Vec<Interval>),
    /// Rows of data, one x after the other, each as likely as any other.
    Rows(Vec<f64>),
}

/// A problem whose parts do not fit together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// A list of the wrong length.
    #[error("{what}: expected {expected} values, found {found}")]
    Length {
        /// What the list holds.
        what: &'static str,
        /// The length that the problem needs.
        expected: usize,
        /// Its length.
        found: usize,
    },
    /// A number that is NaN or infinite.
    #[error("{what}[{index}] is {value}: replace or remove it")]
    NotFinite {
        /// What the list holds.
        what: &'static str,
        /// Where the number is.
        index: usize,
        /// The number.
        value: f64,
    },
    /// A reversed interval.
    #[error("{what}[{index}]: the lower end {low} must be below the upper end {high}")]
    Interval {
        /// What the interval is for.
        what: &'static str,
        /// Which one.
        index: usize,
        /// Its lower end.
        low: f64,
        /// Its upper end.
        high: f64,
    },
}

impl Problem {
    /// A problem with a name for the model file and its functions; x is uniform between 0 and 1 until
    /// [`with_x`](Self::with_x) or [`with_x_rows`](Self::with_x_rows) says otherwise.
    pub fn new(name: impl Into<String>, functions: impl Functions + Send + Sync + 'static) -> Self {
        Self::shared(name, Arc::new(functions))
    }

    /// [`new`](Self::new) with functions that others use too.
    pub fn shared(name: impl Into<String>, functions: Arc<dyn Functions + Send + Sync>) -> Self {
        let (dim, x_dim) = (functions.dim(), functions.x_dim());
        Self {
            description: Description::Closure { name: name.into() },
            functions,
            bounds: None,
            distribution: Distribution::Region(vec![(0.0, 1.0); x_dim]),
            equations: Vec::new(),
            names: (0..dim).map(|i| format!("y{i}")).collect(),
            x_names: (0..x_dim).map(|i| format!("x{i}")).collect(),
        }
    }

    /// Adds bounds of y, one interval for each coordinate; an end may be infinite.
    #[must_use]
    pub fn with_bounds(mut self, bounds: impl Into<Vec<Interval>>) -> Self {
        self.bounds = Some(bounds.into());
        self
    }

    /// Adds equations that every answer obeys.
    #[must_use]
    pub fn with_equations(mut self, equations: Vec<Equation>) -> Self {
        self.equations = equations;
        self
    }

    /// Sets the region of x.
    #[must_use]
    pub fn with_x(mut self, bounds: impl Into<Vec<Interval>>) -> Self {
        self.distribution = Distribution::Region(bounds.into());
        self
    }

    /// Sets rows of data that x comes from.
    #[must_use]
    pub fn with_x_rows(mut self, rows: Vec<f64>) -> Self {
        self.distribution = Distribution::Rows(rows);
        self
    }

    /// Names the coordinates of y and of x.
    #[must_use]
    pub fn with_names(mut self, names: Vec<String>, x_names: Vec<String>) -> Self {
        (self.names, self.x_names) = (names, x_names);
        self
    }

    /// Sets what a model file says about the problem, such as the file that it came from.
    #[must_use]
    pub fn with_description(mut self, description: Description) -> Self {
        self.description = description;
        self
    }

    /// Dimension of y.
    pub fn dim(&self) -> usize {
        self.functions.dim()
    }

    /// Dimension of x.
    pub fn x_dim(&self) -> usize {
        self.functions.x_dim()
    }

    /// Objective and constraints.
    pub fn functions(&self) -> &Arc<dyn Functions + Send + Sync> {
        &self.functions
    }

    /// Bounds of y, if it has any.
    pub fn bounds(&self) -> Option<&[Interval]> {
        self.bounds.as_deref()
    }

    /// Where x comes from.
    pub fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// Equations that every answer obeys.
    pub fn equations(&self) -> &[Equation] {
        &self.equations
    }

    /// Names of the coordinates of y.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Names of the coordinates of x.
    pub fn x_names(&self) -> &[String] {
        &self.x_names
    }

    /// What a model file says about the problem.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Checks that all parts fit together.
    ///
    /// # Errors
    /// [`ProblemError`], which names the part.
    pub fn check(&self) -> Result<(), ProblemError> {
        let (dim, x_dim) = (self.dim(), self.x_dim());
        length("coordinates of y, at least", dim.max(1), dim)?;
        length("names of y", dim, self.names.len())?;
        length("names of x", x_dim, self.x_names.len())?;
        if let Some(bounds) = &self.bounds {
            length("bounds of y", dim, bounds.len())?;
            ordered("bounds of y", bounds)?;
        }
        for equation in &self.equations {
            length("the normal of an equation", dim, equation.normal.len())?;
            length("the slopes of an equation", x_dim, equation.slopes.len())?;
            finite("the normal of an equation", &equation.normal)?;
            finite("the slopes of an equation", &equation.slopes)?;
            finite("the constant of an equation", &[equation.constant])?;
        }
        match &self.distribution {
            Distribution::Region(bounds) => {
                length("bounds of x", x_dim, bounds.len())?;
                ordered("bounds of x", bounds)?;
                let ends: Vec<f64> = bounds
                    .iter()
                    .flat_map(|(low, high)| [*low, *high])
                    .collect();
                finite("bounds of x", &ends)
            }
            Distribution::Rows(rows) => {
                let whole = rows.len().next_multiple_of(x_dim.max(1)).max(x_dim);
                length("rows of x, all in all", whole, rows.len())?;
                finite("rows of x", rows)
            }
        }
    }
}

/// Compares lengths.
pub(super) fn length(
    what: &'static str,
    expected: usize,
    found: usize,
) -> Result<(), ProblemError> {
    if expected == found {
        return Ok(());
    }
    Err(ProblemError::Length {
        what,
        expected,
        found,
    })
}

/// Refuses NaN and infinity.
pub(super) fn finite(what: &'static str, values: &[f64]) -> Result<(), ProblemError> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(ProblemError::NotFinite {
            what,
            index,
            value: values[index],
        }),
    }
}

fn ordered(what: &'static str, bounds: &[Interval]) -> Result<(), ProblemError> {
    // NaN is not below anything.
    let wrong = |(low, high): &Interval| low.partial_cmp(high) != Some(std::cmp::Ordering::Less);
    match bounds.iter().position(wrong) {
        None => Ok(()),
        Some(index) => Err(ProblemError::Interval {
            what,
            index,
            low: bounds[index].0,
            high: bounds[index].1,
        }),
    }
}
