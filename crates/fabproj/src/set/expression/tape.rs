//! Operations in a row: evaluation without allocation, and its derivative backwards.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::graph::{Graph, Node, NodeId, ProductEntry};
use super::matrix::Matrix;
use super::operation::Operation;

/// Where a value is kept: variables first, then numbers, then results in the order of the instructions.
pub(crate) type Slot = u32;

/// What fills one slot.
#[derive(Clone, Copy, Debug)]
enum Instruction {
    Apply {
        operation: Operation,
        a: Slot,
        b: Slot,
    },
    /// The value of another slot, where a product needs its vector in one piece.
    Copy(Slot),
    /// Fills this slot and those of the [`Instruction::Filled`] after it.
    Product(u32),
    /// Filled by the product before.
    Filled,
}

/// The product of a constant matrix with the values of consecutive slots.
#[derive(Clone, Debug)]
struct Product {
    matrix: Arc<Matrix>,
    /// The first slot of the vector.
    vector: Slot,
}

/// Instructions in the order in which they are done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tape {
    variables: usize,
    numbers: Vec<f64>,
    instructions: Vec<Instruction>,
    products: Vec<Product>,
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
        let first = variables + order.numbers.len();
        let slot = |id: NodeId| match order.places[&id] {
            Place::Variable(index) => index as Slot,
            Place::Number(index) => (variables + index) as Slot,
            Place::Result(index) => (first + index) as Slot,
        };
        let mut products = Vec::new();
        let instructions = order.steps.iter().enumerate();
        let instructions = instructions.map(|(index, step)| match step {
            Step::Apply(operation, a, b) => Instruction::Apply {
                operation: *operation,
                a: slot(*a),
                b: slot(*b),
            },
            Step::Copy(id) => Instruction::Copy(slot(*id)),
            Step::Filled => Instruction::Filled,
            Step::Product { matrix, vector } => {
                let vector = match vector {
                    Some(start) => slot(*start),
                    None => (first + index - matrix.columns()) as Slot,
                };
                let matrix = Arc::clone(matrix);
                products.push(Product { matrix, vector });
                Instruction::Product((products.len() - 1) as u32)
            }
        });
        let tape = Self {
            variables,
            instructions: instructions.collect(),
            products,
            numbers: order.numbers.clone(),
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
            match *instruction {
                Instruction::Apply { operation, a, b } => {
                    values[result] = operation.apply(values[a as usize], values[b as usize]);
                }
                Instruction::Copy(slot) => values[result] = values[slot as usize],
                Instruction::Product(index) => self.products[index as usize].run(result, values),
                Instruction::Filled => {}
            }
        }
    }

    /// Carries a direction forward: from the tangents of the variables to those of all results. The
    /// tangents of the numbers are zero.
    pub(crate) fn forward(&self, values: &[f64], tangents: &mut [f64]) {
        for (result, instruction) in (self.first()..).zip(&self.instructions) {
            let (operation, a, b) = match *instruction {
                Instruction::Apply { operation, a, b } => (operation, a as usize, b as usize),
                Instruction::Copy(slot) => {
                    tangents[result] = tangents[slot as usize];
                    continue;
                }
                Instruction::Product(product) => {
                    self.products[product as usize].run(result, tangents);
                    continue;
                }
                Instruction::Filled => continue,
            };
            let (by_a, by_b) = operation.derivatives(values[a], values[b], values[result]);
            // As backward: 0 · ∞ must not become NaN.
            let part = |tangent: f64, derivative: f64| match tangent {
                0.0 => 0.0,
                _ => tangent * derivative,
            };
            tangents[result] = part(tangents[a], by_a);
            if by_b != 0.0 {
                tangents[result] += part(tangents[b], by_b);
            }
        }
    }

    /// Carries derivatives from the results back to the variables: `adjoints` holds, for each slot,
    /// the derivative of something with respect to its value.
    pub(crate) fn backward(&self, values: &[f64], adjoints: &mut [f64]) {
        let first = self.first();
        for (index, instruction) in self.instructions.iter().enumerate().rev() {
            let (operation, a, b) = match *instruction {
                Instruction::Apply { operation, a, b } => (operation, a as usize, b as usize),
                Instruction::Copy(slot) => {
                    adjoints[slot as usize] += adjoints[first + index];
                    continue;
                }
                Instruction::Product(product) => {
                    self.products[product as usize].backward(first + index, adjoints);
                    continue;
                }
                Instruction::Filled => continue,
            };
            let adjoint = adjoints[first + index];
            // Not only faster: 0 · ∞ must not become NaN.
            if adjoint == 0.0 {
                continue;
            }
            let result = values[first + index];
            let (by_a, by_b) = operation.derivatives(values[a], values[b], result);
            adjoints[a] += adjoint * by_a;
            if by_b != 0.0 {
                adjoints[b] += adjoint * by_b;
            }
        }
    }
}

impl Product {
    /// The slots of the vector, and those of the results that begin at `result`.
    fn split<'a>(&self, result: usize, slots: &'a mut [f64]) -> (&'a mut [f64], &'a mut [f64]) {
        let (before, after) = slots.split_at_mut(result);
        let vector = self.vector as usize;
        let vector = &mut before[vector..vector + self.matrix.columns()];
        (vector, &mut after[..self.matrix.rows()])
    }

    fn run(&self, result: usize, values: &mut [f64]) {
        let (vector, results) = self.split(result, values);
        self.matrix.times(vector, results);
    }

    fn backward(&self, result: usize, adjoints: &mut [f64]) {
        let (vector, results) = self.split(result, adjoints);
        self.matrix.add_transposed_times(results, vector);
    }
}

/// Where the value of a node will be: which variable, number or result it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Variable(usize),
    Number(usize),
    Result(usize),
}

impl Place {
    /// The place after this one.
    fn next(self) -> Self {
        match self {
            Self::Variable(index) => Self::Variable(index + 1),
            Self::Number(index) => Self::Number(index + 1),
            Self::Result(index) => Self::Result(index + 1),
        }
    }
}

/// An [`Instruction`] before the slots are known.
enum Step {
    Apply(Operation, NodeId, NodeId),
    Copy(NodeId),
    Product {
        matrix: Arc<Matrix>,
        /// The first node of the vector; the slots before this step if there is none.
        vector: Option<NodeId>,
    },
    Filled,
}

/// The nodes that were found necessary, in the order in which they will be done.
struct Order<'a> {
    graph: &'a Graph,
    places: HashMap<NodeId, Place>,
    numbers: Vec<f64>,
    steps: Vec<Step>,
    /// The first result of each product that has been done.
    products: HashMap<u32, usize>,
}

impl<'a> Order<'a> {
    fn new(graph: &'a Graph) -> Self {
        Self {
            graph,
            places: HashMap::new(),
            numbers: Vec::new(),
            steps: Vec::new(),
            products: HashMap::new(),
        }
    }

    /// Adds what a root needs and what is not there yet; the number of steps up to here.
    fn include(&mut self, root: NodeId) -> usize {
        let mut found = BTreeSet::new();
        let mut waiting = vec![root];
        while let Some(id) = waiting.pop() {
            if self.places.contains_key(&id) || !found.insert(id) {
                continue;
            }
            match self.graph.node(id) {
                Node::Number(_) | Node::Variable(_) => {}
                Node::Apply(_, a, b) => waiting.extend([a, b]),
                Node::Product(entry) if self.products.contains_key(&entry.product) => {}
                Node::Product(entry) => waiting.extend(&self.graph.product_of(entry).vector),
            }
        }
        // Operands have smaller numbers than what is made of them.
        for id in found {
            let place = self.place(id);
            self.places.insert(id, place);
        }
        self.steps.len()
    }

    /// Adds the step that gives a node; those that give its operands are there.
    fn place(&mut self, id: NodeId) -> Place {
        match self.graph.node(id) {
            Node::Variable(index) => Place::Variable(index),
            Node::Number(value) => {
                self.numbers.push(value);
                Place::Number(self.numbers.len() - 1)
            }
            Node::Apply(operation, a, b) => {
                self.steps.push(Step::Apply(operation, a, b));
                Place::Result(self.steps.len() - 1)
            }
            Node::Product(entry) => {
                let first = match self.products.get(&entry.product) {
                    Some(first) => *first,
                    None => self.product(entry),
                };
                Place::Result(first + entry.row as usize)
            }
        }
    }

    /// Adds a whole product; the place of its first row.
    fn product(&mut self, entry: ProductEntry) -> usize {
        let product = self.graph.product_of(entry);
        let places: Vec<Place> = product.vector.iter().map(|id| self.places[id]).collect();
        let in_one_piece = places.windows(2).all(|pair| pair[0].next() == pair[1]);
        if !in_one_piece {
            self.steps
                .extend(product.vector.iter().map(|id| Step::Copy(*id)));
        }
        let first = self.steps.len();
        self.steps.push(Step::Product {
            matrix: Arc::clone(&product.matrix),
            vector: in_one_piece.then_some(product.vector[0]),
        });
        self.steps
            .extend((1..product.matrix.rows()).map(|_| Step::Filled));
        self.products.insert(entry.product, first);
        first
    }
}
