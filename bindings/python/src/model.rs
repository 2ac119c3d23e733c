//! `fabproj.Model`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fabproj::core::format::FormatError;
use fabproj::set::Set;
use fabproj::solve::{GapPlan, SolverModel};
use fabproj::{Inputs, Plan};
use fabproj_cli::shared::{self, Loaded};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::arrays::table;
use crate::errors;
use crate::membership::Contains;
use crate::problem::Given;
use crate::run::{Guard, Projector};
use crate::solver::Solver;
use crate::source::Region;
use crate::supervise::{Asked, Inside, Watched, run};

/// What was trained for a set or a problem, and the record of how.
///
/// >>> import fabproj, os, tempfile
/// >>> model = fabproj.train("star-shaped", preset="quick", progress=False)
/// >>> model
/// <fabproj.Model star-shaped: y of 2, 3 charts, preset quick, seed 0>
/// >>> path = os.path.join(tempfile.mkdtemp(), "star.safetensors")
/// >>> model.save(path)
/// >>> fabproj.Model.load(path) == model
/// True
#[pyclass(frozen, eq, module = "fabproj")]
#[derive(PartialEq)]
pub struct Model {
    trained: Trained,
}

/// A model's two kinds.
#[derive(Clone, PartialEq)]
pub enum Trained {
    Projector(Arc<fabproj::Model>),
    Solver(Arc<SolverModel>),
}

impl Model {
    pub fn of(model: Arc<fabproj::Model>) -> Self {
        let trained = Trained::Projector(model);
        Self { trained }
    }

    pub fn of_solver(model: Arc<SolverModel>) -> Self {
        let trained = Trained::Solver(model);
        Self { trained }
    }

    pub fn read(py: Python<'_>, path: &Path) -> PyResult<Self> {
        let loaded = py.detach(|| shared::load(path));
        Ok(match loaded.map_err(|error| errors::file(&error))? {
            Loaded::Projector(model) => Self::of(Arc::from(model)),
            Loaded::Solver(model) => Self::of_solver(Arc::from(model)),
        })
    }

    pub fn new_projector(&self) -> PyResult<Projector> {
        Ok(Projector::new(self.of_set()?.clone()))
    }

    /// The model of a set.
    fn of_set(&self) -> PyResult<&Arc<fabproj::Model>> {
        match &self.trained {
            Trained::Projector(model) => Ok(model),
            Trained::Solver(model) => Err(errors::value(format!(
                "this model solves the problem {}: use model.solver()",
                model.record().problem.name()
            ))),
        }
    }

    /// The model of a problem.
    fn of_problem(&self) -> PyResult<&Arc<SolverModel>> {
        match &self.trained {
            Trained::Solver(model) => Ok(model),
            Trained::Projector(model) => Err(errors::value(format!(
                "this model projects onto the set {}, it was trained without an objective: use \
                 model.projector() or model.guard()",
                model.record().set().name()
            ))),
        }
    }

    /// A model in a few words.
    pub fn text(model: &fabproj::Model) -> String {
        let (record, projector) = (model.record(), model.projector());
        let x = match projector.x_dim() {
            0 => String::new(),
            x_dim => format!(", x of {x_dim}"),
        };
        let charts = match projector.charts() {
            1 => "1 chart".to_owned(),
            charts => format!("{charts} charts"),
        };
        format!(
            "{}: y of {}{x}, {charts}, preset {}, seed {}",
            record.set().name(),
            projector.dim(),
            record.recipe,
            record.seed
        )
    }

    /// Bounds of a callable that certifies or draws: those of the training, but for what the caller says.
    fn region(
        &self,
        bounds: Option<Vec<(f64, f64)>>,
        x_bounds: Option<Vec<(f64, f64)>>,
    ) -> PyResult<Region> {
        let model = self.of_set()?;
        let record = model.record();
        // Files of earlier versions hold no bounds.
        let own = model.set().ok().filter(|_| record.bounds.is_empty());
        let (own_bounds, own_x_bounds) = match own {
            Some(set) => (set.bounds(), set.x_bounds()),
            None => (record.bounds.clone(), record.x_bounds.clone()),
        };
        let bounds = bounds.unwrap_or(own_bounds);
        let x_bounds = x_bounds.unwrap_or(own_x_bounds);
        if bounds.is_empty() || x_bounds.len() != model.projector().x_dim() {
            return Err(errors::value(
                "the region of inputs is not known: pass bounds=[(low, high), ...], as to train, or the inputs \
                 themselves",
            ));
        }
        Ok(Region {
            name: record.set().name(),
            bounds,
            x_bounds,
            names: record.names.clone(),
            x_names: record.x_names.clone(),
        })
    }

    /// Runs something with the model's set, or with that of a callable.
    fn with_set<R: Send>(
        &self,
        py: Python<'_>,
        contains: Option<Py<PyAny>>,
        region: Option<Region>,
        work: impl FnOnce(&dyn Set) -> R + Send,
    ) -> PyResult<R> {
        let contains = contains.map(Contains);
        let inside = Inside {
            contains: contains.as_ref(),
            ..Inside::default()
        };
        match region {
            Some(region) => run(py, &inside, |outside| work(&Asked { region, outside })),
            None => {
                let set = self.of_set()?.set();
                let set =
                    set.map_err(|error| errors::value(format!("{error}; pass it with contains=")))?;
                run(py, &inside, |outside| work(&Watched { set, outside }))
            }
        }
    }
}

#[pymethods]
impl Model {
    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Self::read(py, &path)
    }

    /// Writes a model file, as a whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let saved = py.detach(|| match &self.trained {
            Trained::Projector(model) => model.save(path),
            Trained::Solver(model) => model.save(path),
        });
        saved.map_err(|error| errors::file(&error))
    }

    /// Reads the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        match fabproj::Model::from_bytes(bytes) {
            Err(FormatError::Solver) => {
                let model = SolverModel::from_bytes(bytes).map_err(errors::value)?;
                Ok(Self::of_solver(Arc::new(model)))
            }
            model => Ok(Self::of(Arc::new(model.map_err(errors::value)?))),
        }
    }

    /// The bytes of the model file; the same model gives the same bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.bytes()?))
    }

    /// The form that runs, without tests of its outputs.
    fn projector(&self) -> PyResult<Projector> {
        self.new_projector()
    }

    /// The form of a problem's model that answers. A model file cannot hold callables: pass the `Problem` again.
    #[pyo3(signature = (problem=None))]
    fn solver(&self, problem: Option<&Bound<'_, PyAny>>) -> PyResult<Solver> {
        let problem = problem.filter(|problem| !problem.is_none());
        Solver::new(self.of_problem()?.clone(), problem)
    }

    /// A projector whose outputs have all passed a membership test: that of the model's set, or a callable
    /// contains(y[, x]) that gets rows of points and returns a bool for each.
    ///
    /// With keep_feasible=False also feasible inputs are projected.
    #[pyo3(signature = (contains=None, keep_feasible=true))]
    fn guard(
        &self,
        py: Python<'_>,
        contains: Option<Py<PyAny>>,
        keep_feasible: bool,
    ) -> PyResult<Guard> {
        if let Some(contains) = &contains
            && !contains.bind(py).is_callable()
        {
            let found = contains.bind(py).get_type();
            return Err(errors::wrong_type(format!(
                "`contains` must be callable, found {}",
                found.name()?
            )));
        }
        Guard::new(py, self.of_set()?.clone(), contains, keep_feasible)
    }

    /// Measures how often the projector is right, and returns the model with that certificate.
    ///
    /// Inputs are drawn from the region of the set, or are your own: rows y (and x), with a name for them.
    /// `contains` decides instead of the model's set. Bounds are those of the training, unless you pass others.
    ///
    /// Of a problem's model: how far answers are from optimal at fresh x. That takes samples and seed, and the
    /// `problem` where it was given by callables.
    ///
    /// >>> import fabproj, numpy
    /// >>> model = fabproj.train("star-shaped", preset="quick", progress=False)
    /// >>> model = model.certify(y=numpy.random.default_rng(0).normal(size=(1000, 2)), name="normal")
    /// >>> model.certificate.samples, model.certificate.inputs
    /// (1000, 'normal')
    #[pyo3(signature = (
        contains=None, *, samples=None, confidence=None, seed=0, y=None, x=None, name="rows", bounds=None,
        x_bounds=None, problem=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn certify(
        &self,
        py: Python<'_>,
        contains: Option<Py<PyAny>>,
        samples: Option<usize>,
        confidence: Option<f64>,
        seed: u64,
        y: Option<&Bound<'_, PyAny>>,
        x: Option<&Bound<'_, PyAny>>,
        name: &str,
        bounds: Option<Vec<(f64, f64)>>,
        x_bounds: Option<Vec<(f64, f64)>>,
        problem: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if let Trained::Solver(model) = &self.trained {
            if confidence.is_some() || y.is_some() || x.is_some() || contains.is_some() {
                return Err(errors::value(
                    "this model solves a problem: certify takes samples, seed and problem",
                ));
            }
            return certify_solver(py, model, problem, samples, seed);
        }
        if problem.is_some() {
            self.of_problem()?;
        }
        let rows = |object: Option<&Bound<'_, PyAny>>, name| {
            object.map_or(Ok(Vec::new()), |object| {
                Ok::<_, PyErr>(table(object, name)?.0)
            })
        };
        let (own_y, own_x) = (rows(y, "y")?, rows(x, "x")?);
        let usual = Plan::default();
        let plan = Plan {
            samples: samples.unwrap_or(usual.samples),
            confidence: confidence.unwrap_or(usual.confidence),
            seed,
            inputs: match y {
                Some(_) => Inputs::Rows {
                    name,
                    y: &own_y,
                    x: &own_x,
                },
                None => Inputs::Region,
            },
            ..usual
        };
        let region = match contains {
            Some(_) => Some(self.region(bounds, x_bounds)?),
            None => None,
        };
        let mut model = (**self.of_set()?).clone();
        let certified = self.with_set(py, contains, region, |set| {
            model.certify(set, &plan).map(drop)
        })?;
        certified.map_err(|error| errors::certify(&error))?;
        Ok(Self::of(Arc::new(model)))
    }

    /// How often the projector is right; None if that was not measured.
    #[getter]
    fn certificate<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let written = match &self.trained {
            Trained::Projector(model) => model
                .certificate()
                .map(|it| (serde_json::to_string(it), shared::certificate_text(it))),
            Trained::Solver(model) => (model.record().certificate.as_ref())
                .map(|it| (serde_json::to_string(it), shared::gap_text(it))),
        };
        let Some((json, text)) = written else {
            return Ok(None);
        };
        record(py, "Certificate", &json.map_err(errors::value)?, &text).map(Some)
    }

    /// All that is known about the model, as a dict that prints itself as a table.
    fn inspect<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let size = self.bytes()?.len() as u64;
        let failed = |error: anyhow::Error| errors::command(&error);
        let (json, text) = match &self.trained {
            Trained::Projector(model) => {
                let name = model.record().set().name();
                (
                    shared::model_json(model, &name, size),
                    shared::model_text(model, &name, size).map_err(failed)?,
                )
            }
            Trained::Solver(model) => {
                let name = model.record().problem.name();
                let text = shared::solver_text(model, &name, size);
                (shared::solver_json(model, &name, size), text)
            }
        };
        record(py, "Inspection", &json.map_err(failed)?.to_string(), &text)
    }

    /// Draws the set, what the projector does, and the latent space: a figure that notebooks show by themselves.
    #[pyo3(signature = (contains=None, *, seed=0, bounds=None, x_bounds=None))]
    fn plot<'py>(
        &self,
        py: Python<'py>,
        contains: Option<Py<PyAny>>,
        seed: u64,
        bounds: Option<Vec<(f64, f64)>>,
        x_bounds: Option<Vec<(f64, f64)>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let region = match contains {
            Some(_) => Some(self.region(bounds, x_bounds)?),
            None => None,
        };
        let model = self.of_set()?;
        let svg = self.with_set(py, contains, region, |set| {
            fabproj_plot::draw(model, set, seed)
        })?;
        let svg = svg.map_err(errors::value)?;
        let class = py
            .import(intern!(py, "fabproj._records"))?
            .getattr(intern!(py, "Figure"))?;
        class.call1((svg,))
    }

    /// Dimension of y.
    #[getter]
    fn dim(&self) -> usize {
        match &self.trained {
            Trained::Projector(model) => model.projector().dim(),
            Trained::Solver(model) => model.weights().dim,
        }
    }

    /// Dimension of x; 0 for a fixed set.
    #[getter]
    fn x_dim(&self) -> usize {
        match &self.trained {
            Trained::Projector(model) => model.projector().x_dim(),
            Trained::Solver(model) => model.weights().x_dim,
        }
    }

    /// Names of the coordinates of y.
    #[getter]
    fn names(&self) -> &[String] {
        match &self.trained {
            Trained::Projector(model) => &model.record().names,
            Trained::Solver(model) => &model.record().names,
        }
    }

    /// Names of the coordinates of x.
    #[getter]
    fn x_names(&self) -> &[String] {
        match &self.trained {
            Trained::Projector(model) => &model.record().x_names,
            Trained::Solver(model) => &model.record().x_names,
        }
    }

    /// Whether the training met its own goals.
    #[getter]
    fn met_goals(&self) -> bool {
        match &self.trained {
            Trained::Projector(model) => model.met_goals(),
            Trained::Solver(model) => {
                let record = model.record();
                record.training.chosen.worst_gap <= record.settings.goal
            }
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let build = py.get_type::<Self>().getattr(intern!(py, "from_bytes"))?;
        (build, (slf.get().to_bytes(py)?,)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        match &self.trained {
            Trained::Projector(model) => format!("<fabproj.Model {}>", Self::text(model)),
            Trained::Solver(model) => {
                let (record, weights) = (model.record(), model.weights());
                let name = record.problem.name();
                let (dim, x_dim, seed) = (weights.dim, weights.x_dim, record.settings.seed);
                format!("<fabproj.Model solver of {name}: y of {dim}, x of {x_dim}, seed {seed}>")
            }
        }
    }
}

impl Model {
    fn bytes(&self) -> PyResult<Vec<u8>> {
        let bytes = match &self.trained {
            Trained::Projector(model) => model.to_bytes(),
            Trained::Solver(model) => model.to_bytes(),
        };
        bytes.map_err(errors::value)
    }
}

/// Measures the gap of a solver's answers.
fn certify_solver(
    py: Python<'_>,
    model: &SolverModel,
    given: Option<&Bound<'_, PyAny>>,
    samples: Option<usize>,
    seed: u64,
) -> PyResult<Model> {
    let given = match given {
        Some(object) => Given::of(object)?,
        None => Given::of_library(
            model
                .problem()
                .map_err(|error| errors::value(format!("{error}; pass it with problem=")))?,
        ),
    };
    let inside = Inside {
        problem: given.callables.as_deref(),
        ..Inside::default()
    };
    let mut model = model.clone();
    let certified = run(py, &inside, |outside| {
        let mut plan = GapPlan::default();
        plan.samples = samples.unwrap_or(plan.samples);
        plan.seed = seed;
        plan.stop = Some(&outside.stop);
        model.certify(&given.outside(outside), &plan).map(drop)
    })?;
    certified.map_err(errors::value)?;
    Ok(Model::of_solver(Arc::new(model)))
}

/// A dict that prints itself as the command line prints it.
fn record<'py>(
    py: Python<'py>,
    class: &str,
    json: &str,
    text: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = py
        .import(intern!(py, "json"))?
        .call_method1(intern!(py, "loads"), (json,))?;
    let class = py.import(intern!(py, "fabproj._records"))?.getattr(class)?;
    class.call1((fields, text))
}
