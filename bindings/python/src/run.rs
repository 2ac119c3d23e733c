//! Projector and guard on arrays.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use fabproj::core::{CallError, RawOutcome, Workspace};
use fabproj::{Membership, Outcome};
use numpy::{PyArrayDyn, prelude::*};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::arrays::{Array, Number, Points, Rows, array_of, numbers};
use crate::errors;
use crate::membership::{Contains, Raised};
use crate::model::Model;

/// So many rows are projected without letting other threads of Python run: that costs more than it gives.
const FEW_ROWS: usize = 16;

/// The most workspaces that wait for their next call.
const KEPT_WORKSPACES: usize = 8;

/// Workspaces between calls.
pub struct Workspaces<W>(Mutex<Vec<W>>);

impl<W> Default for Workspaces<W> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<W> Workspaces<W> {
    /// Runs with a workspace. Where another thread is just taking one, or a fork has left the lock closed, a new
    /// one is made.
    pub fn with<R>(&self, new: impl FnOnce() -> W, run: impl FnOnce(&mut W) -> R) -> R {
        let kept = self.0.try_lock().ok().and_then(|mut all| all.pop());
        let mut workspace = kept.unwrap_or_else(new);
        let result = run(&mut workspace);
        if let Ok(mut all) = self.0.try_lock()
            && all.len() < KEPT_WORKSPACES
        {
            all.push(workspace);
        }
        result
    }
}

/// What both runners are for the calls below.
trait Runner: Sync {
    type Outcome: Copy + Send;
    /// The Python class of its outcomes.
    const OUTCOMES: &'static str;
    /// The value before a call has run.
    const UNKNOWN: Self::Outcome;
    fn code(outcome: Self::Outcome) -> u8;
    fn dimensions(&self) -> (usize, usize);
    fn one<T: Number>(&self, y: &[T], x: &[T], out: &mut [T]) -> Result<Self::Outcome, CallError>;
    fn rows<T: Number>(
        &self,
        y: &[T],
        x: &[T],
        out: &mut [T],
        outcomes: &mut [Self::Outcome],
    ) -> Result<(), CallError>;
}

fn project<'py, R: Runner>(
    runner: &R,
    y: &Bound<'py, PyAny>,
    x: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    match Array::of(y, "y")? {
        Array::Single(y) => project_as(runner, y, x),
        Array::Double(y) => project_as(runner, y, x),
    }
}

fn project_as<'py, T: Number, R: Runner>(
    runner: &R,
    y: Bound<'py, PyArrayDyn<T>>,
    x: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = y.py();
    let points = Points::new(y, x, runner.dimensions())?;
    let shape = points.y.array.shape();
    let out = PyArrayDyn::<T>::zeros(py, shape, false);
    // SAFETY: nobody else knows the new array.
    let target = unsafe { out.as_slice_mut() }?;
    let (y, x) = (points.y.numbers(), points.x_numbers());
    let lead = points.y.lead();
    if lead.is_empty() {
        let outcome = caught(|| runner.one(y, x, target))?;
        let outcome = member(py, R::OUTCOMES, R::code(outcome))?;
        return (out, outcome).into_pyobject(py);
    }
    let rows = lead.iter().product();
    let mut outcomes = vec![R::UNKNOWN; rows];
    if rows <= FEW_ROWS {
        caught(|| runner.rows(y, x, target, &mut outcomes))?;
    } else {
        py.detach(|| caught(|| runner.rows(y, x, target, &mut outcomes)))?;
    }
    let codes: Vec<u8> = outcomes.into_iter().map(R::code).collect();
    (out, array_of(py, &codes, lead)?).into_pyobject(py)
}

/// Runs the library; a callable that raised comes out as its exception.
pub fn caught<R, E: ToString>(run: impl FnOnce() -> Result<R, E>) -> PyResult<R> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.map_err(errors::value),
        Err(payload) => Err(match payload.downcast::<Raised>() {
            Ok(raised) => raised.0,
            Err(payload) => errors::panicked(&*payload),
        }),
    }
}

/// A member of one of the enumerations of outcomes.
pub fn member<'py>(py: Python<'py>, class: &'static str, code: u8) -> PyResult<Bound<'py, PyAny>> {
    type Members = Vec<(u8, Py<PyAny>)>;
    static MEMBERS: [PyOnceLock<Members>; 3] = [const { PyOnceLock::new() }; 3];
    let place = match class {
        "RawOutcome" => &MEMBERS[0],
        "Outcome" => &MEMBERS[1],
        _ => &MEMBERS[2],
    };
    let members = place.get_or_try_init(py, || {
        let class = py.import("fabproj._outcomes")?.getattr(class)?;
        let members = class.try_iter()?.map(|member| {
            let member = member?;
            Ok((member.extract()?, member.unbind()))
        });
        members.collect::<PyResult<Members>>()
    })?;
    let found = members.iter().find(|(number, _)| *number == code);
    let (_, member) = found.ok_or_else(|| errors::value(format!("no {class} is {code}")))?;
    Ok(member.bind(py).clone())
}

/// A trained map onto a feasible set. Its outputs are not tested: `Model.guard` makes a `Guard` that does that.
///
/// >>> import fabproj
/// >>> model = fabproj.train("star-shaped", preset="quick", progress=False)
/// >>> y, outcome = model.projector().project([3.0, 0.5])
/// >>> outcome
/// <RawOutcome.CLAMPED: 17>
#[pyclass(frozen, module = "fabproj")]
pub struct Projector {
    model: Arc<fabproj::Model>,
    workspaces: Workspaces<Workspace>,
}

impl Projector {
    pub fn new(model: Arc<fabproj::Model>) -> Self {
        Self {
            model,
            workspaces: Workspaces::default(),
        }
    }
}

impl Runner for Projector {
    type Outcome = RawOutcome;
    const OUTCOMES: &'static str = "RawOutcome";
    const UNKNOWN: RawOutcome = RawOutcome::NotFinite;

    /// Beyond all numbers of guards: a raw outcome never counts as verified.
    fn code(outcome: RawOutcome) -> u8 {
        16 + outcome as u8
    }

    fn dimensions(&self) -> (usize, usize) {
        (self.model.projector().dim(), self.model.projector().x_dim())
    }

    fn one<T: Number>(&self, y: &[T], x: &[T], out: &mut [T]) -> Result<RawOutcome, CallError> {
        let projector = self.model.projector();
        self.workspaces.with(
            || projector.workspace(),
            |workspace| projector.project_into(y, x, out, workspace),
        )
    }

    fn rows<T: Number>(
        &self,
        y: &[T],
        x: &[T],
        out: &mut [T],
        outcomes: &mut [RawOutcome],
    ) -> Result<(), CallError> {
        let projector = self.model.projector();
        self.workspaces.with(
            || projector.workspace(),
            |workspace| projector.project_rows_into(y, x, out, outcomes, workspace),
        )
    }
}

#[pymethods]
impl Projector {
    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: std::path::PathBuf) -> PyResult<Self> {
        Model::read(py, &path)?.new_projector()
    }

    /// Projects one point of shape (dim,) or points of shape (..., dim). Returns the points and what was done: a
    /// `RawOutcome`, or an array of them of shape (...).
    ///
    /// float32 and float64 stay what they are. x may have the shape (x_dim,) for all rows, or one row for each.
    ///
    /// >>> import fabproj
    /// >>> projector = fabproj.train("star-shaped", preset="quick", progress=False).projector()
    /// >>> y, outcomes = projector.project([[3.0, 0.5], [0.1, 0.0], [float("nan"), 0.0]])
    /// >>> outcomes
    /// array([17, 16, 18], dtype=uint8)
    #[pyo3(signature = (y, x=None))]
    fn project<'py>(
        &self,
        y: &Bound<'py, PyAny>,
        x: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        project(self, y, x)
    }

    /// The projected points alone.
    #[pyo3(signature = (y, x=None))]
    fn __call__<'py>(
        &self,
        y: &Bound<'py, PyAny>,
        x: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        project(self, y, x)?.get_item(0)
    }

    /// Projects so often without returning to Python: what the bench compares calls with.
    fn _repeat(&self, y: &Bound<'_, PyAny>, times: usize) -> PyResult<()> {
        match Array::of(y, "y")? {
            Array::Single(y) => self.repeat(&Points::new(y, None, self.dimensions())?, times),
            Array::Double(y) => self.repeat(&Points::new(y, None, self.dimensions())?, times),
        }
    }

    /// The gradients of a loss with respect to y and x, from its gradient with respect to the projections.
    ///
    /// Returns d_y, of the shape of y, and d_x, of the shape of x: summed over rows where x was one for all, None
    /// for a fixed set.
    ///
    /// >>> import fabproj, numpy
    /// >>> projector = fabproj.train("star-shaped", preset="quick", progress=False).projector()
    /// >>> d_y, d_x = projector.vjp(numpy.array([3.0, 0.5]), numpy.array([1.0, 0.0]))
    /// >>> d_y.shape, d_x
    /// ((2,), None)
    #[pyo3(signature = (y, cotangent, x=None))]
    fn vjp<'py>(
        &self,
        y: &Bound<'py, PyAny>,
        cotangent: &Bound<'py, PyAny>,
        x: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        match Array::of(y, "y")? {
            Array::Single(y) => self.vjp_as(y, cotangent, x),
            Array::Double(y) => self.vjp_as(y, cotangent, x),
        }
    }

    /// Dimension of y.
    #[getter]
    fn dim(&self) -> usize {
        self.model.projector().dim()
    }

    /// Dimension of x; 0 for a fixed set.
    #[getter]
    fn x_dim(&self) -> usize {
        self.model.projector().x_dim()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let model = Bound::new(py, Model::of(slf.get().model.clone()))?;
        let build = py.get_type::<Model>().getattr(intern!(py, "projector"))?;
        (build, (model,)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        format!("<fabproj.Projector of {}>", Model::text(&self.model))
    }
}

impl Projector {
    fn repeat<T: Number>(&self, points: &Points<'_, T>, times: usize) -> PyResult<()> {
        let y = points.y.numbers();
        let mut out = y.to_vec();
        let rows: usize = points.y.lead().iter().product();
        let mut outcomes = vec![Self::UNKNOWN; rows];
        caught(|| {
            (0..times).try_for_each(|_| match points.y.lead() {
                [] => self.one(y, &[], &mut out).map(drop),
                _ => self.rows(y, &[], &mut out, &mut outcomes),
            })
        })
    }

    fn vjp_as<'py, T: Number>(
        &self,
        y: Bound<'py, PyArrayDyn<T>>,
        cotangent: &Bound<'py, PyAny>,
        x: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let py = y.py();
        let projector = self.model.projector();
        let points = Points::new(y, x, self.dimensions())?;
        let shape = points.y.array.shape().to_vec();
        let cotangent = Array::of(cotangent, "cotangent")?.cast::<T>(py)?;
        let cotangent = Rows::new(cotangent, "cotangent", projector.dim())?;
        if cotangent.array.shape() != shape {
            let found = crate::arrays::shape_text(cotangent.array.shape());
            let wanted = crate::arrays::shape_text(&shape);
            return Err(errors::value(format!(
                "`cotangent` must have the shape {wanted} of the projections, found {found}"
            )));
        }
        let (y, x, c) = (
            points.y.numbers(),
            points.x_numbers(),
            numbers(&cotangent.array),
        );
        let (d_y, d_x) = py.detach(|| caught(|| projector.vjp(y, x, c)))?;
        let d_y = array_of(py, &d_y, &shape)?;
        if projector.x_dim() == 0 {
            return (d_y, py.None()).into_pyobject(py);
        }
        let lead = points.y.lead();
        let wide: Vec<usize> = lead.iter().copied().chain([projector.x_dim()]).collect();
        let d_x = summed(array_of(py, &d_x, &wide)?, lead, &points.x_lead)?;
        (d_y, d_x).into_pyobject(py)
    }
}

/// Sums over the dimensions along which x was repeated.
fn summed<'py>(
    d_x: Bound<'py, PyAny>,
    lead: &[usize],
    x_lead: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    if lead == x_lead {
        return Ok(d_x);
    }
    let new = lead.len() - x_lead.len();
    let repeated = |axis: &usize| *axis < new || (x_lead[axis - new] == 1 && lead[*axis] != 1);
    let axes: Vec<usize> = (0..lead.len()).filter(repeated).collect();
    let py = d_x.py();
    let axes = PyTuple::new(py, axes)?;
    let sums = d_x.call_method1(intern!(py, "sum"), (axes,))?;
    let width = d_x.getattr(intern!(py, "shape"))?.get_item(lead.len())?;
    let shape: Vec<usize> = x_lead.iter().copied().chain([width.extract()?]).collect();
    sums.call_method1(intern!(py, "reshape"), (PyTuple::new(py, shape)?,))
}

type Test = Box<dyn Membership + Send + Sync>;

/// A projector that returns only points which have passed the membership test, and says where none was found.
///
/// >>> import fabproj
/// >>> guard = fabproj.train("two-moons", preset="quick", progress=False).guard()
/// >>> y, outcome = guard.project([0.0, 2.0])
/// >>> outcome.is_verified
/// True
#[pyclass(frozen, module = "fabproj")]
pub struct Guard {
    model: Arc<fabproj::Model>,
    guard: fabproj::Guard<Test>,
    contains: Option<Py<PyAny>>,
    keep_feasible: bool,
    workspaces: Workspaces<Workspace>,
}

impl Guard {
    pub fn new(
        py: Python<'_>,
        model: Arc<fabproj::Model>,
        contains: Option<Py<PyAny>>,
        keep_feasible: bool,
    ) -> PyResult<Self> {
        let test: Test = match &contains {
            Some(callable) => Box::new(Contains(callable.clone_ref(py))),
            None => Box::new(model.set().map_err(|error| {
                errors::value(format!("{error}; pass it: model.guard(contains)"))
            })?),
        };
        let projector = model.projector().clone();
        let guard = py.detach(|| caught(|| fabproj::Guard::new(projector, test)))?;
        Ok(Self {
            model,
            guard: guard.keep_feasible(keep_feasible),
            contains,
            keep_feasible,
            workspaces: Workspaces::default(),
        })
    }
}

impl Runner for Guard {
    type Outcome = Outcome;
    const OUTCOMES: &'static str = "Outcome";
    const UNKNOWN: Outcome = Outcome::NotFinite;

    fn code(outcome: Outcome) -> u8 {
        outcome as u8
    }

    fn dimensions(&self) -> (usize, usize) {
        (self.model.projector().dim(), self.model.projector().x_dim())
    }

    fn one<T: Number>(&self, y: &[T], x: &[T], out: &mut [T]) -> Result<Outcome, CallError> {
        self.workspaces.with(
            || self.guard.workspace(),
            |workspace| self.guard.project_into(y, x, out, workspace),
        )
    }

    fn rows<T: Number>(
        &self,
        y: &[T],
        x: &[T],
        out: &mut [T],
        outcomes: &mut [Outcome],
    ) -> Result<(), CallError> {
        self.workspaces.with(
            || self.guard.workspace(),
            |workspace| self.guard.project_rows_into(y, x, out, outcomes, workspace),
        )
    }
}

#[pymethods]
impl Guard {
    /// Projects one point of shape (dim,) or points of shape (..., dim). Returns the points and how they were
    /// found: an `Outcome`, or an array of them of shape (...).
    ///
    /// Rows that cannot be verified (`MAYBE_EMPTY`, `NOT_FINITE`) are replaced by `fallback` if there is one: an
    /// array that broadcasts to y, or a callable of these rows of y and x that returns as many rows.
    ///
    /// >>> import fabproj, numpy
    /// >>> guard = fabproj.train("two-moons", preset="quick", progress=False).guard()
    /// >>> y, outcomes = guard.project(numpy.zeros((5, 2), "float32"))
    /// >>> y.dtype, fabproj.verified(outcomes).all()
    /// (dtype('float32'), np.True_)
    #[pyo3(signature = (y, x=None, *, fallback=None))]
    fn project<'py>(
        &self,
        y: &Bound<'py, PyAny>,
        x: Option<&Bound<'py, PyAny>>,
        fallback: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let projected = project(self, y, x)?;
        let Some(fallback) = fallback.filter(|fallback| !fallback.is_none()) else {
            return Ok(projected);
        };
        let py = y.py();
        let module = py.import(intern!(py, "fabproj._outcomes"))?;
        let (out, outcomes) = (projected.get_item(0)?, projected.get_item(1)?);
        module.call_method1(intern!(py, "fall_back"), (out, &outcomes, fallback, y, x))?;
        Ok(projected)
    }

    /// The projected points alone.
    #[pyo3(signature = (y, x=None))]
    fn __call__<'py>(
        &self,
        y: &Bound<'py, PyAny>,
        x: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        project(self, y, x)?.get_item(0)
    }

    /// Dimension of y.
    #[getter]
    fn dim(&self) -> usize {
        self.model.projector().dim()
    }

    /// Dimension of x; 0 for a fixed set.
    #[getter]
    fn x_dim(&self) -> usize {
        self.model.projector().x_dim()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, guard) = (slf.py(), slf.get());
        let model = Bound::new(py, Model::of(guard.model.clone()))?;
        let build = py.get_type::<Model>().getattr(intern!(py, "guard"))?;
        let contains = guard
            .contains
            .as_ref()
            .map(|contains| contains.clone_ref(py));
        (build, (model, contains, guard.keep_feasible)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        format!("<fabproj.Guard of {}>", Model::text(&self.model))
    }
}
