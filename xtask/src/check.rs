//! Everything but building and running the tests; every warning is an error.

use std::env;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::metadata::Workspace;
use crate::shell::{Skipped, cargo, command, has_cargo_command, output, step};
use crate::{api, arrows, features, links, packages, workflows};

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
    links::check()?;
    step("format", &mut cargo(&["fmt", "--all", "--check"]))?;
    workflows::check(workspace, skipped)?;
    let lints = ["clippy", "--workspace", "--all-targets"];
    let strict = ["--", "-D", "warnings"];
    step("lints", cargo(&lints).args(features).args(strict))?;
    let docs = ["doc", "--workspace", "--no-deps"];
    let strict = ("RUSTDOCFLAGS", "-D warnings");
    step("docs", cargo(&docs).args(features).env(strict.0, strict.1))?;
    web(skipped)?;
    dependencies(skipped)?;
    packages::check(workspace)?;
    api::check(workspace, skipped)
}

/// What a browser needs compiles for it.
fn web(skipped: &mut Skipped) -> Result<()> {
    const TARGET: &str = "wasm32-unknown-unknown";
    // The compiler that cargo uses. It names the folder whether or not it is there.
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let ask = ["--print", "target-libdir", "--target", TARGET];
    let library = output(command(compiler).args(ask))?;
    if !Path::new(library.trim()).is_dir() {
        let remedy = format!("the target is not installed (rustup target add {TARGET})");
        return skipped.add("WebAssembly", &remedy);
    }
    let mut check = cargo(&["check", "--target", TARGET]);
    for name in ["fabproj-core", "fabproj-nn", "fabproj"] {
        check.args(["--package", name]);
    }
    step("WebAssembly", &mut check)
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
