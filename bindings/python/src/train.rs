//! `fabproj.train`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fabproj::set::{LabelledSettings, Set};
use fabproj::solve::{GapPlan, SolveSettings, train_with as train_solver};
use fabproj::{Checkpoints, Event, Session, Settings, TrainError, train_with};
use pyo3::exceptions::{PyFileExistsError, PyFileNotFoundError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::membership::Contains;
use crate::model::Model;
use crate::problem::Given;
use crate::settings;
use crate::source::{About, SetSource, Source};
use crate::supervise::{Asked, Inside, Outside, Watched, run};

/// The state of the last training that was interrupted, for `resume=True` without a folder.
static INTERRUPTED: Mutex<Option<Arc<Checkpoints>>> = Mutex::new(None);

/// Steps of the discriminator of labelled points with a quick preset, as in the command line.
const QUICK_STEPS: u64 = 1500;

/// Trains a model for a set or a problem and certifies it.
///
/// The set is the name of a built-in one (`fabproj sets` lists them), a set file (.toml) or its text, labelled
/// points (a file, or a pair of arrays (y, label), with x= where the set depends on x), or a callable
/// contains(y) -> bool array of rows of y (contains(y, x) with x_bounds). A callable needs bounds: one interval
/// (low, high) for each coordinate of y.
///
/// A problem is a file with an objective, its text, or a `fabproj.Problem` of callables: `Model.solver` answers it.
///
/// preset is "default", "small", "quick" or "quick-small"; further keywords are single settings, such as
/// phase_two=9000, or for a problem labels, goal and max_steps. The same seed gives the same model, bit for bit.
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
    bounds: Option<Vec<(f64, f64)>>,
    x_bounds: Option<Vec<(f64, f64)>>,
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
    let about = About {
        bounds,
        x_bounds,
        name,
        names,
        x_names,
        x,
    };
    let source = Source::of(set, about)?;
    let task = match source {
        Source::Set(set) => Task::Set(set, Box::new(settings::settings(preset, seed, settings)?)),
        Source::Problem(problem) => {
            Task::Problem(problem, settings::of_solver(preset, seed, settings)?)
        }
    };
    if threads == Some(0) {
        return Err(errors::value("threads=0: choose at least 1"));
    }
    let checkpoints = open(checkpoint.as_ref(), resume)?;
    let contains = match &task {
        Task::Set(SetSource::Callable(callable, _), _) => Some(Contains(callable.clone_ref(py))),
        _ => None,
    };
    let inside = Inside {
        contains: contains.as_ref(),
        problem: match &task {
            Task::Problem(problem, _) => problem.callables.as_deref(),
            Task::Set(..) => None,
        },
        progress: progress.as_ref(),
        threads,
    };
    let result = run(py, &inside, |outside| {
        task.run(samples, outside, &checkpoints)
    });
    match result {
        Ok(trained) => {
            let model = trained.map_err(|error| errors::training(&error))?;
            *last() = None;
            if checkpoint.is_some() {
                let removed = checkpoints.remove();
                removed.map_err(|error| errors::system(error.kind(), error.to_string()))?;
            }
            Ok(model)
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

/// What is trained and certified, and how.
enum Task {
    Set(SetSource, Box<Settings>),
    Problem(Box<Given>, SolveSettings),
}

impl Task {
    fn run(
        &self,
        samples: Option<usize>,
        outside: &Outside,
        checkpoints: &Checkpoints,
    ) -> Result<Model, TrainError> {
        let session = Session::new()
            .observe(|event| outside.tell(event))
            .stop(&outside.stop)
            .checkpoints(checkpoints);
        let (source, settings) = match self {
            Self::Set(source, settings) => (source, settings),
            Self::Problem(given, settings) => {
                return solver(given, settings, samples, outside, &session);
            }
        };
        let train = |set: &dyn Set| projector(set, settings, samples, &session);
        match source {
            SetSource::Known(set) => train(&Watched { set, outside }),
            SetSource::Callable(_, region) => {
                let region = region.clone();
                train(&Asked { region, outside })
            }
            SetSource::Points(name, data) => {
                let quick = settings.preset.starts_with("quick");
                let usual = LabelledSettings::default();
                let steps = if quick { QUICK_STEPS } else { usual.steps };
                let labelled = LabelledSettings { steps, ..usual };
                let set = data.learn(name, &labelled, settings.seed, &session)?;
                train(&Watched { set, outside })
            }
        }
    }
}

fn projector(
    set: &dyn Set,
    settings: &Settings,
    samples: Option<usize>,
    session: &Session,
) -> Result<Model, TrainError> {
    let mut model = train_with(set, settings, session)?;
    let plan = settings.plan(session.queries(), model.projector().charts());
    let samples = samples.unwrap_or(plan.samples);
    model.certify(set, &fabproj::Plan { samples, ..plan })?;
    Ok(Model::of(Arc::new(model)))
}

fn solver(
    given: &Given,
    settings: &SolveSettings,
    samples: Option<usize>,
    outside: &Outside,
    session: &Session,
) -> Result<Model, TrainError> {
    let problem = &given.outside(outside);
    let mut model = train_solver(problem, settings, session)?;
    let mut plan = GapPlan::default();
    plan.samples = samples.unwrap_or(plan.samples);
    plan.seed = settings.seed;
    plan.stop = Some(&outside.stop);
    model.certify(problem, &plan)?;
    for message in fabproj_cli::shared::solver_warnings(&model) {
        session.emit(&Event::Warning { message: &message });
    }
    Ok(Model::of_solver(Arc::new(model)))
}
