//! Answers to a problem: steps from a learned start, each an active-set quadratic program, and nothing
//! returned as feasible that was not verified.

mod active_set;
mod functions;
mod known;
mod learned;
mod pullback;
mod run;
mod search;
#[cfg(test)]
mod tests;
mod weights;

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

#[doc(hidden)]
pub use active_set::{ActiveSet, Ending};
pub use functions::Functions;
pub use known::KnownAnswers;
pub(crate) use known::MAX_KNOWN;
pub use learned::Proposer;
pub use pullback::PullbackWorkspace;
pub use weights::{AffineMap, SolverWeights};
pub(crate) use weights::{MAX_OTHERS, MAX_ROWS};

use crate::projector::CallError;
use crate::projector::call::length;
use crate::validate::{WeightsError, dimension};
use search::SearchMemory;

/// Answers a problem: minimises f(y, x) over y with c(y, x) ≤ 0, bounds and affine equations.
///
/// A call starts at a learned point, or at several, takes a fixed number of steps, each an active-set quadratic
/// program in a learned metric, and returns a point at which the functions themselves say c ≤ 0. It does not allocate.
///
/// ```
/// use fabproj_core::{AffineMap, Functions, SolveOutcome, Solver, SolverWeights};
///
/// /// ½ (y − x)² with y ≤ 1
/// struct Capped;
/// impl Functions for Capped {
///     fn dim(&self) -> usize { 1 }
///     fn x_dim(&self) -> usize { 1 }
///     fn rows(&self) -> usize { 1 }
///     fn values(&self, y: &[f64], x: &[f64], c: &mut [f64], _: &mut [f64]) -> f64 {
///         c[0] = y[0] - 1.0;
///         0.5 * (y[0] - x[0]) * (y[0] - x[0])
///     }
///     fn gradient(&self, y: &[f64], x: &[f64], w: &[f64], gradient: &mut [f64], _: &mut [f64]) {
///         gradient[0] = y[0] - x[0] + w[0];
///     }
///     fn slopes(&self, _: &[f64], _: &[f64], direction: &[f64], slopes: &mut [f64], _: &mut [f64]) {
///         slopes[0] = direction[0];
///     }
/// }
/// // Training makes these.
/// let weights = SolverWeights {
///     dim: 1, x_dim: 1, rows: 1, bounds: vec![],
///     start: AffineMap { constant: vec![0.0], by_x: vec![1.0] },
///     multipliers: AffineMap::default(),
///     anchor: AffineMap { constant: vec![0.0], by_x: vec![0.0] },
///     metric: vec![1.0], watched: vec![0], pulls: vec![1.0], gram: vec![1.0], margins: vec![0.0],
///     active: vec![], steps: 1, linear: true, exact: true, near: None, x_range: vec![(-2.0, 2.0)],
///     proposer: None, others: vec![],
/// };
/// let solver = Solver::new(weights, Capped)?;
/// let (y, answer) = solver.solve(&[1.5])?;
/// assert_eq!((y[0], answer.objective, answer.outcome), (1.0, 0.125, SolveOutcome::Solved));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Solver<F> {
    weights: SolverWeights,
    functions: F,
    /// Along which a search moves y, one after the other; none where no search is wanted.
    directions: Vec<f64>,
    packed: Option<learned::Packed>,
}

/// What a solver did for one x.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// How the answer was found, and whether it is feasible.
    pub outcome: SolveOutcome,
    /// f(y, x)
    pub objective: f64,
    /// Whether x is within the range that training saw.
    pub x_in_range: bool,
    /// Whether the steps did not settle, so that a search at hand followed, which takes longer.
    pub searched: bool,
}

/// Not answered yet: a place for [`Solver::solve_rows_into`] to write to.
impl Default for Answer {
    fn default() -> Self {
        Self {
            outcome: SolveOutcome::NotFinite,
            objective: f64::NAN,
            x_in_range: false,
            searched: false,
        }
    }
}

/// How a [`Solver`] found its answer. The answer is feasible if [`is_verified`](Self::is_verified): the
/// functions gave c(y, x) ≤ 0 in every row, without tolerance, and y is within its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SolveOutcome {
    /// The steps ended at a feasible point.
    Solved,
    /// The steps ended outside; the answer lies between their end and a feasible point, at the boundary.
    Pulled,
    /// No feasible point was found: the set may be empty at this x. The answer is the least violating point
    /// that was seen.
    MaybeInfeasible,
    /// x held NaN or infinity. The answer has not been tested.
    NotFinite,
}

impl SolveOutcome {
    /// All outcomes, in the order of declaration.
    pub const ALL: [Self; 4] = [
        Self::Solved,
        Self::Pulled,
        Self::MaybeInfeasible,
        Self::NotFinite,
    ];

    /// Whether the answer was verified to be feasible.
    pub fn is_verified(self) -> bool {
        matches!(self, Self::Solved | Self::Pulled)
    }

    /// A word for tables and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Solved => "solved",
            Self::Pulled => "pulled",
            Self::MaybeInfeasible => "maybe-infeasible",
            Self::NotFinite => "not-finite",
        }
    }
}

impl fmt::Display for SolveOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// Memory for calls without allocation, from [`Solver::workspace`]. One per thread.
#[derive(Clone, Debug)]
pub struct SolverWorkspace {
    /// dim, x_dim, rows, watched rows, memory of the functions, directions of a search, other basins.
    sizes: [usize; 7],
    /// The basin of the answer: 0 is the solver's own.
    basin: usize,
    /// Memory of the other basins.
    others: Vec<SolverWorkspace>,
    y: Vec<f64>,
    /// y before the last step.
    before: Vec<f64>,
    /// A direction of y.
    direction: Vec<f64>,
    gradient: Vec<f64>,
    /// c, bounds included.
    constraints: Vec<f64>,
    /// Weights of the Lagrangian.
    by_row: Vec<f64>,
    anchor: Vec<f64>,
    anchor_constraints: Vec<f64>,
    least_violating: Vec<f64>,
    /// Linearised values of the watched constraints.
    q: Vec<f64>,
    /// Multipliers before a step.
    carried: Vec<f64>,
    guess: Vec<usize>,
    program: ActiveSet,
    memory: Vec<f64>,
    search: Option<SearchMemory>,
    learned: Option<learned::Buffers>,
}

impl<F: Functions> Solver<F> {
    /// A solver of a problem.
    ///
    /// # Errors
    /// [`WeightsError`] for weights that do not [validate](SolverWeights::validate) or that belong to other
    /// functions.
    pub fn new(weights: SolverWeights, functions: F) -> Result<Self, WeightsError> {
        weights.validate()?;
        let sizes = [
            ("solver.dim", weights.dim, functions.dim()),
            ("solver.x_dim", weights.x_dim, functions.x_dim()),
            ("solver.rows", weights.rows, functions.rows()),
        ];
        for (part, found, expected) in sizes {
            dimension(|| part.into(), found, expected)?;
        }
        let directions = match weights.near {
            Some(_) => search::directions(&weights),
            None => Vec::new(),
        };
        let packed = learned::Packed::new(&weights)?;
        Ok(Self {
            weights,
            functions,
            directions,
            packed,
        })
    }

    /// What was trained, as plain data.
    pub fn weights(&self) -> &SolverWeights {
        &self.weights
    }

    /// Objective and constraints.
    pub fn functions(&self) -> &F {
        &self.functions
    }

    /// Dimension of y.
    pub fn dim(&self) -> usize {
        self.weights.dim
    }

    /// Dimension of x.
    pub fn x_dim(&self) -> usize {
        self.weights.x_dim
    }

    /// Memory for calls without allocation.
    pub fn workspace(&self) -> SolverWorkspace {
        let free = self.directions.len() / self.dim();
        SolverWorkspace {
            others: vec![self.memory(); self.weights.others.len()],
            search: (free > 0).then(|| SearchMemory::new(&self.weights, free)),
            learned: self.packed.as_ref().map(learned::Packed::buffers),
            ..self.memory()
        }
    }

    /// Memory for the steps of one basin.
    fn memory(&self) -> SolverWorkspace {
        let (dim, rows, watched) = (
            self.dim(),
            self.weights.all_rows(),
            self.weights.watched.len(),
        );
        SolverWorkspace {
            sizes: self.sizes(),
            basin: 0,
            others: Vec::new(),
            y: vec![0.0; dim],
            before: vec![0.0; dim],
            direction: vec![0.0; dim],
            gradient: vec![0.0; dim],
            constraints: vec![0.0; rows],
            by_row: vec![0.0; rows],
            anchor: vec![0.0; dim],
            anchor_constraints: vec![0.0; rows],
            least_violating: vec![0.0; dim],
            q: vec![0.0; watched],
            carried: vec![0.0; watched],
            guess: Vec::with_capacity(watched),
            program: ActiveSet::new(watched, dim),
            memory: vec![0.0; self.functions.memory()],
            search: None,
            learned: None,
        }
    }

    fn sizes(&self) -> [usize; 7] {
        [
            self.dim(),
            self.x_dim(),
            self.weights.all_rows(),
            self.weights.watched.len(),
            self.functions.memory(),
            self.directions.len(),
            self.weights.others.len(),
        ]
    }

    /// The answer for one x.
    ///
    /// # Errors
    /// [`CallError`] for an x of another length.
    pub fn solve(&self, x: &[f64]) -> Result<(Vec<f64>, Answer), CallError> {
        let mut y = vec![0.0; self.dim()];
        let answer = self.solve_into(x, &mut y, &mut self.workspace())?;
        Ok((y, answer))
    }

    /// Writes the answer for one x into `y`, without allocation.
    ///
    /// # Errors
    /// [`CallError`] for slices of another length and a workspace of another solver; nothing is written then.
    pub fn solve_into(
        &self,
        x: &[f64],
        y: &mut [f64],
        workspace: &mut SolverWorkspace,
    ) -> Result<Answer, CallError> {
        length("x", x.len(), self.x_dim())?;
        length("y", y.len(), self.dim())?;
        if workspace.sizes != self.sizes() {
            return Err(CallError::Workspace);
        }
        let answer = self.run(x, workspace);
        y.copy_from_slice(&workspace.y);
        Ok(answer)
    }

    /// Writes the answers for rows of x into rows of y, without allocation. `answers` has one entry per row.
    ///
    /// # Errors
    /// [`CallError`] for slices of another length and a workspace of another solver; nothing is written then.
    pub fn solve_rows_into(
        &self,
        x: &[f64],
        y: &mut [f64],
        answers: &mut [Answer],
        workspace: &mut SolverWorkspace,
    ) -> Result<(), CallError> {
        length("x", x.len(), answers.len() * self.x_dim())?;
        length("y", y.len(), answers.len() * self.dim())?;
        let rows = y.chunks_exact_mut(self.dim()).zip(answers).enumerate();
        for (row, (y, answer)) in rows {
            *answer = self.solve_into(&x[row * self.x_dim()..][..self.x_dim()], y, workspace)?;
        }
        Ok(())
    }
}
