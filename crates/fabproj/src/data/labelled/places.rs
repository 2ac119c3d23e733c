//! Where the columns of a file are.

use std::collections::HashMap;

use super::{Columns, LabelledError};
use crate::support::near_names;

/// The places of the columns in a file, with their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) y: Vec<(usize, String)>,
    pub(super) x: Vec<(usize, String)>,
    pub(super) label: (usize, String),
}

/// The places of some columns.
pub(super) fn named(
    names: &[String],
    columns: &[String],
) -> Result<Vec<(usize, String)>, LabelledError> {
    let found = places(names, columns)?;
    let twice = |name: &str| names.iter().filter(|other| *other == name).count() > 1;
    match found.iter().find(|(_, name)| twice(name)) {
        Some((_, name)) => Err(LabelledError::Duplicate { name: name.clone() }),
        None => Ok(found),
    }
}

impl Places {
    pub(super) fn find(names: &[String], columns: &Columns) -> Result<Self, LabelledError> {
        let label = place(names, &columns.label)?;
        let x = match columns.x.as_slice() {
            [] if columns.y.is_empty() && numbered(names, 'y').is_empty() => Vec::new(),
            [] => numbered(names, 'x'),
            named => places(names, named)?,
        };
        // Columns that are named for y are y, also if they begin with x.
        let x: Vec<_> = x
            .into_iter()
            .filter(|(_, name)| !columns.x.is_empty() || !columns.y.contains(name))
            .collect();
        let y = match columns.y.as_slice() {
            [] => {
                let prefixed = numbered(names, 'y');
                let taken = |place: usize| place == label.0 || x.iter().any(|(at, _)| *at == place);
                let open = |places: Vec<(usize, String)>| {
                    let open = places.into_iter().filter(|(place, _)| !taken(*place));
                    open.collect::<Vec<_>>()
                };
                let prefixed = open(prefixed);
                if prefixed.is_empty() {
                    open(names.iter().cloned().enumerate().collect())
                } else {
                    prefixed
                }
            }
            named => places(names, named)?,
        };
        if y.is_empty() {
            return Err(LabelledError::NoY);
        }
        let found = Self { y, x, label };
        found.check_names(names)?;
        found.check_distinct()?;
        Ok(found)
    }

    fn check_distinct(&self) -> Result<(), LabelledError> {
        let mut taken = Vec::new();
        for (place, name) in self.y.iter().chain(&self.x).chain([&self.label]) {
            if taken.contains(place) {
                return Err(LabelledError::Twice { name: name.clone() });
            }
            taken.push(*place);
        }
        Ok(())
    }

    /// Refuses a file in which a column that is used has a namesake.
    fn check_names(&self, names: &[String]) -> Result<(), LabelledError> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for name in names {
            *counts.entry(name).or_default() += 1;
        }
        for (_, name) in self.y.iter().chain(&self.x).chain([&self.label]) {
            if counts.get(name.as_str()).is_some_and(|count| *count > 1) {
                return Err(LabelledError::Duplicate { name: name.clone() });
            }
        }
        Ok(())
    }

    pub(super) fn names(places: &[(usize, String)]) -> Vec<String> {
        places.iter().map(|(_, name)| name.clone()).collect()
    }
}

fn places(names: &[String], wanted: &[String]) -> Result<Vec<(usize, String)>, LabelledError> {
    wanted.iter().map(|name| place(names, name)).collect()
}

fn place(names: &[String], wanted: &str) -> Result<(usize, String), LabelledError> {
    let found = names.iter().position(|name| name == wanted);
    match found {
        Some(place) => Ok((place, wanted.to_owned())),
        None => Err(LabelledError::Missing {
            what: "column",
            wanted: wanted.to_owned(),
            found: near_names(wanted, names.iter().map(String::as_str)),
        }),
    }
}

/// The columns whose names are the letter alone, or the letter and a number.
fn numbered(names: &[String], letter: char) -> Vec<(usize, String)> {
    let fits = |name: &str| {
        let Some(rest) = name.strip_prefix(letter) else {
            return false;
        };
        let digits = rest
            .trim_start_matches(['_', '[', '.'])
            .trim_end_matches(']');
        rest.is_empty() || (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let places = names.iter().cloned().enumerate();
    places.filter(|(_, name)| fits(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(
        names: &[&str],
        columns: &Columns,
    ) -> Result<(Vec<String>, Vec<String>), LabelledError> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let places = Places::find(&names, columns)?;
        Ok((Places::names(&places.y), Places::names(&places.x)))
    }

    fn named(y: &[&str], x: &[&str]) -> Columns {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Columns {
            y: owned(y),
            x: owned(x),
            ..Columns::default()
        }
    }

    #[test]
    fn columns_are_found_by_prefix() {
        let (y, x) = find(&["y0", "year", "x_1", "y[1]", "label"], &Columns::default()).unwrap();
        assert_eq!(
            (y, x),
            (vec!["y0".into(), "y[1]".into()], vec!["x_1".into()])
        );
    }

    #[test]
    fn namesakes_are_refused_where_they_matter() {
        for (names, columns) in [
            (["a", "a", "label"], Columns::default()),
            (["a", "label", "label"], Columns::default()),
            (["a", "a", "label"], named(&["a"], &[])),
            (["b", "b", "label"], named(&[], &["b"])),
        ] {
            let found = find(&names, &columns);
            assert!(
                matches!(found, Err(LabelledError::Duplicate { .. })),
                "{names:?}: {found:?}"
            );
        }
        let other = ["a", "note", "note", "label"];
        assert!(find(&other, &named(&["a"], &[])).is_ok());
    }

    #[test]
    fn without_prefix_all_others_are_y() {
        let (y, x) = find(&["north", "label", "east"], &Columns::default()).unwrap();
        assert_eq!((y, x), (vec!["north".into(), "east".into()], vec![]));
        // An x among them is a coordinate like any other.
        let (y, x) = find(&["x", "z", "label"], &Columns::default()).unwrap();
        assert_eq!((y.len(), x.len()), (2, 0));
    }

    #[test]
    fn flags_name_columns_in_their_order() {
        let columns = named(&["b", "a"], &["c"]);
        let (y, x) = find(&["a", "b", "c", "y0", "label"], &columns).unwrap();
        assert_eq!((y, x), (vec!["b".into(), "a".into()], vec!["c".into()]));
        // Naming x leaves the rest to y; naming y leaves numbered x to x.
        let (y, x) = find(&["a", "b", "label"], &named(&[], &["b"])).unwrap();
        assert_eq!((y, x), (vec!["a".into()], vec!["b".into()]));
        let (y, x) = find(&["x", "y", "label"], &named(&["x", "y"], &[])).unwrap();
        assert_eq!((y.len(), x.len()), (2, 0));
    }

    #[test]
    fn wrong_columns_are_refused() {
        let text =
            |names: &[&str], columns: &Columns| find(names, columns).unwrap_err().to_string();
        let missing = text(&["a", "lable"], &Columns::default());
        assert!(
            missing.contains("`label`") && missing.contains("lable"),
            "{missing}"
        );
        assert!(text(&["label"], &Columns::default()).contains("no columns of y"));
        assert!(text(&["a", "label"], &named(&["a"], &["a"])).contains("twice"));
        assert!(text(&["a", "label"], &named(&["label"], &[])).contains("twice"));
    }
}
