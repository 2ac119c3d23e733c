//! The state of an unfinished unit of work as bytes: tensors and a little JSON.

use std::collections::{BTreeMap, HashMap};
use std::io;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Adam, Ema, Mlp};

const ENTRY: &str = "fabproj-checkpoint";

/// Named vectors of floats, and one serialisable value.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    tensors: BTreeMap<String, Vec<f32>>,
    /// The value, or why it is not JSON.
    json: Result<String, String>,
}

impl Default for State {
    fn default() -> Self {
        Self::new(&())
    }
}

impl State {
    /// A state that holds the value and no tensors yet.
    pub fn new(value: &impl Serialize) -> Self {
        let json = serde_json::to_string(value).map_err(|error| error.to_string());
        Self {
            tensors: BTreeMap::new(),
            json,
        }
    }

    /// The value, if it is of the type asked for.
    pub fn value<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.json.as_ref().ok()?).ok()
    }

    /// Adds a tensor.
    pub fn put(&mut self, name: &str, values: &[f32]) {
        self.tensors.insert(name.to_owned(), values.to_vec());
    }

    /// Copies a tensor out; false if it is missing or has another length.
    pub fn get(&self, name: &str, values: &mut [f32]) -> bool {
        match self.tensors.get(name) {
            Some(found) if found.len() == values.len() => {
                values.copy_from_slice(found);
                true
            }
            _ => false,
        }
    }

    /// Adds a network's parameters with its optimiser's and its average's.
    pub fn put_network(&mut self, name: &str, network: &Mlp, adam: &Adam, ema: Option<&Ema>) {
        self.put(&format!("{name}.parameters"), network.parameters());
        self.put(&format!("{name}.first"), &adam.first);
        self.put(&format!("{name}.second"), &adam.second);
        if let Some(ema) = ema {
            self.put(&format!("{name}.average"), &ema.average);
        }
    }

    /// Restores what [`put_network`](Self::put_network) saved; false if anything does not fit. The
    /// optimiser's and the average's step counters are the caller's to restore.
    pub fn get_network(
        &self,
        name: &str,
        network: &mut Mlp,
        adam: &mut Adam,
        ema: Option<&mut Ema>,
    ) -> bool {
        self.get(&format!("{name}.parameters"), network.parameters_mut())
            && self.get(&format!("{name}.first"), &mut adam.first)
            && self.get(&format!("{name}.second"), &mut adam.second)
            && ema.is_none_or(|ema| self.get(&format!("{name}.average"), &mut ema.average))
    }

    /// All of it as bytes.
    ///
    /// # Errors
    /// When the value is not JSON, or the tensors cannot be written.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let json = self.json.clone().map_err(io::Error::other)?;
        let bytes: Vec<(String, Vec<u8>)> = self
            .tensors
            .iter()
            .map(|(name, values)| {
                (
                    name.clone(),
                    values.iter().flat_map(|v| v.to_le_bytes()).collect(),
                )
            })
            .collect();
        let views = bytes.iter().map(|(name, data)| {
            let view = TensorView::new(Dtype::F32, vec![data.len() / 4], data);
            view.map(|view| (name.as_str(), view))
        });
        let views: Vec<_> = views.collect::<Result<_, _>>().map_err(io::Error::other)?;
        let metadata = HashMap::from([(ENTRY.to_owned(), json)]);
        safetensors::serialize(views, Some(metadata)).map_err(io::Error::other)
    }

    /// What [`to_bytes`](Self::to_bytes) wrote; `None` for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (_, metadata) = SafeTensors::read_metadata(bytes).ok()?;
        let json = metadata.metadata().as_ref()?.get(ENTRY)?.clone();
        let file = SafeTensors::deserialize(bytes).ok()?;
        let tensors = file
            .tensors()
            .into_iter()
            .map(|(name, view)| {
                let values = view
                    .data()
                    .chunks_exact(4)
                    .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
                (name, values.collect())
            })
            .collect();
        Some(Self {
            tensors,
            json: Ok(json),
        })
    }
}

/// A random generator's place in its stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RandomState {
    seed: [u8; 32],
    stream: u64,
    /// As text: JSON numbers have no 128 bits.
    word: String,
}

impl RandomState {
    /// Where the generator is now.
    pub fn of(rng: &ChaCha8Rng) -> Self {
        Self {
            seed: rng.get_seed(),
            stream: rng.get_stream(),
            word: rng.get_word_pos().to_string(),
        }
    }

    /// A generator at that place; `None` when the text is not a number.
    pub fn restore(&self) -> Option<ChaCha8Rng> {
        let mut rng = ChaCha8Rng::from_seed(self.seed);
        rng.set_stream(self.stream);
        rng.set_word_pos(self.word.parse().ok()?);
        Some(rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    #[test]
    fn bytes_round_trip_and_reject_other_bytes() {
        let mut state = State::new(&("step", 7u64));
        state.put("a", &[1.0, -2.5, f32::MIN_POSITIVE]);
        let bytes = state.to_bytes().unwrap();
        let back = State::from_bytes(&bytes).unwrap();
        assert_eq!(back, state);
        assert_eq!(back.value::<(String, u64)>(), Some(("step".to_owned(), 7)));
        assert!(!back.get("a", &mut [0.0; 2]));
        assert_eq!(State::from_bytes(&bytes[..bytes.len() - 1]), None);
        assert_eq!(State::from_bytes(b"{}"), None);
    }

    #[test]
    fn a_value_that_is_not_json_is_an_error() {
        let no_text_as_key = BTreeMap::from([((1, 2), 3)]);
        assert!(State::new(&no_text_as_key).to_bytes().is_err());
    }

    #[test]
    fn a_generator_goes_on_where_it_was() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        rng.set_stream(9);
        for _ in 0..1001 {
            let _: f32 = rng.random();
        }
        let text = serde_json::to_string(&RandomState::of(&rng)).unwrap();
        let mut again = serde_json::from_str::<RandomState>(&text)
            .unwrap()
            .restore()
            .unwrap();
        assert_eq!(again.random::<u64>(), rng.random::<u64>());
    }
}
