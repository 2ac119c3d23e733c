//! Tokens into nodes of a graph.

use std::collections::HashMap;

use super::fault::Fault;
use super::function::{self, CONSTANTS, Function};
use super::graph::{Graph, NodeId};
use super::lexer::{Kind, Relation, Token};
use super::operation::Operation;
use crate::set::Problem;
use crate::support::near_names;

/// How deep parts of an expression may stand within each other. The parser recurses, so that this
/// also bounds its stack.
const MAX_DEPTH: usize = 200;

/// How strongly operators bind; an operator takes what binds more strongly than itself.
const SUM: u8 = 1;
const PRODUCT: u8 = 2;
const SIGN: u8 = 3;
const POWER: u8 = 4;

/// What names mean.
#[derive(Default)]
pub(crate) struct Scope {
    pub names: HashMap<String, NodeId>,
}

/// A constraint: two sides and how they compare.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison {
    pub left: NodeId,
    pub relation: Relation,
    pub right: NodeId,
    /// Place of the relation in the file.
    pub at: usize,
}

/// Reads an expression that has a value.
pub(crate) fn value(tokens: &[Token], graph: &mut Graph, scope: &Scope) -> Result<NodeId, Fault> {
    let mut parser = Parser::new(tokens, graph, scope);
    let value = parser.expression(0)?;
    match parser.next().kind {
        Kind::End => Ok(value),
        Kind::Relation(_) => Err(parser.expected("no comparison: [let] holds values")),
        _ => Err(parser.expected("an operator or the end of the expression")),
    }
}

/// Reads an expression that compares two values.
pub(crate) fn comparison(
    tokens: &[Token],
    graph: &mut Graph,
    scope: &Scope,
) -> Result<Comparison, Fault> {
    let mut parser = Parser::new(tokens, graph, scope);
    let left = parser.expression(0)?;
    let at = parser.next().at;
    let Kind::Relation(relation) = parser.next().kind else {
        return Err(parser.expected("an operator or a comparison (<=, >=, <, > or ==)"));
    };
    parser.position += 1;
    let right = parser.expression(0)?;
    match parser.next().kind {
        Kind::End => Ok(Comparison {
            left,
            relation,
            right,
            at,
        }),
        Kind::Relation(_) => Err(parser.fault(Problem::SecondComparison)),
        _ => Err(parser.expected("an operator or the end of the expression")),
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    position: usize,
    depth: usize,
    graph: &'a mut Graph,
    scope: &'a Scope,
}

impl<'a> Parser<'a> {
    fn new(tokens: &'a [Token], graph: &'a mut Graph, scope: &'a Scope) -> Self {
        Self {
            tokens,
            position: 0,
            depth: 0,
            graph,
            scope,
        }
    }

    /// The token to be read; the last one, [`Kind::End`], is never passed.
    fn next(&self) -> &'a Token {
        &self.tokens[self.position.min(self.tokens.len() - 1)]
    }

    fn fault(&self, problem: Problem) -> Fault {
        Fault::new(self.next().at, problem)
    }

    fn expected(&self, expected: &'static str) -> Fault {
        let found = self.next().kind.shown();
        self.fault(Problem::Expected { expected, found })
    }

    /// Reads operands and the operators between them that bind more strongly than `least`.
    fn expression(&mut self, least: u8) -> Result<NodeId, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fault(Problem::TooDeep { limit: MAX_DEPTH }));
        }
        let mut left = self.operand()?;
        loop {
            let at = self.next().at;
            // Powers are read from the right: a^b^c is a^(b^c).
            let (operation, strength, within) = match self.next().kind {
                Kind::Plus => (Operation::Add, SUM, SUM),
                Kind::Minus => (Operation::Subtract, SUM, SUM),
                Kind::Times => (Operation::Multiply, PRODUCT, PRODUCT),
                Kind::Over => (Operation::Divide, PRODUCT, PRODUCT),
                Kind::Power => (Operation::Power, POWER, SIGN),
                _ => break,
            };
            if strength <= least {
                break;
            }
            self.position += 1;
            let right = self.expression(within)?;
            left = self.graph.apply(operation, left, right, at)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn operand(&mut self) -> Result<NodeId, Fault> {
        let Token { kind, at } = self.next();
        match kind {
            Kind::Number(value) => {
                self.position += 1;
                self.graph.number(*value, *at)
            }
            Kind::Name(name) => {
                self.position += 1;
                if self.next().kind == Kind::Open {
                    self.call(name, *at)
                } else {
                    self.name(name, *at)
                }
            }
            Kind::Minus => {
                self.position += 1;
                // -a^2 is -(a^2), as it is written on paper.
                let operand = self.expression(SIGN)?;
                self.graph.apply(Operation::Negate, operand, operand, *at)
            }
            Kind::Open => {
                self.position += 1;
                let inner = self.expression(0)?;
                self.close("an operator or `)`")?;
                Ok(inner)
            }
            _ => Err(self.expected("a number, a name, `-` or `(`")),
        }
    }

    fn close(&mut self, expected: &'static str) -> Result<(), Fault> {
        if self.next().kind != Kind::Close {
            return Err(self.expected(expected));
        }
        self.position += 1;
        Ok(())
    }

    fn name(&mut self, name: &str, at: usize) -> Result<NodeId, Fault> {
        if let Some(known) = self.scope.names.get(name) {
            return Ok(*known);
        }
        if let Some((_, value)) = CONSTANTS.iter().find(|(known, _)| *known == name) {
            return self.graph.number(*value, at);
        }
        if function::find(name).is_some() {
            return Err(self.expected("`(` after the name of a function"));
        }
        let names = self.scope.names.keys().map(String::as_str);
        let near = near_names(name, names.chain(CONSTANTS.map(|(known, _)| known)));
        let name = name.to_owned();
        Err(Fault::new(at, Problem::UnknownName { name, near }))
    }

    fn call(&mut self, name: &str, at: usize) -> Result<NodeId, Fault> {
        let Some(function) = function::find(name) else {
            if self.scope.names.contains_key(name) {
                return Err(self.expected("an operator, such as `*`, before"));
            }
            let (near, name) = (near_names(name, function::names()), name.to_owned());
            return Err(Fault::new(at, Problem::UnknownFunction { name, near }));
        };
        let arguments = self.arguments()?;
        let wrong = |expected| {
            let (function, found) = (name.to_owned(), arguments.len());
            let problem = Problem::Arguments {
                function,
                expected,
                found,
            };
            Err(Fault::new(at, problem))
        };
        match (function, arguments.as_slice()) {
            (Function::One(operation), [a]) => self.graph.apply(operation, *a, *a, at),
            (Function::One(_), _) => wrong("one argument"),
            (Function::Two(operation), [a, b]) => self.graph.apply(operation, *a, *b, at),
            (Function::Two(_), _) => wrong("two arguments"),
            (_, []) => wrong("at least one argument"),
            (Function::Fold(operation), [first, rest @ ..]) => {
                let fold = |a, b: &NodeId| self.graph.apply(operation, a, *b, at);
                rest.iter().try_fold(*first, fold)
            }
            (Function::Norm, [only]) => self.graph.apply(Operation::Absolute, *only, *only, at),
            (Function::Norm, parts) => self.norm(parts, at),
        }
    }

    fn norm(&mut self, parts: &[NodeId], at: usize) -> Result<NodeId, Fault> {
        let mut sum: Option<NodeId> = None;
        for part in parts {
            let square = self.graph.apply(Operation::Square, *part, *part, at)?;
            sum = Some(match sum {
                Some(sum) => self.graph.apply(Operation::Add, sum, square, at)?,
                None => square,
            });
        }
        match sum {
            Some(sum) => self.graph.apply(Operation::SquareRoot, sum, sum, at),
            None => self.graph.number(0.0, at),
        }
    }

    /// The arguments in parentheses; the next token is the opening one.
    fn arguments(&mut self) -> Result<Vec<NodeId>, Fault> {
        self.position += 1;
        let mut arguments = Vec::new();
        if self.next().kind == Kind::Close {
            self.position += 1;
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression(0)?);
            if self.next().kind != Kind::Comma {
                self.close("an operator, `,` or `)`")?;
                return Ok(arguments);
            }
            self.position += 1;
        }
    }
}
