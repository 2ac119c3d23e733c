//! What `train` takes as a set or problem: a name, a file, a text, labelled points, or callables.

use std::path::PathBuf;
use std::sync::Arc;

use fabproj::set::{Columns, LabelledData, Set, from_toml, is_labelled_file};
use fabproj::solve::Problem;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::arrays::{Array, table};
use crate::errors::{self, value, wrong_type};
use crate::problem::{Given, is_problem};

/// The first argument of `train`.
pub enum Source {
    Set(SetSource),
    Problem(Box<Given>),
}

/// A set to train for.
pub enum SetSource {
    /// A set that the library can ask by itself.
    Known(Arc<dyn Set>),
    /// Labelled points, from which a set is learned first; with its name.
    Points(String, Box<LabelledData>),
    /// A callable, with what is known about its set.
    Callable(Py<PyAny>, Region),
}

/// What a callable does not say about its set.
#[derive(Clone)]
pub struct Region {
    pub name: String,
    pub bounds: Vec<(f64, f64)>,
    pub x_bounds: Vec<(f64, f64)>,
    pub names: Vec<String>,
    pub x_names: Vec<String>,
}

/// The arguments of `train` that describe the set of a callable or of points.
#[derive(Default)]
pub struct About<'a, 'py> {
    pub bounds: Option<Vec<(f64, f64)>>,
    pub x_bounds: Option<Vec<(f64, f64)>>,
    pub name: Option<String>,
    pub names: Option<Vec<String>>,
    pub x_names: Option<Vec<String>>,
    pub x: Option<&'a Bound<'py, PyAny>>,
}

impl Source {
    pub fn of(object: &Bound<'_, PyAny>, about: About<'_, '_>) -> PyResult<Self> {
        if let Ok(text) = object.cast::<PyString>() {
            return named(text.to_str()?);
        }
        if let Ok(pair) = object.cast::<PyTuple>() {
            return points(pair, about);
        }
        if is_problem(object)? {
            return Ok(Self::Problem(Box::new(Given::of(object)?)));
        }
        if object.is_callable() {
            let callable = SetSource::Callable(object.clone().unbind(), about.region()?);
            return Ok(Self::Set(callable));
        }
        match object.extract::<PathBuf>() {
            Ok(path) => named(&path.to_string_lossy()),
            Err(_) => Err(wrong_type(format!(
                "the set must be a name, a set or problem file or its text, a pair of arrays (y, label), a \
                 callable or a fabproj.Problem, found {}",
                object.get_type().name()?
            ))),
        }
    }
}

/// A name, a file, or the text of one.
fn named(text: &str) -> PyResult<Source> {
    let path = PathBuf::from(text);
    let failed = |error: anyhow::Error| errors::command(&error);
    if text.contains('\n') {
        if fabproj_cli::shared::has_objective(text) {
            let problem = Problem::from_toml(text).map_err(|error| errors::set(&error))?;
            return Ok(of_library(problem));
        }
        let set = from_toml(text).map_err(|error| errors::set(&error))?;
        return Ok(Source::Set(SetSource::Known(set)));
    }
    if is_labelled_file(&path) {
        let (data, _) = LabelledData::read(&path, &Columns::default())
            .and_then(|data| data.clean())
            .map_err(|error| errors::labelled(&error))?;
        let name = path.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        return Ok(Source::Set(SetSource::Points(name, Box::new(data))));
    }
    if let Some(problem) = fabproj_cli::shared::problem(text).map_err(failed)? {
        return Ok(of_library(problem));
    }
    let set = fabproj_cli::shared::set(text).map_err(failed)?;
    Ok(Source::Set(SetSource::Known(set)))
}

fn of_library(problem: Problem) -> Source {
    Source::Problem(Box::new(Given::of_library(problem)))
}

/// Labelled points.
fn points(pair: &Bound<'_, PyTuple>, about: About<'_, '_>) -> PyResult<Source> {
    if pair.len() != 2 {
        return Err(value(format!(
            "labelled points are a pair (y, label), found {} arrays; x goes into `x=`",
            pair.len()
        )));
    }
    let (y, rows, dim) = table(&pair.get_item(0)?, "y")?;
    let labels = labels(&pair.get_item(1)?, rows)?;
    let (x, x_dim) = match about.x {
        None => (Vec::new(), 0),
        Some(x) => {
            let (x, x_rows, x_dim) = table(x, "x")?;
            if x_rows != rows {
                return Err(value(format!("`y` has {rows} rows and `x` has {x_rows}")));
            }
            (x, x_dim)
        }
    };
    let names = about.names.unwrap_or_else(|| numbered("y", dim));
    let x_names = about.x_names.unwrap_or_else(|| numbered("x", x_dim));
    let data = LabelledData::new(names, y, x_names, x, labels)
        .map_err(|error| errors::labelled(&error))?;
    let name = about.name.unwrap_or_else(|| "points".to_owned());
    Ok(Source::Set(SetSource::Points(name, Box::new(data))))
}

/// Labels of bool, or of 0 and 1.
fn labels(object: &Bound<'_, PyAny>, rows: usize) -> PyResult<Vec<bool>> {
    let numpy = crate::arrays::numpy(object.py())?;
    let array = numpy.call_method1("asarray", (object,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let array = if kind == "b" {
        array.call_method1("astype", ("float64",))?
    } else {
        array
    };
    let array = Array::of(&array, "label")?.cast::<f64>(object.py())?;
    use numpy::prelude::*;
    if array.shape() != [rows] {
        let found = crate::arrays::shape_text(array.shape());
        return Err(value(format!(
            "`label` must have shape ({rows},), one per row of `y`, found {found}"
        )));
    }
    let label = |number: &f64| match *number {
        0.0 => Ok(false),
        1.0 => Ok(true),
        other => Err(value(format!(
            "`label` must hold bool, or 0 and 1, found {other}"
        ))),
    };
    crate::arrays::numbers(&array).iter().map(label).collect()
}

impl About<'_, '_> {
    fn region(self) -> PyResult<Region> {
        let Some(bounds) = self.bounds else {
            return Err(value(
                "a callable needs `bounds`, the region that inputs come from: bounds=[(-2, 2), (-2, 2)] for \
                 two coordinates",
            ));
        };
        let x_bounds = self.x_bounds.unwrap_or_default();
        let names = self.names.unwrap_or_else(|| numbered("y", bounds.len()));
        let x_names = self
            .x_names
            .unwrap_or_else(|| numbered("x", x_bounds.len()));
        let name = self.name.unwrap_or_else(|| "callable".to_owned());
        Ok(Region {
            name,
            bounds,
            x_bounds,
            names,
            x_names,
        })
    }
}

fn numbered(letter: &str, count: usize) -> Vec<String> {
    (0..count).map(|index| format!("{letter}{index}")).collect()
}
