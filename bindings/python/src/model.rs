//! `fabproj.Model`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fabproj::set::{Interval, Set};
use fabproj::{Inputs, Plan};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::arrays::table;
use crate::errors;
use crate::membership::Contains;
use crate::run::{Guard, Projector};
use crate::source::Region;
use crate::supervise::{Asked, Inside, Watched, run};

/// Trained networks, and the record of how they were made.
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
    model: Arc<fabproj::Model>,
}

impl Model {
    pub fn of(model: Arc<fabproj::Model>) -> Self {
        Self { model }
    }

    pub fn read(py: Python<'_>, path: &Path) -> PyResult<Self> {
        let model = py.detach(|| fabproj::Model::load(path));
        let model = model.map_err(|error| errors::file(&error))?;
        Ok(Self::of(Arc::new(model)))
    }

    pub fn new_projector(&self) -> Projector {
        Projector::new(self.model.clone())
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

    /// Bounds of a callable that certifies or draws: those of the model's own set, or of its anchors and units.
    fn region(
        &self,
        bounds: Option<Vec<Interval>>,
        x_bounds: Option<Vec<Interval>>,
    ) -> PyResult<Region> {
        let record = self.model.record();
        let own = self.model.set().ok();
        let missing = || {
            errors::value(
                "the region of inputs is not known: pass bounds=[(low, high), ...], as to train, or the inputs \
                 themselves",
            )
        };
        let bounds = bounds.or_else(|| own.as_ref().map(|set| set.bounds()));
        let bounds = bounds.ok_or_else(missing)?;
        let x_bounds = match (x_bounds, &own) {
            (Some(x_bounds), _) => x_bounds,
            (None, Some(set)) => set.x_bounds(),
            (None, None) if self.model.projector().x_dim() == 0 => Vec::new(),
            (None, None) => return Err(missing()),
        };
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
            progress: None,
            threads: None,
        };
        match region {
            Some(region) => run(py, &inside, |outside| work(&Asked { region, outside })),
            None => {
                let set = self.model.set();
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
        let saved = py.detach(|| self.model.save(path));
        saved.map_err(|error| errors::file(&error))
    }

    /// Reads the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let model = fabproj::Model::from_bytes(bytes).map_err(errors::value)?;
        Ok(Self::of(Arc::new(model)))
    }

    /// The bytes of the model file; the same model gives the same bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.model.to_bytes().map_err(errors::value)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The form that runs, without tests of its outputs.
    fn projector(&self) -> Projector {
        self.new_projector()
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
        Guard::new(py, self.model.clone(), contains, keep_feasible)
    }

    /// Measures how often the projector is right, and returns the model with that certificate.
    ///
    /// Inputs are drawn from the region of the set, or are your own: rows y (and x), with a name for them.
    /// `contains` decides instead of the model's set; it needs bounds where the model does not know its region.
    ///
    /// >>> import fabproj, numpy
    /// >>> model = fabproj.train("star-shaped", preset="quick", progress=False)
    /// >>> model = model.certify(y=numpy.random.default_rng(0).normal(size=(1000, 2)), name="normal")
    /// >>> model.certificate.samples, model.certificate.inputs
    /// (1000, 'normal')
    #[pyo3(signature = (
        *, samples=None, confidence=None, seed=0, y=None, x=None, name="rows", contains=None, bounds=None,
        x_bounds=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn certify(
        &self,
        py: Python<'_>,
        samples: Option<usize>,
        confidence: Option<f64>,
        seed: u64,
        y: Option<&Bound<'_, PyAny>>,
        x: Option<&Bound<'_, PyAny>>,
        name: &str,
        contains: Option<Py<PyAny>>,
        bounds: Option<Vec<Interval>>,
        x_bounds: Option<Vec<Interval>>,
    ) -> PyResult<Self> {
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
        let mut model = (*self.model).clone();
        let certified = self.with_set(py, contains, region, |set| {
            model.certify(set, &plan).map(drop)
        })?;
        certified.map_err(|error| errors::certify(&error))?;
        Ok(Self::of(Arc::new(model)))
    }

    /// How often the projector is right; None if that was not measured.
    #[getter]
    fn certificate<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(certificate) = self.model.certificate() else {
            return Ok(None);
        };
        let json = serde_json::to_string(certificate).map_err(errors::value)?;
        let text = fabproj_cli::shared::certificate_text(certificate);
        record(py, "Certificate", &json, &text).map(Some)
    }

    /// All that is known about the model, as a dict that prints itself as a table.
    fn inspect<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let size = self.model.to_bytes().map_err(errors::value)?.len() as u64;
        let name = self.model.record().set().name();
        let failed = |error: anyhow::Error| errors::command(&error);
        let json = fabproj_cli::shared::model_json(&self.model, &name, size).map_err(failed)?;
        let text = fabproj_cli::shared::model_text(&self.model, &name, size).map_err(failed)?;
        record(py, "Inspection", &json.to_string(), &text)
    }

    /// Draws the set, what the projector does, and the latent space: a figure that notebooks show by themselves.
    #[pyo3(signature = (*, seed=0, contains=None, bounds=None, x_bounds=None))]
    fn plot<'py>(
        &self,
        py: Python<'py>,
        seed: u64,
        contains: Option<Py<PyAny>>,
        bounds: Option<Vec<Interval>>,
        x_bounds: Option<Vec<Interval>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let region = match contains {
            Some(_) => Some(self.region(bounds, x_bounds)?),
            None => None,
        };
        let svg = self.with_set(py, contains, region, |set| {
            fabproj_plot::draw(&self.model, set, seed)
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
        self.model.projector().dim()
    }

    /// Dimension of x; 0 for a fixed set.
    #[getter]
    fn x_dim(&self) -> usize {
        self.model.projector().x_dim()
    }

    /// Names of the coordinates of y.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.model.record().names.clone()
    }

    /// Names of the coordinates of x.
    #[getter]
    fn x_names(&self) -> Vec<String> {
        self.model.record().x_names.clone()
    }

    /// Whether the training met its own goals.
    #[getter]
    fn met_goals(&self) -> bool {
        self.model.met_goals()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let build = py.get_type::<Self>().getattr(intern!(py, "from_bytes"))?;
        (build, (slf.get().to_bytes(py)?,)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        format!("<fabproj.Model {}>", Self::text(&self.model))
    }
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
