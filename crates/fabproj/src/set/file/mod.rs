//! Sets from files: constraints written as expressions.

mod arrays;
mod document;
mod equalities;
mod formula;
mod functions;
mod program;
mod resolve;
mod text;
mod variables;

use fabproj_core::Membership;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use self::document::Document;
use self::formula::Formula;
use self::functions::FileFunctions;
use self::program::Program;
use self::variables::Variable;
use super::expression::{Fault, Graph, tokens, value};
use super::vector::{is_finite, positive};
use crate::solve;

use super::{Description, Equation, Interval, Problem, Result, Set, SetError};

/// The longest set file, in bytes. Quoted twice in a model file's header it must still fit there.
const MAX_BYTES: usize = 1_000_000;

/// A set that is described by constraints in a text: see `docs/set-files.md`.
///
/// ```
/// use fabproj::Membership;
/// use fabproj::set::{Set, from_toml};
///
/// let set = from_toml(
///     r#"
///     name = "half-ring"
///     y = ["a", "b"]
///     bounds = { a = [-3, 3], b = [-3, 3] }
///     [let]
///     r = "norm(a, b)"
///     [[constraint]]
///     name = "ring"
///     all = ["r >= 1", "r <= 2"]
///     [[constraint]]
///     name = "upper half"
///     expr = "b >= 0"
///     "#,
/// )?;
/// assert!(set.contains(&[0.0, 1.5], &[]));
/// assert_eq!(set.violated(&[0.0, -1.5], &[]), ["upper half"]);
///
/// let mut gradient = [0.0; 2];
/// assert_eq!(set.violation(&[0.0, 2.5], &[], &mut gradient), Some(0.5));
/// assert_eq!(gradient, [0.0, 1.0]);
/// # Ok::<(), fabproj::set::SetError>(())
/// ```
pub(crate) struct FileSet {
    name: String,
    text: String,
    y: Vec<Variable>,
    x: Vec<Variable>,
    /// Rows of data that x comes from.
    x_data: Option<Vec<f64>>,
    constraints: Vec<String>,
    program: Program,
    equations: Vec<Equation>,
    /// The objective of a problem, with the constraints unless they have alternatives.
    functions: Option<Arc<FileFunctions>>,
    /// Whether the constraints have alternatives, and so no single gradient.
    alternatives: bool,
}

impl FileSet {
    /// Reads a set file's text.
    ///
    /// # Errors
    ///
    /// [`SetError::File`], with line and column of what is wrong.
    pub(super) fn parse(text: &str) -> Result<Self> {
        read_text(text).map_err(|fault| text::located(text, fault))
    }

    /// Reads the text of a problem: a set file with an objective.
    pub(crate) fn problem(text: &str) -> Result<solve::Problem> {
        let set = Self::parse(text)?;
        let Some(functions) = set.functions.clone() else {
            let fault = Fault::new(0, Problem::NoObjective);
            return Err(text::located(text, fault));
        };
        let data = set.x_data.clone();
        let problem = if set.alternatives {
            solve::Problem::from_set(set, functions)
        } else {
            solve::Problem::shared(set.name.clone(), functions)
                .with_description(set.description())
                .with_names(set.names(), set.x_names())
                .with_equations(set.equations())
                .with_bounds(set.bounds())
                .with_x(set.x_bounds())
        };
        Ok(match data {
            Some(rows) => problem.with_x_rows(rows),
            None => problem,
        })
    }

    /// How far each coordinate is outside of its bounds: beside equalities these are constraints.
    fn beyond_bounds(&self, y: &[f64]) -> impl Iterator<Item = f64> {
        let variables = if self.equations.is_empty() {
            &[]
        } else {
            self.y.as_slice()
        };
        y.iter().zip(variables).map(|(y, variable)| {
            let (low, high) = variable.bounds;
            let beyond = y - y.clamp(low, high);
            if beyond.abs() <= ROUNDING * (high - low) {
                0.0
            } else {
                beyond
            }
        })
    }
}

/// How far outside of its bounds a coordinate of y may be beside equalities, as a part of their width: no
/// more than rounding puts it there.
const ROUNDING: f64 = 1e-9;

fn read_text(text: &str) -> std::result::Result<FileSet, Fault> {
    if text.len() > MAX_BYTES {
        let problem = Problem::TooLarge {
            what: "bytes of a set file",
            found: text.len(),
            limit: MAX_BYTES,
        };
        return Err(Fault::new(0, problem));
    }
    let document = Document::parse(text)?;
    let mut graph = Graph::default();
    let scope = resolve::scope(&document, &mut graph)?;
    let bodies = document.constraints.iter();
    let formulas: Vec<Formula> = bodies
        .map(|constraint| Formula::of(&constraint.body, &mut graph, &scope))
        .collect::<std::result::Result<_, _>>()?;
    let objective = match &document.objective {
        Some(source) => {
            let objective = value(&tokens(source)?, &mut graph, &scope)?;
            Some(objective.number("the objective", source.at)?)
        }
        None => None,
    };
    let (y, x) = (document.y.all, document.x.all);
    let alternatives = formulas.iter().any(Formula::has_alternatives);
    let rows: &[Formula] = if alternatives { &[] } else { &formulas };
    let functions = objective.map(|objective| {
        let dims = (y.len(), x.len());
        Arc::new(FileFunctions::compile(&graph, dims, objective, rows))
    });
    let program = Program::compile(&graph, y.len() + x.len(), &formulas);
    let equations = equalities::equations(&graph, &formulas, &y, &x)?;
    let names = document.constraints.into_iter().enumerate();
    let names = names.map(|(index, constraint)| {
        let numbered = || format!("constraint {}", index + 1);
        constraint.name.unwrap_or_else(numbered)
    });
    Ok(FileSet {
        name: document.name,
        text: text.to_owned(),
        y,
        x,
        x_data: document.x_data,
        constraints: names.collect(),
        program,
        equations,
        functions,
        alternatives,
    })
}

/// The set that a set file's text describes.
///
/// # Errors
///
/// [`SetError::File`], with line and column of what is wrong.
///
/// ```
/// let error = fabproj::set::from_toml(
///     "y = [\"speed\"]\nbounds = { speed = [0, 9] }\n[[constraint]]\nexpr = \"sped <= 3\"\n",
/// )
/// .err()
/// .unwrap();
/// let message = error.to_string();
/// assert!(message.starts_with("line 4, column 9: unknown name `sped`; did you mean `speed`"));
/// ```
pub fn from_toml(text: &str) -> Result<Arc<dyn Set>> {
    Ok(Arc::new(FileSet::parse(text)?))
}

/// The set that a set file (`.toml`) describes.
///
/// # Errors
///
/// [`SetError::Unreadable`] for a file that cannot be read, [`SetError::File`] for one that does not
/// describe a set.
pub fn from_file(path: impl AsRef<Path>) -> Result<Arc<dyn Set>> {
    Ok(Arc::new(parse_file(path.as_ref(), FileSet::parse)?))
}

/// What a parser makes of a file's text, with its arrays in it.
pub(crate) fn parse_file<T>(path: &Path, parse: impl Fn(&str) -> Result<T>) -> Result<T> {
    let text = read(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let whole = arrays::embedded(text.clone(), folder).map_err(|fault| text::located(&text, fault));
    whole
        .and_then(|text| parse(&text))
        .map_err(|error| named(error, path))
}

/// The text of a set file.
fn read(path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    let file = File::open(path);
    // One byte too many is enough to see that a file is too long, whatever its size is said to be.
    let length = file.and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
    length.map_err(|error| SetError::Unreadable {
        path: path.display().to_string(),
        reason: error.to_string(),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes());
        let fault = Fault::new(at, Problem::NotText);
        named(text::located(&text, fault), path)
    })
}

/// The error with the name of the file.
fn named(error: SetError, path: &Path) -> SetError {
    match error {
        SetError::File {
            line,
            column,
            message,
            ..
        } => SetError::File {
            file: Some(path.display().to_string()),
            line,
            column,
            message,
        },
        error => error,
    }
}

impl Membership for FileSet {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        is_finite(y)
            && is_finite(x)
            && self.beyond_bounds(y).all(|beyond| beyond == 0.0)
            && self.program.contains(y, x)
    }

    fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        if !(is_finite(y) && is_finite(x)) {
            gradient.fill(0.0);
            return Some(f64::INFINITY);
        }
        let mut violation = self.program.violation(y, x, gradient);
        for (gradient, beyond) in gradient.iter_mut().zip(self.beyond_bounds(y)) {
            if beyond != 0.0 {
                violation += positive(beyond.abs());
                *gradient += beyond.signum();
            }
        }
        Some(violation)
    }
}

impl Set for FileSet {
    fn dim(&self) -> usize {
        self.y.len()
    }

    fn x_dim(&self) -> usize {
        self.x.len()
    }

    fn equations(&self) -> Vec<Equation> {
        self.equations.clone()
    }

    fn bounds(&self) -> Vec<Interval> {
        self.y.iter().map(|variable| variable.bounds).collect()
    }

    fn x_bounds(&self) -> Vec<Interval> {
        self.x.iter().map(|variable| variable.bounds).collect()
    }

    fn names(&self) -> Vec<String> {
        self.y
            .iter()
            .map(|variable| variable.name.clone())
            .collect()
    }

    fn x_names(&self) -> Vec<String> {
        self.x
            .iter()
            .map(|variable| variable.name.clone())
            .collect()
    }

    fn constraints(&self) -> Vec<String> {
        self.constraints.clone()
    }

    fn violated(&self, y: &[f64], x: &[f64]) -> Vec<String> {
        let levels = self.program.violations(y, x);
        let constraints = self.constraints.iter().zip(levels);
        let violated = constraints.filter(|(_, level)| *level > 0.0);
        violated.map(|(name, _)| name.clone()).collect()
    }

    fn description(&self) -> Description {
        Description::File {
            name: self.name.clone(),
            text: self.text.clone(),
        }
    }
}
