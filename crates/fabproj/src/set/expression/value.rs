//! What an expression is worth: a number, a vector or a constant matrix, with NumPy's rules.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::fault::Fault;
use super::graph::{Graph, Node, NodeId};
use super::matrix::Matrix;
use super::operation::Operation;
use crate::set::Problem;

/// The value of a part of an expression.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Number(NodeId),
    /// At least one entry.
    Vector(Vec<NodeId>),
    Matrix(Arc<Matrix>),
}

/// How many entries a value has, by axis, as NumPy writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One number.
    Number,
    /// A vector.
    Vector(usize),
    /// Rows and columns.
    Matrix(usize, usize),
}

impl fmt::Display for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number => write!(formatter, "a number"),
            Self::Vector(length) => write!(formatter, "({length},)"),
            Self::Matrix(rows, columns) => write!(formatter, "({rows}, {columns})"),
        }
    }
}

impl Value {
    pub(crate) fn shape(&self) -> Shape {
        match self {
            Self::Number(_) => Shape::Number,
            Self::Vector(entries) => Shape::Vector(entries.len()),
            Self::Matrix(matrix) => Shape::Matrix(matrix.rows(), matrix.columns()),
        }
    }

    /// The number that this must be.
    pub(crate) fn number(&self, what: &'static str, at: usize) -> Result<NodeId, Fault> {
        match self {
            Self::Number(node) => Ok(*node),
            _ => Err(Fault::new(
                at,
                Problem::NotANumber {
                    what,
                    found: self.shape(),
                },
            )),
        }
    }

    /// The entries of a number or a vector; a matrix has none that could be used here.
    pub(super) fn entries(&self, operation: &'static str, at: usize) -> Result<&[NodeId], Fault> {
        match self {
            Self::Number(node) => Ok(std::slice::from_ref(node)),
            Self::Vector(entries) => Ok(entries),
            Self::Matrix(_) => Err(Fault::new(
                at,
                Problem::MatrixIn {
                    operation,
                    found: self.shape(),
                },
            )),
        }
    }

    /// Pairs of entries: those of two vectors of one length, or a number with each entry of the other.
    pub(super) fn pairs(
        &self,
        other: &Self,
        at: usize,
    ) -> Result<(Vec<(NodeId, NodeId)>, bool), Fault> {
        let name = "this operation";
        let (left, right) = (self.entries(name, at)?, other.entries(name, at)?);
        let vector = matches!(self, Self::Vector(_)) || matches!(other, Self::Vector(_));
        let pairs = match (self, other) {
            (Self::Number(left), _) => right.iter().map(|right| (*left, *right)).collect(),
            (_, Self::Number(right)) => left.iter().map(|left| (*left, *right)).collect(),
            _ if left.len() == right.len() => {
                left.iter().copied().zip(right.iter().copied()).collect()
            }
            _ => return Err(mismatch(self, other, at)),
        };
        Ok((pairs, vector))
    }

    /// The operation on each entry, or on each pair of entries.
    pub(super) fn apply(
        operation: Operation,
        left: &Self,
        right: &Self,
        graph: &mut Graph,
        at: usize,
    ) -> Result<Self, Fault> {
        if let Some(scaled) = scaled(operation, left, right, graph) {
            return Ok(scaled);
        }
        let (pairs, vector) = left.pairs(right, at)?;
        let results = pairs
            .iter()
            .map(|(a, b)| graph.apply(operation, *a, *b, at));
        let results: Vec<NodeId> = results.collect::<Result<_, _>>()?;
        Ok(match (vector, results.as_slice()) {
            (false, [only]) => Self::Number(*only),
            _ => Self::Vector(results),
        })
    }

    /// The operation of one operand on each entry.
    pub(super) fn map(
        &self,
        operation: Operation,
        graph: &mut Graph,
        at: usize,
    ) -> Result<Self, Fault> {
        if let (Self::Matrix(matrix), Operation::Negate) = (self, operation) {
            return Ok(Self::Matrix(matrix.map(|entry| -entry)));
        }
        Self::apply(operation, self, self, graph, at)
    }

    /// The entries taken together, one after the other.
    pub(super) fn fold(
        &self,
        operation: Operation,
        name: &'static str,
        graph: &mut Graph,
        at: usize,
    ) -> Result<Self, Fault> {
        let [first, rest @ ..] = self.entries(name, at)? else {
            return graph.number(0.0, at).map(Self::Number);
        };
        let fold = |sum, entry: &NodeId| graph.apply(operation, sum, *entry, at);
        rest.iter().try_fold(*first, fold).map(Self::Number)
    }

    /// `left @ right`: the product of a matrix and a vector, or of two vectors.
    pub(super) fn matrix_product(
        left: &Self,
        right: &Self,
        graph: &mut Graph,
        at: usize,
    ) -> Result<Self, Fault> {
        let fits = match (left.shape(), right.shape()) {
            (Shape::Vector(a), Shape::Vector(b) | Shape::Matrix(b, _)) => a == b,
            (Shape::Matrix(_, a), Shape::Vector(b)) => a == b,
            (Shape::Matrix(..), Shape::Matrix(..)) => {
                let operation = "`@` with another matrix";
                let found = right.shape();
                return Err(Fault::new(at, Problem::MatrixIn { operation, found }));
            }
            _ => false,
        };
        if !fits {
            return Err(mismatch(left, right, at));
        }
        match (left, right) {
            (Self::Matrix(matrix), Self::Vector(vector)) => {
                graph.product(matrix, vector, at).map(Self::Vector)
            }
            (Self::Vector(vector), Self::Matrix(matrix)) => {
                let transposed = matrix.transposed();
                graph.product(&transposed, vector, at).map(Self::Vector)
            }
            _ => dot(left, right, graph, at),
        }
    }

    /// `value[index]`, counted from the end where it is negative.
    pub(super) fn entry(&self, index: i64, at: usize) -> Result<Self, Fault> {
        let entries = self.indexed(at)?;
        let place = from_start(index, entries.len());
        let entry = usize::try_from(place)
            .ok()
            .and_then(|place| entries.get(place));
        entry.map(|entry| Self::Number(*entry)).ok_or_else(|| {
            let length = entries.len();
            Fault::new(at, Problem::Index { index, length })
        })
    }

    /// `value[begin:end]`, as NumPy takes it, but not empty.
    pub(super) fn slice(
        &self,
        begin: Option<i64>,
        end: Option<i64>,
        at: usize,
    ) -> Result<Self, Fault> {
        let entries = self.indexed(at)?;
        let length = entries.len();
        let place = |index: i64| from_start(index, length).clamp(0, length as i64) as usize;
        let range: Range<usize> = begin.map_or(0, place)..end.map_or(length, place);
        match entries.get(range) {
            Some(part) if !part.is_empty() => Ok(Self::Vector(part.to_vec())),
            _ => Err(Fault::new(at, Problem::EmptySlice { length })),
        }
    }

    fn indexed(&self, at: usize) -> Result<&[NodeId], Fault> {
        match self {
            Self::Vector(entries) => Ok(entries),
            _ => {
                let found = self.shape();
                Err(Fault::new(at, Problem::NotIndexable { found }))
            }
        }
    }

    /// `value.T`
    pub(super) fn transposed(&self) -> Self {
        match self {
            Self::Matrix(matrix) => Self::Matrix(matrix.transposed()),
            // As in NumPy: a vector has one axis.
            _ => self.clone(),
        }
    }
}

fn from_start(index: i64, length: usize) -> i64 {
    if index < 0 {
        index.saturating_add(length as i64)
    } else {
        index
    }
}

fn mismatch(left: &Value, right: &Value, at: usize) -> Fault {
    let (left, right) = (left.shape(), right.shape());
    Fault::new(at, Problem::Shapes { left, right })
}

/// A matrix times or over a constant number: all that matrices allow beside `@`.
fn scaled(operation: Operation, left: &Value, right: &Value, graph: &Graph) -> Option<Value> {
    let constant = |id: &NodeId| match graph.node(*id) {
        Node::Number(value) => Some(value),
        _ => None,
    };
    let (matrix, factor) = match (operation, left, right) {
        (Operation::Multiply, Value::Matrix(matrix), Value::Number(number))
        | (Operation::Multiply, Value::Number(number), Value::Matrix(matrix)) => {
            (matrix, constant(number)?)
        }
        (Operation::Divide, Value::Matrix(matrix), Value::Number(number)) => {
            (matrix, 1.0 / constant(number)?)
        }
        _ => return None,
    };
    let scaled = matrix.map(|entry| entry * factor);
    let finite =
        (0..scaled.rows()).all(|row| scaled.row(row).iter().all(|entry| entry.is_finite()));
    finite.then_some(Value::Matrix(scaled))
}

/// The sum of the products of two vectors' entries.
fn dot(left: &Value, right: &Value, graph: &mut Graph, at: usize) -> Result<Value, Fault> {
    for (constants, vector) in [(left, right), (right, left)] {
        if let (Some(row), Value::Vector(vector)) = (constants.constants(graph), vector) {
            let row = Arc::new(Matrix::new(1, row));
            let product = graph.product(&row, vector, at)?;
            return Value::Vector(product).entry(0, at);
        }
    }
    let products = Value::apply(Operation::Multiply, left, right, graph, at)?;
    products.fold(Operation::Add, "`@`", graph, at)
}

impl Value {
    /// The entries of a vector of numbers.
    fn constants(&self, graph: &Graph) -> Option<Vec<f64>> {
        let Self::Vector(entries) = self else {
            return None;
        };
        let number = |id: &NodeId| match graph.node(*id) {
            Node::Number(value) => Some(value),
            _ => None,
        };
        entries.iter().map(number).collect()
    }
}
