//! A problem: functions, equations, bounds, and where x comes from.

use std::path::Path;
use std::sync::Arc;

use fabproj_core::Functions;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::asked::Asked;
use crate::set::{Description, Equation, FileSet, Interval, Set, SetError, parse_file};

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
    /// The set, where it can only be asked whether a point is in it.
    asked: Option<Arc<dyn Set>>,
    /// What gives f and its gradient, without asking the set.
    objective: Arc<dyn Functions + Send + Sync>,
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

impl Distribution {
    /// x of the distribution. Rows of data come in random order, each at most once.
    pub(super) fn draw(&self, x_dim: usize, count: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        match self {
            Self::Region(bounds) => {
                let one = |_| {
                    let numbers = bounds.iter().map(|(low, high)| {
                        let part: f64 = random.random();
                        low + (high - low) * part
                    });
                    numbers.collect()
                };
                (0..count).map(one).collect()
            }
            Self::Rows(rows) => {
                let mut rows: Vec<Vec<f64>> = if x_dim == 0 {
                    vec![Vec::new()]
                } else {
                    rows.chunks_exact(x_dim).map(<[f64]>::to_vec).collect()
                };
                rows.shuffle(&mut random);
                rows.truncate(count);
                rows
            }
        }
    }

    /// The lowest and the highest of each coordinate.
    pub(super) fn range(&self, x_dim: usize) -> Vec<Interval> {
        match self {
            Self::Region(bounds) => bounds.clone(),
            Self::Rows(rows) => {
                let ends = |i: usize| {
                    let values = rows.iter().skip(i).step_by(x_dim);
                    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                        (low.min(*value), high.max(*value))
                    })
                };
                (0..x_dim).map(ends).collect()
            }
        }
    }
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
            asked: None,
            objective: functions.clone(),
            functions,
            bounds: None,
            distribution: Distribution::Region(vec![(0.0, 1.0); x_dim]),
            equations: Vec::new(),
            names: (0..dim).map(|i| format!("y{i}")).collect(),
            x_names: (0..x_dim).map(|i| format!("x{i}")).collect(),
        }
    }

    /// A problem whose set can only be asked whether a point is in it: nothing is known of how its constraints
    /// change. Name, bounds, equations and region of x are those of the set. `objective` has no constraints.
    ///
    /// ```
    /// use fabproj::set::FnSet;
    /// use fabproj::solve::{FnFunctions, Problem};
    ///
    /// // The nearest point to x outside of a disc.
    /// let set = FnSet::new("plate", [(-1.0, 1.0); 2], |y, _| y[0].hypot(y[1]) >= 0.4)
    ///     .with_x([(-1.0, 1.0); 2]);
    /// let away = FnFunctions::new([2, 2, 0], |y, x, _| (y[0] - x[0]).hypot(y[1] - x[1]));
    /// let problem = Problem::asked_of(set, away);
    /// problem.check()?;
    /// assert_eq!((problem.dim(), problem.x_dim()), (2, 2));
    /// # Ok::<(), fabproj::solve::ProblemError>(())
    /// ```
    pub fn asked_of(
        set: impl Set + 'static,
        objective: impl Functions + Send + Sync + 'static,
    ) -> Self {
        let set: Arc<dyn Set> = Arc::new(set);
        let objective: Arc<dyn Functions + Send + Sync> = Arc::new(objective);
        let functions = Asked {
            set: set.clone(),
            objective: objective.clone(),
        };
        let problem = Self::new(String::new(), functions)
            .with_description(set.description())
            .with_names(set.names(), set.x_names())
            .with_equations(set.equations())
            .with_bounds(set.bounds())
            .with_x(set.x_bounds());
        Self {
            asked: Some(set),
            objective,
            ..problem
        }
    }

    /// Reads a problem file: a set file with an objective.
    ///
    /// # Errors
    /// [`SetError::File`], with line and column of what is wrong.
    ///
    /// ```
    /// use fabproj::solve::Problem;
    ///
    /// let problem = Problem::from_toml(
    ///     r#"
    ///     name = "dispatch"
    ///     y = 3
    ///     bounds = [0.0, 5.0]
    ///     x = 1
    ///     x_bounds = [1.0, 4.0]
    ///     arrays = { cost = [1.0, 2.0, 4.0] }
    ///     [objective]
    ///     minimise = "cost @ y^2"
    ///     [[constraint]]
    ///     expr = "sum(y) == x[0]"
    ///     [[constraint]]
    ///     expr = "y[0] <= 1 + y[1]"
    ///     "#,
    /// )?;
    /// assert_eq!((problem.dim(), problem.x_dim()), (3, 1));
    /// assert_eq!((problem.equations().len(), problem.functions().rows()), (1, 1));
    /// # Ok::<(), fabproj::set::SetError>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Self, SetError> {
        FileSet::problem(text)
    }

    /// Reads a problem file (`.toml`), with the arrays beside it.
    ///
    /// # Errors
    /// [`SetError::Unreadable`] for a file that cannot be read, [`SetError::File`] for one that does not
    /// describe a problem.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, SetError> {
        parse_file(path.as_ref(), FileSet::problem)
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

    /// The set, where it can only be asked whether a point is in it; its constraints have no gradient then.
    pub fn asked(&self) -> Option<&Arc<dyn Set>> {
        self.asked.as_ref()
    }

    /// What gives f and its gradient, without asking the set.
    pub(super) fn objective(&self) -> &(dyn Functions + Send + Sync) {
        &*self.objective
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
        if let Some(set) = &self.asked {
            length("the set that is asked", dim, set.dim())?;
            length("x of the set that is asked", x_dim, set.x_dim())?;
        }
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
