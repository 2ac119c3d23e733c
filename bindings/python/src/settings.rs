//! Settings from keyword arguments.

use fabproj::Settings;
use fabproj::solve::SolveSettings;
use fabproj::support::{did_you_mean, near_names};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::errors::value;

/// The names of the presets.
const PRESETS: [&str; 4] = ["default", "small", "quick", "quick-small"];
/// Written only when it is not usual, so that a list of fields does not show it.
const UNWRITTEN: &str = "gate-depth";

/// A preset with the settings changed that `changes` names.
pub fn settings(
    preset: &str,
    seed: u64,
    changes: Option<&Bound<'_, PyDict>>,
) -> PyResult<Settings> {
    let base = match preset {
        "default" => Settings::default(),
        "small" => Settings::small(),
        "quick" => Settings::quick(),
        "quick-small" => Settings::quick_small(),
        other => {
            let near = near_names(other, PRESETS);
            let listed = PRESETS.join(", ");
            return Err(value(format!(
                "unknown preset `{other}`{}; the presets are {listed}",
                did_you_mean(&near)
            )));
        }
    };
    let name = base.preset;
    let adjusted = adjusted(&base, changes)?;
    let settings = Settings {
        seed,
        preset: name,
        ..adjusted
    };
    settings.validate().map_err(value)?;
    Ok(settings)
}

/// The settings of a solver's training with those changed that `changes` names.
pub fn of_solver(
    preset: &str,
    seed: u64,
    changes: Option<&Bound<'_, PyDict>>,
) -> PyResult<SolveSettings> {
    if preset != PRESETS[0] {
        return Err(value(format!(
            "preset=\"{preset}\" is for sets, this is a problem: leave it out, or set labels=, goal= or \
             max_steps="
        )));
    }
    let mut settings = adjusted(&SolveSettings::default(), changes)?;
    settings.seed = seed;
    Ok(settings)
}

fn adjusted<S: Serialize + DeserializeOwned>(
    base: &S,
    changes: Option<&Bound<'_, PyDict>>,
) -> PyResult<S> {
    let mut fields = serde_json::to_value(base).map_err(value)?;
    for (key, setting) in changes.into_iter().flatten() {
        change::<S>(&mut fields, &key.extract::<String>()?, &setting)?;
    }
    serde_json::from_value(fields).map_err(value)
}

fn change<S: DeserializeOwned>(
    fields: &mut Value,
    key: &str,
    setting: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let py = setting.py();
    let Value::Object(map) = fields else {
        return Ok(());
    };
    let with_hyphens = key.replace('_', "-");
    let name = match map.contains_key(key) {
        true => key.to_owned(),
        false => with_hyphens,
    };
    if name != UNWRITTEN && !map.contains_key(&name) {
        let near = near_names(&name, map.keys().map(String::as_str));
        let near: Vec<_> = near.iter().map(|name| name.replace('-', "_")).collect();
        return Err(value(format!(
            "unknown setting `{key}`{}",
            did_you_mean(&near)
        )));
    }
    let text: String = py
        .import("json")?
        .call_method1("dumps", (setting,))?
        .extract()?;
    map.insert(name, serde_json::from_str(&text).map_err(value)?);
    serde_json::from_value::<S>(fields.clone())
        .map_err(|error| value(format!("{key}={}: {error}", setting)))?;
    Ok(())
}
