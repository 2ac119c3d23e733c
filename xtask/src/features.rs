//! The features that everything is checked and tested with.

use anyhow::Result;

use crate::mujoco;
use crate::shell::Skipped;

/// Features of the crates that are published.
const PUBLISHED: [&str; 5] = [
    "fabproj/csv",
    "fabproj/npz",
    "fabproj/parquet",
    "fabproj-cli/parquet",
    "fabproj-cli/png",
];

/// What a build of the whole workspace takes so that dependencies get the features that they have in tests: an
/// example brings in what only tests depend on.
pub const AS_TESTS: &[&str] = &["--workspace", "--example", "reference_models"];

/// Cargo's arguments for all features. MuJoCo's is among them where its library is to be had.
pub fn all(skipped: &mut Skipped) -> Result<[String; 2]> {
    let mut features = PUBLISHED.join(",");
    match mujoco::prepare() {
        Ok(_) => features.push_str(",fab-paper/mujoco"),
        Err(error) => skipped.add("MuJoCo", &format!("{error:#}"))?,
    }
    Ok(["--features".to_owned(), features])
}
