//! Sets as model files hold them.

use serde::{Deserialize, Serialize};

/// A set as it is written into a model file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Description {
    /// A built-in set, by name.
    BuiltIn {
        /// The name, as `fabproj sets` lists it.
        name: String,
    },
    /// A closure of the program that trained the model: it cannot be built again from a file.
    Closure {
        /// The name that the program gave it.
        name: String,
    },
}

impl Description {
    /// The description of a built-in set.
    pub fn built_in(name: &str) -> Self {
        Self::BuiltIn {
            name: name.to_owned(),
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
