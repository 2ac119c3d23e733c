//! Sets, problems and models as they are typed.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use fabproj::set::{Description, Set, SetError, built_in, from_file, is_labelled_file};
use fabproj::solve::{Problem, SolverModel};
use fabproj::{FileError, Model};

use crate::failure::wrong_usage;

/// Bytes of a file that are searched for a description.
const LONGEST: u64 = 1_000_000;
/// What can stand for a set.
const FORMS: &str = "a set is a built-in name (`fabproj sets` lists them) or a set file (.toml)";

/// The set for a model: the one that was named, or the model's own.
///
/// A set that the model was not trained for is an error unless `allow_other`, because its figures say little
/// about the model. A model whose set was learned from labelled points may be compared with any set.
pub fn set_for(
    model: &Model,
    path: &Path,
    wanted: Option<&str>,
    allow_other: bool,
) -> Result<Arc<dyn Set>> {
    let path = path.display();
    let Some(wanted) = wanted else {
        return model
            .set()
            .with_context(|| format!("cannot rebuild the set of {path}"));
    };
    let set = set(wanted)?;
    let projector = model.projector();
    let fits = (projector.dim(), projector.x_dim()) == (set.dim(), set.x_dim());
    let allowed = allow_other || is_own(model, &set) || model.record().learned().is_some();
    if fits && allowed {
        return Ok(set);
    }
    let own = model.record().set().name();
    if fits {
        bail!(
            "{path} was trained for the set {own}, not for {wanted}; leave the set out to use its own, or \
             pass --other-set to use {wanted}"
        );
    }
    bail!(
        "{path} was trained for another set: {own} has {} y and {} x, {wanted} has {} and {}",
        projector.dim(),
        projector.x_dim(),
        set.dim(),
        set.x_dim(),
    )
}

/// Whether a model was trained for this set.
pub fn is_own(model: &Model, set: &dyn Set) -> bool {
    set.description().hash() == model.record().set_hash()
}

fn missing(wanted: &str) -> anyhow::Error {
    wrong_usage(format!("file not found: {wanted}; {FORMS}"))
}

/// The files that a set or problem comes from: the one that was typed, and its arrays. A built-in name
/// gives a file that is not there.
pub fn files(wanted: &str) -> Vec<PathBuf> {
    let path = Path::new(wanted);
    let arrays = || {
        let table = text_in(path)?.parse::<toml::Table>().ok()?;
        Some(path.with_file_name(table.get("arrays")?.as_str()?))
    };
    let arrays = if wanted.ends_with(".toml") {
        arrays()
    } else {
        None
    };
    std::iter::once(path.to_owned()).chain(arrays).collect()
}

/// A set by what was typed: a built-in name, or a file that describes one.
pub fn set(wanted: &str) -> Result<Arc<dyn Set>> {
    let path = Path::new(wanted);
    if wanted.ends_with(".toml") {
        if !path.exists() {
            return Err(missing(wanted));
        }
        return match description_in(path) {
            Some(found) => found?.set().with_context(|| format!("in {wanted}")),
            None => Ok(from_file(path)?),
        };
    }
    if is_labelled_file(path) {
        return Err(wrong_usage(format!(
            "{wanted} holds labelled points, which have no membership test; leave the set out to use the \
             test that the model has learned"
        )));
    }
    built_in(wanted).map_err(|error| match error {
        SetError::Unknown { .. } if path.exists() => {
            wrong_usage(format!("{wanted} is not a set file; {FORMS}"))
        }
        SetError::Unknown { .. } if wanted.contains(['/', '\\']) => missing(wanted),
        error => wrong_usage(error),
    })
}

/// What a model file holds.
pub enum Loaded {
    /// A projector.
    Projector(Box<Model>),
    /// A solver.
    Solver(Box<SolverModel>),
}

/// Reads a model file, whatever it holds.
pub fn load(path: &Path) -> Result<Loaded, FileError> {
    match Model::load(path) {
        Err(FileError::OtherKind { .. }) => {
            let model = SolverModel::load(path)?;
            Ok(Loaded::Solver(Box::new(model)))
        }
        model => Ok(Loaded::Projector(Box::new(model?))),
    }
}

/// The problem, if what was typed is a set file with an objective.
pub fn problem(wanted: &str) -> Result<Option<Problem>> {
    let path = Path::new(wanted);
    if wanted.ends_with(".toml") && !path.exists() {
        return Err(missing(wanted));
    }
    let is_problem = || text_in(path).is_some_and(|text| has_objective(&text));
    Ok(match wanted.ends_with(".toml") && is_problem() {
        true => Some(Problem::from_file(path)?),
        false => None,
    })
}

/// The problem for a solver: the one that was named, or the solver's own.
pub fn problem_for(model: &SolverModel, path: &Path, wanted: Option<&str>) -> Result<Problem> {
    let name = path.display();
    let Some(wanted) = wanted else {
        return model.problem().with_context(|| {
            format!("cannot rebuild the problem of {name}; it was given by another program")
        });
    };
    let Some(problem) = problem(wanted)? else {
        return Err(wrong_usage(format!(
            "{wanted} is not a problem file (.toml with [objective]), and {name} is a solver"
        )));
    };
    let own = &model.record().problem;
    if problem.description().hash() != own.hash() {
        bail!(
            "{name} was trained for the problem {}, not for {wanted}; leave {wanted} out, or train it",
            own.name()
        );
    }
    Ok(problem)
}

/// The text of a file, up to a length that descriptions keep.
fn text_in(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Whether a text is TOML with an objective: a problem, not a set.
pub fn has_objective(text: &str) -> bool {
    let table = text.parse::<toml::Table>();
    table.is_ok_and(|table| table.contains_key("objective"))
}

/// The description of a set made of built-in ones, if the file holds such: it has a `kind`, which set
/// files made of constraints do not.
fn description_in(path: &Path) -> Option<Result<Description>> {
    let text = text_in(path)?;
    text.parse::<toml::Table>().ok()?.get("kind")?;
    Some(toml::from_str(&text).map_err(|error| {
        let (path, error) = (path.display(), error.to_string());
        anyhow!("{path} does not describe a set: {}", error.trim_end())
    }))
}
