//! The objective and the constraints of a problem file, as a solver asks for them.

use fabproj_core::Functions;

use super::formula::Formula;
use crate::set::expression::{Comparison, Graph, NodeId, Relation, Slot, Tape};

/// Objective and inequality constraints on one tape.
pub(super) struct FileFunctions {
    dim: usize,
    x_dim: usize,
    tape: Tape,
    objective: Slot,
    rows: Vec<Row>,
}

/// The constraint sign · (left − right) ≤ 0.
struct Row {
    left: Slot,
    right: Slot,
    sign: f64,
}

impl FileFunctions {
    /// Compiles the objective and the constraints, all of which must hold; equalities are left out.
    pub(super) fn compile(
        graph: &Graph,
        (dim, x_dim): (usize, usize),
        objective: NodeId,
        formulas: &[Formula],
    ) -> Self {
        let mut comparisons = Vec::new();
        for formula in formulas {
            collect(formula, &mut comparisons);
        }
        let sides = comparisons.iter().flat_map(|one| [one.left, one.right]);
        let roots: Vec<NodeId> = [objective].into_iter().chain(sides).collect();
        let (tape, roots) = Tape::compile(graph, dim + x_dim, &roots);
        let rows = comparisons.iter().zip(roots[1..].chunks_exact(2));
        let rows = rows.map(|(comparison, sides)| Row {
            left: sides[0].slot,
            right: sides[1].slot,
            sign: match comparison.relation {
                Relation::AtLeast | Relation::Above => -1.0,
                _ => 1.0,
            },
        });
        Self {
            dim,
            x_dim,
            objective: roots[0].slot,
            rows: rows.collect(),
            tape,
        }
    }

    /// The values of all slots, and as many numbers for derivatives.
    fn split<'a>(&self, memory: &'a mut [f64]) -> (&'a mut [f64], &'a mut [f64]) {
        memory.split_at_mut(self.tape.slots())
    }
}

/// The inequalities of a formula without alternatives.
fn collect(formula: &Formula, comparisons: &mut Vec<Comparison>) {
    match formula {
        Formula::Test(test) if test.relation == Relation::Equal => {}
        Formula::Test(test) => comparisons.push(*test),
        Formula::All(formulas) | Formula::Any(formulas) => {
            formulas.iter().for_each(|one| collect(one, comparisons));
        }
    }
}

impl Functions for FileFunctions {
    fn dim(&self) -> usize {
        self.dim
    }

    fn x_dim(&self) -> usize {
        self.x_dim
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn memory(&self) -> usize {
        2 * self.tape.slots()
    }

    fn values(&self, y: &[f64], x: &[f64], constraints: &mut [f64], memory: &mut [f64]) -> f64 {
        let (values, _) = self.split(memory);
        self.tape.load(y, x, values);
        self.tape.run(0..self.tape.len(), values);
        for (constraint, row) in constraints.iter_mut().zip(&self.rows) {
            *constraint = row.sign * (values[row.left as usize] - values[row.right as usize]);
        }
        values[self.objective as usize]
    }

    fn gradient(
        &self,
        _: &[f64],
        _: &[f64],
        weights: &[f64],
        gradient: &mut [f64],
        memory: &mut [f64],
    ) {
        let (values, adjoints) = self.split(memory);
        adjoints.fill(0.0);
        adjoints[self.objective as usize] = 1.0;
        for (weight, row) in weights.iter().zip(&self.rows) {
            adjoints[row.left as usize] += weight * row.sign;
            adjoints[row.right as usize] -= weight * row.sign;
        }
        self.tape.backward(values, adjoints);
        gradient.copy_from_slice(&adjoints[..self.dim]);
    }

    fn slopes(
        &self,
        _: &[f64],
        _: &[f64],
        direction: &[f64],
        slopes: &mut [f64],
        memory: &mut [f64],
    ) {
        let (values, tangents) = self.split(memory);
        tangents.fill(0.0);
        tangents[..self.dim].copy_from_slice(direction);
        self.tape.forward(values, tangents);
        for (slope, row) in slopes.iter_mut().zip(&self.rows) {
            *slope = row.sign * (tangents[row.left as usize] - tangents[row.right as usize]);
        }
    }
}
