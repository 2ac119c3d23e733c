//! Variables of a set file and their bounds.

use std::collections::HashSet;

use fabproj_core::validate::MAX_WIDTH;
use toml::Spanned;
use toml::de::DeValue;

use super::document::{number, wrong_kind};
use crate::set::expression::{Fault, is_name, is_reserved};
use crate::set::{Interval, Problem};
use crate::support::near_names;

/// A coordinate of y or of x.
pub(super) struct Variable {
    pub name: String,
    pub at: usize,
    pub bounds: Interval,
}

/// The variables of a list of names and a table of bounds.
pub(super) fn variables(
    list: &'static str,
    names: &Spanned<DeValue<'_>>,
    key: &'static str,
    bounds: &Spanned<DeValue<'_>>,
) -> Result<Vec<Variable>, Fault> {
    let DeValue::Array(entries) = names.get_ref() else {
        return Err(wrong_kind(&format!("`{list}`"), "a list of names", names));
    };
    if entries.len() > MAX_WIDTH {
        let problem = Problem::TooLarge {
            what: "variables",
            found: entries.len(),
            limit: MAX_WIDTH,
        };
        return Err(Fault::new(names.span().start, problem));
    }
    let DeValue::Table(table) = bounds.get_ref() else {
        let expected = "a table such as { q1 = [-1, 1] }";
        return Err(wrong_kind(&format!("`{key}`"), expected, bounds));
    };
    let mut variables = Vec::new();
    for entry in entries.iter() {
        let DeValue::String(name) = entry.get_ref() else {
            let what = format!("an entry of `{list}`");
            return Err(wrong_kind(&what, "a name", entry));
        };
        let at = entry.span().start;
        let Some(interval) = table.get(name.as_ref() as &str) else {
            let name = name.to_string();
            return Err(Fault::new(at, Problem::NoBounds { name, key }));
        };
        variables.push(Variable {
            name: name.to_string(),
            at,
            bounds: interval_of(name, interval)?,
        });
    }
    let known: HashSet<&str> = variables.iter().map(|one| one.name.as_str()).collect();
    for entry in table.keys() {
        let name: &str = entry.get_ref();
        if !known.contains(name) {
            let near = near_names(name, variables.iter().map(|one| one.name.as_str()));
            let name = name.to_owned();
            let problem = Problem::NotAVariable { name, list, near };
            return Err(Fault::new(entry.span().start, problem));
        }
    }
    Ok(variables)
}

fn interval_of(name: &str, value: &Spanned<DeValue<'_>>) -> Result<Interval, Fault> {
    let what = format!("the bounds of `{name}`");
    let expected = "a list of two numbers, [low, high]";
    let DeValue::Array(ends) = value.get_ref() else {
        return Err(wrong_kind(&what, expected, value));
    };
    let numbers: Vec<f64> = ends
        .iter()
        .filter_map(|end| number(end.get_ref()))
        .collect();
    let (Some(&low), Some(&high), 2, 2) =
        (numbers.first(), numbers.get(1), numbers.len(), ends.len())
    else {
        return Err(wrong_kind(&what, expected, value));
    };
    // The width must be finite too, as points are drawn from the interval.
    if low < high && low.is_finite() && high.is_finite() && (high - low).is_finite() {
        return Ok((low, high));
    }
    let name = name.to_owned();
    let problem = Problem::Interval { name, low, high };
    Err(Fault::new(value.span().start, problem))
}

/// Every name must be one that expressions can mention, and mean one thing.
pub(super) fn check_names<'a>(
    names: impl IntoIterator<Item = (&'a str, usize, &'static str)>,
) -> Result<(), Fault> {
    let mut seen = HashSet::new();
    for (name, at, by) in names {
        let owned = || name.to_owned();
        if !is_name(name) {
            return Err(Fault::new(at, Problem::NotAName { name: owned() }));
        }
        if is_reserved(name) {
            let by = "expressions have a function or constant of that name";
            return Err(Fault::new(at, Problem::Taken { name: owned(), by }));
        }
        if !seen.insert(name) {
            return Err(Fault::new(at, Problem::Taken { name: owned(), by }));
        }
    }
    Ok(())
}
