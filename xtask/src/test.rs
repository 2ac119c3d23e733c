//! Everything that CI runs. The tests come last, so that their summary closes the output.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;

use crate::check;
use crate::metadata::Workspace;
use crate::python::{self, Environment};
use crate::shell::{Skipped, cargo, executable, has_cargo_command, output, step};

pub fn run(arguments: &check::Arguments) -> Result<ExitCode> {
    let start = Instant::now();
    let mut skipped = arguments.skipped();
    let workspace = Workspace::read()?;
    check::steps(&workspace, &mut skipped)?;
    no_std(&workspace)?;
    web(&mut skipped)?;
    python_consumers(&workspace)?;
    step("doc tests", &mut cargo(&["test", "--workspace", "--doc"]))?;
    tests()?;
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
fn python_consumers(workspace: &Workspace) -> Result<()> {
    let python = Environment::prepare(&python::TEST)?;
    let models = workspace.target_directory.join("reference-models");
    // All of the workspace, as the tests are built: with other features everything would be built twice.
    let example = ["build", "--workspace", "--example", "reference_models"];
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

fn tests() -> Result<()> {
    if has_cargo_command("nextest") {
        return step("tests", &mut cargo(&["nextest", "run", "--workspace"]));
    }
    let kinds = ["--lib", "--bins", "--tests", "--examples"];
    step("tests", cargo(&["test", "--workspace"]).args(kinds))
}
