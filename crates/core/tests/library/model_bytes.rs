//! Weights files as bytes: round trips, and bytes that nobody should trust.

use std::collections::BTreeMap;

use crate::common::counting::counted;
use crate::common::{Shape, hostile};
use fabproj_core::format::{self, WriteError};
use fabproj_core::{FormatError, Weights};
use proptest::prelude::*;

/// A file with its JSON object and tensors taken apart, to be put together wrongly.
struct Parts {
    header: serde_json::Value,
    data: Vec<u8>,
}

impl Parts {
    fn of(bytes: &[u8]) -> Self {
        let length = usize::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
        let header = serde_json::from_slice(&bytes[8..8 + length]).expect("a header");
        Self {
            header,
            data: bytes[8 + length..].to_vec(),
        }
    }

    fn metadata(&self) -> serde_json::Value {
        let text = self.header["__metadata__"]["fabproj"]
            .as_str()
            .expect("an entry");
        serde_json::from_str(text).expect("an object")
    }

    fn with_metadata(mut self, metadata: &serde_json::Value) -> Vec<u8> {
        self.header["__metadata__"]["fabproj"] = metadata.to_string().into();
        self.bytes()
    }

    fn bytes(&self) -> Vec<u8> {
        let header = self.header.to_string().into_bytes();
        let length = (header.len() as u64).to_le_bytes();
        [&length[..], &header, &self.data].concat()
    }
}

fn rich() -> Weights {
    let shape = Shape {
        x_dim: 1,
        charts: 2,
        decoders: 2,
        anchors: 3,
        skip: true,
        ..Shape::plain()
    };
    // An odd seed: with equations.
    shape.weights(7)
}

proptest! {
    #[test]
    fn round_trips_keep_every_bit(shape in crate::common::shapes(), seed in any::<u64>()) {
        let weights = shape.weights(seed);
        let bytes = weights.to_bytes()?;
        let read = hostile::read(&bytes)?;
        prop_assert_eq!(&read, &weights);
        prop_assert_eq!(read.to_bytes()?, bytes);
    }

    #[test]
    fn changed_bytes_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        in_header in any::<bool>(),
    ) {
        let mut bytes = rich().to_bytes()?;
        let header = 8 + usize::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
        let reach = if in_header { header } else { bytes.len() };
        for (place, value) in changes {
            bytes[place.index(reach)] = value;
        }
        let _ = hostile::read(&bytes);
    }

    #[test]
    fn cut_and_spliced_bytes_never_panic(
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
        inserted in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let bytes = rich().to_bytes()?;
        let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
        let spliced = [&bytes[..from], &inserted, &bytes[to..]].concat();
        let _ = hostile::read(&spliced);
        prop_assert!(hostile::read(&bytes[..from]).is_err(), "a part of a file is no file");
    }

    #[test]
    fn arbitrary_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(hostile::read(&bytes).is_err());
    }

    /// Every number of the JSON object replaced by every kind of other number: no panic, and no
    /// allocation beyond a small multiple of the file.
    #[test]
    fn edited_numbers_never_panic_or_allocate(
        which in any::<prop::sample::Index>(),
        value in prop_oneof![
            Just(serde_json::json!(0)),
            Just(serde_json::json!(-1)),
            Just(serde_json::json!(1)),
            Just(serde_json::json!(0.5)),
            Just(serde_json::json!(1e300)),
            Just(serde_json::json!(4096)),
            Just(serde_json::json!(u32::MAX)),
            Just(serde_json::json!(u64::MAX)),
            Just(serde_json::json!(null)),
            Just(serde_json::json!([])),
            Just(serde_json::json!("relu")),
        ],
    ) {
        let bytes = rich().to_bytes()?;
        let parts = Parts::of(&bytes);
        let mut metadata = parts.metadata();
        let mut places = Vec::new();
        leaves(&metadata, String::new(), &mut places);
        let place = which.get(&places);
        *metadata.pointer_mut(place).expect("a leaf") = value.clone();
        let edited = parts.with_metadata(&metadata);
        let (result, count) = counted(|| Weights::from_bytes(&edited).is_ok());
        prop_assert!(count.most < 40 * edited.len() as isize, "{} bytes for {place} = {value}", count.most);
        if result {
            let _ = hostile::read(&edited);
        }
    }
}

/// The paths of all values that are not containers.
fn leaves(value: &serde_json::Value, path: String, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(entries) => {
            for (key, value) in entries {
                leaves(value, format!("{path}/{key}"), found);
            }
        }
        serde_json::Value::Array(entries) => {
            for (index, value) in entries.iter().enumerate() {
                leaves(value, format!("{path}/{index}"), found);
            }
        }
        _ => found.push(path),
    }
}

/// Sizes that would need gigabytes are refused before anything of that size is allocated.
#[test]
fn claims_of_size_are_checked_first() {
    let bytes = rich().to_bytes().expect("valid weights");
    let refused = |bytes: &[u8]| {
        let (result, count) = counted(|| Weights::from_bytes(bytes));
        assert!(count.most < 1_000_000, "{} bytes", count.most);
        result.map(drop).expect_err("an absurd claim")
    };
    let header = [&u64::MAX.to_le_bytes()[..], b"{}"].concat();
    assert!(matches!(
        refused(&header),
        FormatError::HeaderTooLarge { .. }
    ));
    let header = [&(3_u64 << 20).to_le_bytes()[..], b"{}"].concat();
    assert!(matches!(
        refused(&header),
        FormatError::Truncated { found: 10, .. }
    ));
    for (place, value) in [
        ("/dim", 4_000_000_000_u64),
        ("/x_dim", u64::MAX),
        ("/anchors", 1 << 40),
        ("/charts/0/encoder/widths/1", 1 << 31),
        ("/charts/1/decoders/0/widths/2", 1 << 50),
        ("/charts/0/encoder/skip_inputs", 1 << 62),
    ] {
        let parts = Parts::of(&bytes);
        let mut metadata = parts.metadata();
        *metadata.pointer_mut(place).expect("a field") = value.into();
        let error = refused(&parts.with_metadata(&metadata));
        assert!(
            error.to_string().contains("the limit is"),
            "{place}: {error}"
        );
    }
}

#[test]
fn faults_are_named() {
    let bytes = rich().to_bytes().expect("valid weights");
    let edit = |change: &dyn Fn(&mut Parts)| {
        let mut parts = Parts::of(&bytes);
        change(&mut parts);
        let read = Weights::from_bytes(&parts.bytes());
        read.map(drop).expect_err("a fault")
    };
    let error =
        edit(&|parts| parts.header["__metadata__"] = serde_json::json!({ "other": "entry" }));
    assert_eq!(error, FormatError::NoMetadata);
    let error = edit(&|parts| parts.header["__metadata__"]["fabproj"] = "not JSON".into());
    assert!(matches!(error, FormatError::Metadata { .. }), "{error}");
    let error = edit(&|parts| parts.data.truncate(40));
    assert!(matches!(error, FormatError::Container { .. }), "{error}");
    let name = "charts.1.decoders.0.layers.2.weight";
    let error = edit(&|parts| {
        let entries = parts.header.as_object_mut().expect("an object");
        let tensor = entries.remove(name).expect("the tensor");
        entries.insert("renamed".into(), tensor);
    });
    assert_eq!(error, FormatError::MissingTensor { name: name.into() });
    let error = edit(&|parts| parts.header[name]["dtype"] = "I32".into());
    let found = "I32".into();
    assert_eq!(
        error,
        FormatError::ElementType {
            name: name.into(),
            expected: "F32",
            found
        }
    );
    let error = edit(&|parts| {
        let shape = parts.header[name]["shape"].as_array_mut().expect("a shape");
        shape.reverse();
    });
    assert!(matches!(error, FormatError::Shape { .. }), "{error}");
    let error = edit(&|parts| parts.data[0..4].copy_from_slice(&f32::NAN.to_le_bytes()));
    assert!(matches!(error, FormatError::Weights(_)), "{error}");
    for version in [0, 2] {
        let mut metadata = Parts::of(&bytes).metadata();
        metadata["format"] = version.into();
        let error = Weights::from_bytes(&Parts::of(&bytes).with_metadata(&metadata));
        assert_eq!(
            error,
            Err(FormatError::Version {
                found: version,
                newest: 1
            })
        );
    }
}

#[test]
fn unknown_fields_and_tensors_are_ignored() {
    let weights = rich();
    let mut parts = Parts::of(&weights.to_bytes().expect("valid weights"));
    let end = parts.data.len();
    parts.data.extend([0; 4]);
    parts.header["later"] =
        serde_json::json!({ "dtype": "F32", "shape": [1], "data_offsets": [end, end + 4] });
    let mut metadata = parts.metadata();
    metadata["also"] = serde_json::json!({ "from": "a later version" });
    assert_eq!(
        Weights::from_bytes(&parts.with_metadata(&metadata)),
        Ok(weights)
    );
}

#[test]
fn records_travel_with_the_model() {
    let weights = rich();
    let record: BTreeMap<String, f64> = [("seed".to_owned(), 7.0), ("loss".to_owned(), 0.1)].into();
    let bytes = format::write_with(&weights, &record).expect("a map is a record");
    let metadata = Parts::of(&bytes).metadata();
    assert_eq!(metadata["seed"], 7.0);

    #[derive(serde::Deserialize, PartialEq, Debug)]
    struct Seed {
        seed: f64,
    }
    let (read, seed) = format::read_with::<Seed>(&bytes).expect("a record with a seed");
    assert_eq!((read, seed), (weights.clone(), Seed { seed: 7.0 }));
    let missing = format::read_with::<Seed>(&weights.to_bytes().expect("valid weights"));
    assert!(matches!(missing, Err(FormatError::Metadata { .. })));

    let clash: BTreeMap<String, usize> = [("dim".to_owned(), 5)].into();
    assert!(matches!(
        format::write_with(&weights, &clash),
        Err(WriteError::Record { .. })
    ));
    let long: BTreeMap<String, String> = [("log".to_owned(), "x".repeat(5 << 20))].into();
    assert!(matches!(
        format::write_with(&weights, &long),
        Err(WriteError::Record { .. })
    ));
    let mut broken = weights;
    broken.charts.clear();
    assert!(matches!(
        format::write_with(&broken, &clash),
        Err(WriteError::Weights(_))
    ));
}

/// A file that was written when x was called a parameter and equations a lift.
const OLD_NAMES: &[u8] = include_bytes!("../data/old-names.safetensors");

#[test]
fn files_with_the_old_names_load() {
    let metadata = Parts::of(OLD_NAMES).metadata();
    assert_eq!(
        (&metadata["parameter_dim"], &metadata["lifted_dim"]),
        (&1.into(), &3.into())
    );
    let read = hostile::read(OLD_NAMES).expect("old names are known");
    assert_eq!(read, rich());
    let metadata = Parts::of(&read.to_bytes().expect("valid weights")).metadata();
    assert_eq!(
        (&metadata["x_dim"], &metadata["equations_dim"]),
        (&1.into(), &3.into())
    );
    assert!(metadata.get("parameter_dim").is_none());
}

#[test]
fn hard_blends_are_refused() {
    let parts = Parts::of(OLD_NAMES);
    let mut metadata = parts.metadata();
    metadata["charts"][1]["blend"] = "hard".into();
    let error = Weights::from_bytes(&parts.with_metadata(&metadata)).expect_err("a hard blend");
    assert_eq!(error, FormatError::HardBlend { chart: 1 });
    assert!(error.to_string().contains("soft"), "{error}");
}
