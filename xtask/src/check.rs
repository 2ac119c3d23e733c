//! Format, lints and docs, every warning an error.

use std::process::ExitCode;

use anyhow::Result;

use crate::shell::{cargo, step};

pub fn run() -> Result<ExitCode> {
    steps()?;
    eprintln!("\nformat, lints and docs are clean");
    Ok(ExitCode::SUCCESS)
}

/// The steps alone, for `test` to go on from.
pub fn steps() -> Result<()> {
    step("format", &mut cargo(&["fmt", "--all", "--check"]))?;
    step(
        "lints",
        &mut cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
    )?;
    step(
        "docs",
        cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"),
    )
}
