//! Writes an f32 as the f64 of the same value: its decimal digits then survive any reader that is
//! right to an f64's last place, where the shortest digits of the f32 could round to a neighbour.

use serde::{Deserialize, Deserializer, Serializer};

pub fn serialize<S: Serializer>(value: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(f64::from(*value))
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
    f64::deserialize(deserializer).map(|value| value as f32)
}

pub mod optional {
    use super::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &Option<f32>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => serializer.serialize_some(&f64::from(*value)),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<f32>, D::Error> {
        Ok(Option::<f64>::deserialize(deserializer)?.map(|value| value as f32))
    }
}
