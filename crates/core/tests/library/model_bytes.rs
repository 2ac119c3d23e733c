//! Weights files as bytes: round trips, and bytes that nobody should trust.

use std::collections::BTreeMap;

use crate::common::counting::counted;
use crate::common::{Shape, hostile};
use fabproj_core::format::{self, WriteError};
use fabproj_core::{FormatError, Weights};
use proptest::prelude::*;
use sha2::Digest;

/// A file with its JSON object and tensors taken apart, to be put together wrongly.
pub(crate) struct Parts {
    header: serde_json::Value,
    data: Vec<u8>,
}

impl Parts {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let length = usize::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
        let header = serde_json::from_slice(&bytes[8..8 + length]).expect("a header");
        Self {
            header,
            data: bytes[8 + length..].to_vec(),
        }
    }

    pub(crate) fn metadata(&self) -> serde_json::Value {
        let text = self.header["__metadata__"]["fabproj"]
            .as_str()
            .expect("an entry");
        serde_json::from_str(text).expect("an object")
    }

    pub(crate) fn with_metadata(mut self, metadata: &serde_json::Value) -> Vec<u8> {
        self.header["__metadata__"]["fabproj"] = metadata.to_string().into();
        self.sealed()
    }

    fn bytes(&self) -> Vec<u8> {
        let header = self.header.to_string().into_bytes();
        let length = (header.len() as u64).to_le_bytes();
        [&length[..], &header, &self.data].concat()
    }

    /// With the digest that the changed parts have: nothing but the change is wrong.
    fn sealed(&self) -> Vec<u8> {
        let mut bytes = self.bytes();
        seal(&mut bytes);
        bytes
    }
}

/// Writes a file's own digest into it, as anyone can.
fn seal(bytes: &mut [u8]) {
    let key = br#"\"digest\":\""#;
    let Some(place) = bytes.windows(key.len()).position(|window| window == key) else {
        return;
    };
    let digits = place + key.len()..place + key.len() + 64;
    bytes[digits.clone()].fill(b'0');
    let digest = sha2::Sha256::digest(&bytes);
    let text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes[digits].copy_from_slice(text.as_bytes());
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
        let whole = bytes.clone();
        for (place, value) in changes {
            bytes[place.index(reach)] = value;
        }
        prop_assert!(bytes == whole || hostile::read(&bytes).is_err(), "the digest finds every change");
        seal(&mut bytes);
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
        let mut sealed = spliced;
        seal(&mut sealed);
        let _ = hostile::read(&sealed);
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
pub(crate) fn leaves(value: &serde_json::Value, path: String, found: &mut Vec<String>) {
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
        let read = Weights::from_bytes(&parts.sealed());
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
    for digest in [
        "",
        "0",
        "not sixty-four digits",
        &"g".repeat(64),
        &"0".repeat(64),
    ] {
        let mut metadata = Parts::of(&bytes).metadata();
        metadata["digest"] = digest.into();
        let mut parts = Parts::of(&bytes);
        parts.header["__metadata__"]["fabproj"] = metadata.to_string().into();
        let error = Weights::from_bytes(&parts.bytes()).expect_err("no digest of the file");
        assert!(matches!(error, FormatError::Digest { .. }), "{error}");
        if let Some(fields) = metadata.as_object_mut() {
            fields.remove("digest");
        }
        parts.header["__metadata__"]["fabproj"] = metadata.to_string().into();
        assert!(Weights::from_bytes(&parts.bytes()).is_err());
    }
    for version in [0, 1, 3] {
        let mut metadata = Parts::of(&bytes).metadata();
        metadata["format"] = version.into();
        let error = Weights::from_bytes(&Parts::of(&bytes).with_metadata(&metadata));
        assert_eq!(
            error,
            Err(FormatError::Version {
                found: version,
                newest: 2
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

/// 431,000 copies of `{"":0}` took 299 MB, and a header of 3.8 MB took 101 MB.
#[test]
fn what_is_parsed_is_counted_first() {
    let whole = rich().to_bytes().expect("valid weights");
    let refused = |bytes: &[u8]| {
        let read = || format::read_with::<serde_json::Value>(bytes).map(drop);
        let (result, count) = counted(read);
        assert!(count.most < 16 << 20, "{} bytes", count.most);
        assert!(
            matches!(result, Err(FormatError::TooManyValues { .. })),
            "{result:?}"
        );
    };
    let parts = Parts::of(&whole);
    let mut text = parts.metadata().to_string();
    text.pop();
    text += &format!(",\"settings\":[{}0]}}", "{\"\":0},".repeat(300_000));
    let mut parts = Parts::of(&whole);
    parts.header["__metadata__"]["fabproj"] = text.into();
    refused(&parts.sealed());
    let mut parts = Parts::of(&whole);
    let entries = parts.header.as_object_mut().expect("an object");
    for index in 0..50_000 {
        let empty = serde_json::json!({ "dtype": "F32", "shape": [0], "data_offsets": [0, 0] });
        entries.insert(index.to_string(), empty);
    }
    refused(&parts.sealed());
}
