//! Operations in a row: evaluation without allocation, and its derivative backwards.

use std::collections::HashMap;
use std::ops::Range;

use super::graph::{Graph, Node, NodeId};
use super::operation::Operation;

/// Where a value is kept: variables first, then numbers, then results in the order of the operations.
pub(crate) type Slot = u32;

#[derive(Clone, Copy, Debug)]
struct Instruction {
    operation: Operation,
    a: Slot,
    b: Slot,
}

/// Operations in the order in which they are done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tape {
    variables: usize,
    numbers: Vec<f64>,
    instructions: Vec<Instruction>,
}

/// Where the value of a root is, and how many operations give it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Root {
    pub slot: Slot,
    pub end: usize,
}

impl Tape {
    /// The operations that the roots need, in such an order that the first roots are known first.
    pub(crate) fn compile(graph: &Graph, variables: usize, roots: &[NodeId]) -> (Self, Vec<Root>) {
        let mut order = Order::new(graph);
        let ends: Vec<usize> = roots.iter().map(|root| order.include(*root)).collect();
        let numbers: Vec<f64> = order.numbers.iter().map(|(value, _)| *value).collect();
        let mut slots = HashMap::new();
        for (index, (_, id)) in order.numbers.iter().enumerate() {
            slots.insert(*id, (variables + index) as Slot);
        }
        let first = variables + numbers.len();
        for (index, (_, id)) in order.operations.iter().enumerate() {
            slots.insert(*id, (first + index) as Slot);
        }
        let slot = |id: NodeId| match graph.node(id) {
            Node::Variable(index) => index as Slot,
            _ => slots[&id],
        };
        let instructions = order.operations.iter();
        let instructions = instructions.map(|((operation, a, b), _)| Instruction {
            operation: *operation,
            a: slot(*a),
            b: slot(*b),
        });
        let tape = Self {
            variables,
            numbers,
            instructions: instructions.collect(),
        };
        let roots = roots.iter().zip(ends).map(|(id, end)| Root {
            slot: slot(*id),
            end,
        });
        let roots = roots.collect();
        (tape, roots)
    }

    /// Number of slots.
    pub(crate) fn slots(&self) -> usize {
        self.first() + self.instructions.len()
    }

    /// Number of operations.
    pub(crate) fn len(&self) -> usize {
        self.instructions.len()
    }

    /// The first slot of a result.
    fn first(&self) -> usize {
        self.variables + self.numbers.len()
    }

    /// Puts the variables and the numbers into their slots.
    #[inline]
    pub(crate) fn load(&self, y: &[f64], x: &[f64], values: &mut [f64]) {
        values[..y.len()].copy_from_slice(y);
        values[y.len()..self.variables].copy_from_slice(x);
        values[self.variables..self.first()].copy_from_slice(&self.numbers);
    }

    /// Does some of the operations; those before must have been done.
    #[inline]
    pub(crate) fn run(&self, range: Range<usize>, values: &mut [f64]) {
        let results = self.first() + range.start..;
        for (result, instruction) in results.zip(&self.instructions[range]) {
            let (a, b) = (
                values[instruction.a as usize],
                values[instruction.b as usize],
            );
            values[result] = instruction.operation.apply(a, b);
        }
    }

    /// Carries derivatives from the results back to the variables: `adjoints` holds, for each slot,
    /// the derivative of something with respect to its value.
    pub(crate) fn backward(&self, values: &[f64], adjoints: &mut [f64]) {
        let first = self.first();
        for (index, instruction) in self.instructions.iter().enumerate().rev() {
            let adjoint = adjoints[first + index];
            // Not only faster: 0 · ∞ must not become NaN.
            if adjoint == 0.0 {
                continue;
            }
            let (a, b) = (instruction.a as usize, instruction.b as usize);
            let result = values[first + index];
            let (by_a, by_b) = instruction
                .operation
                .derivatives(values[a], values[b], result);
            adjoints[a] += adjoint * by_a;
            if by_b != 0.0 {
                adjoints[b] += adjoint * by_b;
            }
        }
    }
}

/// The nodes that were found necessary, in the order in which they will be done.
struct Order<'a> {
    graph: &'a Graph,
    seen: Vec<bool>,
    numbers: Vec<(f64, NodeId)>,
    operations: Vec<((Operation, NodeId, NodeId), NodeId)>,
}

impl<'a> Order<'a> {
    fn new(graph: &'a Graph) -> Self {
        Self {
            graph,
            seen: vec![false; graph.len()],
            numbers: Vec::new(),
            operations: Vec::new(),
        }
    }

    /// Adds what a root needs and what is not there yet; the number of operations up to here.
    fn include(&mut self, root: NodeId) -> usize {
        let mut found = Vec::new();
        let mut waiting = vec![root];
        while let Some(id) = waiting.pop() {
            if std::mem::replace(&mut self.seen[id.0 as usize], true) {
                continue;
            }
            found.push(id);
            if let Node::Apply(_, a, b) = self.graph.node(id) {
                waiting.extend([a, b]);
            }
        }
        // Operands have smaller numbers than what is made of them.
        found.sort_unstable();
        for id in found {
            match self.graph.node(id) {
                Node::Number(value) => self.numbers.push((value, id)),
                Node::Variable(_) => {}
                Node::Apply(operation, a, b) => self.operations.push(((operation, a, b), id)),
            }
        }
        self.operations.len()
    }
}
