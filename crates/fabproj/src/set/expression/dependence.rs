//! How expressions depend on y and x: not at all, affinely, or otherwise.

use super::graph::{Graph, Node, NodeId};
use super::operation::Operation;

/// How an expression depends on some of the variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Degree {
    #[default]
    None,
    Affine,
    Other,
}

/// How an expression depends on y and on x. Decided by its form, so that what cancels still counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dependence {
    pub y: Degree,
    pub x: Degree,
    /// Whether a coefficient of y depends on x.
    pub mixed: bool,
}

impl Dependence {
    fn sum(self, other: Self) -> Self {
        Self {
            y: self.y.max(other.y),
            x: self.x.max(other.x),
            mixed: self.mixed || other.mixed,
        }
    }

    fn product(self, other: Self) -> Self {
        let both = |a: Degree, b: Degree| {
            if a > Degree::None && b > Degree::None {
                Degree::Other
            } else {
                a.max(b)
            }
        };
        let crossed = |a: Self, b: Self| a.y > Degree::None && b.x > Degree::None;
        Self {
            y: both(self.y, other.y),
            x: both(self.x, other.x),
            mixed: self.sum(other).mixed || crossed(self, other) || crossed(other, self),
        }
    }

    /// A function that is not affine, of this.
    fn bent(self) -> Self {
        let bent = |degree: Degree| match degree {
            Degree::None => Degree::None,
            _ => Degree::Other,
        };
        Self {
            y: bent(self.y),
            x: bent(self.x),
            mixed: self.mixed,
        }
    }
}

/// The dependence of every node; variables below `dim` are those of y.
pub(crate) fn dependences(graph: &Graph, dim: usize) -> Vec<Dependence> {
    let mut found: Vec<Dependence> = Vec::with_capacity(graph.len());
    for index in 0..graph.len() {
        let of = |id: NodeId| found[id.0 as usize];
        let dependence = match graph.node(NodeId(index as u32)) {
            Node::Number(_) => Dependence::default(),
            Node::Variable(variable) if variable < dim => Dependence {
                y: Degree::Affine,
                ..Dependence::default()
            },
            Node::Variable(_) => Dependence {
                x: Degree::Affine,
                ..Dependence::default()
            },
            Node::Apply(Operation::Negate, a, _) => of(a),
            Node::Apply(Operation::Add | Operation::Subtract, a, b) => of(a).sum(of(b)),
            Node::Apply(Operation::Multiply, a, b) => of(a).product(of(b)),
            Node::Apply(Operation::Divide, a, b) => of(a).product(of(b).bent()),
            Node::Apply(_, a, b) => of(a).sum(of(b)).bent(),
        };
        found.push(dependence);
    }
    found
}
