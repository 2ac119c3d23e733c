//! Everything that CI runs. The tests come last, so that their summary closes the output.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;

use crate::metadata::Workspace;
use crate::python::{self, Environment};
use crate::shell::{Skipped, cargo, executable, has_cargo_command, output, step};
use crate::{check, features};

pub fn run(arguments: &check::Arguments) -> Result<ExitCode> {
    let start = Instant::now();
    let mut skipped = arguments.skipped();
    let workspace = Workspace::read()?;
    let features = features::all(&mut skipped)?;
    check::steps(&workspace, &features, &mut skipped)?;
    no_std(&workspace)?;
    web(&mut skipped)?;
    python_consumers(&workspace, &features)?;
    let doc_tests = ["test", "--workspace", "--doc"];
    step("doc tests", cargo(&doc_tests).args(&features))?;
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

/// What a browser needs compiles for it.
fn web(skipped: &mut Skipped) -> Result<()> {
    let target = "wasm32-unknown-unknown";
    let library = output(crate::shell::command("rustc").args([
        "--print",
        "target-libdir",
        "--target",
        target,
    ]))?;
    if !PathBuf::from(library.trim()).is_dir() {
        return skipped.add(
            "WebAssembly",
            &format!("the target is not installed (rustup target add {target})"),
        );
    }
    let crates = [
        "--package",
        "fabproj-core",
        "--package",
        "fabproj-nn",
        "--package",
        "fabproj",
    ];
    step(
        "WebAssembly",
        cargo(&["check", "--target", target]).args(crates),
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

fn tests(features: &[String]) -> Result<()> {
    if has_cargo_command("nextest") {
        let run = ["nextest", "run", "--workspace"];
        return step("tests", cargo(&run).args(features));
    }
    let run = [
        "test",
        "--workspace",
        "--lib",
        "--bins",
        "--tests",
        "--examples",
    ];
    step("tests", cargo(&run).args(features))
}
