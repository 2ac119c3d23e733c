//! Labelled points as other programs write them: `labelled/write.py` made the files.
#![cfg(all(feature = "csv", feature = "npz", feature = "parquet"))]

use std::path::{Path, PathBuf};

use fabproj::set::{Columns, LabelledData, LabelledError};
use proptest::prelude::*;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/library/labelled")
        .join(name)
}

fn expected() -> LabelledData {
    let names =
        |letter: &str, count: usize| (0..count).map(|index| format!("{letter}{index}")).collect();
    LabelledData::new(
        names("y", 2),
        vec![0.5, -1.0, 2.0, 0.25, -3.5, 4.0, 0.0, 8.0, 1.0, -0.125],
        names("x", 1),
        vec![10.0, 20.0, -30.0, 40.0, 50.0],
        vec![true, false, true, false, false],
    )
    .expect("fits together")
}

#[test]
fn numpy_archives_are_read() {
    for name in ["plain.npz", "compressed.npz", "fortran.npz"] {
        let data = LabelledData::read(&file(name), &Columns::default()).unwrap();
        assert_eq!(data, expected(), "{name}");
    }
    let columns = Columns {
        state_dim: Some(1),
        ..Columns::default()
    };
    assert_eq!(
        LabelledData::read(&file("joined.npz"), &columns).unwrap(),
        expected()
    );
}

#[test]
fn parquet_files_are_read() {
    for name in ["arrow-snappy", "arrow-zstd", "arrow-none", "polars"] {
        let data =
            LabelledData::read(&file(&format!("{name}.parquet")), &Columns::default()).unwrap();
        assert_eq!(data, expected(), "{name}");
    }
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let refused = |name: &str, columns: &Columns, parts: &[&str]| {
        let error = LabelledData::read(&file(name), columns)
            .unwrap_err()
            .to_string();
        for part in parts {
            assert!(error.contains(part), "`{part}` is not in: {error}");
        }
    };
    let usual = Columns::default();
    let named = |y: &str, label: &str| Columns {
        y: vec![y.to_owned()],
        label: label.to_owned(),
        ..Columns::default()
    };
    refused("nan.npz", &usual, &["row 3", "`y1`", "NaN"]);
    refused("null.parquet", &usual, &["row 3", "`y0`", "empty"]);
    refused("joined.npz", &usual, &["3 columns", "--state-dim"]);
    let all = Columns {
        state_dim: Some(3),
        ..Columns::default()
    };
    refused("joined.npz", &all, &["3 columns"]);
    refused(
        "plain.npz",
        &named("y", "lable"),
        &["no array `lable`", "label"],
    );
    refused(
        "arrow-none.parquet",
        &named("y0", "lable"),
        &["no column `lable`", "label"],
    );
    refused(
        "arrow-none.parquet",
        &named("note", "label"),
        &["note", "expected", "numbers"],
    );
    refused("write.py", &usual, &["write.py", ".csv, .npz, .parquet"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A damaged file is an error or other numbers, never a panic.
    #[test]
    fn damaged_files_do_no_harm(
        which in 0_usize..6,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let names = ["plain.npz", "compressed.npz", "fortran.npz", "arrow-snappy.parquet", "arrow-none.parquet", "polars.parquet"];
        let mut bytes = std::fs::read(file(names[which])).unwrap();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(names[which]);
        std::fs::write(&path, bytes).unwrap();
        let _: Result<LabelledData, LabelledError> = LabelledData::read(&path, &Columns::default());
    }
}
