//! Everything that CI runs. The tests come last, so that their summary closes the output.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;

use crate::check;
use crate::python::{self, Environment};
use crate::shell::{self, cargo, has_cargo_command, step};

pub fn run() -> Result<ExitCode> {
    let start = Instant::now();
    check::steps()?;
    dependencies()?;
    no_std()?;
    python_consumers()?;
    step("doc tests", &mut cargo(&["test", "--workspace", "--doc"]))?;
    tests()?;
    eprintln!(
        "\nall checks passed in {:.0} s",
        start.elapsed().as_secs_f64()
    );
    Ok(ExitCode::SUCCESS)
}

/// Licences, advisories and sources of the dependencies, where cargo-deny is installed.
fn dependencies() -> Result<()> {
    if !has_cargo_command("deny") {
        eprintln!(
            "\n── dependencies: skipped, cargo-deny is not installed (cargo install cargo-deny)"
        );
        return Ok(());
    }
    step("dependencies", &mut cargo(&["deny", "check"]))
}

/// A program without the standard library that links fabproj-core and checks one projection.
fn no_std() -> Result<()> {
    let manifest = "crates/core/tests/no_std/Cargo.toml";
    let target = shell::target_folder()?.join("no_std");
    step(
        "no_std program",
        cargo(&["run", "--manifest-path", manifest, "--target-dir"]).arg(target),
    )
}

/// Programs in Python that read what fabproj writes.
fn python_consumers() -> Result<()> {
    let python = Environment::prepare(&python::TEST)?;
    let models = shell::target_folder()?.join("reference-models");
    let example = [
        "run",
        "--package",
        "fabproj",
        "--example",
        "reference_models",
        "--",
    ];
    step("reference models", cargo(&example).arg(&models))?;
    step(
        "Python consumers",
        python.script("bench/check.py").arg(models),
    )
}

fn tests() -> Result<()> {
    if has_cargo_command("nextest") {
        step("tests", &mut cargo(&["nextest", "run", "--workspace"]))
    } else {
        step(
            "tests",
            &mut cargo(&[
                "test",
                "--workspace",
                "--lib",
                "--bins",
                "--tests",
                "--examples",
            ]),
        )
    }
}
