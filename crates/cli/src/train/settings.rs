//! Settings of a training: a preset, then a file, then single assignments.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use fabproj::near::near_names;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::failure::wrong_usage;

/// The settings of a training as they are typed.
#[derive(clap::Args)]
pub struct Settings {
    /// A usable model in seconds, instead of a good one
    #[arg(long)]
    pub quick: bool,

    /// A TOML file of settings; what it does not name stays as in the preset
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// One setting, such as `width=32`; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    assignments: Vec<String>,
}

impl Settings {
    /// A preset's settings with the changes that were asked for.
    pub fn adjusted<C: Serialize + DeserializeOwned>(&self, base: &C) -> Result<C> {
        adjusted(base, self.config.as_deref(), &self.assignments)
    }
}

/// The configuration `base` with the fields changed that a TOML file and assignments `key=value` name.
fn adjusted<C: Serialize + DeserializeOwned>(
    base: &C,
    file: Option<&Path>,
    assignments: &[String],
) -> Result<C> {
    let mut config = serde_json::to_value(base)?;
    if let Some(path) = file {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the configuration {}", path.display()))?;
        let table: toml::Table = toml::from_str(&text).map_err(|error| {
            let reason = error.to_string();
            anyhow!("{} is not TOML: {}", path.display(), reason.trim_end())
        })?;
        for (key, value) in table {
            let value = serde_json::to_value(value)?;
            let place = format!("{}, {key}", path.display());
            assign::<C>(&mut config, &key, value, &place)?;
        }
    }
    for assignment in assignments {
        let Some((key, text)) = assignment.split_once('=') else {
            return Err(wrong_usage(format!(
                "--set {assignment}: expected KEY=VALUE, such as --set width=32"
            )));
        };
        let place = format!("--set {assignment}");
        assign::<C>(&mut config, key.trim(), value(text.trim()), &place)?;
    }
    Ok(serde_json::from_value(config)?)
}

/// A value as TOML writes it; text needs no quotation marks.
fn value(text: &str) -> Value {
    let table = toml::from_str::<toml::Table>(&format!("value = {text}")).ok();
    let parsed = table.and_then(|mut table| table.remove("value"));
    let parsed = parsed.and_then(|value| serde_json::to_value(value).ok());
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Changes one field (`part.field` within a part) and sees whether the whole can still be read, so that
/// an error names the field at fault.
fn assign<C: DeserializeOwned>(
    config: &mut Value,
    key: &str,
    value: Value,
    place: &str,
) -> Result<()> {
    put(config, key, value).map_err(|problem| wrong_usage(format!("{place}: {problem}")))?;
    serde_json::from_value::<C>(config.clone())
        .map(|_| ())
        .map_err(|error| wrong_usage(format!("{place}: {error}")))
}

fn put(config: &mut Value, key: &str, value: Value) -> Result<(), String> {
    let (first, rest) = match key.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (key, None),
    };
    let Value::Object(fields) = config else {
        return Err(format!("there is nothing within it called `{key}`"));
    };
    let name = known(fields, first).ok_or_else(|| {
        let near = near_names(first, fields.keys().map(String::as_str));
        format!(
            "there is no setting `{first}`; near names: {}",
            near.join(", ")
        )
    })?;
    let Some(field) = fields.get_mut(&name) else {
        return Err(format!("there is no setting `{first}`"));
    };
    match (rest, value) {
        (Some(rest), value) => put(field, rest, value),
        // A table of a file changes the fields that it names and leaves the others.
        (None, Value::Object(parts)) if field.is_object() => parts
            .into_iter()
            .try_for_each(|(key, value)| put(field, &key, value)),
        (None, value) => {
            *field = value;
            Ok(())
        }
    }
}

/// The field's own spelling: `-` and `_` are the same to a person.
fn known(fields: &Map<String, Value>, key: &str) -> Option<String> {
    let plain = |text: &str| text.replace('-', "_");
    fields
        .keys()
        .find(|name| plain(name) == plain(key))
        .cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    struct Config {
        width: usize,
        learning_rate: f32,
        latent: Option<String>,
        weights: Weights,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Weights {
        hinge: f32,
        geometry: f32,
    }

    impl Default for Config {
        fn default() -> Self {
            let weights = Weights {
                hinge: 5.0,
                geometry: 0.1,
            };
            Self {
                width: 64,
                learning_rate: 0.002,
                latent: None,
                weights,
            }
        }
    }

    fn with(assignments: &[&str]) -> Result<Config> {
        let assignments: Vec<_> = assignments.iter().map(|text| (*text).to_owned()).collect();
        adjusted(&Config::default(), None, &assignments)
    }

    #[test]
    fn fields_are_changed_one_by_one() {
        let found = with(&[
            "width=32",
            "learning_rate = 1e-3",
            "latent=ball",
            "weights.hinge=2",
        ]);
        let weights = Weights {
            hinge: 2.0,
            geometry: 0.1,
        };
        let latent = Some("ball".to_owned());
        assert_eq!(
            found.unwrap(),
            Config {
                width: 32,
                learning_rate: 1e-3,
                latent,
                weights
            }
        );
        assert_eq!(with(&[]).unwrap(), Config::default());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = |assignment: &str| with(&[assignment]).unwrap_err().to_string();
        assert!(
            message("widht=3").contains("near names: width"),
            "{}",
            message("widht=3")
        );
        assert!(message("width=wide").contains("--set width=wide"));
        assert!(message("width").contains("KEY=VALUE"));
        assert!(message("weights.hing=1").contains("hinge"));
        assert!(message("width.hinge=1").contains("hinge"));
    }

    #[test]
    fn files_change_what_they_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, "width = 16\n[weights]\nhinge = 1.5\n").unwrap();
        let found = adjusted(&Config::default(), Some(&path), &["width=8".to_owned()]).unwrap();
        assert_eq!(
            (found.width, found.weights.hinge, found.weights.geometry),
            (8, 1.5, 0.1)
        );
        std::fs::write(&path, "wdth = 16\n").unwrap();
        let error = adjusted(&Config::default(), Some(&path), &[])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("config.toml, wdth") && error.contains("width"),
            "{error}"
        );
    }
}
