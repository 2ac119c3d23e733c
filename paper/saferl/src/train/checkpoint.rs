//! A training between two epochs, as a file.

use std::path::Path;

use fabproj_nn::state::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::{Agent, AgentRecord};
use crate::algorithm::Learner;
use crate::disk::{read_if_there, write_atomically};
use crate::error::{Result, RlError};
use crate::rollout::{Collector, CollectorRecord};
use crate::train::record::EpochRecord;
use crate::train::settings::{CheckedSettings, TrainSettings};

/// Raised when a checkpoint of an older program would continue differently.
const FORMAT: u32 = 1;

/// Everything but the tensors.
#[derive(Serialize, Deserialize)]
struct Record {
    format: u32,
    settings: TrainSettings,
    seed: u64,
    filter: String,
    agent: AgentRecord,
    collector: CollectorRecord,
    learner: Value,
    curve: Vec<EpochRecord>,
}

/// Who a checkpoint belongs to.
#[derive(Clone, Copy)]
pub(super) struct Identity<'a> {
    pub(super) settings: &'a CheckedSettings,
    pub(super) seed: u64,
    /// Digest of the filter; empty without one.
    pub(super) filter: &'a str,
}

/// What a checkpoint restores beside the agent and the learner.
pub(super) struct Restored {
    pub(super) collector: CollectorRecord,
    pub(super) curve: Vec<EpochRecord>,
}

/// Writes a checkpoint.
pub(super) fn save(
    path: &Path,
    identity: Identity<'_>,
    agent: &Agent,
    learner: &dyn Learner,
    collector: &Collector,
    curve: &[EpochRecord],
) -> Result<()> {
    let mut state = State::new(&Record {
        format: FORMAT,
        settings: identity.settings.settings().clone(),
        seed: identity.seed,
        filter: identity.filter.to_owned(),
        agent: agent.record(),
        collector: collector.record(),
        learner: learner.record(),
        curve: curve.to_vec(),
    });
    agent.save(&mut state);
    learner.save(&mut state);
    let mut bytes = state.to_bytes().map_err(RlError::disk("write", path))?;
    bytes.extend_from_slice(blake3::hash(&bytes).as_bytes());
    write_atomically(path, &bytes)
}

/// The bytes before the checksum; all of them if there is none that fits. Then they are a whole state without a
/// checksum, or none that can be read.
fn unsealed(bytes: &[u8]) -> &[u8] {
    match bytes.split_last_chunk::<{ blake3::OUT_LEN }>() {
        Some((state, checksum)) if blake3::hash(state).as_bytes() == checksum => state,
        _ => bytes,
    }
}

/// Reads a checkpoint into the agent and the learner; `None` if there is none.
pub(super) fn load(
    path: &Path,
    identity: Identity<'_>,
    agent: &mut Agent,
    learner: &mut dyn Learner,
) -> Result<Option<Restored>> {
    let Some(bytes) = read_if_there(path)? else {
        return Ok(None);
    };
    let damaged = || RlError::damaged(path, "it is not a checkpoint of a training; remove it");
    let state = State::from_bytes(unsealed(&bytes)).ok_or_else(damaged)?;
    let record: Record = state.value().ok_or_else(damaged)?;
    if let Some(difference) = difference(&record, identity) {
        let path = path.to_owned();
        return Err(RlError::OtherRun { path, difference });
    }
    if !agent.load(&state, record.agent) || !learner.load(&state, &record.learner) {
        return Err(RlError::damaged(path, "a tensor is missing; remove it"));
    }
    Ok(Some(Restored {
        collector: record.collector,
        curve: record.curve,
    }))
}

/// What makes a checkpoint another run's, if anything.
fn difference(record: &Record, identity: Identity<'_>) -> Option<String> {
    if record.format != FORMAT {
        return Some(format!("its format is {}, not {FORMAT}", record.format));
    }
    let text = |value: &Value| match value {
        Value::Null => "nothing".to_owned(),
        value => value.to_string(),
    };
    let (ours, theirs) = (
        as_json(identity.settings.settings()),
        as_json(&record.settings),
    );
    let seeds = (Value::from(identity.seed), Value::from(record.seed));
    let filters = (
        Value::from(identity.filter),
        Value::from(record.filter.clone()),
    );
    let mut pairs = vec![
        ("seed".to_owned(), seeds.0, seeds.1),
        ("filter".to_owned(), filters.0, filters.1),
    ];
    flatten("", &ours, &theirs, &mut pairs);
    let other = pairs.into_iter().find(|(_, ours, theirs)| ours != theirs)?;
    let (name, ours, theirs) = other;
    Some(format!(
        "its {name} is {}, not {}",
        text(&theirs),
        text(&ours)
    ))
}

fn as_json(settings: &TrainSettings) -> Value {
    serde_json::to_value(settings).unwrap_or_default()
}

/// Pairs of values with dotted names.
fn flatten(prefix: &str, ours: &Value, theirs: &Value, pairs: &mut Vec<(String, Value, Value)>) {
    let Value::Object(fields) = ours else {
        pairs.push((prefix.to_owned(), ours.clone(), theirs.clone()));
        return;
    };
    for (name, value) in fields {
        let other = theirs.get(name).unwrap_or(&Value::Null);
        let name = match prefix {
            "" => name.clone(),
            prefix => format!("{prefix}.{name}"),
        };
        flatten(&name, value, other, pairs);
    }
}
