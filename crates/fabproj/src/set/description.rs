//! Sets as model files hold them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Affine, Combined, Not, Result, Set, SetError, Shrink, built_in, from_toml};

/// A set in a model file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Description {
    /// A built-in set, by name. A name never changes its meaning: another set gets another name.
    BuiltIn {
        /// The name, as `fabproj sets` lists it.
        name: String,
    },
    /// A closure of the program that trained the model: it cannot be built again from a file.
    Closure {
        /// The name that the program gave it.
        name: String,
    },
    /// A set file: the whole text, so that the set can be built from a model file alone.
    File {
        /// The name that the file gives it.
        name: String,
        /// The file's text.
        text: String,
    },
    /// What was learned from labelled points. A model file holds that, but not the points.
    Labelled {
        /// The name of the points, such as that of their file.
        name: String,
        /// How many there are.
        rows: usize,
        /// The fingerprint of the points and their labels.
        hash: String,
    },
    /// The intersection of sets.
    And {
        /// The sets.
        sets: Vec<Description>,
    },
    /// The union of sets.
    Or {
        /// The sets.
        sets: Vec<Description>,
    },
    /// The complement of a set within its bounds.
    Not {
        /// The set.
        set: Box<Description>,
    },
    /// The image of a set under y ↦ A y + b.
    Affine {
        /// The set.
        set: Box<Description>,
        /// A, row by row.
        matrix: Vec<f64>,
        /// b
        offset: Vec<f64>,
    },
    /// The points of a set that keep a margin to its boundary.
    Shrink {
        /// The set.
        set: Box<Description>,
        /// The margin.
        margin: f64,
    },
}

impl Description {
    /// The description of a built-in set.
    pub fn built_in(name: &str) -> Self {
        Self::BuiltIn {
            name: name.to_owned(),
        }
    }

    /// A short name for tables and titles.
    pub fn name(&self) -> String {
        let joined = |sets: &[Self], word: &str| {
            let names: Vec<_> = sets.iter().map(Self::name).collect();
            format!("({})", names.join(word))
        };
        match self {
            Self::BuiltIn { name } | Self::Closure { name } | Self::File { name, .. } => {
                name.clone()
            }
            Self::Labelled { name, rows, .. } => format!("{rows} labelled points of {name}"),
            Self::And { sets } => joined(sets, " and "),
            Self::Or { sets } => joined(sets, " or "),
            Self::Not { set } => format!("not {}", set.name()),
            Self::Affine { set, .. } => format!("affine image of {}", set.name()),
            Self::Shrink { set, margin } => format!("{} shrunk by {margin}", set.name()),
        }
    }

    /// A fingerprint: the BLAKE3 hash, in hexadecimal, of the description as JSON. Of a set file it is what the
    /// text means: comments, spaces, names of the set and of constraints, and the order of keys do not count.
    ///
    /// ```
    /// use fabproj::set::Description;
    /// let star = Description::built_in("star-shaped");
    /// assert_eq!(star.hash().len(), 64);
    /// assert_ne!(star.hash(), Description::built_in("torus").hash());
    /// ```
    pub fn hash(&self) -> String {
        // Canonical because the keys come in the order of the declaration and numbers in their
        // shortest form.
        let json = serde_json::to_vec(&self.without_layout())
            .expect("text and finite numbers, which is all a description holds, are always JSON");
        blake3::hash(&json).to_hex().to_string()
    }

    /// Builds the set.
    ///
    /// # Errors
    /// [`SetError::NotRebuildable`] for a closure, [`SetError::Learned`] for labelled points, and whatever is
    /// wrong with a description that was edited by hand.
    ///
    /// ```
    /// use fabproj::set::Description;
    /// assert_eq!(Description::built_in("shell-3d").set()?.dim(), 3);
    /// # Ok::<(), fabproj::set::SetError>(())
    /// ```
    pub fn set(&self) -> Result<Arc<dyn Set>> {
        Ok(match self {
            Self::BuiltIn { name } => return built_in(name),
            Self::Closure { name } => return Err(SetError::NotRebuildable { name: name.clone() }),
            Self::File { text, .. } => return from_toml(text),
            Self::Labelled { name, .. } => return Err(SetError::Learned { name: name.clone() }),
            Self::And { sets } => Arc::new(Combined::and(all(sets)?)?),
            Self::Or { sets } => Arc::new(Combined::or(all(sets)?)?),
            Self::Not { set } => Arc::new(Not::new(set.set()?)?),
            Self::Affine {
                set,
                matrix,
                offset,
            } => Arc::new(Affine::new(set.set()?, matrix.clone(), offset.clone())?),
            Self::Shrink { set, margin } => Arc::new(Shrink::new(set.set()?, *margin)?),
        })
    }

    /// The same set with every set file in one layout.
    fn without_layout(&self) -> Self {
        let inner = |set: &Self| Box::new(set.without_layout());
        let all = |sets: &[Self]| sets.iter().map(Self::without_layout).collect();
        match self {
            Self::File { name, text } => match meaning(text) {
                Some(text) => Self::File {
                    name: String::new(),
                    text,
                },
                None => Self::File {
                    name: name.clone(),
                    text: text.clone(),
                },
            },
            Self::And { sets } => Self::And { sets: all(sets) },
            Self::Or { sets } => Self::Or { sets: all(sets) },
            Self::Not { set } => Self::Not { set: inner(set) },
            Self::Affine {
                set,
                matrix,
                offset,
            } => Self::Affine {
                set: inner(set),
                matrix: matrix.clone(),
                offset: offset.clone(),
            },
            Self::Shrink { set, margin } => Self::Shrink {
                set: inner(set),
                margin: *margin,
            },
            Self::BuiltIn { .. } | Self::Closure { .. } | Self::Labelled { .. } => self.clone(),
        }
    }
}

/// What a set file's text means, as JSON with sorted keys; `None` if it is not TOML.
fn meaning(text: &str) -> Option<String> {
    let mut table: toml::Table = text.parse().ok()?;
    table.remove("name");
    if let Some(toml::Value::Array(constraints)) = table.get_mut("constraint") {
        let tables = constraints.iter_mut().filter_map(|one| one.as_table_mut());
        tables.for_each(|one| drop(one.remove("name")));
    }
    Some(canonical(toml::Value::Table(table)).to_string())
}

fn canonical(value: toml::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        toml::Value::String(text) => Value::String(without_spaces(&text)),
        toml::Value::Integer(number) => Value::from(number as f64),
        toml::Value::Float(number) => Value::from(number),
        toml::Value::Boolean(flag) => Value::Bool(flag),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        toml::Value::Array(values) => values.into_iter().map(canonical).collect(),
        toml::Value::Table(table) => {
            let entries = table.into_iter();
            entries
                .map(|(key, value)| (key, canonical(value)))
                .collect()
        }
    }
}

/// An expression without spaces, except between two words.
fn without_spaces(text: &str) -> String {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    let mut kept = String::with_capacity(text.len());
    for part in text.split_whitespace() {
        if kept.ends_with(is_word) && part.starts_with(is_word) {
            kept.push(' ');
        }
        kept.push_str(part);
    }
    kept
}

fn all(descriptions: &[Description]) -> Result<Vec<Arc<dyn Set>>> {
    descriptions.iter().map(Description::set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> String {
        let (name, text) = ("set".to_owned(), text.to_owned());
        Description::File { name, text }.hash()
    }

    const SET: &str = "y = [\"a\", \"b\"]\nbounds = { a = [0, 1], b = [0, 2] }\n\
                       [[constraint]]\nexpr = \"a + b <= 1\"\n";

    #[test]
    fn layout_does_not_change_a_set() {
        let own = hash(SET);
        assert_eq!(hash(&format!("# a comment\n{SET}")), own);
        assert_eq!(hash(&format!("name = \"mine\"\n{SET}")), own);
        assert_eq!(hash(&SET.replace("a + b <= 1", "a+b  <=1")), own);
        assert_eq!(hash(&SET.replace("[0, 2]", "[0.0, 2.0]")), own);
        assert_eq!(hash(&format!("{SET}name = \"sum\"\n")), own);
        let turned = "bounds = { b = [0, 2], a = [0, 1] }\ny = [\"a\", \"b\"]\n\
                      [[constraint]]\nexpr = \"a + b <= 1\"\n";
        assert_eq!(hash(turned), own);
    }

    #[test]
    fn every_change_of_meaning_changes_the_hash() {
        let own = hash(SET);
        for (from, to) in [
            ("<= 1", "<= 1.0000001"),
            ("a + b", "a - b"),
            ("[0, 2]", "[0, 3]"),
            ("\"a\", \"b\"", "\"b\", \"a\""),
            ("a + b <= 1", "b + a <= 1"),
        ] {
            assert_ne!(hash(&SET.replacen(from, to, 1)), own, "{from} to {to}");
        }
        assert_ne!(hash("not TOML ["), hash("not TOML ]"));
    }
}
