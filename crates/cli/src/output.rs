//! Places that results may go to.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fabproj::support::{is_same_file, target_of};

/// Standard input or output.
pub const STANDARD: &str = "-";

/// Checks, before any work, that a file can be written: its folder exists, it is not an input of the command, and
/// it replaces nothing unless `force`. `inputs` that are no files are never the same.
pub fn check(path: &Path, force: bool, inputs: &[PathBuf]) -> Result<()> {
    let name = path.display();
    if path == Path::new(STANDARD) {
        bail!("this output cannot go to standard output; name a file, such as ./-");
    }
    check_inputs(path, inputs)?;
    let target = target_of(path).with_context(|| format!("cannot write {name}"))?;
    let folder = target.parent().filter(|one| !one.as_os_str().is_empty());
    if let Some(folder) = folder
        && !folder.is_dir()
    {
        bail!(
            "cannot write {name}: there is no folder {}",
            folder.display()
        );
    }
    if target.exists() && !force {
        bail!("{name} exists: --force replaces it, or name another file");
    }
    Ok(())
}

/// Refuses to write over an input.
pub fn check_inputs(path: &Path, inputs: &[PathBuf]) -> Result<()> {
    let name = path.display();
    for input in inputs {
        // Standard input may be a file too.
        let input = match input == Path::new(STANDARD) {
            true => Path::new("/dev/stdin"),
            false => input,
        };
        if input.exists() && is_same_file(path, input) {
            bail!("{name} is an input of this command; name another file for the output");
        }
    }
    Ok(())
}
