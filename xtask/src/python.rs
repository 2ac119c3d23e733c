//! Python environments under the target folder, created when needed and kept until their requirements change.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::metadata::Workspace;
use crate::shell::{self, command, step};

/// The packages of an environment.
pub struct Packages {
    /// The environment's name.
    name: &'static str,
    /// The requirements file, from the root.
    requirements: &'static str,
    /// Requirements that are installed without their own requirements.
    bare: Option<&'static str>,
    /// The oldest Python that all of them still have wheels for.
    oldest: (u32, u32),
    /// The newest one; none: any.
    newest: Option<(u32, u32)>,
    /// What the packages are for.
    purpose: &'static str,
}

/// What `cargo xtask test` needs.
pub const TEST: Packages = Packages {
    name: "test",
    requirements: "bench/requirements-test.txt",
    bare: None,
    oldest: (3, 10),
    newest: None,
    purpose: "to check that Python programs can read our files",
};

/// What `cargo xtask bench` compares with.
pub const BENCH: Packages = Packages {
    name: "bench",
    requirements: "bench/requirements.txt",
    bare: None,
    oldest: (3, 11),
    newest: None,
    purpose: "to run PyTorch and ONNX Runtime",
};

/// What builds and tests the Python package.
pub const PACKAGE: Packages = Packages {
    name: "package",
    requirements: "bindings/python/requirements-test.txt",
    bare: None,
    oldest: (3, 10),
    newest: None,
    purpose: "to build and test the Python package",
};

/// What the package's modules for other frameworks are tested with.
pub const FRAMEWORKS: Packages = Packages {
    name: "frameworks",
    requirements: "bindings/python/requirements-frameworks.txt",
    bare: Some("bindings/python/requirements-torch.txt"),
    oldest: (3, 11),
    newest: None,
    purpose: "to test the package with PyTorch, JAX, Gymnasium and ONNX Runtime",
};

/// What the package's speed is compared with.
pub const PACKAGE_BENCH: Packages = Packages {
    name: "package-bench",
    requirements: "bindings/python/requirements-bench.txt",
    bare: Some("bindings/python/requirements-torch.txt"),
    oldest: (3, 11),
    newest: None,
    purpose: "to compare the package with PyTorch, JAX, ONNX Runtime and cvxpylayers",
};

/// What answers to optimal power flow are compared with.
pub const POWER_FLOW: Packages = Packages {
    name: "power-flow",
    requirements: "bench/requirements-power-flow.txt",
    bare: None,
    oldest: (3, 10),
    newest: None,
    purpose: "to run PYPOWER",
};

/// The original Safety Gymnasium, for the package's wrapper.
pub const SAFETY: Packages = Packages::exactly(
    "safety",
    "bindings/python/requirements-safety.txt",
    (3, 10),
    "to test the package with Safety Gymnasium",
);

impl Packages {
    /// Packages that need one version of Python.
    pub const fn exactly(
        name: &'static str,
        requirements: &'static str,
        version: (u32, u32),
        purpose: &'static str,
    ) -> Self {
        Self {
            name,
            requirements,
            bare: None,
            oldest: version,
            newest: Some(version),
            purpose,
        }
    }
}

/// A Python with its packages.
pub struct Environment {
    interpreter: PathBuf,
    /// Where what Python compiles is kept.
    bytecode: PathBuf,
}

impl Environment {
    /// Creates the environment, unless it exists and is up to date.
    pub fn prepare(packages: &Packages) -> Result<Self> {
        let environments = Workspace::read()?.target_directory.join("python");
        let folder = environments.join(packages.name);
        let environment = Self {
            interpreter: interpreter_in(&folder),
            bytecode: environments.join("bytecode"),
        };
        let interpreter = &environment.interpreter;
        let mut wanted = stamp_text(&shell::root().join(packages.requirements))?;
        if let Some(bare) = packages.bare {
            wanted.push_str(&stamp_text(&shell::root().join(bare))?);
        }
        let stamp = folder.join("fabproj-requirements");
        if interpreter.is_file() && fs::read_to_string(&stamp).is_ok_and(|text| text == wanted) {
            return Ok(environment);
        }
        let base = base_interpreter(packages)?;
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("removing the outdated {}", folder.display()))?;
        }
        make(&base, &folder)?;
        install(interpreter, packages.requirements, &[])?;
        if let Some(bare) = packages.bare {
            install(interpreter, bare, &["--no-deps"])?;
        }
        // Last, so that an interrupted installation starts again.
        fs::write(&stamp, wanted).with_context(|| format!("writing {}", stamp.display()))?;
        Ok(environment)
    }

    /// The interpreter's path.
    pub fn interpreter(&self) -> &Path {
        &self.interpreter
    }

    /// A command that runs a module, such as `pytest`.
    pub fn module(&self, module: &str) -> Command {
        let mut python = self.command();
        python.args(["-m", module]);
        python
    }

    /// A command that runs a script (a path from the root).
    pub fn script(&self, script: &str) -> Command {
        let mut python = self.command();
        python.arg(script);
        python
    }

    /// Libraries use one thread, as in all comparisons.
    fn command(&self) -> Command {
        let mut python = command(&self.interpreter);
        // No __pycache__ folders beside the sources.
        python.env("PYTHONPYCACHEPREFIX", &self.bytecode);
        python.env_remove("PYTHONDONTWRITEBYTECODE");
        for threads in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"] {
            python.env(threads, "1");
        }
        python
    }
}

/// The requirements with every file that they include: an environment is used again while this is equal.
fn stamp_text(requirements: &Path) -> Result<String> {
    let text = fs::read_to_string(requirements)
        .with_context(|| format!("reading {}", requirements.display()))?;
    let mut all = text.clone();
    for line in text.lines() {
        if let Some(included) = line.trim().strip_prefix("-r ") {
            let folder = requirements.parent().unwrap_or(Path::new("."));
            all.push_str(&stamp_text(&folder.join(included.trim()))?);
        }
    }
    Ok(all)
}

fn interpreter_in(folder: &Path) -> PathBuf {
    if cfg!(windows) {
        folder.join("Scripts").join("python.exe")
    } else {
        folder.join("bin").join("python")
    }
}

/// `PYTHON` from the environment, or `python3`, or `python3.N` if it must be that one; checked for its
/// version.
fn base_interpreter(packages: &Packages) -> Result<PathBuf> {
    let (oldest, purpose) = (packages.oldest, packages.purpose);
    let newer = match packages.newest {
        Some(_) => "",
        None => " or newer",
    };
    let needed = format!(
        "Python {}.{}{newer} is needed {purpose}",
        oldest.0, oldest.1
    );
    let fits = |found| found >= oldest && packages.newest.is_none_or(|newest| found <= newest);
    let mut other = None;
    for python in candidates(packages) {
        match version(&python) {
            Ok(found) if fits(found) => return Ok(python),
            Ok(found) => other = other.or(Some((python, found))),
            Err(_) => {}
        }
    }
    match other {
        Some((python, (major, minor))) => bail!(
            "{} is Python {major}.{minor}, but {needed}: name one in the variable PYTHON",
            python.display(),
        ),
        None => bail!(
            "{needed}; install it (Debian, Ubuntu: apt install python3 python3-venv), or name one in the \
             variable PYTHON"
        ),
    }
}

/// Interpreters in the order in which they are tried.
fn candidates(packages: &Packages) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = env::var_os("PYTHON").map(Into::into).into_iter().collect();
    match packages.newest {
        None => all.push(if cfg!(windows) { "python" } else { "python3" }.into()),
        Some((major, minor)) => {
            // First, because its own command `python3.N` does not run unless that version is the current one.
            let prefix = ["prefix", &format!("{major}.{minor}")];
            if let Ok(folder) = shell::output(command("pyenv").args(prefix)) {
                all.push(interpreter_in(Path::new(folder.trim())));
            }
            all.push(format!("python{major}.{minor}").into());
        }
    }
    all
}

fn version(python: &Path) -> Result<(u32, u32)> {
    let print = "import sys; print(sys.version_info.major, sys.version_info.minor)";
    let text = shell::output(command(python).args(["-c", print]))?;
    parse_version(&text)
        .with_context(|| format!("the version of {} reads {text:?}", python.display()))
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn make(base: &Path, folder: &Path) -> Result<()> {
    let made = step(
        "virtual environment",
        command(base).args(["-m", "venv"]).arg(folder),
    );
    if let Err(error) = made {
        // An incomplete environment must not be used later.
        let _ = fs::remove_dir_all(folder);
        return Err(error.context(
            "this Python cannot make virtual environments: install its venv and ensurepip modules \
             (Debian, Ubuntu: apt install python3-venv), or name another Python in the variable PYTHON",
        ));
    }
    Ok(())
}

fn install(interpreter: &Path, requirements: &str, options: &[&str]) -> Result<()> {
    let quiet = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        // Most modules are never imported: Python compiles those that are.
        "--no-compile",
    ];
    step(
        "Python packages",
        command(interpreter)
            .args(quiet)
            .args(options)
            .args(["--requirement", requirements]),
    )
    .context(
        "pip could not install the packages: it needs a package index (or a folder of wheels \
             named in PIP_FIND_LINKS)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(parse_version("3 11\n"), Some((3, 11)));
        assert_eq!(parse_version("3.11\n"), None);
    }

    #[test]
    fn a_change_of_an_included_file_changes_the_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let outer = folder.path().join("outer.txt");
        let inner = folder.path().join("inner.txt");
        fs::write(&outer, "torch==1\n-r inner.txt\n").unwrap();
        fs::write(&inner, "numpy==1\n").unwrap();
        let before = stamp_text(&outer).unwrap();
        assert!(before.contains("numpy==1"));
        fs::write(&inner, "numpy==2\n").unwrap();
        assert_ne!(before, stamp_text(&outer).unwrap());
    }

    #[test]
    fn the_lists_of_packages_exist_and_are_pinned() {
        let all = [TEST, BENCH, PACKAGE, FRAMEWORKS, PACKAGE_BENCH, SAFETY];
        let bare = all.iter().filter_map(|packages| packages.bare);
        for requirements in all.iter().map(|packages| packages.requirements).chain(bare) {
            let text = stamp_text(&shell::root().join(requirements)).unwrap();
            let lines = text.lines().filter(|line| !line.starts_with(['#', '-']));
            assert!(lines.clone().count() >= 2);
            assert!(lines.clone().all(|line| line.contains("==")), "{text}");
        }
    }

    #[test]
    fn a_missing_requirements_file_is_named() {
        let error = stamp_text(Path::new("no-such-requirements.txt")).unwrap_err();
        assert!(format!("{error:#}").contains("no-such-requirements.txt"));
    }
}
