//! A closure as a set.

use super::vector::is_finite;
use super::{Description, Interval, Set};
use fabproj_core::Membership;

type Contains = Box<dyn Fn(&[f64], &[f64]) -> bool + Send + Sync>;
type Violation = Box<dyn Fn(&[f64], &[f64], &mut [f64]) -> f64 + Send + Sync>;
type Nearest = Box<dyn Fn(&[f64], &[f64], &mut [f64]) -> bool + Send + Sync>;

/// A set given by closures of the program.
///
/// ```
/// use fabproj::Membership;
/// use fabproj::set::FnSet;
///
/// // A disc of radius x around the origin, for x from 1 to 2.
/// let disc = FnSet::new("disc", [(-3.0, 3.0); 2], |y, x| y[0].hypot(y[1]) <= x[0])
///     .with_x([(1.0, 2.0)])
///     .with_names(&["east", "north"], &["radius"])
///     .with_violation(|y, x, gradient| {
///         let length = y[0].hypot(y[1]);
///         let outside = length > x[0];
///         gradient[0] = if outside { y[0] / length } else { 0.0 };
///         gradient[1] = if outside { y[1] / length } else { 0.0 };
///         (length - x[0]).max(0.0)
///     });
/// assert!(disc.contains(&[1.2, 0.0], &[1.5]));
/// assert!(!disc.contains(&[f64::NAN, 0.0], &[1.5]));
/// ```
pub struct FnSet {
    name: String,
    bounds: Vec<Interval>,
    x_bounds: Vec<Interval>,
    names: Vec<String>,
    x_names: Vec<String>,
    contains: Contains,
    violation: Option<Violation>,
    nearest: Option<Nearest>,
}

impl FnSet {
    /// A set with a name for the model file, the region of interest (one interval for each coordinate of y) and
    /// the membership test. The test never sees NaN or infinity: such points are outside.
    pub fn new(
        name: impl Into<String>,
        bounds: impl Into<Vec<Interval>>,
        contains: impl Fn(&[f64], &[f64]) -> bool + Send + Sync + 'static,
    ) -> Self {
        let bounds = bounds.into();
        Self {
            name: name.into(),
            names: (0..bounds.len()).map(|i| format!("y{i}")).collect(),
            bounds,
            x_bounds: Vec::new(),
            x_names: Vec::new(),
            contains: Box::new(contains),
            violation: None,
            nearest: None,
        }
    }

    /// Makes the set depend on x from this region.
    #[must_use]
    pub fn with_x(mut self, bounds: impl Into<Vec<Interval>>) -> Self {
        self.x_bounds = bounds.into();
        self.x_names = (0..self.x_bounds.len()).map(|i| format!("x{i}")).collect();
        self
    }

    /// Names the coordinates of y and of x; `y0`, `y1`, … and `x0`, `x1`, … otherwise.
    #[must_use]
    pub fn with_names(mut self, y: &[&str], x: &[&str]) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        (self.names, self.x_names) = (owned(y), owned(x));
        self
    }

    /// Adds the violation: zero exactly inside; its gradient goes into the last argument.
    #[must_use]
    pub fn with_violation(
        mut self,
        violation: impl Fn(&[f64], &[f64], &mut [f64]) -> f64 + Send + Sync + 'static,
    ) -> Self {
        self.violation = Some(Box::new(violation));
        self
    }

    /// Adds the nearest point: written into the last argument; false where it is not known.
    #[must_use]
    pub fn with_nearest(
        mut self,
        nearest: impl Fn(&[f64], &[f64], &mut [f64]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.nearest = Some(Box::new(nearest));
        self
    }
}

impl Membership for FnSet {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        is_finite(y) && is_finite(x) && (self.contains)(y, x)
    }

    fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let violation = self.violation.as_ref()?;
        if is_finite(y) && is_finite(x) {
            Some(violation(y, x, gradient))
        } else {
            gradient.fill(0.0);
            Some(f64::INFINITY)
        }
    }
}

impl Set for FnSet {
    fn dim(&self) -> usize {
        self.bounds.len()
    }

    fn x_dim(&self) -> usize {
        self.x_bounds.len()
    }

    fn nearest(&self, y: &[f64], x: &[f64], nearest: &mut [f64]) -> bool {
        match &self.nearest {
            Some(closure) => is_finite(y) && is_finite(x) && closure(y, x, nearest),
            None => false,
        }
    }

    fn bounds(&self) -> Vec<Interval> {
        self.bounds.clone()
    }

    fn x_bounds(&self) -> Vec<Interval> {
        self.x_bounds.clone()
    }

    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn x_names(&self) -> Vec<String> {
        self.x_names.clone()
    }

    fn description(&self) -> Description {
        Description::Closure {
            name: self.name.clone(),
        }
    }
}
