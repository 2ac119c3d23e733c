//! Settings of a training: a preset, then a file, then single assignments.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use fabproj::Settings;
use fabproj::support::{did_you_mean, near_names, read_at_most};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::failure::wrong_usage;
use crate::options::Common;
use crate::show;

/// Bytes of a file of settings, at most.
const LONGEST: usize = 1_000_000;

/// The settings to start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// The best known recipe
    Default,
    /// The same with small networks, for tight loops
    Small,
}

impl Preset {
    /// The preset's settings as they are.
    pub fn base(self, quick: bool) -> Settings {
        match (self, quick) {
            (Self::Default, false) => Settings::default(),
            (Self::Default, true) => Settings::quick(),
            (Self::Small, false) => Settings::small(),
            (Self::Small, true) => Settings::quick_small(),
        }
    }

    /// The preset's settings with the changes that were asked for.
    pub fn settings(
        self,
        options: &SettingOptions,
        max_queries: Option<u64>,
        seed: u64,
    ) -> Result<Settings> {
        let base = self.base(options.quick);
        let adjusted = options.adjusted(&base)?;
        let settings = Settings {
            seed,
            preset: base.preset,
            max_queries: max_queries.or(adjusted.max_queries),
            ..adjusted
        };
        settings.validate().map_err(wrong_usage)?;
        Ok(settings)
    }

    /// What to try where a model falls short.
    pub fn advice(self, quick: bool) -> &'static str {
        match self {
            _ if quick => "train without --quick",
            Self::Default => {
                "try another --seed, a longer training (--setting phase-two=9000) or wider networks \
                 (--setting width=128)"
            }
            Self::Small => "try --preset default, or another --seed",
        }
    }
}

/// The settings of a training as they are typed.
#[derive(clap::Args)]
pub struct SettingOptions {
    /// A usable model in seconds, instead of a good one
    #[arg(long)]
    pub quick: bool,

    /// A TOML file of settings; those that it leaves out stay as in the preset
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// List all settings with the values that they would have, and end
    #[arg(long)]
    pub list_settings: bool,

    /// One setting, such as `width=32`; may be repeated
    #[arg(long = "setting", value_name = "KEY=VALUE")]
    assignments: Vec<String>,
}

impl SettingOptions {
    /// Prints a preset's settings with the changes that were asked for, as a file of settings.
    ///
    /// # Errors
    /// As for [`adjusted`](Self::adjusted).
    pub fn list<C: Serialize + DeserializeOwned>(
        &self,
        base: &C,
        common: &Common,
    ) -> Result<ExitCode> {
        let settings = self.adjusted(base)?;
        if common.json {
            show::print_json(&settings)?;
        } else {
            let mut value = serde_json::to_value(&settings)?;
            tidy(&mut value);
            show::print(toml::to_string(&value)?.trim_end())?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// A preset's settings with the changes that were asked for. Fields that serde skips are not kept.
    ///
    /// # Errors
    /// Wrong usage for a setting that does not exist or has another type.
    pub fn adjusted<C: Serialize + DeserializeOwned>(&self, base: &C) -> Result<C> {
        adjusted(base, self.config.as_deref(), &self.assignments)
    }
}

/// Makes settings what a file of settings holds: TOML has no null, so that a setting without a value is left out,
/// and a number of single precision has its own few digits.
fn tidy(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, value| !value.is_null());
        fields.values_mut().for_each(tidy);
    }
    let single = value.as_f64().map(|number| (number, number as f32));
    if let Some((number, single)) = single
        && value.is_f64()
        && f64::from(single) == number
        && let Ok(short) = single.to_string().parse::<f64>()
    {
        *value = short.into();
    }
}

/// The settings `base` with the fields changed that a TOML file and assignments `key=value` name.
fn adjusted<C: Serialize + DeserializeOwned>(
    base: &C,
    file: Option<&Path>,
    assignments: &[String],
) -> Result<C> {
    let mut settings = serde_json::to_value(base)?;
    if let Some(path) = file {
        let name = path.display();
        let text = read_at_most(path, LONGEST)
            .with_context(|| format!("cannot read the settings {name}"))?;
        let table: toml::Table =
            toml::from_str(&String::from_utf8_lossy(&text)).map_err(|error| {
                let reason = error.to_string();
                anyhow!("cannot parse {name} as TOML: {}", reason.trim_end())
            })?;
        for (key, value) in table {
            let value = serde_json::to_value(value)?;
            assign::<C>(&mut settings, &key, value, &format!("{name}, {key}"))?;
        }
    }
    for assignment in assignments {
        let place = format!("--setting {assignment}");
        let Some((key, text)) = assignment.split_once('=') else {
            return Err(wrong_usage(format!(
                "{place}: expected KEY=VALUE, such as --setting width=32"
            )));
        };
        assign::<C>(&mut settings, key.trim(), value(text.trim()), &place)?;
    }
    Ok(serde_json::from_value(settings)?)
}

/// A value as TOML writes it; text needs no quotation marks.
fn value(text: &str) -> Value {
    let table = toml::from_str::<toml::Table>(&format!("value = {text}")).ok();
    let parsed = table.and_then(|mut table| table.remove("value"));
    let parsed = parsed.and_then(|value| serde_json::to_value(value).ok());
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Changes one field (`part.field` within a part) and checks that the whole can still be read, so that an
/// error names the field at fault.
fn assign<C: DeserializeOwned>(
    settings: &mut Value,
    key: &str,
    value: Value,
    place: &str,
) -> Result<()> {
    let wrong = |problem: String| wrong_usage(format!("{place}: {problem}"));
    let unknown = put(settings, key, value.clone()).err();
    if let Some(problem) = &unknown {
        // Some settings are not written while they have their usual value: whether this is one of them is
        // found by reading it.
        match settings {
            Value::Object(fields) if !key.contains('.') && !value.is_object() => {
                fields.insert(key.replace('_', "-"), value);
            }
            _ => return Err(wrong(problem.clone())),
        }
    }
    match serde_json::from_value::<C>(settings.clone()) {
        Ok(_) => Ok(()),
        Err(error) => Err(wrong(unknown.unwrap_or_else(|| error.to_string()))),
    }
}

fn put(settings: &mut Value, key: &str, value: Value) -> Result<(), String> {
    let (first, rest) = match key.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (key, None),
    };
    let Value::Object(fields) = settings else {
        return Err(format!("it has no part `{key}`"));
    };
    let Some(name) = known(fields, first) else {
        let near = near_names(first, fields.keys().map(String::as_str));
        return Err(format!("unknown setting `{first}`{}", did_you_mean(&near)));
    };
    let field = fields.entry(name).or_insert(Value::Null);
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

/// The field's own spelling: `-` and `_` mean the same.
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
            message("widht=3").contains("unknown setting `widht`; did you mean `width`"),
            "{}",
            message("widht=3")
        );
        assert!(message("width=wide").contains("--setting width=wide"));
        assert!(message("width").contains("KEY=VALUE"));
        assert!(message("weights.hing=1").contains("hinge"));
        assert!(message("width.hinge=1").contains("hinge"));
    }

    #[test]
    fn settings_that_are_written_only_when_unusual_can_be_set() {
        let options = SettingOptions {
            quick: true,
            config: None,
            list_settings: false,
            assignments: vec!["gate_depth=3".to_owned()],
        };
        let settings = Preset::Default.settings(&options, Some(5000), 7).unwrap();
        assert_eq!((settings.gate_depth, settings.seed), (3, 7));
        assert_eq!(
            (settings.preset, settings.max_queries),
            ("quick", Some(5000))
        );
        let small = Preset::Small.settings(&options, None, 0).unwrap();
        assert_eq!((small.preset, small.gate_depth), ("quick-small", 3));
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
