//! The Python package, built once and tested from the outside. The C interface is tested by cargo.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::metadata::Workspace;
use crate::python::{Environment, FRAMEWORKS, PACKAGE, PACKAGE_BENCH, SAFETY};
use crate::shell::{Skipped, cargo, step};
use crate::{check, features};

/// The folder of the Python package, from the root.
const PACKAGE_FOLDER: &str = "bindings/python";
/// The option of the library path on Linux, where a CUDA build of PyTorch may find no CUDA.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

pub fn run(arguments: &check::Arguments) -> Result<ExitCode> {
    let mut skipped = arguments.skipped();
    let workspace = Workspace::read()?;
    Package::build(&workspace, &mut skipped)?.test()?;
    tract(&workspace)?;
    eprintln!("\n{}", skipped.summary("all tests of the bindings passed"));
    Ok(ExitCode::SUCCESS)
}

/// Exported graphs in tract. It takes minutes to compile, so that the everyday tests leave it out.
fn tract(workspace: &Workspace) -> Result<()> {
    let manifest = "crates/export/tests/tract/Cargo.toml";
    let target = workspace.target_directory.join("tract");
    step(
        "exported graphs in tract",
        cargo(&[
            "run",
            "--quiet",
            "--manifest-path",
            manifest,
            "--target-dir",
        ])
        .arg(target),
    )
}

#[derive(clap::Args)]
pub struct Bench {
    /// Rounds in which every call is timed once
    #[arg(long, default_value_t = 31)]
    rounds: usize,
}

/// Times calls from Python beside other runtimes.
pub fn bench(arguments: &Bench) -> Result<ExitCode> {
    let workspace = Workspace::read()?;
    let environment = Environment::prepare(&PACKAGE_BENCH)?;
    let wheel = wheel(&workspace, &mut maturin(&environment, "release"))?;
    install(&environment, &wheel)?;
    let mut bench = environment.script(&format!("{PACKAGE_FOLDER}/bench.py"));
    bench.args(["--rounds", &arguments.rounds.to_string()]);
    without_cuda(&environment, &mut bench)?;
    step("bench of the Python package", &mut bench)?;
    Ok(ExitCode::SUCCESS)
}

/// The wheel, and the environments that it is tested in.
pub struct Package {
    wheel: PathBuf,
    everyday: Environment,
    frameworks: Option<Environment>,
    safety: Option<Environment>,
}

impl Package {
    /// Builds the wheel. Environments that cannot be had here are skipped.
    pub fn build(workspace: &Workspace, skipped: &mut Skipped) -> Result<Self> {
        let everyday = Environment::prepare(&PACKAGE)?;
        let mut optional = |packages, name| match Environment::prepare(packages) {
            Ok(environment) => Ok(Some(environment)),
            Err(error) => skipped.add(name, &format!("{error:#}")).map(|()| None),
        };
        Ok(Self {
            frameworks: optional(&FRAMEWORKS, "PyTorch, JAX, Gymnasium and ONNX Runtime")?,
            safety: optional(&SAFETY, "Safety Gymnasium")?,
            wheel: wheel(workspace, &mut maturin_as_tests(&everyday)?)?,
            everyday,
        })
    }

    /// Tests the wheel with NumPy alone, beside the frameworks, and in Python 3.10.
    pub fn test(&self) -> Result<()> {
        install(&self.everyday, &self.wheel)?;
        let mut types = self.everyday.module("mypy.stubtest");
        step("types of the Python package", types.arg("fabproj._native"))?;
        let mut tests = pytest(&self.everyday, "tests");
        step("tests of the Python package", &mut tests)?;
        if let Some(environment) = &self.frameworks {
            install(environment, &self.wheel)?;
            let mut tests = pytest(environment, "frameworks");
            without_cuda(environment, &mut tests)?;
            step("tests beside the frameworks", &mut tests)?;
        }
        if let Some(environment) = &self.safety {
            install(environment, &self.wheel)?;
            let mut tests = pytest(environment, "safety");
            step("tests in Safety Gymnasium", &mut tests)?;
        }
        Ok(())
    }
}

/// The command that builds the wheel.
fn maturin(environment: &Environment, profile: &str) -> Command {
    let manifest = format!("{PACKAGE_FOLDER}/Cargo.toml");
    let mut build = environment.module("maturin");
    build.args(["build", "--quiet", "--profile", profile]);
    build.args(["--manifest-path", &manifest]);
    build.arg("--interpreter").arg(environment.interpreter());
    build
}

/// The same command in the tests' profile, and with [`rustc`] in place of cargo.
fn maturin_as_tests(environment: &Environment) -> Result<Command> {
    let mut build = maturin(environment, "dev");
    // On macOS maturin adds options for the linker, which no other command of cargo takes.
    if cfg!(target_os = "linux") {
        build.env("CARGO", env::current_exe()?);
    }
    Ok(build)
}

#[derive(clap::Args)]
pub struct Rustc {
    /// The arguments of `cargo rustc`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Builds the native module as maturin asks cargo to, but together with the workspace: alone it would get other
/// features of its dependencies, and all that the tests have compiled would be compiled again.
pub fn rustc(arguments: &Rustc) -> Result<ExitCode> {
    let features = features::all(&mut Skipped::new(false))?;
    let mut build = cargo(&[&["build"], features::AS_TESTS].concat());
    step(
        "native module",
        build.args(features).args(&arguments.arguments),
    )?;
    Ok(ExitCode::SUCCESS)
}

fn wheel(workspace: &Workspace, maturin: &mut Command) -> Result<PathBuf> {
    let folder = workspace.target_directory.join("wheels");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    step("Python package", maturin.arg("--out").arg(&folder))?;
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
        "--no-compile",
        "--no-deps",
    ];
    step(
        "installation of the wheel",
        environment.module("pip").args(options).arg(wheel),
    )
}

/// pytest in a folder of the package; it sees what is installed, not the sources.
fn pytest(environment: &Environment, folder: &str) -> Command {
    let mut tests = environment.module("pytest");
    tests
        .args(["-q", "-p", "no:cacheprovider"])
        .arg(format!("{PACKAGE_FOLDER}/{folder}"));
    tests
}

/// Lets a program load PyTorch where CUDA's libraries are missing.
fn without_cuda(environment: &Environment, program: &mut Command) -> Result<()> {
    if cfg!(target_os = "linux") {
        let bin = environment.interpreter().parent().unwrap_or(Path::new("."));
        let libraries = bin.with_file_name("no-cuda");
        let script = format!("{PACKAGE_FOLDER}/cpu_torch.py");
        step(
            "PyTorch without CUDA",
            environment.script(&script).arg(&libraries),
        )?;
        program.env(LIBRARY_PATH, libraries);
    }
    Ok(())
}
