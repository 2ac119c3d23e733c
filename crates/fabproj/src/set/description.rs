//! Sets as model files hold them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Affine, And, Not, Or, Result, Set, SetError, Shrink, built_in, from_toml};

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

    /// A fingerprint: the BLAKE3 hash, in hexadecimal, of the description as JSON.
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
        let json = serde_json::to_vec(self)
            .expect("text and finite numbers, which is all a description holds, are always JSON");
        blake3::hash(&json).to_hex().to_string()
    }
}

/// Builds the set that a model file describes.
///
/// # Errors
///
/// [`SetError::NotRebuildable`] for a closure, and whatever is wrong with a description that was
/// edited by hand.
///
/// ```
/// use fabproj::set::{Description, from_description};
/// let set = from_description(&Description::built_in("shell-3d"))?;
/// assert_eq!(set.dim(), 3);
/// # Ok::<(), fabproj::set::SetError>(())
/// ```
pub fn from_description(description: &Description) -> Result<Arc<dyn Set>> {
    match description {
        Description::BuiltIn { name } => built_in(name),
        Description::Closure { name } => Err(SetError::NotRebuildable { name: name.clone() }),
        Description::File { text, .. } => from_toml(text),
        Description::Labelled { name, .. } => Err(SetError::Learned { name: name.clone() }),
        Description::And { sets } => Ok(Arc::new(And::new(from_descriptions(sets)?)?)),
        Description::Or { sets } => Ok(Arc::new(Or::new(from_descriptions(sets)?)?)),
        Description::Not { set } => Ok(Arc::new(Not::new(from_description(set)?)?)),
        Description::Affine {
            set,
            matrix,
            offset,
        } => {
            let set = from_description(set)?;
            Ok(Arc::new(Affine::new(set, matrix.clone(), offset.clone())?))
        }
        Description::Shrink { set, margin } => {
            Ok(Arc::new(Shrink::new(from_description(set)?, *margin)?))
        }
    }
}

fn from_descriptions(descriptions: &[Description]) -> Result<Vec<Arc<dyn Set>>> {
    descriptions.iter().map(from_description).collect()
}
