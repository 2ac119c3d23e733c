//! The Python package, built once and tested from the outside. The C interface is tested by cargo.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::check;
use crate::metadata::Workspace;
use crate::python::{Environment, FRAMEWORKS, PACKAGE, SAFETY};
use crate::shell::{Skipped, step};

/// The folder of the Python package, from the root.
const PACKAGE_FOLDER: &str = "bindings/python";
/// The option of the library path on Linux, where a CUDA build of PyTorch may find no CUDA.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

pub fn run(arguments: &check::Arguments) -> Result<ExitCode> {
    let mut skipped = arguments.skipped();
    let workspace = Workspace::read()?;
    steps(&workspace, &mut skipped)?;
    eprintln!("\n{}", skipped.summary("all tests of the bindings passed"));
    Ok(ExitCode::SUCCESS)
}

/// Builds the wheel once, and tests it with NumPy alone, beside the frameworks, and in Python 3.10.
pub fn steps(workspace: &Workspace, skipped: &mut Skipped) -> Result<()> {
    let everyday = Environment::prepare(&PACKAGE)?;
    let wheel = wheel(workspace, &everyday)?;
    install(&everyday, &wheel)?;
    step(
        "types of the Python package",
        everyday.module("mypy.stubtest").arg("fabproj._native"),
    )?;
    step(
        "tests of the Python package",
        &mut pytest(&everyday, "tests"),
    )?;
    match Environment::prepare(&FRAMEWORKS) {
        Ok(environment) => frameworks(&environment, &wheel)?,
        Err(error) => skipped.add(
            "PyTorch, JAX, Gymnasium and ONNX Runtime",
            &format!("{error:#}"),
        )?,
    }
    match Environment::prepare(&SAFETY) {
        Ok(environment) => {
            install(&environment, &wheel)?;
            let mut tests = pytest(&environment, "safety");
            step("tests in Safety Gymnasium", &mut tests)
        }
        Err(error) => skipped.add("Safety Gymnasium", &format!("{error:#}")),
    }
}

/// The wheel, with the tests' profile: what the tests have compiled is used again.
fn wheel(workspace: &Workspace, environment: &Environment) -> Result<PathBuf> {
    let folder = workspace.target_directory.join("wheels");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let manifest = format!("{PACKAGE_FOLDER}/Cargo.toml");
    let mut build = environment.module("maturin");
    build.args([
        "build",
        "--quiet",
        "--profile",
        "dev",
        "--manifest-path",
        &manifest,
    ]);
    build.arg("--interpreter").arg(environment.interpreter());
    step("Python package", build.arg("--out").arg(&folder))?;
    let files = fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut wheels = files.filter_map(|file| Some(file.ok()?.path()));
    wheels.next().context("maturin built no wheel")
}

fn install(environment: &Environment, wheel: &Path) -> Result<()> {
    let options = [
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--force-reinstall",
        "--no-deps",
    ];
    step(
        "installation of the wheel",
        environment.module("pip").args(options).arg(wheel),
    )
}

/// pytest in a folder of the package; it sees what is installed, not the sources.
fn pytest(environment: &Environment, folder: &str) -> std::process::Command {
    let mut tests = environment.module("pytest");
    tests
        .args(["-q", "-p", "no:cacheprovider"])
        .arg(format!("{PACKAGE_FOLDER}/{folder}"));
    tests
}

fn frameworks(environment: &Environment, wheel: &Path) -> Result<()> {
    install(environment, wheel)?;
    let mut tests = pytest(environment, "frameworks");
    if cfg!(target_os = "linux") {
        let bin = environment.interpreter().parent().unwrap_or(Path::new("."));
        let libraries = bin.with_file_name("no-cuda");
        let script = format!("{PACKAGE_FOLDER}/cpu_torch.py");
        step(
            "PyTorch without CUDA",
            environment.script(&script).arg(&libraries),
        )?;
        tests.env(LIBRARY_PATH, libraries);
    }
    step("tests beside the frameworks", &mut tests)
}
