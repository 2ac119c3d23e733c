//! Runs of the same method, seeds together.

use serde_json::Value;

use crate::evaluate::Summary;
use crate::guard::GuardFilterSettings;
use crate::ppo_fab::PpoFabSettings;
use crate::store::RunRecord;
use crate::train::{AlgorithmSettings, TrainSettings};

/// Runs that differ in their seed only.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) task: String,
    pub(super) label: String,
    pub(super) steps: usize,
    pub(super) runs: Vec<RunRecord>,
    pub(super) summaries: Vec<Summary>,
}

/// A mean over training seeds with the half width of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) mean: f64,
    /// `None` for one seed.
    pub(super) half_width: Option<f64>,
}

/// Quantile 0.975 of Student's t with 1, 2, … degrees of freedom.
const STUDENT: [f64; 10] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
];

impl Estimate {
    pub(super) fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count.max(1.0);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let half_width = (values.len() > 1).then(|| {
            let freedom = values.len() - 1;
            let quantile = STUDENT.get(freedom - 1).copied().unwrap_or(1.96);
            quantile * (squares / freedom as f64 / count).sqrt()
        });
        Self { mean, half_width }
    }

    pub(super) fn text(self, digits: usize) -> String {
        match self.half_width {
            Some(half) => format!("{:.digits$} ± {half:.digits$}", self.mean),
            None => format!("{:.digits$}", self.mean),
        }
    }
}

impl Group {
    /// What groups have in common that differ in the threshold of their guard only.
    pub(super) fn family(&self) -> String {
        let key = &self.runs[0].key;
        let filter = match key.filter.find('{') {
            None => key.filter.clone(),
            Some(start) => {
                let (guard, settings) = key.filter.split_at(start);
                let mut settings: Value = serde_json::from_str(settings).unwrap_or_default();
                if let Some(fields) = settings.as_object_mut() {
                    fields.remove("threshold");
                }
                format!("{guard}{settings}")
            }
        };
        format!("{} {} {filter}", key.algorithm, key.settings)
    }

    /// A figure of every seed's evaluation.
    pub(super) fn estimate(&self, measure: impl Fn(&Summary) -> f64) -> Estimate {
        let values: Vec<f64> = self.summaries.iter().map(measure).collect();
        Estimate::of(&values)
    }
}

/// Groups of all runs, ordered by task, then by cost.
pub(super) fn groups(runs: &[RunRecord]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for run in runs {
        let (label, steps) = (label(run), run.steps());
        let same = |group: &&mut Group| {
            let first = &group.runs[0].key;
            let mut key = run.key.clone();
            key.seed = first.seed;
            key == *first
        };
        let summary = run.evaluation.summary();
        match groups.iter_mut().find(same) {
            Some(group) => {
                group.runs.push(run.clone());
                group.summaries.push(summary);
            }
            None => groups.push(Group {
                task: run.key.task.clone(),
                label,
                steps,
                runs: vec![run.clone()],
                summaries: vec![summary],
            }),
        }
    }
    let cost = |group: &Group| group.estimate(|summary| summary.cost.mean).mean;
    groups.sort_by(|a, b| {
        let tasks = a.task.cmp(&b.task);
        tasks.then_with(|| cost(a).total_cmp(&cost(b)))
    });
    groups
}

/// The method's name, and the settings that are not the defaults.
fn label(run: &RunRecord) -> String {
    let mut changes = Vec::new();
    let filter = &run.key.filter;
    let named = match &run.key.algorithm[..] {
        "ppo-fab" if filter.starts_with("projector") => {
            Some(AlgorithmSettings::PpoFab(PpoFabSettings::paper()))
        }
        name => AlgorithmSettings::named(name, &run.key.task),
    };
    if let Some(algorithm) = named {
        let default = TrainSettings {
            algorithm,
            ..TrainSettings::default()
        };
        let default = serde_json::to_value(default).unwrap_or_default();
        differences("", &default, &run.key.settings, &mut changes);
    }
    let mut name = run.key.algorithm.clone();
    if let Some(filter) = filter_label(filter) {
        name.push_str(" + ");
        name.push_str(&filter);
    }
    if let Some(other) = &run.key.trained_with {
        name.push_str(&match filter_label(other) {
            Some(other) => format!(", trained with {other}"),
            None => ", trained without".to_owned(),
        });
    }
    match changes.is_empty() {
        true => name,
        false => format!("{name} ({})", changes.join(", ")),
    }
}

/// The kind of a filter, and its settings that are not the defaults. `None` without a filter.
fn filter_label(digest: &str) -> Option<String> {
    let mut words = digest.split(' ');
    let kind = words.next().filter(|kind| !kind.is_empty())?;
    if kind == "projector" {
        return Some(match words.next() {
            Some("Released") => "projector in released units".to_owned(),
            _ => "projector in right units".to_owned(),
        });
    }
    let settings = digest.find('{').map(|start| &digest[start..]);
    let found = settings.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let default = serde_json::to_value(GuardFilterSettings::default()).unwrap_or_default();
    let mut changes = Vec::new();
    if let Some(found) = found {
        differences("", &default, &found, &mut changes);
    }
    Some(match changes.is_empty() {
        true => kind.to_owned(),
        false => format!("{kind} [{}]", changes.join(", ")),
    })
}

/// Names and values of the settings that differ. Task, steps and checkpoints make no other method.
fn differences(prefix: &str, default: &Value, found: &Value, changes: &mut Vec<String>) {
    match (default, found) {
        (Value::Object(fields), Value::Object(_)) => {
            for (name, value) in fields {
                if prefix.is_empty() && ["task", "steps", "checkpoint_epochs"].contains(&&name[..])
                {
                    continue;
                }
                let other = found.get(name).unwrap_or(&Value::Null);
                differences(name, value, other, changes);
            }
        }
        _ if default != found => changes.push(format!("{prefix} = {found}")),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_named_with_what_is_unusual() {
        let digest = |threshold| {
            let settings = GuardFilterSettings {
                threshold,
                ..GuardFilterSettings::default()
            };
            format!("guard 0123 {}", serde_json::to_string(&settings).unwrap())
        };
        assert_eq!(filter_label(&digest(0.8)).unwrap(), "guard");
        assert_eq!(
            filter_label(&digest(0.9)).unwrap(),
            "guard [threshold = 0.9]"
        );
        assert_eq!(filter_label("shield Steer 3 30 0.01").unwrap(), "shield");
        let projector = filter_label("projector Released 0123").unwrap();
        assert_eq!(projector, "projector in released units");
        assert_eq!(filter_label(""), None);
    }

    #[test]
    fn intervals_are_students() {
        let estimate = Estimate::of(&[1.0, 2.0, 3.0]);
        assert_eq!(estimate.mean, 2.0);
        // t(0.975, 2) · 1/√3
        assert!((estimate.half_width.unwrap() - 2.4843).abs() < 1e-3);
        assert_eq!(Estimate::of(&[1.5]).text(1), "1.5");
        assert_eq!(estimate.text(1), "2.0 ± 2.5");
    }
}
