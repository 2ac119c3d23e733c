//! Sets from files: constraints written as expressions.

mod document;
mod equalities;
mod formula;
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
use self::program::Program;
use self::variables::Variable;
use super::expression::{Fault, Graph};
use super::vector::{is_finite, positive};
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
pub(super) struct FileSet {
    name: String,
    text: String,
    y: Vec<Variable>,
    x: Vec<Variable>,
    constraints: Vec<String>,
    program: Program,
    equations: Vec<Equation>,
}

impl FileSet {
    /// Reads a set file's text.
    ///
    /// # Errors
    ///
    /// [`SetError::File`], with line and column of what is wrong.
    pub(super) fn parse(text: &str) -> Result<Self> {
        read_text(text).map_err(|fault| SetError::File(Box::new(text::located(text, fault))))
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
    let variables = document.y.len() + document.x.len();
    let program = Program::compile(&graph, variables, &formulas);
    let equations = equalities::equations(&graph, &formulas, &document.y, &document.x)?;
    let names = document.constraints.into_iter().enumerate();
    let names = names.map(|(index, constraint)| {
        let numbered = || format!("constraint {}", index + 1);
        constraint.name.unwrap_or_else(numbered)
    });
    Ok(FileSet {
        name: document.name,
        text: text.to_owned(),
        y: document.y,
        x: document.x,
        constraints: names.collect(),
        program,
        equations,
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
    let path = path.as_ref();
    let text = read(path)?;
    from_toml(&text).map_err(|error| named(error, path))
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
        named(SetError::File(Box::new(text::located(&text, fault))), path)
    })
}

/// The error with the name of the file.
fn named(error: SetError, path: &Path) -> SetError {
    match error {
        SetError::File(mut error) => {
            error.file = Some(path.display().to_string());
            SetError::File(error)
        }
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
