//! Constraints as a tree of comparisons, with every `not` carried out.

use super::document::Body;
use crate::set::Problem;
use crate::set::expression::{Comparison, Fault, Graph, Relation, Scope, comparison, tokens};

/// Comparisons that must all hold, or of which one must.
pub(super) enum Formula {
    Test(Comparison),
    All(Vec<Formula>),
    Any(Vec<Formula>),
}

impl Formula {
    pub(super) fn of(body: &Body, graph: &mut Graph, scope: &Scope) -> Result<Self, Fault> {
        Reader { graph, scope }.read(body, true, true)
    }

    /// The equalities, which stand alone or in lists of which all must hold.
    pub(super) fn equalities(&self) -> Vec<Comparison> {
        match self {
            Self::Test(test) if test.relation == Relation::Equal => vec![*test],
            Self::All(formulas) => formulas.iter().flat_map(Self::equalities).collect(),
            _ => Vec::new(),
        }
    }
}

struct Reader<'a> {
    graph: &'a mut Graph,
    scope: &'a Scope,
}

impl Reader<'_> {
    /// The body, or its opposite: not all is any not, and not any is all not. A comparison and its
    /// opposite are both false of what is not a number, so that this is never inside. `always` says
    /// whether the body must hold at every point of the set.
    fn read(&mut self, body: &Body, holds: bool, always: bool) -> Result<Formula, Fault> {
        match body {
            Body::All(bodies) if holds => Ok(Formula::All(self.list(bodies, holds, always)?)),
            Body::Any(bodies) if !holds => Ok(Formula::All(self.list(bodies, holds, always)?)),
            Body::All(bodies) | Body::Any(bodies) => {
                Ok(Formula::Any(self.list(bodies, holds, false)?))
            }
            Body::Not(body) => self.read(body, !holds, always),
            Body::Expression(source) => {
                let mut test = comparison(&tokens(source)?, self.graph, self.scope)?;
                if test.relation == Relation::Equal && !(holds && always) {
                    return Err(Fault::new(test.at, Problem::EqualityInside));
                }
                if !holds {
                    test.relation = opposite(test.relation);
                }
                Ok(Formula::Test(test))
            }
        }
    }

    fn list(&mut self, bodies: &[Body], holds: bool, always: bool) -> Result<Vec<Formula>, Fault> {
        let entries = bodies.iter();
        entries.map(|body| self.read(body, holds, always)).collect()
    }
}

fn opposite(relation: Relation) -> Relation {
    match relation {
        Relation::AtMost => Relation::Above,
        Relation::Above => Relation::AtMost,
        Relation::AtLeast => Relation::Below,
        Relation::Below => Relation::AtLeast,
        Relation::Equal => Relation::Equal,
    }
}
