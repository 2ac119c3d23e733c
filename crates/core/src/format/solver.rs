//! Files of solvers: the same container with other tensors.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use safetensors::Dtype;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::digest::BLANK;
use super::read::{Nothing, Tensors, damaged, open};
use super::write::{self, Tensor, WriteError};
use super::{FormatError, Header, NetworkHeader, VERSION};
use crate::solver::{
    AffineMap, KnownAnswers, MAX_KNOWN, MAX_OTHERS, MAX_ROWS, Proposer, SolverWeights,
};
use crate::validate::{MAX_WIDTH, limit};

/// Sizes and switches of a solver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SolverHeader {
    format: u32,
    digest: String,
    solver: Sizes,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Sizes {
    dim: usize,
    x_dim: usize,
    rows: usize,
    bounded: bool,
    watched: usize,
    active: usize,
    multipliers: bool,
    steps: usize,
    linear: bool,
    exact: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    near: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proposer: Option<ProposerHeader>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<Sizes>,
}

impl Sizes {
    fn of(weights: &SolverWeights) -> Self {
        Self {
            dim: weights.dim,
            x_dim: weights.x_dim,
            rows: weights.rows,
            bounded: !weights.bounds.is_empty(),
            watched: weights.watched.len(),
            active: weights.active.len(),
            multipliers: !weights.multipliers.constant.is_empty(),
            steps: weights.steps,
            linear: weights.linear,
            exact: weights.exact,
            near: weights.near,
            proposer: weights
                .proposer
                .as_ref()
                .map(|proposer| ProposerHeader::of(proposer, weights.dim)),
            others: weights.others.iter().map(Self::of).collect(),
        }
    }
}

/// What proposes points, where there is such.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ProposerHeader {
    projector: Header,
    network: NetworkHeader,
    tests: usize,
    stride: f64,
    // Older files have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    known: Option<KnownHeader>,
}

/// Numbers of known answers: all, and those that an answer starts from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct KnownHeader {
    entries: usize,
    nearest: usize,
}

impl ProposerHeader {
    fn of(proposer: &Proposer, dim: usize) -> Self {
        let known = &proposer.known;
        let entries = known.entries(dim);
        let nearest = known.nearest;
        // Version and digest are those of the whole file.
        let projector = Header {
            digest: String::new(),
            ..Header::of(&proposer.projector)
        };
        Self {
            projector,
            network: NetworkHeader::of(&proposer.network),
            tests: proposer.tests,
            stride: proposer.stride,
            known: (entries > 0).then_some(KnownHeader { entries, nearest }),
        }
    }

    fn read(&self, tensors: &Tensors<'_>, sizes: &Sizes) -> Result<Proposer, FormatError> {
        self.projector.check_limits()?;
        self.network.check_limits("solver.network")?;
        Ok(Proposer {
            projector: tensors.weights(&self.projector)?,
            network: tensors.network("solver.network", &self.network)?,
            tests: self.tests,
            stride: self.stride,
            known: match &self.known {
                Some(known) => known.read(tensors, sizes)?,
                None => KnownAnswers::default(),
            },
        })
    }
}

impl KnownHeader {
    fn read(&self, tensors: &Tensors<'_>, sizes: &Sizes) -> Result<KnownAnswers, FormatError> {
        limit(|| "solver.known".into(), self.entries, MAX_KNOWN)?;
        Ok(KnownAnswers {
            x: tensors.doubles("solver.known.x", &[self.entries, sizes.x_dim])?,
            y: tensors.doubles("solver.known.y", &[self.entries, sizes.dim])?,
            nearest: self.nearest,
        })
    }
}

impl SolverWeights {
    /// Reads and [validates](Self::validate) the bytes of a solver's file.
    ///
    /// # Errors
    /// [`FormatError`]; no bytes make this panic.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        read_solver_with::<Nothing>(bytes).map(|(weights, _)| weights)
    }

    /// The bytes of a file that holds the weights and nothing else.
    ///
    /// # Errors
    /// [`WriteError`] for weights that do not [validate](Self::validate).
    pub fn to_bytes(&self) -> Result<Vec<u8>, WriteError> {
        write_solver_with(self, &Nothing {})
    }
}

/// Reads a solver, and whatever else `R` finds among the other fields of the metadata's JSON object.
///
/// # Errors
/// [`FormatError`]; no bytes make this panic.
pub fn read_solver_with<R: DeserializeOwned>(
    bytes: &[u8],
) -> Result<(SolverWeights, R), FormatError> {
    let (tensors, (sizes, record)) = open(bytes, |stated, text| {
        if stated.solver.is_none() {
            return Err(FormatError::NoSolver);
        }
        let header: SolverHeader = serde_json::from_str(text).map_err(damaged)?;
        let record: R = serde_json::from_str(text).map_err(damaged)?;
        Ok((header.solver, record))
    })?;
    let weights = weights(&tensors, "solver", &sizes)?;
    weights.validate()?;
    Ok((weights, record))
}

/// The weights whose tensors have names that begin with `part`.
fn weights(tensors: &Tensors<'_>, part: &str, sizes: &Sizes) -> Result<SolverWeights, FormatError> {
    let (dim, x_dim, watched) = (sizes.dim, sizes.x_dim, sizes.watched);
    limit(|| "solver.dim".into(), dim, MAX_WIDTH)?;
    limit(|| "solver.x_dim".into(), x_dim, MAX_WIDTH)?;
    limit(|| "solver.rows".into(), sizes.rows, MAX_ROWS)?;
    limit(|| "solver.watched".into(), watched, MAX_ROWS)?;
    limit(|| "solver.active".into(), sizes.active, watched)?;
    // Another basin has none of its own.
    let most = if part == "solver" { MAX_OTHERS } else { 0 };
    limit(|| format!("{part}.others"), sizes.others.len(), most)?;
    let others = sizes.others.iter().enumerate();
    let others =
        others.map(|(index, other)| weights(tensors, &format!("{part}.others.{index}"), other));
    let doubles = |name: &str, shape: &[usize]| tensors.doubles(&format!("{part}.{name}"), shape);
    let affine = |name: &str, outputs: usize| -> Result<AffineMap, FormatError> {
        Ok(AffineMap {
            constant: doubles(&format!("{name}.constant"), &[outputs])?,
            by_x: doubles(&format!("{name}.by_x"), &[outputs, x_dim])?,
        })
    };
    let pairs = |name: &str, count: usize| -> Result<Vec<(f64, f64)>, FormatError> {
        let values = doubles(name, &[count, 2])?;
        Ok(values
            .chunks_exact(2)
            .map(|pair| (pair[0], pair[1]))
            .collect())
    };
    let places = |name: &str, count: usize| -> Result<Vec<usize>, FormatError> {
        let values = tensors.integers(&format!("{part}.{name}"), &[count])?;
        Ok(values.into_iter().map(|value| value as usize).collect())
    };
    Ok(SolverWeights {
        dim,
        x_dim,
        rows: sizes.rows,
        bounds: pairs("bounds", if sizes.bounded { dim } else { 0 })?,
        start: affine("start", dim)?,
        multipliers: affine("multipliers", if sizes.multipliers { watched } else { 0 })?,
        anchor: affine("anchor", dim)?,
        metric: doubles("metric", &[dim, dim])?,
        watched: places("watched", watched)?,
        pulls: doubles("pulls", &[watched, dim])?,
        gram: doubles("gram", &[watched, watched])?,
        margins: doubles("margins", &[watched])?,
        active: places("active", sizes.active)?,
        steps: sizes.steps,
        linear: sizes.linear,
        exact: sizes.exact,
        near: sizes.near,
        x_range: pairs("x_range", x_dim)?,
        proposer: sizes
            .proposer
            .as_ref()
            .map(|header| header.read(tensors, sizes))
            .transpose()?,
        others: others.collect::<Result<_, _>>()?,
    })
}

/// The bytes of a solver's file: the weights, and the fields of `record` in the metadata's JSON object. The
/// same input gives the same bytes.
///
/// # Errors
/// [`WriteError`] for weights that do not [validate](SolverWeights::validate), and for a record that does not
/// fit into the JSON object.
pub fn write_solver_with<R: Serialize>(
    weights: &SolverWeights,
    record: &R,
) -> Result<Vec<u8>, WriteError> {
    weights.validate()?;
    let header = SolverHeader {
        format: VERSION,
        digest: BLANK.into(),
        solver: Sizes::of(weights),
    };
    let mut all = tensors("solver", weights);
    for (index, other) in weights.others.iter().enumerate() {
        all.extend(tensors(&format!("solver.others.{index}"), other));
    }
    if let Some(proposer) = &weights.proposer {
        let mut more = write::Tensors(write::tensors(&proposer.projector));
        more.network("solver.network", &proposer.network);
        all.extend(more.0);
        let (known, entries) = (&proposer.known, proposer.known.entries(weights.dim));
        let parts = [
            ("known.x", &known.x, weights.x_dim),
            ("known.y", &known.y, weights.dim),
        ];
        let parts = parts.map(|(name, values, width)| (name, &**values, vec![entries, width]));
        all.extend(stored("solver", parts.into_iter().map(of_doubles)));
    }
    write::write(&header, record, all)
}

fn tensors(part: &str, weights: &SolverWeights) -> Vec<(String, Tensor)> {
    let (dim, x_dim, watched) = (weights.dim, weights.x_dim, weights.watched.len());
    let known = weights.multipliers.constant.len();
    let flat = |pairs: &[(f64, f64)]| -> Vec<f64> {
        pairs.iter().flat_map(|(low, high)| [*low, *high]).collect()
    };
    let (bounds, x_range) = (flat(&weights.bounds), flat(&weights.x_range));
    let doubles: [(&str, &[f64], Vec<usize>); 12] = [
        ("bounds", &bounds, vec![weights.bounds.len(), 2]),
        ("start.constant", &weights.start.constant, vec![dim]),
        ("start.by_x", &weights.start.by_x, vec![dim, x_dim]),
        (
            "multipliers.constant",
            &weights.multipliers.constant,
            vec![known],
        ),
        (
            "multipliers.by_x",
            &weights.multipliers.by_x,
            vec![known, x_dim],
        ),
        ("anchor.constant", &weights.anchor.constant, vec![dim]),
        ("anchor.by_x", &weights.anchor.by_x, vec![dim, x_dim]),
        ("metric", &weights.metric, vec![dim, dim]),
        ("pulls", &weights.pulls, vec![watched, dim]),
        ("gram", &weights.gram, vec![watched, watched]),
        ("margins", &weights.margins, vec![watched]),
        ("x_range", &x_range, vec![x_dim, 2]),
    ];
    let doubles = doubles.into_iter().map(of_doubles);
    let integers = [("watched", &weights.watched), ("active", &weights.active)];
    let integers = integers.into_iter().map(|(name, values)| {
        // Validation has compared them with the number of rows.
        let bytes = values
            .iter()
            .flat_map(|value| (*value as u32).to_le_bytes());
        (name, Dtype::U32, vec![values.len()], bytes.collect())
    });
    stored(part, doubles.chain(integers))
}

/// A tensor's name, type, shape and bytes.
type Part<'a> = (&'a str, Dtype, Vec<usize>, Vec<u8>);

fn of_doubles<'a>((name, values, shape): (&'a str, &[f64], Vec<usize>)) -> Part<'a> {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes());
    (name, Dtype::F64, shape, bytes.collect())
}

/// Arrays without elements are not stored; the reader knows their shapes.
fn stored<'a>(part: &str, all: impl Iterator<Item = Part<'a>>) -> Vec<(String, Tensor)> {
    let stored = all.filter(|(_, _, shape, _)| !shape.contains(&0));
    let named = stored.map(|(name, element, shape, bytes)| {
        let tensor = Tensor {
            element,
            shape,
            bytes,
        };
        (format!("{part}.{name}"), tensor)
    });
    named.collect()
}
