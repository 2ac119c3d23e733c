//! Variables of a set file and their bounds.

use std::collections::HashSet;

use fabproj_core::Weights;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::document::{number, wrong_kind};
use crate::set::expression::{Fault, is_name, is_reserved};
use crate::set::{Interval, Problem, extent, widened};
use crate::support::near_names;

/// A coordinate of y or of x.
pub(super) struct Variable {
    pub name: String,
    pub at: usize,
    pub bounds: Interval,
}

/// All coordinates of y, or of x.
#[derive(Default)]
pub(super) struct Variables {
    pub all: Vec<Variable>,
    /// Whether they were given as a number, so that expressions name them together: `y`, `x`.
    pub vector: bool,
}

/// The variables of a list of names, or of a number of unnamed ones, and their bounds: a table, or one
/// interval for all.
pub(super) fn variables(
    list: &'static str,
    names: &Spanned<DeValue<'_>>,
    key: &'static str,
    bounds: &Spanned<DeValue<'_>>,
) -> Result<Variables, Fault> {
    let (named, vector) = named(list, names)?;
    let all = match bounds.get_ref() {
        DeValue::Array(_) => with_one_interval(named, key, bounds)?,
        DeValue::Table(table) => with_intervals(named, list, key, table)?,
        _ => {
            let expected = "a table such as { q1 = [-1, 1] }, or one interval for all";
            return Err(wrong_kind(&format!("`{key}`"), expected, bounds));
        }
    };
    Ok(Variables { all, vector })
}

/// Names with their places, and whether they were given as a number.
fn named(
    list: &'static str,
    names: &Spanned<DeValue<'_>>,
) -> Result<(Vec<(String, usize)>, bool), Fault> {
    match names.get_ref() {
        DeValue::Array(entries) => {
            check_count(entries.len(), names)?;
            Ok((listed(list, entries)?, false))
        }
        value => {
            let count = number(value).filter(|count| count.fract() == 0.0 && *count >= 0.0);
            let Some(count) = count else {
                let expected = "a list of names, or a number of variables";
                return Err(wrong_kind(&format!("`{list}`"), expected, names));
            };
            check_count(count as usize, names)?;
            let at = names.span().start;
            let numbered = |index| (format!("{list}{index}"), at);
            Ok(((0..count as usize).map(numbered).collect(), true))
        }
    }
}

/// Names alone.
pub(super) fn names(
    list: &'static str,
    names: &Spanned<DeValue<'_>>,
) -> Result<Vec<String>, Fault> {
    let (named, _) = named(list, names)?;
    Ok(named.into_iter().map(|(name, _)| name).collect())
}

/// Variables whose bounds are the lowest and the highest of their data, row after row.
pub(super) fn variables_of_data(
    list: &'static str,
    names: &Spanned<DeValue<'_>>,
    data: &[f64],
) -> Result<Variables, Fault> {
    let (named, vector) = named(list, names)?;
    let count = named.len();
    let one = |(column, (name, at)): (usize, (String, usize))| {
        let bounds = widened(extent(data, count, column));
        Variable { name, at, bounds }
    };
    let all = named.into_iter().enumerate().map(one).collect();
    Ok(Variables { all, vector })
}

fn check_count(count: usize, names: &Spanned<DeValue<'_>>) -> Result<(), Fault> {
    if count <= Weights::MAX_WIDTH {
        return Ok(());
    }
    let problem = Problem::TooLarge {
        what: "variables",
        found: count,
        limit: Weights::MAX_WIDTH,
    };
    Err(Fault::new(names.span().start, problem))
}

/// Names with their places.
fn listed(list: &str, entries: &DeArray<'_>) -> Result<Vec<(String, usize)>, Fault> {
    let names = entries.iter().map(|entry| match entry.get_ref() {
        DeValue::String(name) => Ok((name.to_string(), entry.span().start)),
        _ => {
            let what = format!("an entry of `{list}`");
            Err(wrong_kind(&what, "a name", entry))
        }
    });
    names.collect()
}

fn with_one_interval(
    named: Vec<(String, usize)>,
    key: &str,
    bounds: &Spanned<DeValue<'_>>,
) -> Result<Vec<Variable>, Fault> {
    let bounds = interval_of(key, bounds)?;
    let variables = named.into_iter();
    let variables = variables.map(|(name, at)| Variable { name, at, bounds });
    Ok(variables.collect())
}

fn with_intervals(
    named: Vec<(String, usize)>,
    list: &'static str,
    key: &'static str,
    table: &DeTable<'_>,
) -> Result<Vec<Variable>, Fault> {
    let mut variables = Vec::with_capacity(named.len());
    for (name, at) in named {
        let Some(interval) = table.get(name.as_str()) else {
            return Err(Fault::new(at, Problem::NoBounds { name, key }));
        };
        let bounds = interval_of(&name, interval)?;
        variables.push(Variable { name, at, bounds });
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
