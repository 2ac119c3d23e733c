//! `fabproj.train`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fabproj::labelled::{LabelledSettings, learn};
use fabproj::set::{Counted, Interval, Set};
use fabproj::{Checkpoints, Session, Settings, TrainError, train_with};
use pyo3::exceptions::{PyFileExistsError, PyFileNotFoundError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::membership::Contains;
use crate::model::Model;
use crate::settings;
use crate::source::{About, Source};
use crate::supervise::{Asked, Inside, Outside, Watched, run};

/// The state of the last training that was interrupted, for `resume=True` without a folder.
static INTERRUPTED: Mutex<Option<Arc<Checkpoints>>> = Mutex::new(None);

/// Steps of the discriminator of labelled points with a quick preset, as in the command line.
const QUICK_STEPS: u64 = 1500;

/// Trains a model for a set and certifies it.
///
/// The set is the name of a built-in one (`fabproj sets` lists them), a set file (.toml) or its text, labelled
/// points (a file, or a pair of arrays (y, label), with x= where the set depends on x), or a callable
/// contains(y) -> bool array of rows of y (contains(y, x) with x_bounds). A callable needs bounds: one interval
/// (low, high) for each coordinate of y.
///
/// preset is "default", "small", "quick" or "quick-small"; further keywords are single settings, such as
/// phase_two=9000. The same seed gives the same model, bit for bit.
///
/// Ctrl-C stops the training and keeps its state; the same call with resume=True goes on. The state is in memory,
/// or in the folder `checkpoint` if one is named. progress is True, False, or a callable that gets events as
/// dicts.
///
/// >>> import fabproj
/// >>> def contains(y):  # a plate with a round hole
/// ...     return (abs(y).max(axis=1) <= 1) & ((y**2).sum(axis=1) >= 0.16)
/// >>> model = fabproj.train(contains, bounds=[(-2, 2)] * 2, preset="quick", name="plate", progress=False)
/// >>> model.certificate.raw_lower_bound > 0.9
/// True
#[pyfunction]
#[pyo3(signature = (
    set, *, preset="default", seed=0, progress=None, bounds=None, x_bounds=None, name=None, names=None,
    x_names=None, x=None, samples=None, threads=None, checkpoint=None, resume=false, **settings
))]
#[allow(clippy::too_many_arguments)]
pub fn train(
    py: Python<'_>,
    set: &Bound<'_, PyAny>,
    preset: &str,
    seed: u64,
    progress: Option<Py<PyAny>>,
    bounds: Option<Vec<Interval>>,
    x_bounds: Option<Vec<Interval>>,
    name: Option<String>,
    names: Option<Vec<String>>,
    x_names: Option<Vec<String>>,
    x: Option<&Bound<'_, PyAny>>,
    samples: Option<usize>,
    threads: Option<usize>,
    checkpoint: Option<PathBuf>,
    resume: bool,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<Model> {
    let settings = settings::settings(preset, seed, settings)?;
    let about = About {
        bounds,
        x_bounds,
        name,
        names,
        x_names,
        x,
    };
    let source = Source::of(set, about)?;
    if threads == Some(0) {
        return Err(errors::value("threads=0: choose at least 1"));
    }
    let checkpoints = open(checkpoint.as_ref(), resume)?;
    let contains = match &source {
        Source::Callable(callable, _) => Some(Contains(callable.clone_ref(py))),
        _ => None,
    };
    let inside = Inside {
        contains: contains.as_ref(),
        progress: progress.as_ref(),
        threads,
    };
    let plan = Plan { settings, samples };
    let result = run(py, &inside, |outside| {
        plan.run(&source, outside, &checkpoints)
    });
    match result {
        Ok(trained) => {
            let model = trained.map_err(|error| errors::training(&error))?;
            *last() = None;
            if checkpoint.is_some() {
                let removed = checkpoints.remove();
                removed.map_err(|error| errors::system(error.kind(), error.to_string()))?;
            }
            Ok(Model::of(Arc::new(model)))
        }
        Err(error) => {
            if checkpoint.is_none() {
                *last() = Some(checkpoints);
            }
            Err(error)
        }
    }
}

fn last() -> std::sync::MutexGuard<'static, Option<Arc<Checkpoints>>> {
    INTERRUPTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The checkpoints to resume from, or new ones.
fn open(folder: Option<&PathBuf>, resume: bool) -> PyResult<Arc<Checkpoints>> {
    let Some(folder) = folder else {
        if !resume {
            return Ok(Arc::new(Checkpoints::memory()));
        }
        return last().clone().ok_or_else(|| {
            errors::value(
                "nothing to resume: no training was interrupted in this process; train without resume=True, \
                 or name its folder with checkpoint=",
            )
        });
    };
    let path = folder.display();
    match (resume, Checkpoints::exist(folder)) {
        (true, false) => {
            return Err(PyFileNotFoundError::new_err(format!(
                "nothing to resume: {path} holds no checkpoints; train without resume=True"
            )));
        }
        (false, true) => {
            return Err(PyFileExistsError::new_err(format!(
                "{path} holds the checkpoints of a stopped training: resume=True resumes it; remove the folder \
                 to start again"
            )));
        }
        _ => {}
    }
    let opened = Checkpoints::folder(folder).map_err(|error| {
        errors::system(
            error.kind(),
            format!("cannot write checkpoints to {path}: {error}"),
        )
    })?;
    Ok(Arc::new(opened))
}

/// What is trained and certified.
struct Plan {
    settings: Settings,
    samples: Option<usize>,
}

impl Plan {
    fn run(
        &self,
        source: &Source,
        outside: &Outside<'_>,
        checkpoints: &Checkpoints,
    ) -> Result<fabproj::Model, TrainError> {
        let session = Session::new()
            .observe(outside)
            .stop(outside.stop)
            .checkpoints(checkpoints);
        match source {
            Source::Known(set) => self.train(&Watched { set, outside }, &session),
            Source::Callable(_, region) => self.train(
                &Asked {
                    region: region.clone(),
                    outside,
                },
                &session,
            ),
            Source::Points(name, data) => {
                let quick = self.settings.preset.starts_with("quick");
                let usual = LabelledSettings::default();
                let steps = if quick { QUICK_STEPS } else { usual.steps };
                let labelled = LabelledSettings { steps, ..usual };
                let set = learn(name, data, &labelled, self.settings.seed, &session)?;
                self.train(&Watched { set, outside }, &session)
            }
        }
    }

    fn train(&self, set: &dyn Set, session: &Session) -> Result<fabproj::Model, TrainError> {
        let counted = Counted::new(set);
        let mut model = train_with(&counted, &self.settings, session)?;
        let plan = self
            .settings
            .plan(counted.queries(), model.projector().charts());
        let samples = self.samples.unwrap_or(plan.samples);
        model.certify(&counted, &fabproj::Plan { samples, ..plan })?;
        Ok(model)
    }
}
