//! A closure as a set.

use super::vector::is_finite;
use super::{Description, Interval, Result, Set, SetError};

type Contains = Box<dyn Fn(&[f64], &[f64]) -> bool + Send + Sync>;
type Violation = Box<dyn Fn(&[f64], &[f64], &mut [f64]) -> f64 + Send + Sync>;
type Nearest = Box<dyn Fn(&[f64], &[f64], &mut [f64]) -> bool + Send + Sync>;

/// A set given by closures of the program.
///
/// ```
/// use fabproj::set::{Set, FnSet};
///
/// // A disc of radius x around the origin, for x from 1 to 2.
/// let disc = FnSet::builder("disc", vec![(-3.0, 3.0); 2], |y, x| y[0].hypot(y[1]) <= x[0])
///     .parameters(vec![(1.0, 2.0)])
///     .names(["east", "north"])
///     .x_names(["radius"])
///     .violation(|y, x, gradient| {
///         let length = y[0].hypot(y[1]);
///         let outside = length > x[0];
///         gradient[0] = if outside { y[0] / length } else { 0.0 };
///         gradient[1] = if outside { y[1] / length } else { 0.0 };
///         (length - x[0]).max(0.0)
///     })
///     .build()?;
/// assert!(disc.contains(&[1.2, 0.0], &[1.5]));
/// assert!(!disc.contains(&[f64::NAN, 0.0], &[1.5]));
/// # Ok::<(), fabproj::set::SetError>(())
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
    /// Begins a set with a name for the model file, the region of interest (one interval for each
    /// coordinate of y) and the membership test. The test never sees NaN or infinity: such points
    /// are outside.
    pub fn builder(
        name: impl Into<String>,
        bounds: Vec<Interval>,
        contains: impl Fn(&[f64], &[f64]) -> bool + Send + Sync + 'static,
    ) -> FnSetBuilder {
        FnSetBuilder {
            set: FnSet {
                name: name.into(),
                bounds,
                x_bounds: Vec::new(),
                names: Vec::new(),
                x_names: Vec::new(),
                contains: Box::new(contains),
                violation: None,
                nearest: None,
            },
        }
    }
}

/// A [`FnSet`] in the making.
#[must_use = "a builder makes nothing before `build`"]
pub struct FnSetBuilder {
    set: FnSet,
}

impl FnSetBuilder {
    /// Makes the set depend on parameters x from this region.
    pub fn parameters(mut self, bounds: Vec<Interval>) -> Self {
        self.set.x_bounds = bounds;
        self
    }

    /// Names the coordinates of y; `y0`, `y1`, … otherwise.
    pub fn names(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.set.names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Names the parameters; `x0`, `x1`, … otherwise.
    pub fn x_names(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.set.x_names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Adds the violation: zero exactly inside; its gradient goes into the last argument.
    pub fn violation(
        mut self,
        violation: impl Fn(&[f64], &[f64], &mut [f64]) -> f64 + Send + Sync + 'static,
    ) -> Self {
        self.set.violation = Some(Box::new(violation));
        self
    }

    /// Adds the nearest point: written into the last argument; false where it is not known.
    pub fn nearest(
        mut self,
        nearest: impl Fn(&[f64], &[f64], &mut [f64]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.set.nearest = Some(Box::new(nearest));
        self
    }

    /// Checks the parts and makes the set.
    ///
    /// # Errors
    ///
    /// When there are no coordinates, when an interval is empty or not finite, or when the number of
    /// names is not that of the coordinates.
    pub fn build(self) -> Result<FnSet> {
        let mut set = self.set;
        if set.bounds.is_empty() {
            return Err(SetError::Length {
                what: "bounds of a set (at least)",
                expected: 1,
                found: 0,
            });
        }
        check_intervals("bounds", &set.bounds)?;
        check_intervals("parameter bounds", &set.x_bounds)?;
        complete_names(
            "names of coordinates",
            "y",
            set.bounds.len(),
            &mut set.names,
        )?;
        let parameters = set.x_bounds.len();
        complete_names("names of parameters", "x", parameters, &mut set.x_names)?;
        Ok(set)
    }
}

fn check_intervals(what: &'static str, intervals: &[Interval]) -> Result<()> {
    let bad = |(low, high): &Interval| !(low.is_finite() && high.is_finite() && low < high);
    match intervals.iter().position(bad) {
        Some(index) => {
            let (low, high) = intervals[index];
            Err(SetError::Interval {
                what,
                index,
                low,
                high,
            })
        }
        None => Ok(()),
    }
}

fn complete_names(
    what: &'static str,
    letter: &str,
    count: usize,
    names: &mut Vec<String>,
) -> Result<()> {
    if names.is_empty() {
        *names = (0..count).map(|i| format!("{letter}{i}")).collect();
    }
    if names.len() == count {
        Ok(())
    } else {
        Err(SetError::Length {
            what,
            expected: count,
            found: names.len(),
        })
    }
}

impl Set for FnSet {
    fn dim(&self) -> usize {
        self.bounds.len()
    }

    fn x_dim(&self) -> usize {
        self.x_bounds.len()
    }

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
