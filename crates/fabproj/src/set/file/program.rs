//! Constraints in the form that runs: comparisons that jump, over one tape.

use std::cell::Cell;
use std::ops::Range;

use super::formula::Formula;
use crate::set::expression::{Comparison, Graph, NodeId, Relation, Slot, Tape};
use crate::set::vector::positive;

/// How far the sides of an equality may be apart, relative to the larger of them and 1: wide enough for points
/// in single precision.
const EQUALITY_TOLERANCE: f64 = 1e-6;

/// Jump to the answer that the point is inside.
const INSIDE: u32 = u32::MAX;
/// Jump to the answer that it is not.
const OUTSIDE: u32 = u32::MAX - 1;

/// A comparison, and the comparison that decides next.
#[derive(Clone, Copy, Debug)]
struct Test {
    left: Slot,
    right: Slot,
    relation: Relation,
    /// Operations of the tape that give both sides.
    end: usize,
    if_true: u32,
    if_false: u32,
}

/// A part of the constraints, for violations. Ranges are ranges of [`Program::members`].
#[derive(Clone, Debug)]
enum Part {
    Test(usize),
    All(Range<usize>),
    Any(Range<usize>),
}

/// Constraints that must all hold, compiled.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    tape: Tape,
    tests: Vec<Test>,
    /// Members come before what they are members of.
    parts: Vec<Part>,
    members: Vec<usize>,
    /// The part of each constraint.
    constraints: Vec<usize>,
}

impl Program {
    /// Compiles the constraints for points of so many coordinates of y and x.
    pub(super) fn compile(graph: &Graph, variables: usize, constraints: &[Formula]) -> Self {
        let mut comparisons = Vec::new();
        let mut program = Self::default();
        for formula in constraints {
            let part = program.add(formula, &mut comparisons);
            program.constraints.push(part);
        }
        let roots: Vec<NodeId> = comparisons
            .iter()
            .flat_map(|comparison| [comparison.left, comparison.right])
            .collect();
        let (tape, roots) = Tape::compile(graph, variables, &roots);
        program.tape = tape;
        for (test, sides) in program.tests.iter_mut().zip(roots.chunks_exact(2)) {
            test.left = sides[0].slot;
            test.right = sides[1].slot;
            test.end = sides[0].end.max(sides[1].end);
        }
        let mut first = 0;
        for formula in constraints {
            let after = first + count(formula);
            let last = after == program.tests.len();
            let next = if last { INSIDE } else { after as u32 };
            program.link(formula, &mut first, next, OUTSIDE);
        }
        program
    }

    fn add(&mut self, formula: &Formula, comparisons: &mut Vec<Comparison>) -> usize {
        let part = match formula {
            Formula::Test(comparison) => {
                comparisons.push(*comparison);
                self.tests.push(Test {
                    left: 0,
                    right: 0,
                    relation: comparison.relation,
                    end: 0,
                    if_true: INSIDE,
                    if_false: OUTSIDE,
                });
                Part::Test(self.tests.len() - 1)
            }
            Formula::All(formulas) => Part::All(self.add_members(formulas, comparisons)),
            Formula::Any(formulas) => Part::Any(self.add_members(formulas, comparisons)),
        };
        self.parts.push(part);
        self.parts.len() - 1
    }

    fn add_members(
        &mut self,
        formulas: &[Formula],
        comparisons: &mut Vec<Comparison>,
    ) -> Range<usize> {
        let parts: Vec<usize> = formulas
            .iter()
            .map(|formula| self.add(formula, comparisons))
            .collect();
        let begin = self.members.len();
        self.members.extend(parts);
        begin..self.members.len()
    }

    /// Sets the jumps of a formula whose first test is `first`, and moves `first` behind it. Tests stand
    /// in the order of the text: what is not decided by one member goes on with the next.
    fn link(&mut self, formula: &Formula, first: &mut usize, if_true: u32, if_false: u32) {
        let (formulas, all) = match formula {
            Formula::Test(_) => {
                self.tests[*first].if_true = if_true;
                self.tests[*first].if_false = if_false;
                *first += 1;
                return;
            }
            Formula::All(formulas) => (formulas, true),
            Formula::Any(formulas) => (formulas, false),
        };
        let (last, before) = match formulas.split_last() {
            Some(parts) => parts,
            None => return,
        };
        for formula in before {
            let next = (*first + count(formula)) as u32;
            if all {
                self.link(formula, first, next, if_false);
            } else {
                self.link(formula, first, if_true, next);
            }
        }
        self.link(last, first, if_true, if_false);
    }

    /// Whether all constraints hold.
    pub(super) fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        if self.tests.is_empty() {
            return true;
        }
        with_scratch(self.tape.slots(), |values| {
            self.tape.load(y, x, values);
            let (mut done, mut next) = (0, 0);
            loop {
                let test = &self.tests[next as usize];
                if test.end > done {
                    self.tape.run(done..test.end, values);
                    done = test.end;
                }
                let (left, right) = (values[test.left as usize], values[test.right as usize]);
                next = if holds(test.relation, left, right) {
                    test.if_true
                } else {
                    test.if_false
                };
                match next {
                    INSIDE => return true,
                    OUTSIDE => return false,
                    _ => {}
                }
            }
        })
    }

    /// The sum of the constraints' violations, and its gradient with respect to y. A list of which all
    /// must hold adds the violations of its members, one of which any must hold takes the smallest.
    pub(super) fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> f64 {
        let slots = self.tape.slots();
        with_scratch(2 * slots + self.parts.len(), |scratch| {
            let (values, rest) = scratch.split_at_mut(slots);
            let (adjoints, levels) = rest.split_at_mut(slots);
            self.levels(y, x, values, levels);
            adjoints.fill(0.0);
            let total = self.constraints.iter().map(|part| levels[*part]).sum();
            self.seed(values, levels, adjoints);
            self.tape.backward(values, adjoints);
            for (gradient, adjoint) in gradient.iter_mut().zip(&*adjoints) {
                *gradient = if adjoint.is_finite() { *adjoint } else { 0.0 };
            }
            total
        })
    }

    /// The violation of each constraint.
    pub(super) fn violations(&self, y: &[f64], x: &[f64]) -> Vec<f64> {
        let slots = self.tape.slots();
        with_scratch(slots + self.parts.len(), |scratch| {
            let (values, levels) = scratch.split_at_mut(slots);
            self.levels(y, x, values, levels);
            self.constraints.iter().map(|part| levels[*part]).collect()
        })
    }

    /// The violation of each part.
    fn levels(&self, y: &[f64], x: &[f64], values: &mut [f64], levels: &mut [f64]) {
        self.tape.load(y, x, values);
        self.tape.run(0..self.tape.len(), values);
        for (index, part) in self.parts.iter().enumerate() {
            levels[index] = match part {
                Part::Test(test) => self.excess(&self.tests[*test], values).0,
                Part::All(members) => self.of(members).map(|part| levels[part]).sum(),
                Part::Any(members) => {
                    let least = |least: f64, part: usize| least.min(levels[part]);
                    self.of(members).fold(f64::INFINITY, least)
                }
            };
        }
    }

    fn of(&self, members: &Range<usize>) -> impl Iterator<Item = usize> {
        self.members[members.clone()].iter().copied()
    }

    /// How far a test is from holding, and the sign with which left minus right grows it.
    fn excess(&self, test: &Test, values: &[f64]) -> (f64, f64) {
        let (left, right) = (values[test.left as usize], values[test.right as usize]);
        if holds(test.relation, left, right) {
            return (0.0, 0.0);
        }
        let difference = left - right;
        let (excess, sign) = match test.relation {
            Relation::AtMost | Relation::Below => (difference, 1.0),
            Relation::AtLeast | Relation::Above => (-difference, -1.0),
            Relation::Equal => (
                difference.abs() - tolerance(left, right),
                difference.signum(),
            ),
        };
        if excess.is_nan() {
            (f64::INFINITY, 0.0)
        } else {
            (positive(excess), sign)
        }
    }

    /// Puts the derivative of the total with respect to both sides of each test into the adjoints.
    /// `levels` is used up: what does not count for the total becomes zero.
    fn seed(&self, values: &[f64], levels: &mut [f64], adjoints: &mut [f64]) {
        // From the whole to its members: those that come last are never members of those before.
        for part in self.parts.iter().enumerate().rev() {
            match part {
                (index, Part::All(members)) if levels[index] == 0.0 => {
                    self.of(members).for_each(|part| levels[part] = 0.0);
                }
                (_, Part::All(_)) => {}
                (index, Part::Any(members)) => {
                    let level = std::mem::replace(&mut levels[index], 0.0);
                    let counts = self.of(members).find(|part| levels[*part] == level);
                    let counts = counts.filter(|_| level > 0.0);
                    for part in self.of(members).filter(|part| Some(*part) != counts) {
                        levels[part] = 0.0;
                    }
                }
                (index, Part::Test(test)) if levels[index] > 0.0 => {
                    let test = &self.tests[*test];
                    let (_, sign) = self.excess(test, values);
                    adjoints[test.left as usize] += sign;
                    adjoints[test.right as usize] -= sign;
                }
                (_, Part::Test(_)) => {}
            }
        }
    }
}

/// Number of tests.
fn count(formula: &Formula) -> usize {
    match formula {
        Formula::Test(_) => 1,
        Formula::All(formulas) | Formula::Any(formulas) => formulas.iter().map(count).sum(),
    }
}

/// False of what is not a number, whatever the relation.
#[inline]
fn holds(relation: Relation, left: f64, right: f64) -> bool {
    match relation {
        Relation::AtMost => left <= right,
        Relation::Below => left < right,
        Relation::AtLeast => left >= right,
        Relation::Above => left > right,
        Relation::Equal => (left - right).abs() <= tolerance(left, right),
    }
}

fn tolerance(left: f64, right: f64) -> f64 {
    EQUALITY_TOLERANCE * left.abs().max(right.abs()).max(1.0)
}

thread_local! {
    static SCRATCH: Cell<Vec<f64>> = const { Cell::new(Vec::new()) };
}

/// Calls `use_scratch` with space of the thread, whose content is undefined.
#[inline]
fn with_scratch<T>(length: usize, use_scratch: impl FnOnce(&mut [f64]) -> T) -> T {
    let mut scratch = SCRATCH.take();
    if scratch.len() < length {
        scratch.resize(length, 0.0);
    }
    let result = use_scratch(&mut scratch[..length]);
    SCRATCH.set(scratch);
    result
}
