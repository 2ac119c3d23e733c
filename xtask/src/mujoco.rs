//! Fetches the MuJoCo library that `fab-saferl` links with its feature `mujoco`.
//!
//! The library comes out of the Python wheel, which pip downloads and checks by its hash. It is placed in
//! the folder that `.cargo/config.toml` names in `MUJOCO_DYNAMIC_LINK_DIR`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::shell::{self, command, step};

/// The folder of the library, from the root. Named after the command that fills it, because a build
/// without the library fails with this path in its message.
const FOLDER: &str = ".cache/cargo-xtask-mujoco";

/// Name, version and hashes of the wheel, from the root.
const REQUIREMENTS: &str = "paper/saferl/mujoco.txt";

/// The library's file name, which is also the name that programs look for when they start.
const LIBRARY: &str = "libmujoco.so.3.17.0";

/// The name that the linker looks for.
const LINK: &str = "libmujoco.so";

/// A copy of the requirements that the folder was filled with.
const STAMP: &str = "mujoco.txt";

pub fn run() -> Result<ExitCode> {
    let folder = prepare()?;
    eprintln!("{LIBRARY} is in {}", folder.display());
    Ok(ExitCode::SUCCESS)
}

/// The folder with the library; downloads it if it is missing or of another version.
pub fn prepare() -> Result<PathBuf> {
    let folder = shell::root().join(FOLDER);
    let requirements = shell::root().join(REQUIREMENTS);
    let wanted = fs::read_to_string(&requirements)
        .with_context(|| format!("reading {}", requirements.display()))?;
    if is_filled(&folder, &wanted) {
        return Ok(folder);
    }
    // Filled under another name and renamed, so that an interrupted download leaves nothing behind.
    let fresh = folder.with_extension("new");
    remove(&fresh)?;
    fs::create_dir_all(&fresh).with_context(|| format!("creating {}", fresh.display()))?;
    let python = pip(&fresh)?;
    download(&python, &fresh)?;
    extract(&python, &fresh)?;
    link(&fresh)?;
    fs::write(fresh.join(STAMP), wanted)?;
    remove(&fresh.join("python"))?;
    remove(&fresh.join("wheel"))?;
    remove(&folder)?;
    fs::rename(&fresh, &folder).with_context(|| format!("creating {}", folder.display()))?;
    Ok(folder)
}

fn is_filled(folder: &Path, wanted: &str) -> bool {
    let stamped = fs::read_to_string(folder.join(STAMP)).is_ok_and(|text| text == wanted);
    stamped && folder.join(LIBRARY).is_file() && folder.join(LINK).is_file()
}

fn remove(folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))
}

/// A Python with pip: a virtual environment, because not every system's Python has pip.
fn pip(folder: &Path) -> Result<PathBuf> {
    let chosen = env::var_os("PYTHON").map(PathBuf::from);
    let python = chosen.unwrap_or_else(|| "python3".into());
    let environment = folder.join("python");
    let mut venv = command(&python);
    step(
        "virtual environment",
        venv.args(["-m", "venv"]).arg(&environment),
    )
    .context(
        "Python 3 with its venv module is needed to download MuJoCo (Debian, Ubuntu: apt install \
         python3-venv); the variable PYTHON names another one",
    )?;
    Ok(environment.join("bin").join("python"))
}

/// Downloads the wheel for this machine. Its Python version is fixed, since only the library in it is
/// used.
fn download(python: &Path, folder: &Path) -> Result<()> {
    let platform = platform(env::consts::OS, env::consts::ARCH)?;
    let fixed = [
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--python-version=3.11",
        "--require-hashes",
    ];
    let mut pip = command(python);
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

fn extract(python: &Path, folder: &Path) -> Result<()> {
    let program = "import glob, os, sys, zipfile\n\
        folder, library = sys.argv[1:]\n\
        wheel, = glob.glob(os.path.join(folder, 'wheel', '*.whl'))\n\
        with open(os.path.join(folder, library), 'wb') as out:\n\
        \x20   out.write(zipfile.ZipFile(wheel).read('mujoco/' + library))";
    let mut unpack = command(python);
    unpack.args(["-c", program]).arg(folder).arg(LIBRARY);
    shell::output(&mut unpack).context("taking the library out of the wheel")?;
    Ok(())
}

#[cfg(unix)]
fn link(folder: &Path) -> Result<()> {
    std::os::unix::fs::symlink(LIBRARY, folder.join(LINK))
        .with_context(|| format!("linking {LINK} in {}", folder.display()))
}

#[cfg(not(unix))]
fn link(folder: &Path) -> Result<()> {
    fs::copy(folder.join(LIBRARY), folder.join(LINK))?;
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
    fn the_requirements_pin_the_library_by_its_hash() {
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

    #[test]
    fn a_folder_of_another_version_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        for name in [LIBRARY, LINK] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::write(folder.path().join(STAMP), "mujoco==1").unwrap();
        assert!(is_filled(folder.path(), "mujoco==1"));
        assert!(!is_filled(folder.path(), "mujoco==2"));
    }
}
