//! What would be published: every published crate packs, with a README and both licences.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::metadata::{Package, Workspace};
use crate::shell::{cargo, output, root, step};

const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Packs all published crates together, so that those that are not in the registry yet find each other.
pub fn check(workspace: &Workspace) -> Result<()> {
    let mut pack = cargo(&[
        "package",
        "--quiet",
        "--offline",
        "--no-verify",
        "--allow-dirty",
    ]);
    for package in workspace.published() {
        contents(package)?;
        pack.args(["--package", &package.name]);
    }
    step("packages", &mut pack)
}

fn contents(package: &Package) -> Result<()> {
    let list = ["package", "--list", "--quiet", "--allow-dirty", "--package"];
    let files = output(cargo(&list).arg(&package.name))?;
    let folder = package.folder();
    for needed in ["README.md"].iter().chain(&LICENCES) {
        if !files.lines().any(|file| file == *needed) {
            bail!(
                "the package {} has no {needed}: add {}",
                package.name,
                folder.join(needed).display()
            );
        }
    }
    same_licences(&root(), folder)
}

/// Packages hold copies, since links do not survive every checkout.
fn same_licences(root: &Path, folder: &Path) -> Result<()> {
    for licence in LICENCES {
        let copy = folder.join(licence);
        let read = |path: &Path| {
            fs::read(root.join(path)).with_context(|| format!("reading {}", path.display()))
        };
        if read(&copy)? != read(Path::new(licence))? {
            bail!("{} differs from {licence}: copy it again", copy.display());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_that_differs_is_named() {
        let root = tempfile::tempdir().unwrap();
        let folder = Path::new("crate");
        fs::create_dir(root.path().join(folder)).unwrap();
        for licence in LICENCES {
            fs::write(root.path().join(licence), "text").unwrap();
            fs::write(root.path().join(folder).join(licence), "text").unwrap();
        }
        same_licences(root.path(), folder).unwrap();
        fs::write(root.path().join(folder).join("LICENSE-MIT"), "old text").unwrap();
        let message = same_licences(root.path(), folder).unwrap_err().to_string();
        assert!(message.contains("LICENSE-MIT differs"), "{message}");
    }

    #[test]
    fn only_the_product_is_published() {
        let workspace = Workspace::read().unwrap();
        let published: Vec<&str> = workspace
            .published()
            .map(|package| package.name.as_str())
            .collect();
        assert!(
            published.contains(&"fabproj")
                && published.iter().all(|name| name.starts_with("fabproj"))
        );
    }
}
