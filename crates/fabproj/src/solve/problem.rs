//! A problem: functions, equations, bounds, and where x comes from.

use std::path::Path;
use std::sync::Arc;

use fabproj_core::Functions;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::black_box::BlackBox;
use crate::set::{
    Description, Equation, FileSet, Interval, Set, SetError, bounded, extent, finite, length,
    ordered, parse_file, widened,
};

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
    /// The set and the objective, where the set has a membership test only.
    black_box: Option<Arc<BlackBox>>,
    bounds: Option<Vec<Interval>>,
    distribution: Distribution,
    equations: Vec<Equation>,
    names: Vec<String>,
    x_names: Vec<String>,
}

/// Where x comes from, in training and in certificates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Distribution {
    /// Uniformly from a region.
    Region(Vec<Interval>),
    /// Rows of data, one x after the other, each as likely as any other.
    Rows(Vec<f64>),
}

impl Distribution {
    /// x of the distribution. Rows of data come in random order, each at most once.
    pub(super) fn draw(&self, x_dim: usize, count: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        match self {
            Self::Region(_) => {
                let one = |_| {
                    let mut x = vec![0.0; x_dim];
                    self.draw_one(&mut random, &mut x);
                    x
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

    /// Writes one x; a row of data may come again.
    pub(super) fn draw_one(&self, random: &mut ChaCha8Rng, x: &mut [f64]) {
        match self {
            _ if x.is_empty() => {}
            Self::Region(bounds) => {
                for (x, (low, high)) in x.iter_mut().zip(bounds) {
                    let part: f64 = random.random();
                    *x = low + (high - low) * part;
                }
            }
            Self::Rows(rows) => {
                let row = random.random_range(0..rows.len() / x.len());
                x.copy_from_slice(&rows[row * x.len()..][..x.len()]);
            }
        }
    }

    /// The lowest and the highest of each coordinate.
    pub(super) fn range(&self, x_dim: usize) -> Vec<Interval> {
        match self {
            Self::Region(bounds) => bounds.clone(),
            Self::Rows(rows) => (0..x_dim).map(|i| extent(rows, x_dim, i)).collect(),
        }
    }

    /// The region that contains all x, with a width in every coordinate.
    pub(super) fn region(&self, x_dim: usize) -> Vec<Interval> {
        self.range(x_dim).into_iter().map(widened).collect()
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
            functions,
            black_box: None,
            bounds: None,
            distribution: Distribution::Region(vec![(0.0, 1.0); x_dim]),
            equations: Vec::new(),
            names: (0..dim).map(|i| format!("y{i}")).collect(),
            x_names: (0..x_dim).map(|i| format!("x{i}")).collect(),
        }
    }

    /// A problem whose set has a membership test only. Name, bounds, equations and region of x are those of the
    /// set. The objective has no constraints of its own.
    ///
    /// ```
    /// use fabproj::set::FnSet;
    /// use fabproj::solve::{FnFunctions, Problem};
    ///
    /// // The point nearest to x outside a disc.
    /// let set = FnSet::new("plate", [(-1.0, 1.0); 2], |y, _| y[0].hypot(y[1]) >= 0.4)
    ///     .with_x([(-1.0, 1.0); 2]);
    /// let distance = FnFunctions::new([2, 2, 0], |y, x, _| (y[0] - x[0]).hypot(y[1] - x[1]));
    /// let problem = Problem::from_set(set, distance);
    /// problem.check()?;
    /// assert_eq!((problem.dim(), problem.x_dim()), (2, 2));
    /// # Ok::<(), fabproj::set::SetError>(())
    /// ```
    pub fn from_set(
        set: impl Set + 'static,
        objective: impl Functions + Send + Sync + 'static,
    ) -> Self {
        let set: Arc<dyn Set> = Arc::new(set);
        let objective = Arc::new(objective);
        let black_box = Arc::new(BlackBox {
            set: set.clone(),
            objective,
        });
        let problem = Self::shared(String::new(), black_box.clone())
            .with_description(set.description())
            .with_names(set.names(), set.x_names())
            .with_equations(set.equations())
            .with_bounds(set.bounds())
            .with_x(set.x_bounds());
        Self {
            black_box: Some(black_box),
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

    /// The same problem with other functions, of the same dimensions.
    #[must_use]
    pub fn with_functions(mut self, functions: Arc<dyn Functions + Send + Sync>) -> Self {
        self.functions = functions;
        self
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

    /// The set and the objective, where the set has a membership test only.
    pub(super) fn black_box(&self) -> Option<&BlackBox> {
        self.black_box.as_deref()
    }

    /// What gives f and its gradient, without a membership test.
    pub(super) fn objective(&self) -> &(dyn Functions + Send + Sync) {
        match &self.black_box {
            Some(black_box) => &*black_box.objective,
            None => &*self.functions,
        }
    }

    /// Bounds of y, if it has any.
    pub fn bounds(&self) -> Option<&[Interval]> {
        self.bounds.as_deref()
    }

    /// As many x as asked for, one after the other, from where training takes them. Rows of data come in random
    /// order, each at most once.
    pub fn draw_x(&self, count: usize, seed: u64) -> Vec<f64> {
        self.distribution.draw(self.x_dim(), count, seed).concat()
    }

    pub(crate) fn distribution(&self) -> &Distribution {
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
    /// [`SetError::Length`], [`SetError::Interval`] or [`SetError::NotFinite`], which names the part.
    pub fn check(&self) -> Result<(), SetError> {
        let (dim, x_dim) = (self.dim(), self.x_dim());
        length("coordinates of y, at least", dim.max(1), dim)?;
        if let Some(BlackBox { set, objective }) = self.black_box() {
            length("coordinates of the set", dim, set.dim())?;
            length("coordinates of the set's x", x_dim, set.x_dim())?;
            length("constraints of the objective of a set", 0, objective.rows())?;
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
                bounded("bounds of x", bounds)
            }
            Distribution::Rows(rows) => {
                let whole = rows.len().next_multiple_of(x_dim.max(1)).max(x_dim);
                length("rows of x, all in all", whole, rows.len())?;
                finite("rows of x", rows)
            }
        }
    }
}
