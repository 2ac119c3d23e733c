//! What a solver knows of a problem, as plain data.

use alloc::format;
use alloc::vec::Vec;

use super::Proposer;
use crate::equations::Equations;
use crate::validate::{MAX_WIDTH, WeightsError, dimension, limit};

/// The most constraints, bounds of y included.
pub(crate) const MAX_ROWS: usize = 1 << 16;
/// The most steps per answer.
pub(crate) const MAX_STEPS: usize = 64;
/// The most other basins.
pub(crate) const MAX_OTHERS: usize = 63;
/// The most membership tests that improve an answer.
const MAX_TESTS: usize = 1 << 20;

/// constant + by_x · x
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AffineMap {
    /// The value at x = 0.
    pub constant: Vec<f64>,
    /// `[output][x]`
    pub by_x: Vec<f64>,
}

/// A solver's start, metric and sensitivities. Training makes them; a [`Solver`](crate::Solver) runs them.
///
/// With P = Z (Zᵀ H Z)⁻¹ Zᵀ, where Z spans the directions that the equations leave and H is a Hessian of the
/// Lagrangian, a step from y moves by −P times a gradient. Row i of the *watched* constraints bends that step
/// by `pulls[i]` = P ∇c_i per unit of its multiplier, and changes the others by `gram[i]`.
#[derive(Clone, Debug, PartialEq)]
pub struct SolverWeights {
    /// Dimension of y.
    pub dim: usize,
    /// Dimension of x.
    pub x_dim: usize,
    /// Constraints of the functions, without bounds.
    pub rows: usize,
    /// Bounds of y, or none. As constraints they follow those of the functions: y0 − high, low − y0, …
    pub bounds: Vec<(f64, f64)>,
    /// First guess of y, which obeys the equations.
    pub start: AffineMap,
    /// First guess of the watched constraints' multipliers; empty for zeros.
    pub multipliers: AffineMap,
    /// A point inside the set, which obeys the equations.
    pub anchor: AffineMap,
    /// P, `[y][y]`
    pub metric: Vec<f64>,
    /// Constraints that take part in steps; the others are only verified.
    pub watched: Vec<usize>,
    /// `[watched][y]`
    pub pulls: Vec<f64>,
    /// `[watched][watched]`
    pub gram: Vec<f64>,
    /// How far inside the watched constraints a step aims.
    pub margins: Vec<f64>,
    /// Places in `watched` that are active most often.
    pub active: Vec<usize>,
    /// Steps per answer.
    pub steps: usize,
    /// The Jacobian of the watched constraints does not depend on y.
    pub linear: bool,
    /// The start is the minimiser without constraints, and `metric` the objective's own: with linear
    /// constraints one step is exact.
    pub exact: bool,
    /// The last step may be this long, as a part of y's size; after a longer one a search at hand follows.
    /// None for problems whose steps always converge.
    pub near: Option<f64>,
    /// The x that training saw: the lowest and the highest of each coordinate.
    pub x_range: Vec<(f64, f64)>,
    /// The learned tool, for sets with a membership test only. `watched` is empty then, and `metric` is the
    /// projection along the equations.
    pub proposer: Option<Proposer>,
    /// Starts in other basins, each with its own metric, where a problem has several local optima. Steps are
    /// taken from all of them, and the answer is that of the best. Sizes, bounds, range and watched
    /// constraints are those of the solver.
    pub others: Vec<SolverWeights>,
}

impl SolverWeights {
    /// Number of constraints, bounds included.
    pub fn all_rows(&self) -> usize {
        self.rows + 2 * self.bounds.len()
    }

    /// Checks every size and number. Weights that pass run without a panic.
    ///
    /// # Errors
    /// The first fault, as a [`WeightsError`] that names the part and the values.
    pub fn validate(&self) -> Result<(), WeightsError> {
        let (dim, x_dim, watched) = (self.dim, self.x_dim, self.watched.len());
        if dim == 0 {
            return Err(WeightsError::Empty { part: "dim".into() });
        }
        limit(|| "solver.dim".into(), dim, MAX_WIDTH)?;
        limit(|| "solver.x_dim".into(), x_dim, MAX_WIDTH)?;
        limit(|| "solver.rows".into(), self.rows, MAX_ROWS)?;
        limit(|| "solver.steps".into(), self.steps, MAX_STEPS)?;
        limit(|| "solver.watched".into(), watched, self.all_rows())?;
        let known = if self.multipliers.constant.is_empty() {
            0
        } else {
            watched
        };
        let bounded = if self.bounds.is_empty() { 0 } else { dim };
        dimension(|| "solver.bounds".into(), self.bounds.len(), bounded)?;
        dimension(|| "solver.x_range".into(), self.x_range.len(), x_dim)?;
        let parts = [
            ("start.constant", &self.start.constant, dim),
            ("start.by_x", &self.start.by_x, dim * x_dim),
            ("multipliers.constant", &self.multipliers.constant, known),
            ("multipliers.by_x", &self.multipliers.by_x, known * x_dim),
            ("anchor.constant", &self.anchor.constant, dim),
            ("anchor.by_x", &self.anchor.by_x, dim * x_dim),
            ("metric", &self.metric, dim * dim),
            ("pulls", &self.pulls, watched * dim),
            ("gram", &self.gram, watched * watched),
            ("margins", &self.margins, watched),
        ];
        for (part, values, expected) in parts {
            finite(part, values, expected)?;
        }
        if let Some(near) = self.near
            && !(near >= 0.0 && near.is_finite())
        {
            return Err(WeightsError::NotFinite {
                part: "solver.near".into(),
                index: 0,
                value: near as f32,
            });
        }
        let places = [
            ("watched", &self.watched, self.all_rows()),
            ("active", &self.active, watched),
        ];
        for (part, places, end) in places {
            for (index, place) in places.iter().enumerate() {
                limit(|| format!("solver.{part}[{index}] + 1"), place + 1, end)?;
                // In order, so that no row is there twice.
                if index > 0 && places[index - 1] >= *place {
                    let (found, limit) = (places[index - 1], *place);
                    let part = format!("solver.{part}[{}] + 1", index - 1);
                    return Err(WeightsError::TooLarge { part, found, limit });
                }
            }
        }
        self.validate_others()?;
        self.validate_proposer()
    }

    fn validate_others(&self) -> Result<(), WeightsError> {
        limit(|| "solver.others".into(), self.others.len(), MAX_OTHERS)?;
        for (index, other) in self.others.iter().enumerate() {
            other.validate()?;
            let part = |name: &str| format!("solver.others.{index}.{name}");
            let sizes = [
                ("dim", other.dim, self.dim),
                ("x_dim", other.x_dim, self.x_dim),
                ("rows", other.rows, self.rows),
                (
                    "bounds",
                    same(&other.bounds, &self.bounds),
                    self.bounds.len(),
                ),
                (
                    "watched",
                    same(&other.watched, &self.watched),
                    self.watched.len(),
                ),
                ("others", other.others.len(), 0),
                ("proposer", usize::from(other.proposer.is_some()), 0),
            ];
            for (name, found, expected) in sizes {
                dimension(|| part(name), found, expected)?;
            }
        }
        Ok(())
    }

    fn validate_proposer(&self) -> Result<(), WeightsError> {
        let Some(proposer) = &self.proposer else {
            return Ok(());
        };
        let (dim, x_dim) = (self.dim, self.x_dim);
        let projector = &proposer.projector;
        projector.validate()?;
        let equations = projector.equations.as_ref();
        let found = equations.map_or(projector.dim, Equations::dim);
        dimension(|| "solver.projector.dim".into(), found, dim)?;
        dimension(|| "solver.projector.x_dim".into(), projector.x_dim, x_dim)?;
        let outputs = dim * proposer.heads(dim).max(1);
        let network = &proposer.network;
        network.validate("solver.network", x_dim.max(1), outputs)?;
        proposer.known.validate(dim, x_dim)?;
        limit(|| "solver.tests".into(), proposer.tests, MAX_TESTS)?;
        limit(|| "solver.watched".into(), self.watched.len(), 0)?;
        if proposer.stride.is_finite() && proposer.stride > 0.0 {
            return Ok(());
        }
        let (part, index, value) = ("solver.stride".into(), 0, proposer.stride as f32);
        Err(WeightsError::NotFinite { part, index, value })
    }
}

/// Refuses a part of another length, or with numbers that are not finite.
pub(super) fn finite(part: &str, values: &[f64], expected: usize) -> Result<(), WeightsError> {
    let length = || format!("the length of solver.{part}");
    dimension(length, values.len(), expected)?;
    let Some(index) = values.iter().position(|value| !value.is_finite()) else {
        return Ok(());
    };
    Err(WeightsError::NotFinite {
        part: format!("solver.{part}"),
        index,
        value: values[index] as f32,
    })
}

/// How many entries two lists have in common, place by place; none if one is longer.
fn same<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    if one.len() != other.len() {
        return 0;
    }
    one.iter().zip(other).filter(|(a, b)| a == b).count()
}
