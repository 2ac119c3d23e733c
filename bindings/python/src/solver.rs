//! Solvers on arrays.

use std::sync::Arc;

use fabproj::core::{Answer, SolveOutcome, SolverWorkspace};
use fabproj::solve::{Functions, SolverModel};
use numpy::prelude::*;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::{Array, Rows, array_of, numbers, shape_text};
use crate::errors;
use crate::model::Model;
use crate::problem::Given;
use crate::run::{Workspaces, caught, member};

type Runs = fabproj::solve::Solver<Arc<dyn Functions + Send + Sync>>;

/// Answers a problem: the best y for an x, verified to be feasible. Made by `Model.solver`.
///
/// >>> import fabproj
/// >>> model = fabproj.train('''
/// ... y = ["a", "b"]
/// ... x = ["limit"]
/// ... bounds = { a = [0, 2], b = [0, 2] }
/// ... x_bounds = { limit = [1, 3] }
/// ... objective = { minimise = "(a - 2)^2 + 2*(b - 2)^2" }
/// ... [[constraint]]
/// ... expr = "a + b <= limit"
/// ... ''', progress=False)
/// >>> answer = model.solver().solve([2.5])
/// >>> answer.y.round(6), answer.outcome
/// (array([1. , 1.5]), <SolveOutcome.SOLVED: 0>)
#[pyclass(frozen, module = "fabproj")]
pub struct Solver {
    model: Arc<SolverModel>,
    solver: Runs,
    /// The `fabproj.Problem`, where the file does not hold the problem.
    problem: Option<Py<PyAny>>,
    workspaces: Workspaces<SolverWorkspace>,
}

impl Solver {
    pub fn new(model: Arc<SolverModel>, given: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let problem = match given {
            Some(object) => Given::of(object)?.problem,
            None => model.problem().map_err(|error| {
                errors::value(format!("{error}; pass it: model.solver(problem)"))
            })?,
        };
        let (weights, functions) = (model.weights(), problem.functions());
        let own = [weights.dim, weights.x_dim, weights.rows];
        let found = [functions.dim(), functions.x_dim(), functions.rows()];
        if own != found {
            return Err(errors::value(format!(
                "the model solves {}, of {} y, {} x and {} constraints; this problem has {}, {} and {}",
                model.record().problem.name(),
                own[0],
                own[1],
                own[2],
                found[0],
                found[1],
                found[2]
            )));
        }
        let solver = model.solver(&problem).map_err(errors::value)?;
        Ok(Self {
            model,
            solver,
            problem: given.map(|object| object.clone().unbind()),
            workspaces: Workspaces::default(),
        })
    }

    /// Rows of x; without x, one row of nothing.
    fn x<'py>(&self, py: Python<'py>, x: Option<&Bound<'py, PyAny>>) -> PyResult<Rows<'py, f64>> {
        let x_dim = self.solver.x_dim();
        let array = match x.filter(|x| !x.is_none()) {
            Some(x) => Array::of(x, "x")?,
            None if x_dim == 0 => Array::of(&array_of::<f64>(py, &[], &[0])?, "x")?,
            None => {
                return Err(errors::value(format!(
                    "`x` is missing: the problem depends on {x_dim} numbers x"
                )));
            }
        };
        Rows::new(array.cast::<f64>(py)?, "x", x_dim)
    }
}

/// The number of an outcome in Python: as a guard's, so that `fabproj.verified` understands both.
fn code(outcome: SolveOutcome) -> u8 {
    match outcome {
        SolveOutcome::Solved => 0,
        SolveOutcome::Pulled => 1,
        SolveOutcome::MaybeInfeasible => 4,
        SolveOutcome::NotFinite => 5,
    }
}

#[pymethods]
impl Solver {
    /// Answers one x of shape (x_dim,) or many of shape (..., x_dim), in float64. Returns a tuple of `y`, of shape
    /// (..., dim); `outcome`, a `SolveOutcome` or an array of them; `objective`; and `in_range`, whether x was
    /// within the range that training saw.
    ///
    /// A verified answer obeys every constraint without tolerance. Where none was found the outcome is
    /// MAYBE_INFEASIBLE, and y the least violating point.
    #[pyo3(signature = (x=None))]
    fn solve<'py>(
        &self,
        py: Python<'py>,
        x: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let x = self.x(py, x)?;
        let (y, answers) = self.answers(py, x.numbers(), x.lead().iter().product())?;
        let lead = x.lead();
        let y = array_of(py, &y, &[lead, &[self.solver.dim()]].concat())?;
        let class = py
            .import(intern!(py, "fabproj._outcomes"))?
            .getattr(intern!(py, "Answer"))?;
        if let ([], [answer]) = (lead, answers.as_slice()) {
            let outcome = member(py, "SolveOutcome", code(answer.outcome))?;
            return class.call1((y, outcome, answer.objective, answer.x_in_range));
        }
        let outcomes: Vec<u8> = answers.iter().map(|answer| code(answer.outcome)).collect();
        let objectives: Vec<f64> = answers.iter().map(|answer| answer.objective).collect();
        let in_range: Vec<bool> = answers.iter().map(|answer| answer.x_in_range).collect();
        class.call1((
            y,
            array_of(py, &outcomes, lead)?,
            array_of(py, &objectives, lead)?,
            array_of(py, &in_range, lead)?,
        ))
    }

    /// The answers alone.
    #[pyo3(signature = (x=None))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        x: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let x = self.x(py, x)?;
        let (y, _) = self.answers(py, x.numbers(), x.lead().iter().product())?;
        array_of(py, &y, &[x.lead(), &[self.solver.dim()]].concat())
    }

    /// The gradient of a loss with respect to x, from its gradient with respect to the answers. It is zero where
    /// an answer was not verified.
    ///
    /// >>> import fabproj, numpy
    /// >>> problem = fabproj.Problem(lambda y, x: ((y - x) ** 2).sum(axis=1), bounds=[(0, 1)], x_bounds=[(-1, 2)])
    /// >>> solver = fabproj.train(problem, labels=50, samples=50, progress=False).solver(problem)
    /// >>> solver.vjp(numpy.array([[0.5], [1.5]]), numpy.ones((2, 1))).round(6)
    /// array([[1.],
    ///        [0.]])
    fn vjp<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        cotangent: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let x = self.x(py, Some(x))?;
        let (dim, x_dim) = (self.solver.dim(), self.solver.x_dim());
        let cotangent = Array::of(cotangent, "cotangent")?.cast::<f64>(py)?;
        let cotangent = Rows::new(cotangent, "cotangent", dim)?;
        if cotangent.lead() != x.lead() {
            let (found, wanted) = (cotangent.array.shape(), [x.lead(), &[dim]].concat());
            return Err(errors::value(format!(
                "`cotangent` must have the shape {} of the answers, found {}",
                shape_text(&wanted),
                shape_text(found)
            )));
        }
        let mut d_x = vec![0.0; x.numbers().len()];
        let rows: usize = x.lead().iter().product();
        let (all_x, all_c) = (x.numbers(), numbers(&cotangent.array));
        py.detach(|| {
            caught(|| {
                let mut workspace = self.solver.pullback_workspace();
                (0..rows).try_for_each(|row| {
                    let (x, c) = (&all_x[row * x_dim..][..x_dim], &all_c[row * dim..][..dim]);
                    let d_x = &mut d_x[row * x_dim..][..x_dim];
                    self.solver.pullback(x, c, d_x, &mut workspace).map(drop)
                })
            })
        })?;
        array_of(py, &d_x, x.array.shape())
    }

    /// Dimension of y.
    #[getter]
    fn dim(&self) -> usize {
        self.solver.dim()
    }

    /// Dimension of x; 0 for a single problem.
    #[getter]
    fn x_dim(&self) -> usize {
        self.solver.x_dim()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, solver) = (slf.py(), slf.get());
        let model = Bound::new(py, Model::of_solver(solver.model.clone()))?;
        let build = py.get_type::<Model>().getattr(intern!(py, "solver"))?;
        let problem = solver.problem.as_ref().map(|problem| problem.clone_ref(py));
        (build, (model, problem)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        format!("<fabproj.Solver of {}>", self.model.record().problem.name())
    }
}

impl Solver {
    fn answers(&self, py: Python<'_>, x: &[f64], rows: usize) -> PyResult<(Vec<f64>, Vec<Answer>)> {
        let mut y = vec![0.0; rows * self.solver.dim()];
        let mut answers = vec![Answer::default(); rows];
        let solve = || {
            self.workspaces.with(
                || self.solver.workspace(),
                |workspace| {
                    self.solver
                        .solve_rows_into(x, &mut y, &mut answers, workspace)
                },
            )
        };
        py.detach(|| caught(solve))?;
        Ok((y, answers))
    }
}
