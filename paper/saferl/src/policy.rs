//! A trained policy, and its file.
//!
//! A policy file is a safetensors file. Other programs need nothing else to run it:
//!
//! | tensor | type | shape | meaning |
//! |---|---|---|---|
//! | `observation.mean` | F64 | inputs | mean of each entry of the observation |
//! | `observation.variance` | F64 | inputs | its variance |
//! | `observation.count` | F64 | 1 | observations seen |
//! | `mean.0.weight`, `mean.1.weight`, … | F32 | outputs, inputs | weights of the layers |
//! | `mean.0.bias`, `mean.1.bias`, … | F32 | outputs | their biases |
//! | `log_std` | F32 | actions | log σ; not needed to act deterministically |
//!
//! The metadata entry `fab-saferl-policy` is JSON: `format`, `task`, `settings`, `seed`, `steps`, and
//! `filter`, the digest of the action filter that the policy was trained with (empty: none).
//!
//! In numpy:
//!
//! ```python
//! from safetensors.numpy import load_file
//! p = load_file("policy.safetensors")
//! layers = sum(name.endswith("weight") for name in p)
//! def act(observation):
//!     h = (observation - p["observation.mean"]) / np.sqrt(p["observation.variance"] + 1e-8)
//!     for i in range(layers):
//!         h = p[f"mean.{i}.weight"] @ h + p[f"mean.{i}.bias"]
//!         h = np.tanh(h) if i + 1 < layers else h
//!     return h  # clip to the task's bounds
//! ```

use std::collections::HashMap;
use std::path::Path;

use fabproj_core::Activation;
use fabproj_nn::{Mlp, MlpSpec, Tape};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::disk::{read_safetensors, write_atomically};
use crate::error::{Result, RlError};
use crate::gaussian::GaussianPolicy;
use crate::normaliser::Normaliser;

/// The metadata entry.
const ENTRY: &str = "fab-saferl-policy";

/// The version of the layout.
const FORMAT: u32 = 1;

/// A trained policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The network and σ.
    pub actor: GaussianPolicy,
    /// Statistics of the observations.
    pub normaliser: Normaliser,
    /// How it was made.
    pub record: PolicyRecord,
}

/// How a policy was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyRecord {
    /// The task's name.
    pub task: String,
    /// The settings of the training.
    pub settings: Value,
    /// The seed of the training.
    pub seed: u64,
    /// Steps of the training.
    pub steps: usize,
    /// Digest of the action filter that it was trained with; empty for none.
    pub filter: String,
}

#[derive(Serialize, Deserialize)]
struct Metadata {
    format: u32,
    #[serde(flatten)]
    record: PolicyRecord,
}

impl Policy {
    /// The deterministic action: the mean, not clipped.
    ///
    /// # Panics
    /// If a slice does not have the policy's dimensions.
    pub fn act(&self, observation: &[f64], tape: &mut Tape, action: &mut [f64]) {
        let mut input = vec![0.0; self.normaliser.dim()];
        self.normaliser.normalise(observation, &mut input);
        let mean = self.actor.mean.forward(&input, 1, tape);
        assert_eq!(action.len(), mean.len(), "Policy::act: action");
        action
            .iter_mut()
            .zip(mean)
            .for_each(|(slot, value)| *slot = f64::from(*value));
    }

    /// Writes the file.
    ///
    /// # Errors
    /// [`RlError::Disk`].
    pub fn save(&self, path: &Path) -> Result<()> {
        let bytes = self.to_bytes().map_err(|error| {
            RlError::disk("write", path)(std::io::Error::other(error.to_string()))
        })?;
        write_atomically(path, &bytes)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`RlError::Disk`] or [`RlError::Damaged`].
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = read_safetensors(path)?;
        Self::from_bytes(&bytes).map_err(|what| RlError::damaged(path, what))
    }

    fn to_bytes(&self) -> std::result::Result<Vec<u8>, safetensors::SafeTensorError> {
        let (mean, spec) = (&self.actor.mean, self.actor.mean.spec());
        let (inputs, actions) = (self.normaliser.dim(), self.actor.action_dim());
        let count = [self.normaliser.count()];
        let (average, variance) = (self.normaliser.mean(), self.normaliser.variance());
        let mut tensors = vec![
            wide("observation.mean", vec![inputs], average),
            wide("observation.variance", vec![inputs], variance),
            wide("observation.count", vec![1], &count),
            narrow("log_std".to_owned(), vec![actions], &self.actor.log_std),
        ];
        for layer in 0..spec.layer_count() {
            let (columns, rows) = spec.layer_shape(layer);
            let (weight, bias) = (format!("mean.{layer}.weight"), format!("mean.{layer}.bias"));
            tensors.push(narrow(weight, vec![rows, columns], mean.weights(layer)));
            tensors.push(narrow(bias, vec![rows], mean.bias(layer)));
        }
        let mut views = Vec::new();
        for (name, dtype, shape, data) in &tensors {
            views.push((name, TensorView::new(*dtype, shape.clone(), data)?));
        }
        let metadata = Metadata {
            format: FORMAT,
            record: self.record.clone(),
        };
        let json = serde_json::to_string(&metadata).unwrap_or_default();
        safetensors::serialize(views, Some(HashMap::from([(ENTRY.to_owned(), json)])))
    }

    fn from_bytes(bytes: &[u8]) -> std::result::Result<Self, String> {
        let text = |error: safetensors::SafeTensorError| error.to_string();
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(text)?;
        let json = header.metadata().as_ref().and_then(|map| map.get(ENTRY));
        let json = json.ok_or("it is not a policy file")?;
        let metadata: Metadata = serde_json::from_str(json).map_err(|e| e.to_string())?;
        if metadata.format != FORMAT {
            let found = metadata.format;
            return Err(format!(
                "its format is {found}, this program reads {FORMAT}"
            ));
        }
        let file = SafeTensors::deserialize(bytes).map_err(text)?;
        let actor = read_actor(&file)?;
        let inputs = actor.observation_dim();
        let statistics = |name| read_wide(&file, name, inputs);
        let count = read_wide(&file, "observation.count", 1)?[0];
        let (mean, variance) = (
            statistics("observation.mean")?,
            statistics("observation.variance")?,
        );
        let policy = Self {
            normaliser: Normaliser::from_parts(count, mean, variance),
            actor,
            record: metadata.record,
        };
        if policy.actor.is_finite() && policy.normaliser.is_finite() {
            Ok(policy)
        } else {
            Err("a value is NaN or infinite".to_owned())
        }
    }
}

type Tensor = (String, Dtype, Vec<usize>, Vec<u8>);

fn wide(name: &str, shape: Vec<usize>, values: &[f64]) -> Tensor {
    let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    (name.to_owned(), Dtype::F64, shape, bytes)
}

fn narrow(name: String, shape: Vec<usize>, values: &[f32]) -> Tensor {
    let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    (name, Dtype::F32, shape, bytes)
}

/// The layers in their order: each must read what the one before writes.
fn read_actor(file: &SafeTensors<'_>) -> std::result::Result<GaussianPolicy, String> {
    let mut shapes = Vec::new();
    while let Ok(view) = file.tensor(&format!("mean.{}.weight", shapes.len())) {
        let [rows, columns] = view.shape() else {
            return Err(format!("mean.{}.weight is not a matrix", shapes.len()));
        };
        shapes.push((*columns, *rows));
    }
    let (Some(first), Some(last)) = (shapes.first(), shapes.last()) else {
        return Err("it has no layers".to_owned());
    };
    let hidden: Vec<usize> = shapes[..shapes.len() - 1].iter().map(|s| s.1).collect();
    let spec = MlpSpec::new(first.0, &hidden, last.1).with_hidden(Activation::Tanh);
    let mut mean = Mlp::zeros(spec.clone()).map_err(|error| error.to_string())?;
    for layer in 0..shapes.len() {
        let (columns, rows) = spec.layer_shape(layer);
        let weights = read_narrow(file, &format!("mean.{layer}.weight"), rows * columns)?;
        mean.weights_mut(layer).copy_from_slice(&weights);
        let bias = read_narrow(file, &format!("mean.{layer}.bias"), rows)?;
        mean.bias_mut(layer).copy_from_slice(&bias);
    }
    let log_std = read_narrow(file, "log_std", last.1)?;
    Ok(GaussianPolicy { mean, log_std })
}

fn read_narrow(
    file: &SafeTensors<'_>,
    name: &str,
    length: usize,
) -> std::result::Result<Vec<f32>, String> {
    let (chunks, rest) = data(file, name, Dtype::F32, 4 * length)?.as_chunks::<4>();
    debug_assert!(rest.is_empty());
    Ok(chunks
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect())
}

fn read_wide(
    file: &SafeTensors<'_>,
    name: &str,
    length: usize,
) -> std::result::Result<Vec<f64>, String> {
    let (chunks, rest) = data(file, name, Dtype::F64, 8 * length)?.as_chunks::<8>();
    debug_assert!(rest.is_empty());
    Ok(chunks
        .iter()
        .map(|bytes| f64::from_le_bytes(*bytes))
        .collect())
}

fn data<'a>(
    file: &SafeTensors<'a>,
    name: &str,
    dtype: Dtype,
    bytes: usize,
) -> std::result::Result<&'a [u8], String> {
    let view = file.tensor(name).map_err(|error| error.to_string())?;
    if view.dtype() != dtype || view.data().len() != bytes {
        let (found, shape) = (view.dtype(), view.shape());
        return Err(format!(
            "{name} is {found:?} with shape {shape:?}: expected {dtype:?} with {bytes} bytes"
        ));
    }
    Ok(view.data())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Agent;

    fn policy() -> Policy {
        let mut agent = Agent::new(3, 2, &[5, 4], 1).unwrap();
        agent.normaliser.update(&[1.0, 2.0, 3.0, 1.5, 2.5, -3.0]);
        agent.actor.log_std = vec![-0.5, 0.25];
        Policy {
            actor: agent.actor,
            normaliser: agent.normaliser,
            record: PolicyRecord {
                task: "double-integrator".into(),
                seed: 3,
                ..PolicyRecord::default()
            },
        }
    }

    #[test]
    fn files_come_back_with_the_same_bits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.safetensors");
        policy().save(&path).unwrap();
        assert_eq!(Policy::load(&path).unwrap(), policy());
    }

    /// The rule of the module's documentation, in f64.
    #[test]
    fn the_documented_rule_gives_the_action() {
        let policy = policy();
        let observation = [0.3, 2.2, -1.0];
        let mut action = [0.0; 2];
        policy.act(&observation, &mut Tape::new(), &mut action);
        let normaliser = &policy.normaliser;
        let mut h: Vec<f64> = (0..3)
            .map(|i| {
                (observation[i] - normaliser.mean()[i]) / (normaliser.variance()[i] + 1e-8).sqrt()
            })
            .collect();
        let mean = &policy.actor.mean;
        for layer in 0..3 {
            let rows = mean.weights(layer).chunks(h.len()).zip(mean.bias(layer));
            let sums = rows.map(|(row, bias)| {
                row.iter()
                    .zip(&h)
                    .map(|(w, h)| f64::from(*w) * h)
                    .sum::<f64>()
                    + f64::from(*bias)
            });
            h = sums.map(|v| if layer < 2 { v.tanh() } else { v }).collect();
        }
        for (found, expected) in action.iter().zip(&h) {
            assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        }
    }

    #[test]
    fn broken_files_are_refused_without_a_panic() {
        let bytes = policy().to_bytes().unwrap();
        for length in [0, 7, 8, 100, bytes.len() - 1] {
            assert!(Policy::from_bytes(&bytes[..length]).is_err());
        }
        let mut not_finite = policy();
        not_finite.actor.log_std[0] = f32::NAN;
        let error = Policy::from_bytes(&not_finite.to_bytes().unwrap()).unwrap_err();
        assert!(error.contains("NaN"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let missing = Policy::load(&folder.path().join("none")).unwrap_err();
        assert!(missing.to_string().contains("cannot read"));
    }
}
