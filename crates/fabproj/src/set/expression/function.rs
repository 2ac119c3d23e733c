//! The functions of expressions, by name.

use super::operation::Operation;

/// What a function's arguments become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// Of one argument.
    One(Operation),
    /// Of two.
    Two(Operation),
    /// Of any number, taken together one after the other.
    Fold(Operation),
    /// The Euclidean length of its arguments.
    Norm,
}

const FUNCTIONS: [(&str, Function); 18] = [
    ("sin", Function::One(Operation::Sine)),
    ("cos", Function::One(Operation::Cosine)),
    ("tan", Function::One(Operation::Tangent)),
    ("asin", Function::One(Operation::ArcSine)),
    ("acos", Function::One(Operation::ArcCosine)),
    ("atan", Function::One(Operation::ArcTangent)),
    ("atan2", Function::Two(Operation::Atan2)),
    ("sinh", Function::One(Operation::HyperbolicSine)),
    ("cosh", Function::One(Operation::HyperbolicCosine)),
    ("tanh", Function::One(Operation::HyperbolicTangent)),
    ("exp", Function::One(Operation::Exponential)),
    ("log", Function::One(Operation::Logarithm)),
    ("sqrt", Function::One(Operation::SquareRoot)),
    ("abs", Function::One(Operation::Absolute)),
    ("min", Function::Fold(Operation::Minimum)),
    ("max", Function::Fold(Operation::Maximum)),
    ("pow", Function::Two(Operation::Power)),
    ("norm", Function::Norm),
];

/// The names of constants.
pub(super) const CONSTANTS: [(&str, f64); 1] = [("pi", std::f64::consts::PI)];

/// A function by its name.
pub(super) fn find(name: &str) -> Option<Function> {
    let found = FUNCTIONS.iter().find(|(known, _)| *known == name);
    found.map(|(_, function)| *function)
}

/// The names of all functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

/// Whether a name has a meaning of its own in expressions.
pub(crate) fn is_reserved(name: &str) -> bool {
    find(name).is_some() || CONSTANTS.iter().any(|(known, _)| *known == name)
}
