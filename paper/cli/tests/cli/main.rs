//! The command `fab-paper` at its border.

mod rl;
mod study;
mod train;

use std::path::Path;

use assert_cmd::Command;

#[path = "../../../../crates/cli/tests/common/ran.rs"]
mod ran;
use ran::Ran;

/// Runs the command to its end.
fn run(folder: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::cargo_bin("fab-paper").expect("the command is built with its tests");
    Ran::of(command.current_dir(folder).args(arguments))
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}
