//! Arithmetic expressions: read once, then evaluated fast, with derivatives.
//!
//! ```text
//! text ──lexer──▶ tokens ──parser──▶ graph of operations ──▶ tape ──▶ values, gradients
//! ```
//!
//! Vectors are lists of nodes. Only the product with a constant matrix stays whole: it is one step of
//! the tape.
//!
//! Text is not trusted: depth and size are limited, and no step but the reading of nested parts
//! recurses.

mod dependence;
mod fault;
mod function;
mod graph;
mod lexer;
mod matrix;
mod operation;
mod parser;
mod tape;
mod value;

pub(super) use self::dependence::{Degree, Dependence, dependences};
pub(super) use self::fault::Fault;
pub(super) use self::function::is_reserved;
pub(super) use self::graph::{Graph, NodeId};
pub(super) use self::lexer::{Kind, Relation, Source, Token, is_name, tokens};
pub(super) use self::matrix::Matrix;
pub(super) use self::parser::{Comparison, Scope, comparisons, value};
pub(super) use self::tape::{Slot, Tape};
pub(super) use self::value::{Shape, Value};
