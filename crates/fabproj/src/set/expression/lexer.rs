//! Text into tokens.

use super::fault::Fault;
use crate::set::Problem;

/// An expression as a file holds it.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub text: String,
    /// Byte of the file where the expression begins.
    pub at: usize,
    /// Whether each byte of the text is one of the file: not so after an escape such as `\u0041`,
    /// and then all faults point to the beginning.
    pub verbatim: bool,
}

impl Source {
    /// The place in the file of a byte of the text.
    pub(crate) fn place(&self, offset: usize) -> usize {
        if self.verbatim {
            self.at + offset
        } else {
            self.at
        }
    }
}

/// How two sides of a constraint are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    AtMost,
    Below,
    AtLeast,
    Above,
    Equal,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Number(f64),
    Name(String),
    Plus,
    Minus,
    Times,
    Over,
    Power,
    Comma,
    Open,
    Close,
    Relation(Relation),
    End,
}

/// A token and its place in the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub kind: Kind,
    pub at: usize,
}

impl Kind {
    /// The token as messages name it.
    pub(crate) fn shown(&self) -> String {
        let text = match self {
            Self::Number(value) => return format!("the number {value}"),
            Self::Name(name) => return format!("`{name}`"),
            Self::End => return "the end of the expression".to_owned(),
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::Over => "/",
            Self::Power => "^",
            Self::Comma => ",",
            Self::Open => "(",
            Self::Close => ")",
            Self::Relation(Relation::AtMost) => "<=",
            Self::Relation(Relation::Below) => "<",
            Self::Relation(Relation::AtLeast) => ">=",
            Self::Relation(Relation::Above) => ">",
            Self::Relation(Relation::Equal) => "==",
        };
        format!("`{text}`")
    }
}

/// Whether a text is one name, such as `q1`.
pub(crate) fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(begins_name) && letters.all(continues_name)
}

fn begins_name(letter: char) -> bool {
    letter.is_alphabetic() || letter == '_'
}

fn continues_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// All tokens of an expression; the last one is [`Kind::End`].
pub(crate) fn tokens(source: &Source) -> Result<Vec<Token>, Fault> {
    let mut tokens = Vec::new();
    let mut rest = source.text.as_str();
    loop {
        rest = rest.trim_start();
        let offset = source.text.len() - rest.len();
        let at = source.place(offset);
        let Some(first) = rest.chars().next() else {
            tokens.push(Token {
                kind: Kind::End,
                at,
            });
            return Ok(tokens);
        };
        let (kind, length) = if begins_name(first) {
            let name = leading(rest, continues_name);
            (Kind::Name(name.to_owned()), name.len())
        } else if first.is_ascii_digit() || first == '.' {
            number(rest, at)?
        } else {
            symbol(rest, first, at)?
        };
        tokens.push(Token { kind, at });
        rest = &rest[length..];
    }
}

fn leading(text: &str, belongs: impl Fn(char) -> bool) -> &str {
    let end = text.find(|letter| !belongs(letter));
    &text[..end.unwrap_or(text.len())]
}

/// A number such as `12`, `1.5`, `.5` or `1e-3`.
fn number(text: &str, at: usize) -> Result<(Kind, usize), Fault> {
    let digits = |from: usize| leading(&text[from..], |letter| letter.is_ascii_digit()).len();
    let mut end = digits(0);
    if text[end..].starts_with('.') {
        end += 1 + digits(end + 1);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let written = &text[..end];
    match written.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((Kind::Number(value), end)),
        _ => {
            const SHOWN: usize = 40;
            let text = written.chars().take(SHOWN).collect();
            Err(Fault::new(at, Problem::Number { text }))
        }
    }
}

fn symbol(text: &str, first: char, at: usize) -> Result<(Kind, usize), Fault> {
    let two = |kind| Ok((kind, 2));
    let one = |kind| Ok((kind, 1));
    let wrong = |expected| {
        let found = leading(text, |letter| "<>=!&|*".contains(letter));
        let found = if found.is_empty() {
            first.to_string()
        } else {
            found.chars().take(3).collect()
        };
        let found = format!("`{found}`");
        Err(Fault::new(at, Problem::Expected { expected, found }))
    };
    match first {
        '<' if text.starts_with("<=") => two(Kind::Relation(Relation::AtMost)),
        '>' if text.starts_with(">=") => two(Kind::Relation(Relation::AtLeast)),
        '=' if text.starts_with("==") => two(Kind::Relation(Relation::Equal)),
        '*' if text.starts_with("**") => wrong("`^` for a power"),
        '=' => wrong("`==` for an equality, `<=` or `>=` for a bound"),
        '!' => wrong("one of <= >= < > ==; the opposite of a constraint is not = \"…\""),
        '&' | '|' => wrong("all = […] or any = […] to combine constraints"),
        '≤' | '≥' => wrong("`<=` or `>=`"),
        '<' => one(Kind::Relation(Relation::Below)),
        '>' => one(Kind::Relation(Relation::Above)),
        '+' => one(Kind::Plus),
        '-' => one(Kind::Minus),
        '*' => one(Kind::Times),
        '/' => one(Kind::Over),
        '^' => one(Kind::Power),
        ',' => one(Kind::Comma),
        '(' => one(Kind::Open),
        ')' => one(Kind::Close),
        _ => wrong("a number, a name, an operator, a comparison or a parenthesis"),
    }
}
