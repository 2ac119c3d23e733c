//! A set file as TOML gives it, every part with its place.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::arrays::{self, Array};
use super::variables::{Variables, names as names_of, variables, variables_of_data};
use crate::set::Problem;
use crate::set::expression::{Fault, Source};
use crate::support::near_names;

/// The keys of a set file.
const KEYS: [&str; 10] = [
    "name",
    "y",
    "bounds",
    "x",
    "x_bounds",
    "x_data",
    "arrays",
    "let",
    "objective",
    "constraint",
];
/// The keys of a constraint that say what it demands.
const BODIES: [&str; 4] = ["expr", "all", "any", "not"];

type Value<'a> = Spanned<DeValue<'a>>;

/// The parts of a set file.
pub(super) struct Document {
    pub name: String,
    pub y: Variables,
    pub x: Variables,
    /// Rows of data that x comes from.
    pub x_data: Option<Vec<f64>>,
    /// Named constants, with the places of their names.
    pub arrays: Vec<(String, usize, Array)>,
    /// Named expressions, with the places of their names.
    pub named: Vec<(String, usize, Source)>,
    /// What a problem minimises.
    pub objective: Option<Source>,
    pub constraints: Vec<Constraint>,
}

/// One entry of `[[constraint]]`.
pub(super) struct Constraint {
    pub name: Option<String>,
    pub body: Body,
}

/// What a constraint demands.
pub(super) enum Body {
    Expression(Source),
    All(Vec<Body>),
    Any(Vec<Body>),
    Not(Box<Body>),
}

impl Document {
    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let message = error.message().to_owned();
            Fault::new(at, Problem::Toml { message })
        })?;
        let reader = Reader { text };
        let table = table.get_ref();
        check_keys(table, &KEYS)?;
        Ok(Self {
            name: match table.get("name") {
                Some(value) => reader.text("`name`", value)?,
                None => "unnamed".to_owned(),
            },
            y: reader.y(table)?,
            x: reader.x(table)?,
            x_data: reader.x_data(table)?,
            arrays: arrays::inline(table.get("arrays"))?,
            named: reader.named(table)?,
            objective: reader.objective(table)?,
            constraints: reader.constraints(table)?,
        })
    }
}

/// Every key of the table must be known.
fn check_keys(table: &DeTable<'_>, known: &[&str]) -> Result<(), Fault> {
    for key in table.keys() {
        let name: &str = key.get_ref();
        if !known.contains(&name) {
            let near = near_names(name, known.iter().copied());
            let problem = Problem::UnknownKey {
                key: name.to_owned(),
                near,
            };
            return Err(Fault::new(key.span().start, problem));
        }
    }
    Ok(())
}

fn missing(key: &'static str, example: &'static str) -> Fault {
    Fault::new(0, Problem::MissingKey { key, example })
}

/// An error for a value of the wrong kind.
pub(super) fn wrong_kind(what: &str, expected: &'static str, value: &Value<'_>) -> Fault {
    let found = match value.get_ref() {
        DeValue::String(_) => "text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    let problem = Problem::Kind {
        what: what.to_owned(),
        expected,
        found,
    };
    Fault::new(value.span().start, problem)
}

/// A finite number, or what is written where one belongs.
pub(super) fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .ok()
            .map(|integer| integer as f64),
        DeValue::Float(float) => float.as_str().parse().ok(),
        _ => None,
    }
}

/// Reads values of the table, and finds the places of expressions in the text.
struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    fn y(&self, table: &DeTable<'_>) -> Result<Variables, Fault> {
        let Some(names) = table.get("y") else {
            return Err(missing("y", "y = [\"q1\", \"q2\"]"));
        };
        let Some(bounds) = table.get("bounds") else {
            return Err(missing("bounds", "bounds = { q1 = [-1, 1], q2 = [-1, 1] }"));
        };
        let y = variables("y", names, "bounds", bounds)?;
        if y.all.is_empty() {
            let problem = Problem::Empty {
                what: "`y`".to_owned(),
                expected: "the name of at least one variable",
            };
            return Err(Fault::new(names.span().start, problem));
        }
        Ok(y)
    }

    fn x(&self, table: &DeTable<'_>) -> Result<Variables, Fault> {
        match (table.get("x"), table.get("x_bounds")) {
            (Some(names), Some(bounds)) => variables("x", names, "x_bounds", bounds),
            (None, None) => Ok(Variables::default()),
            (Some(names), None) if table.contains_key("x_data") => {
                let data = self.x_data(table)?.unwrap_or_default();
                variables_of_data("x", names, &data)
            }
            (Some(_), None) => Err(missing("x_bounds", "x_bounds = { t = [0, 1] }")),
            (None, Some(_)) => Err(missing("x", "x = [\"t\"]")),
        }
    }

    /// Rows of x, one number for each of its coordinates.
    fn x_data(&self, table: &DeTable<'_>) -> Result<Option<Vec<f64>>, Fault> {
        let Some(value) = table.get("x_data") else {
            return Ok(None);
        };
        let at = value.span().start;
        if let DeValue::String(_) = value.get_ref() {
            return Err(Fault::new(at, Problem::XDataWithoutFolder));
        }
        let Some(names) = table.get("x") else {
            return Err(missing("x", "x = [\"t\"]"));
        };
        let expected = names_of("x", names)?.len();
        let data = arrays::read("x_data", value)?;
        let rows = data.rows.unwrap_or(data.values.len());
        let found = data.values.len() / rows.max(1);
        if found != expected {
            let problem = Problem::XDataShape {
                rows,
                found,
                expected,
            };
            return Err(Fault::new(at, problem));
        }
        Ok(Some(data.values))
    }

    fn named(&self, table: &DeTable<'_>) -> Result<Vec<(String, usize, Source)>, Fault> {
        let Some(value) = table.get("let") else {
            return Ok(Vec::new());
        };
        let DeValue::Table(entries) = value.get_ref() else {
            return Err(wrong_kind("`let`", "a table of expressions", value));
        };
        let named = entries.iter().map(|(key, value)| {
            let name: &str = key.get_ref();
            let source = match value.get_ref() {
                // A number without quotation marks is an expression, too.
                DeValue::Integer(_) | DeValue::Float(_) => self.number_source(value),
                _ => self.source(&format!("`{name}`"), value)?,
            };
            Ok((name.to_owned(), key.span().start, source))
        });
        named.collect()
    }

    fn objective(&self, table: &DeTable<'_>) -> Result<Option<Source>, Fault> {
        let Some(value) = table.get("objective") else {
            return Ok(None);
        };
        let DeValue::Table(entries) = value.get_ref() else {
            let expected = "a table: [objective] and, in the next line, minimise = \"…\"";
            return Err(wrong_kind("`objective`", expected, value));
        };
        check_keys(entries, &["minimise"])?;
        let Some(minimise) = entries.get("minimise") else {
            return Err(missing("minimise", "minimise = \"q1^2 + 2*q2\""));
        };
        self.source("`minimise`", minimise).map(Some)
    }

    fn constraints(&self, table: &DeTable<'_>) -> Result<Vec<Constraint>, Fault> {
        let Some(value) = table.get("constraint") else {
            let example = "[[constraint]] and, in the next line, expr = \"q1 <= 1\"";
            return Err(missing("constraint", example));
        };
        let DeValue::Array(entries) = value.get_ref() else {
            return Err(wrong_kind(
                "`constraint`",
                "a list: write [[constraint]], with two brackets",
                value,
            ));
        };
        if entries.is_empty() {
            let problem = Problem::Empty {
                what: "`constraint`".to_owned(),
                expected: "at least one constraint",
            };
            return Err(Fault::new(value.span().start, problem));
        }
        entries.iter().map(|entry| self.constraint(entry)).collect()
    }

    fn constraint(&self, value: &Value<'_>) -> Result<Constraint, Fault> {
        let DeValue::Table(table) = value.get_ref() else {
            return Err(wrong_kind("an entry of `constraint`", "a table", value));
        };
        let known = ["name", "expr", "all", "any", "not"];
        check_keys(table, &known)?;
        let name = match table.get("name") {
            Some(name) => Some(self.text("the name of a constraint", name)?),
            None => None,
        };
        let body = self.body(table, value.span())?;
        Ok(Constraint { name, body })
    }

    /// The one of `expr`, `all`, `any` and `not` that a table has.
    fn body(&self, table: &DeTable<'_>, span: Range<usize>) -> Result<Body, Fault> {
        let present: Vec<_> = BODIES
            .iter()
            .filter_map(|key| Some((*key, table.get(*key)?)))
            .collect();
        let [(key, value)] = present.as_slice() else {
            let found = present.iter().map(|(key, _)| (*key).to_owned()).collect();
            let at = present
                .get(1)
                .map_or(span.start, |(_, second)| second.span().start);
            return Err(Fault::new(at, Problem::Body { found }));
        };
        match *key {
            "all" => Ok(Body::All(self.list("all", value)?)),
            "any" => Ok(Body::Any(self.list("any", value)?)),
            "not" => Ok(Body::Not(Box::new(self.entry("`not`", value)?))),
            _ => Ok(Body::Expression(self.source("`expr`", value)?)),
        }
    }

    fn list(&self, key: &'static str, value: &Value<'_>) -> Result<Vec<Body>, Fault> {
        let DeValue::Array(entries) = value.get_ref() else {
            let what = format!("`{key}`");
            return Err(wrong_kind(&what, "a list of constraints", value));
        };
        if entries.is_empty() {
            let problem = Problem::Empty {
                what: format!("`{key}`"),
                expected: "at least one constraint",
            };
            return Err(Fault::new(value.span().start, problem));
        }
        let what = format!("an entry of `{key}`");
        entries
            .iter()
            .map(|entry| self.entry(&what, entry))
            .collect()
    }

    /// An expression, or a table with one body.
    fn entry(&self, what: &str, value: &Value<'_>) -> Result<Body, Fault> {
        match value.get_ref() {
            DeValue::Table(table) => {
                check_keys(table, &BODIES)?;
                self.body(table, value.span())
            }
            DeValue::String(_) => Ok(Body::Expression(self.source(what, value)?)),
            _ => Err(wrong_kind(what, "an expression or a table", value)),
        }
    }

    fn text(&self, what: &str, value: &Value<'_>) -> Result<String, Fault> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(wrong_kind(what, "text", value)),
        }
    }

    fn source(&self, what: &str, value: &Value<'_>) -> Result<Source, Fault> {
        let DeValue::String(text) = value.get_ref() else {
            return Err(wrong_kind(what, "an expression in quotation marks", value));
        };
        let begin = begin_of(self.text, text, value.span());
        Ok(Source {
            text: text.to_string(),
            at: begin.unwrap_or(value.span().start),
            verbatim: begin.is_some(),
        })
    }

    fn number_source(&self, value: &Value<'_>) -> Source {
        let span = value.span();
        let text = match number(value.get_ref()) {
            Some(number) if number.is_finite() => number.to_string(),
            _ => self.text[span.clone()].to_owned(),
        };
        Source {
            text,
            at: span.start,
            verbatim: false,
        }
    }
}

/// Where the content of a quoted text begins, if it stands in the file letter by letter.
fn begin_of(file: &str, content: &DeString<'_>, span: Range<usize>) -> Option<usize> {
    let quoted = file.get(span.clone())?;
    let content: &str = content;
    // Only quotation marks, and a newline after three of them, may come before the content.
    let begin = quoted.find(content)?;
    let opening = &quoted[..begin];
    let only_quotes = opening.chars().all(|letter| "\"'\r\n".contains(letter));
    only_quotes.then_some(span.start + begin)
}
