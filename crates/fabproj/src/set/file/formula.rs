//! Constraints as a tree of comparisons, with every `not` carried out.

use super::document::Body;
use crate::set::Problem;
use crate::set::expression::{Comparison, Fault, Graph, Relation, Scope, comparisons, tokens};

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

    /// Whether it is enough that one of several comparisons holds.
    pub(super) fn has_alternatives(&self) -> bool {
        match self {
            Self::Test(_) => false,
            Self::All(formulas) => formulas.iter().any(Self::has_alternatives),
            Self::Any(_) => true,
        }
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
                let rows = comparisons(&tokens(source)?, self.graph, self.scope)?;
                let mut tests = Vec::with_capacity(rows.len());
                for mut test in rows {
                    if test.relation == Relation::Equal && !(holds && always) {
                        return Err(Fault::new(test.at, Problem::EqualityInside));
                    }
                    if !holds {
                        test.relation = opposite(test.relation);
                    }
                    tests.push(Formula::Test(test));
                }
                // A comparison of vectors holds if it holds for every row.
                Ok(match (tests.len(), holds) {
                    (1, _) => tests.remove(0),
                    (_, true) => Formula::All(tests),
                    (_, false) => Formula::Any(tests),
                })
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
