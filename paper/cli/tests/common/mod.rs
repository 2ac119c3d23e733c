//! The command itself.
#![allow(dead_code, reason = "each test binary uses a part of this")]

use std::path::Path;

use assert_cmd::Command;

#[path = "../../../../crates/cli/tests/common/ran.rs"]
mod ran;
pub use ran::Ran;

/// Runs the command to its end.
pub fn run(folder: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::cargo_bin("fab-paper").expect("the command is built with its tests");
    Ran::of(command.current_dir(folder).args(arguments))
}

pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}
