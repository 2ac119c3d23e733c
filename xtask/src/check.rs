//! Everything but building and running the tests; every warning is an error.

use std::process::ExitCode;

use anyhow::Result;

use crate::metadata::Workspace;
use crate::shell::{Skipped, cargo, has_cargo_command, step};
use crate::{api, arrows, features, packages, workflows};

#[derive(clap::Args)]
pub struct Arguments {
    /// Fail where a check would be skipped because a tool is not installed
    #[arg(long)]
    no_skip: bool,
}

impl Arguments {
    pub fn skipped(&self) -> Skipped {
        Skipped::new(self.no_skip)
    }
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut skipped = arguments.skipped();
    let features = features::all(&mut skipped)?;
    steps(&Workspace::read()?, &features, &mut skipped)?;
    eprintln!("\n{}", skipped.summary("all checks passed"));
    Ok(ExitCode::SUCCESS)
}

/// The steps alone, for `test` to go on from.
pub fn steps(workspace: &Workspace, features: &[String], skipped: &mut Skipped) -> Result<()> {
    arrows::check(workspace)?;
    step("format", &mut cargo(&["fmt", "--all", "--check"]))?;
    workflows::check(workspace, skipped)?;
    let lints = ["clippy", "--workspace", "--all-targets"];
    let strict = ["--", "-D", "warnings"];
    step("lints", cargo(&lints).args(features).args(strict))?;
    let docs = ["doc", "--workspace", "--no-deps"];
    let strict = ("RUSTDOCFLAGS", "-D warnings");
    step("docs", cargo(&docs).args(features).env(strict.0, strict.1))?;
    dependencies(skipped)?;
    packages::check(workspace)?;
    api::check(workspace, skipped)
}

/// Licences, advisories and sources of the dependencies.
fn dependencies(skipped: &mut Skipped) -> Result<()> {
    if !has_cargo_command("deny") {
        return skipped.add(
            "dependencies",
            "cargo-deny is not installed (cargo install cargo-deny)",
        );
    }
    step("dependencies", &mut cargo(&["deny", "check"]))
}
