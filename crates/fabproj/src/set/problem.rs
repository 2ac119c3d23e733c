//! What can be wrong in a set file, and where.

use super::expression::Shape;
use crate::support::did_you_mean;

/// What is wrong at a place of a set file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum Problem {
    /// Not TOML.
    #[error("cannot parse the file as TOML: {message}")]
    Toml {
        /// What the TOML reader says.
        message: String,
    },
    /// Bytes that are not text.
    #[error("a set file must be UTF-8 text")]
    NotText,
    /// A size beyond its limit.
    #[error("{what}: {found}; the limit is {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        found: usize,
        /// The largest allowed.
        limit: usize,
    },
    /// Parentheses, functions, powers and signs within each other.
    #[error("nested deeper than {limit} levels: name a part of the expression in [let]")]
    TooDeep {
        /// The deepest allowed.
        limit: usize,
    },
    /// A key that set files do not have.
    #[error("unknown key `{key}`{}", did_you_mean(near))]
    UnknownKey {
        /// The key.
        key: String,
        /// Keys that exist, nearest first.
        near: Vec<String>,
    },
    /// A key that must be there.
    #[error("the key `{key}` is missing, such as {example}")]
    MissingKey {
        /// The key.
        key: &'static str,
        /// How it may look.
        example: &'static str,
    },
    /// A value of another kind.
    #[error("{what} must be {expected}, found {found}")]
    Kind {
        /// What the value is for.
        what: String,
        /// What it has to be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// A list that must hold something.
    #[error("{what} is empty: it needs {expected}")]
    Empty {
        /// What is empty.
        what: String,
        /// What belongs into it.
        expected: &'static str,
    },
    /// An interval that is reversed, empty or not finite.
    #[error(
        "the bounds of `{name}` must be two finite numbers, the smaller one first, found [{low}, {high}]"
    )]
    Interval {
        /// The variable.
        name: String,
        /// Its lower bound.
        low: f64,
        /// Its upper bound.
        high: f64,
    },
    /// A variable without bounds.
    #[error("`{name}` has no bounds: add `{name} = [low, high]` to `{key}`")]
    NoBounds {
        /// The variable.
        name: String,
        /// The key where its bounds belong.
        key: &'static str,
    },
    /// Bounds of something that is not a variable.
    #[error("`{name}` is not among the names of `{list}`{}", did_you_mean(near))]
    NotAVariable {
        /// The name.
        name: String,
        /// The list where it could be.
        list: &'static str,
        /// Names in that list, nearest first.
        near: Vec<String>,
    },
    /// A name that expressions could not mention.
    #[error("invalid name `{name}`: use a letter or `_`, then letters, digits and `_`")]
    NotAName {
        /// What was given.
        name: String,
    },
    /// A name with two meanings.
    #[error("the name `{name}` is taken: {by}")]
    Taken {
        /// The name.
        name: String,
        /// By what.
        by: &'static str,
    },
    /// A constraint without a body, or with several.
    #[error(
        "a constraint needs exactly one of `expr`, `all`, `any`, `not`, found {}",
        listed(found)
    )]
    Body {
        /// Those that it has.
        found: Vec<String>,
    },
    /// Something else was expected at this place of an expression.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What could stand here.
        expected: &'static str,
        /// What stands here.
        found: String,
    },
    /// A name that nothing has.
    #[error("unknown name `{name}`{}", did_you_mean(near))]
    UnknownName {
        /// The name.
        name: String,
        /// Names that exist, nearest first.
        near: Vec<String>,
    },
    /// A function that does not exist.
    #[error("unknown function `{name}`{}", did_you_mean(near))]
    UnknownFunction {
        /// The name.
        name: String,
        /// Functions that exist, nearest first.
        near: Vec<String>,
    },
    /// A function with the wrong number of arguments.
    #[error("`{function}` takes {expected}, not {found}")]
    Arguments {
        /// The function.
        function: String,
        /// How many it takes, in words.
        expected: &'static str,
        /// How many there are.
        found: usize,
    },
    /// Two values whose shapes do not go together.
    #[error("the shapes {left} and {right} do not match")]
    Shapes {
        /// Of the value on the left.
        left: Shape,
        /// Of the value on the right.
        right: Shape,
    },
    /// A matrix where only numbers and vectors can stand.
    #[error(
        "a matrix of shape {found} cannot be used in {operation}: matrices take `@` with a vector, `.T`, and a constant factor"
    )]
    MatrixIn {
        /// Where it stands.
        operation: &'static str,
        /// Its shape.
        found: Shape,
    },
    /// A vector or a matrix where one number is needed.
    #[error("{what} must be one number, found shape {found}: use `sum`, `norm` or `@`")]
    NotANumber {
        /// What must be a number.
        what: &'static str,
        /// Its shape.
        found: Shape,
    },
    /// An index into something without entries.
    #[error("only vectors have entries, found shape {found}")]
    NotIndexable {
        /// The shape.
        found: Shape,
    },
    /// An index beyond the end.
    #[error("index {index} is out of range: the vector has {length} entries, counted from 0")]
    Index {
        /// As written.
        index: i64,
        /// Entries of the vector.
        length: usize,
    },
    /// A slice without entries.
    #[error("this slice is empty: the vector has {length} entries, counted from 0")]
    EmptySlice {
        /// Entries of the vector.
        length: usize,
    },
    /// Rows of different lengths, or no rows.
    #[error("the array `{name}` must be a list of numbers, or of rows of equal length, not empty")]
    Ragged {
        /// The array.
        name: String,
    },
    /// An array with an entry that is not a finite number.
    #[error("the array `{name}` holds {value} at entry {index}: all entries must be finite")]
    ArrayEntry {
        /// The array.
        name: String,
        /// The entry.
        value: f64,
        /// Which one, row after row.
        index: usize,
    },
    /// A file of arrays that cannot be read.
    #[error("cannot read the arrays of `{path}`: {reason}")]
    Arrays {
        /// The file, as written.
        path: String,
        /// What the reader says.
        reason: String,
    },
    /// A file of x that cannot be read.
    #[error("cannot read x from `{path}`: {reason}")]
    XData {
        /// The file, as written.
        path: String,
        /// What the reader says.
        reason: String,
    },
    /// Rows of x that are too long or too short.
    #[error(
        "`x_data` has shape ({rows}, {found}), and x has shape ({expected},): a row needs one number for each \
         coordinate of x"
    )]
    XDataShape {
        /// Its rows.
        rows: usize,
        /// Its columns.
        found: usize,
        /// Coordinates of x.
        expected: usize,
    },
    /// A file of x where only a text is known.
    #[error(
        "`x_data` names a file, which a text alone cannot find: read the problem from its file, or write the \
         rows into the text, x_data = [[1, 2], [3, 4]]"
    )]
    XDataWithoutFolder,
    /// A file of arrays where only a text is known.
    #[error(
        "`arrays` names a file, which a text alone cannot find: read the set from its file, or write the arrays into the text, arrays = {{ h = [1, 2] }}"
    )]
    ArraysWithoutFolder,
    /// A problem without an objective.
    #[error(
        "the file describes a set, not a problem: add [objective] and, in the next line, minimise = \"…\""
    )]
    NoObjective,
    /// A number that f64 does not hold.
    #[error("`{text}` is not a number that double precision can hold")]
    Number {
        /// As written.
        text: String,
    },
    /// A part without variables whose value is not a number.
    #[error("this part is constant and its value is {value}, so the constraint never holds")]
    Constant {
        /// The value.
        value: f64,
    },
    /// Named expressions that need each other.
    #[error("these names of [let] depend on each other: {}", names.join(" → "))]
    Cycle {
        /// The names; the last is the first again.
        names: Vec<String>,
    },
    /// Two comparisons in one expression.
    #[error("an expression has one comparison: write a ≤ b ≤ c as all = [\"a <= b\", \"b <= c\"]")]
    SecondComparison,
    /// An equality that need not hold everywhere.
    #[error(
        "an equality cannot stand within `any` or `not`: use a tolerance there, abs(left - right) <= tolerance"
    )]
    EqualityInside,
    /// An equality that cannot be solved for y.
    #[error(
        "this equality is not affine in y, so it cannot be eliminated: use a tolerance, abs(left - right) <= tolerance"
    )]
    NotAffine,
    /// An equality whose coefficients are not numbers.
    #[error(
        "the coefficients of y in this equality depend on x, so it cannot be eliminated: use a tolerance, abs(left - right) <= tolerance"
    )]
    CoefficientsDepend,
    /// An equality whose right-hand side is bent.
    #[error(
        "this equality is affine in y but not in x: make the other part an entry of `x`, or use a tolerance, abs(left - right) <= tolerance"
    )]
    RightSideNotAffine,
    /// An equality without y.
    #[error("this equality does not depend on y")]
    NoVariable,
    /// An equality that nothing obeys which obeys those before.
    #[error("this equality contradicts those before it")]
    Contradiction,
    /// An equality that nothing within the bounds obeys.
    #[error("no point within the bounds obeys this equality")]
    EqualityOutsideBounds,
    /// Equalities that determine every variable.
    #[error("{equalities} independent equalities determine all {variables} variables; remove one")]
    NothingLeft {
        /// Variables of y.
        variables: usize,
        /// Independent equalities.
        equalities: usize,
    },
}

fn listed(found: &[String]) -> String {
    if found.is_empty() {
        "none".to_owned()
    } else {
        found.join(", ")
    }
}
