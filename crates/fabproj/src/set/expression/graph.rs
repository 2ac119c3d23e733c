//! Operations on variables and numbers, each kept once.

use std::collections::HashMap;

use super::fault::Fault;
use super::operation::Operation;
use crate::set::Problem;

/// The most parts that the expressions of a file may have together.
const MAX_NODES: usize = 100_000;
/// Whole exponents up to this are multiplied out.
const MAX_WHOLE_POWER: f64 = 32.0;

/// A node of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(pub u32);

/// A number, a variable, or an operation on earlier nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Node {
    Number(f64),
    /// Coordinates of y first, then those of x.
    Variable(usize),
    Apply(Operation, NodeId, NodeId),
}

/// [`Node`] as something to look up.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Number(u64),
    Variable(usize),
    Apply(Operation, NodeId, NodeId),
}

/// All expressions of a file. Operands come before the operations on them, equal parts are one node,
/// and operations on numbers are done.
#[derive(Default)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
    known: HashMap<Key, NodeId>,
}

impl Graph {
    pub(crate) fn node(&self, id: NodeId) -> Node {
        self.nodes[id.0 as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn number(&mut self, value: f64, at: usize) -> Result<NodeId, Fault> {
        if !value.is_finite() {
            return Err(Fault::new(at, Problem::Constant { value }));
        }
        self.add(Key::Number(value.to_bits()), Node::Number(value), at)
    }

    pub(crate) fn variable(&mut self, index: usize, at: usize) -> Result<NodeId, Fault> {
        self.add(Key::Variable(index), Node::Variable(index), at)
    }

    /// The operation on two nodes; those of one operand get it twice.
    pub(crate) fn apply(
        &mut self,
        operation: Operation,
        a: NodeId,
        b: NodeId,
        at: usize,
    ) -> Result<NodeId, Fault> {
        let (first, second) = (self.node(a), self.node(b));
        if let (Node::Number(first), Node::Number(second)) = (first, second) {
            return self.number(operation.apply(first, second), at);
        }
        if let (Operation::Power, Node::Number(exponent)) = (operation, second)
            && let Some(whole) = whole_power(exponent)
        {
            return match whole {
                1 => Ok(a),
                2 => self.apply(Operation::Square, a, a, at),
                _ => self.apply(Operation::WholePower(whole), a, a, at),
            };
        }
        let (key, node) = (Key::Apply(operation, a, b), Node::Apply(operation, a, b));
        self.add(key, node, at)
    }

    fn add(&mut self, key: Key, node: Node, at: usize) -> Result<NodeId, Fault> {
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        if self.nodes.len() >= MAX_NODES {
            let problem = Problem::TooLarge {
                what: "operations, numbers and variables of all expressions",
                found: self.nodes.len() + 1,
                limit: MAX_NODES,
            };
            return Err(Fault::new(at, problem));
        }
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(node);
        self.known.insert(key, id);
        Ok(id)
    }
}

/// An exponent that is whole, not zero, and small.
fn whole_power(exponent: f64) -> Option<i32> {
    let fits = exponent.fract() == 0.0 && exponent != 0.0 && exponent.abs() <= MAX_WHOLE_POWER;
    fits.then_some(exponent as i32)
}
