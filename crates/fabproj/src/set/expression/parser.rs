//! Tokens into nodes of a graph.

use std::collections::HashMap;

use super::fault::Fault;
use super::function::{self, CONSTANTS, Function};
use super::graph::{Graph, NodeId};
use super::lexer::{Kind, Relation, Token};
use super::operation::Operation;
use super::value::Value;
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
    pub names: HashMap<String, Value>,
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
pub(crate) fn value(tokens: &[Token], graph: &mut Graph, scope: &Scope) -> Result<Value, Fault> {
    let mut parser = Parser::new(tokens, graph, scope);
    let value = parser.expression(0)?;
    match parser.next().kind {
        Kind::End => Ok(value),
        Kind::Relation(_) => Err(parser.expected("no comparison: this is a value")),
        _ => Err(parser.expected("an operator or the end of the expression")),
    }
}

/// Reads an expression that compares two values: one comparison for each row of vectors.
pub(crate) fn comparisons(
    tokens: &[Token],
    graph: &mut Graph,
    scope: &Scope,
) -> Result<Vec<Comparison>, Fault> {
    let mut parser = Parser::new(tokens, graph, scope);
    let left = parser.expression(0)?;
    let at = parser.next().at;
    let Kind::Relation(relation) = parser.next().kind else {
        return Err(parser.expected("an operator or a comparison (<=, >=, <, > or ==)"));
    };
    parser.position += 1;
    let right = parser.expression(0)?;
    match parser.next().kind {
        Kind::End => {}
        Kind::Relation(_) => return Err(parser.fault(Problem::SecondComparison)),
        _ => return Err(parser.expected("an operator or the end of the expression")),
    }
    let (rows, _) = left.pairs(&right, at)?;
    let rows = rows.into_iter().map(|(left, right)| Comparison {
        left,
        relation,
        right,
        at,
    });
    Ok(rows.collect())
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
    fn expression(&mut self, least: u8) -> Result<Value, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fault(Problem::TooDeep { limit: MAX_DEPTH }));
        }
        let mut left = self.operand()?;
        loop {
            let at = self.next().at;
            // Powers are read from the right: a^b^c is a^(b^c).
            let (operation, strength, within) = match self.next().kind {
                Kind::Plus => (Some(Operation::Add), SUM, SUM),
                Kind::Minus => (Some(Operation::Subtract), SUM, SUM),
                Kind::Times => (Some(Operation::Multiply), PRODUCT, PRODUCT),
                Kind::Over => (Some(Operation::Divide), PRODUCT, PRODUCT),
                Kind::MatrixTimes => (None, PRODUCT, PRODUCT),
                Kind::Power => (Some(Operation::Power), POWER, SIGN),
                _ => break,
            };
            if strength <= least {
                break;
            }
            self.position += 1;
            let right = self.expression(within)?;
            left = match operation {
                Some(operation) => Value::apply(operation, &left, &right, self.graph, at)?,
                None => Value::matrix_product(&left, &right, self.graph, at)?,
            };
        }
        self.depth -= 1;
        Ok(left)
    }

    /// An operand with what follows it: `.T`, `[3]`, `[0:6]`.
    fn operand(&mut self) -> Result<Value, Fault> {
        let mut operand = self.bare_operand()?;
        loop {
            match self.next().kind {
                Kind::Transpose => {
                    self.position += 1;
                    operand = operand.transposed();
                }
                Kind::OpenIndex => operand = self.indexed(&operand)?,
                _ => return Ok(operand),
            }
        }
    }

    fn bare_operand(&mut self) -> Result<Value, Fault> {
        let Token { kind, at } = self.next();
        match kind {
            Kind::Number(value) => {
                self.position += 1;
                self.graph.number(*value, *at).map(Value::Number)
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
                operand.map(Operation::Negate, self.graph, *at)
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

    /// `[index]` or `[begin:end]` after a value; the next token is the opening bracket.
    fn indexed(&mut self, value: &Value) -> Result<Value, Fault> {
        self.position += 1;
        let at = self.next().at;
        let begin = self.index()?;
        let slice = self.next().kind == Kind::Colon;
        let mut end = None;
        if slice {
            self.position += 1;
            end = self.index()?;
        }
        if self.next().kind != Kind::CloseIndex {
            return Err(self.expected("a whole number, `:` or `]`"));
        }
        self.position += 1;
        match begin {
            Some(index) if !slice => value.entry(index, at),
            None if !slice => Err(Fault::new(
                at,
                Problem::Expected {
                    expected: "a whole number or a slice such as 0:6",
                    found: "`]`".to_owned(),
                },
            )),
            _ => value.slice(begin, end, at),
        }
    }

    /// A whole number, if one comes next.
    fn index(&mut self) -> Result<Option<i64>, Fault> {
        let negative = self.next().kind == Kind::Minus;
        let start = self.position;
        self.position += usize::from(negative);
        match self.next().kind {
            Kind::Number(value) if value.fract() == 0.0 && value.abs() < f64::from(u32::MAX) => {
                self.position += 1;
                let index = value as i64;
                Ok(Some(if negative { -index } else { index }))
            }
            Kind::Number(_) => Err(self.expected("a whole number")),
            _ => {
                self.position = start;
                Ok(None)
            }
        }
    }

    fn close(&mut self, expected: &'static str) -> Result<(), Fault> {
        if self.next().kind != Kind::Close {
            return Err(self.expected(expected));
        }
        self.position += 1;
        Ok(())
    }

    fn name(&mut self, name: &str, at: usize) -> Result<Value, Fault> {
        if let Some(known) = self.scope.names.get(name) {
            return Ok(known.clone());
        }
        if let Some((_, value)) = CONSTANTS.iter().find(|(known, _)| *known == name) {
            return self.graph.number(*value, at).map(Value::Number);
        }
        if function::find(name).is_some() {
            return Err(self.expected("`(` after the name of a function"));
        }
        let names = self.scope.names.keys().map(String::as_str);
        let near = near_names(name, names.chain(CONSTANTS.map(|(known, _)| known)));
        let name = name.to_owned();
        Err(Fault::new(at, Problem::UnknownName { name, near }))
    }

    fn call(&mut self, name: &str, at: usize) -> Result<Value, Fault> {
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
            (Function::One(operation), [a]) => a.map(operation, self.graph, at),
            (Function::One(_), _) => wrong("one argument"),
            (Function::Two(operation), [a, b]) => Value::apply(operation, a, b, self.graph, at),
            (Function::Dot, [a, b]) => Value::matrix_product(a, b, self.graph, at),
            (Function::Two(_) | Function::Dot, _) => wrong("two arguments"),
            (_, []) => wrong("at least one argument"),
            (Function::Fold(operation), [only]) => {
                only.fold(operation, "this function", self.graph, at)
            }
            (Function::Fold(operation), [first, rest @ ..]) => {
                let fold = |a: Value, b| Value::apply(operation, &a, b, self.graph, at);
                rest.iter().try_fold(first.clone(), fold)
            }
            (Function::Norm, [Value::Number(only)]) => {
                let length = self.graph.apply(Operation::Absolute, *only, *only, at);
                length.map(Value::Number)
            }
            (Function::Norm, [only]) => {
                let squares = only.map(Operation::Square, self.graph, at)?;
                let sum = squares.fold(Operation::Add, "`norm`", self.graph, at)?;
                sum.map(Operation::SquareRoot, self.graph, at)
            }
            (Function::Norm, [first, rest @ ..]) => self.norm(first, rest, at),
        }
    }

    /// The Euclidean length of several parts, row by row.
    fn norm(&mut self, first: &Value, rest: &[Value], at: usize) -> Result<Value, Fault> {
        let mut sum = first.map(Operation::Square, self.graph, at)?;
        for part in rest {
            let square = part.map(Operation::Square, self.graph, at)?;
            sum = Value::apply(Operation::Add, &sum, &square, self.graph, at)?;
        }
        sum.map(Operation::SquareRoot, self.graph, at)
    }

    /// The arguments in parentheses; the next token is the opening one.
    fn arguments(&mut self) -> Result<Vec<Value>, Fault> {
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
