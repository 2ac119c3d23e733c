//! Everything that CI runs. The tests come last, so that their summary closes the output.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;

use crate::metadata::Workspace;
use crate::python::{self, Environment};
use crate::shell::{cargo, executable, has_cargo_command, step};
use crate::{bindings, check, features};

pub fn run(arguments: &check::Arguments) -> Result<ExitCode> {
    let start = Instant::now();
    let mut skipped = arguments.skipped();
    let workspace = Workspace::read()?;
    let features = features::all(&mut skipped)?;
    check::steps(&workspace, &features, &mut skipped)?;
    no_std(&workspace)?;
    python_consumers(&workspace, &features)?;
    let doc_tests = ["test", "--workspace", "--doc"];
    step("doc tests", cargo(&doc_tests).args(&features))?;
    bindings::steps(&workspace, &mut skipped)?;
    tests(&features)?;
    let seconds = start.elapsed().as_secs_f64();
    eprintln!(
        "\n{}",
        skipped.summary(&format!("all tests passed in {seconds:.0} s"))
    );
    Ok(ExitCode::SUCCESS)
}

/// A program without the standard library that links fabproj-core and checks one projection.
fn no_std(workspace: &Workspace) -> Result<()> {
    let manifest = "crates/core/tests/no_std/Cargo.toml";
    let target = workspace.target_directory.join("no_std");
    step(
        "no_std program",
        cargo(&["run", "--manifest-path", manifest, "--target-dir"]).arg(target),
    )
}

/// Programs in Python that read what fabproj writes.
fn python_consumers(workspace: &Workspace, features: &[String]) -> Result<()> {
    let python = Environment::prepare(&python::TEST)?;
    let models = workspace.target_directory.join("reference-models");
    // All of the workspace, as the tests are built: with other features everything would be built twice.
    let mut example = vec!["build", "--workspace", "--example", "reference_models"];
    example.extend(features.iter().map(String::as_str));
    let program = executable(&example, "reference_models")?;
    step(
        "reference models",
        crate::shell::command(program).arg(&models),
    )?;
    step(
        "Python consumers",
        python.script("bench/check.py").arg(models),
    )
}

/// Examples are not built here: lints check them, and tests include those that are run.
fn tests(features: &[String]) -> Result<()> {
    let runner: &[&str] = match has_cargo_command("nextest") {
        true => &["nextest", "run"],
        false => &["test"],
    };
    let targets = ["--workspace", "--lib", "--bins", "--tests"];
    let mut tests = cargo(runner);
    // One run names all failures.
    tests.args(targets).arg("--no-fail-fast").args(features);
    step("tests", &mut tests)
}
