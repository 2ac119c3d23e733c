//! The workspace as `cargo metadata` describes it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::shell::{cargo, output, root};

#[derive(Deserialize)]
pub struct Workspace {
    pub packages: Vec<Package>,
    /// Where cargo puts what it builds.
    pub target_directory: PathBuf,
}

#[derive(Deserialize)]
pub struct Package {
    pub name: String,
    manifest_path: PathBuf,
    pub dependencies: Vec<Dependency>,
    /// The registries that it may be published to: none of them, or any if absent.
    publish: Option<Vec<String>>,
}

#[derive(Deserialize)]
pub struct Dependency {
    pub name: String,
    /// `dev`, `build`, or none for an ordinary dependency.
    kind: Option<String>,
    /// Where it is, for dependencies inside the repository.
    pub path: Option<PathBuf>,
}

impl Workspace {
    /// Asks cargo.
    pub fn read() -> Result<Self> {
        let text = output(&mut cargo(&[
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
        ]))?;
        serde_json::from_str(&text).context("reading the output of cargo metadata")
    }

    /// The crates that go to the registry, by name.
    pub fn published(&self) -> impl Iterator<Item = &Package> {
        let published =
            |package: &&Package| package.publish.as_ref().is_none_or(|to| !to.is_empty());
        self.packages.iter().filter(published)
    }
}

impl Package {
    /// Its folder, from the root of the repository.
    pub fn folder(&self) -> &Path {
        let folder = self.manifest_path.parent().unwrap_or(Path::new(""));
        folder.strip_prefix(root()).unwrap_or(folder)
    }
}

impl Dependency {
    pub fn is_dev(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}
