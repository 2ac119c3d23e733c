//! Model files and sets as sub-commands take them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use fabproj::core::{Lift, Projector};
use fabproj::data::labelled::is_labelled_file;
use fabproj::file::ModelFile;
use fabproj::set::{
    Description, Learned, Reduced, Set, SetError, built_in, from_description, from_file,
};

use crate::failure::wrong_usage;

/// Bytes of a file that are looked at for a description.
const LONGEST: u64 = 1_000_000;

/// A model file, ready to run.
pub struct Opened {
    pub path: PathBuf,
    pub file: ModelFile,
    pub projector: Projector,
}

impl Opened {
    pub fn load(path: &Path) -> Result<Self> {
        let file = ModelFile::load(path)?;
        let projector = file.projector()?;
        Ok(Self {
            path: path.to_owned(),
            file,
            projector,
        })
    }

    /// The set that the model was trained for.
    pub fn own_set(&self) -> Result<Arc<dyn Set>> {
        if self.is_learned() {
            let set =
                Learned::of_file(&self.file).with_context(|| self.path.display().to_string())?;
            return Ok(Arc::new(set));
        }
        let description = &self.file.record.set.description;
        let set = from_description(description).with_context(|| {
            format!(
                "the set of {} cannot be built from its file",
                self.path.display()
            )
        })?;
        self.check_dimensions(set.as_ref())?;
        Ok(set)
    }

    /// The set that was named, or the model's own. Another set than the model's own is an error unless
    /// `allow_other`, since its figures would say nothing about the model; but whoever has learned a set
    /// from labelled points may ask the truth.
    pub fn set(&self, wanted: Option<&str>, allow_other: bool) -> Result<Arc<dyn Set>> {
        let Some(wanted) = wanted else {
            return self.own_set();
        };
        let set = find_set(wanted)?;
        self.check_dimensions(set.as_ref())?;
        if !self.is_own(set.as_ref()) && !allow_other && !self.is_learned() {
            bail!(
                "{} was trained for the set {}, not for {wanted}: leave the set out to take its \
                 own, or pass --other-set to use {wanted} all the same",
                self.path.display(),
                set_name(&self.file.record.set.description),
            );
        }
        Ok(set)
    }

    /// Whether the model's set was learned from labelled points.
    pub fn is_learned(&self) -> bool {
        self.file.record.learned.is_some()
    }

    /// Whether the model was trained for this set.
    pub fn is_own(&self, set: &dyn Set) -> bool {
        set.description().hash() == self.file.record.set.hash
    }

    /// The name of the model's set.
    pub fn set_name(&self) -> String {
        set_name(&self.file.record.set.description)
    }

    fn check_dimensions(&self, set: &dyn Set) -> Result<()> {
        let model = (self.projector.dim(), self.projector.parameter_dim());
        let found = (set.dim(), set.x_dim());
        if model == found {
            return self.check_equations(set);
        }
        bail!(
            "{} is a model for another set: it was trained for {} with {} y and {} x, but {} has {} y \
             and {} x",
            self.path.display(),
            self.set_name(),
            model.0,
            model.1,
            set_name(&set.description()),
            found.0,
            found.1,
        )
    }

    /// Coordinates that equations leave mean something with these equations only.
    fn check_equations(&self, set: &dyn Set) -> Result<()> {
        let numbers = |lift: Option<&Lift>| -> Vec<f64> {
            let parts = lift.map(|lift| [&lift.origin, &lift.basis, &lift.by_parameter]);
            parts.into_iter().flatten().flatten().copied().collect()
        };
        let own = numbers(self.file.model.lift.as_ref());
        let other = numbers(set.reduced().map(Reduced::lift));
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= SAME_EQUATIONS * (1.0 + a.abs());
        if own.len() == other.len() && own.iter().zip(&other).all(close) {
            return Ok(());
        }
        bail!(
            "{} is a model for another set: its points obey other equations than those of {}",
            self.path.display(),
            set_name(&set.description()),
        )
    }
}

/// How far two descriptions of the same equations may be apart.
const SAME_EQUATIONS: f64 = 1e-9;

/// A set by what was typed: a built-in name, or a file that describes one.
pub fn find_set(wanted: &str) -> Result<Arc<dyn Set>> {
    let path = Path::new(wanted);
    if wanted.ends_with(".toml") {
        if !path.exists() {
            return Err(wrong_usage(format!(
                "there is no file {wanted}: a set is a set file (.toml) or a built-in name (`fabproj \
                 sets` lists them)"
            )));
        }
        return match description_in(path) {
            Some(found) => from_description(&found?).with_context(|| format!("in {wanted}")),
            None => Ok(from_file(path)?),
        };
    }
    if is_labelled_file(path) {
        return Err(wrong_usage(format!(
            "{wanted} holds labelled points, which `fabproj train` learns a set from; they cannot be asked \
             about other points, but the model that was trained from them can: leave the set out"
        )));
    }
    built_in(wanted).map_err(|error| match error {
        SetError::Unknown { .. } if path.exists() => wrong_usage(format!(
            "{wanted} is a file, but not one that describes a set: a set is a built-in name \
             (`fabproj sets` lists them) or a file that ends in .toml"
        )),
        SetError::Unknown { .. } if wanted.contains(['/', '\\']) => wrong_usage(format!(
            "there is no file {wanted}: a set is a set file (.toml) or a built-in name (`fabproj sets` \
             lists them)"
        )),
        error => wrong_usage(error),
    })
}

/// The description of a set made of built-in ones, if the file holds such: it has a `kind`, which set
/// files made of constraints do not.
fn description_in(path: &Path) -> Option<Result<Description>> {
    let mut text = String::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    let table = text.parse::<toml::Table>().ok()?;
    table.get("kind")?;
    Some(toml::from_str(&text).map_err(|error| {
        let (path, error) = (path.display(), error.to_string());
        anyhow!("{path} does not describe a set: {}", error.trim_end())
    }))
}

/// A short name for tables and titles.
pub fn set_name(description: &Description) -> String {
    match description {
        Description::BuiltIn { name }
        | Description::Closure { name }
        | Description::File { name, .. } => name.clone(),
        Description::Labelled { name, rows, .. } => format!("{rows} labelled points of {name}"),
        Description::And { sets } => joined(sets, " and "),
        Description::Or { sets } => joined(sets, " or "),
        Description::Not { set } => format!("not {}", set_name(set)),
        Description::Affine { set, .. } => format!("affine image of {}", set_name(set)),
        Description::Shrink { set, margin } => format!("{} shrunk by {margin}", set_name(set)),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

fn joined(sets: &[Description], word: &str) -> String {
    let names: Vec<_> = sets.iter().map(set_name).collect();
    format!("({})", names.join(word))
}
