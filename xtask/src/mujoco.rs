//! Fetches the MuJoCo library that `fab-saferl` links with its feature `mujoco`.
//!
//! The library comes out of the Python wheel, which pip downloads and checks by its hash. It is placed in
//! the folder that `.cargo/config.toml` names in `MUJOCO_DYNAMIC_LINK_DIR`, beside a linker script that
//! refers to it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::metadata::Workspace;
use crate::python::{self, Environment};
use crate::shell::{self, command, step};

/// The library's folder, from the root.
const FOLDER: &str = "paper/saferl/mujoco";

/// Name, version and hashes of the wheel, from the root.
const REQUIREMENTS: &str = "paper/saferl/mujoco/requirements.txt";

/// The library's file name, with its version.
const LIBRARY: &str = "libmujoco.so.3.17.0";

pub fn run() -> Result<ExitCode> {
    eprintln!("MuJoCo's library is {}", prepare()?.display());
    Ok(ExitCode::SUCCESS)
}

/// The library; downloads it if it is missing.
pub fn prepare() -> Result<PathBuf> {
    let library = shell::root().join(FOLDER).join(LIBRARY);
    if library.is_file() {
        return Ok(library);
    }
    let work = Workspace::read()?.target_directory.join("mujoco");
    remove(&work)?;
    fs::create_dir_all(&work).with_context(|| format!("creating {}", work.display()))?;
    // Any with pip will do.
    let python = Environment::prepare(&python::TEST)?;
    download(&python, &work)?;
    extract(&python, &work)?;
    // Renamed when it is whole, so that an interrupted copy is not taken for the library.
    let fresh = library.with_extension("new");
    fs::copy(work.join(LIBRARY), &fresh).with_context(|| format!("writing {}", fresh.display()))?;
    fs::rename(&fresh, &library).with_context(|| format!("writing {}", library.display()))?;
    remove(&work)?;
    Ok(library)
}

fn remove(folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))
}

/// Downloads the wheel for this machine. Its Python version is fixed, since only the library in it is
/// used.
fn download(python: &Environment, folder: &Path) -> Result<()> {
    let platform = platform(env::consts::OS, env::consts::ARCH)?;
    let fixed = [
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--python-version=3.11",
        "--require-hashes",
    ];
    let mut pip = python.module("pip");
    pip.args(fixed)
        .args(["--platform", platform, "--requirement", REQUIREMENTS])
        .arg("--dest")
        .arg(folder.join("wheel"));
    step("MuJoCo's wheel", &mut pip).context(
        "pip could not download MuJoCo: it needs a package index (or a folder of wheels named in \
         PIP_FIND_LINKS)",
    )
}

fn platform(system: &str, processor: &str) -> Result<&'static str> {
    match (system, processor) {
        ("linux", "x86_64") => Ok("manylinux_2_28_x86_64"),
        ("linux", "aarch64") => Ok("manylinux_2_28_aarch64"),
        _ => bail!(
            "this task knows MuJoCo's library for Linux only: install MuJoCo 3.17.0 and name its `lib` \
             folder in the variable MUJOCO_DYNAMIC_LINK_DIR"
        ),
    }
}

fn extract(python: &Environment, folder: &Path) -> Result<()> {
    let program = "import glob, os, sys, zipfile\n\
        folder, library = sys.argv[1:]\n\
        wheel, = glob.glob(os.path.join(folder, 'wheel', '*.whl'))\n\
        with open(os.path.join(folder, library), 'wb') as out:\n\
        \x20   out.write(zipfile.ZipFile(wheel).read('mujoco/' + library))";
    let mut unpack = command(python.interpreter());
    unpack.args(["-c", program]).arg(folder).arg(LIBRARY);
    shell::output(&mut unpack).context("taking the library out of the wheel")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_the_one_that_builds_look_into() {
        let config = fs::read_to_string(shell::root().join(".cargo/config.toml")).unwrap();
        assert!(config.contains(&format!("\"{FOLDER}\"")), "{config}");
    }

    #[test]
    fn the_script_names_the_pinned_version() {
        let script = shell::root().join(FOLDER).join("libmujoco.so");
        let script = fs::read_to_string(script).unwrap();
        assert!(script.contains(&format!("( {LIBRARY} )")), "{script}");
        let text = fs::read_to_string(shell::root().join(REQUIREMENTS)).unwrap();
        let version = LIBRARY.strip_prefix("libmujoco.so.").unwrap();
        assert!(text.contains(&format!("mujoco=={version} ")), "{text}");
        assert_eq!(text.matches("--hash=sha256:").count(), 2);
    }

    #[test]
    fn an_unknown_system_is_told_what_to_install() {
        let error = platform("plan9", "mips").unwrap_err().to_string();
        assert!(error.contains("MUJOCO_DYNAMIC_LINK_DIR"), "{error}");
    }
}
