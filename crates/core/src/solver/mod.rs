//! Answers to a problem: steps from a learned start, each an active-set quadratic program, and nothing
//! returned that was not verified.

mod functions;

pub use functions::Functions;
