//! Everything that CI runs. The tests come last, so that their summary closes the output.

use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use anyhow::Result;

use crate::bindings::Package;
use crate::metadata::Workspace;
use crate::python::{self, Environment};
use crate::shell::{cargo, executable, has_cargo_command, step};
use crate::{check, features};

pub fn run(arguments: &check::Arguments) -> Result<ExitCode> {
    let start = Instant::now();
    let mut skipped = arguments.skipped();
    let workspace = Workspace::read()?;
    // First, because it may prepare one of the environments itself.
    let features = features::all(&mut skipped)?;
    // Downloads need little of the processor.
    let downloads = thread::spawn(download);
    check::steps(&workspace, &features, &mut skipped)?;
    no_std(&workspace)?;
    // It has no result: what failed is tried again, and told, where it is needed.
    let _ = downloads.join();
    python_consumers(&workspace, &features)?;
    // Not beside cargo's tests: a training that asks a callable keeps two processors busy.
    Package::build(&workspace, &mut skipped)?.test()?;
    doc_tests(&features)?;
    tests(&features)?;
    let seconds = start.elapsed().as_secs_f64();
    eprintln!(
        "\n{}",
        skipped.summary(&format!("all tests passed in {seconds:.0} s"))
    );
    Ok(ExitCode::SUCCESS)
}

/// Prepares the Python environments.
fn download() {
    for packages in [
        &python::TEST,
        &python::PACKAGE,
        &python::FRAMEWORKS,
        &python::SAFETY,
    ] {
        let _ = Environment::prepare(packages);
    }
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
    let mut example = [&["build"], features::AS_TESTS].concat();
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

fn doc_tests(features: &[String]) -> Result<()> {
    let tests = ["test", "--workspace", "--doc"];
    step("doc tests", cargo(&tests).args(features))
}

/// Examples are not built here: lints check them, and tests include those that are run.
fn tests(features: &[String]) -> Result<()> {
    let runner: &[&str] = match has_cargo_command("nextest") {
        true => &["nextest", "run"],
        false => &["test"],
    };
    let mut tests = cargo(runner);
    // All that have tests: `--lib` and `--bins` would build empty tests of those that have none. One run names
    // all failures.
    tests.args(["--workspace", "--tests", "--no-fail-fast"]);
    tests.args(features);
    step("tests", &mut tests)
}
