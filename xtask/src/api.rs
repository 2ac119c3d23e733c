//! The public interface of the crates with a version promise, compared with the listing in `xtask/api`.

mod listing;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::metadata::Workspace;
use crate::shell::{Skipped, command, root, step, succeeds};
use listing::Listing;

const CRATES: [&str; 2] = ["fabproj", "fabproj-core"];

const IF_INTENDED: &str =
    "if this is intended, run `cargo xtask api --update` and describe the change in CHANGELOG.md";

#[derive(clap::Args)]
pub struct Arguments {
    /// Record the interface as it is now
    #[arg(long)]
    update: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if !has_nightly() {
        bail!("a nightly toolchain is needed: rustup toolchain install nightly --profile minimal");
    }
    let mut changed = false;
    for (name, now) in listings(&Workspace::read()?)? {
        let before = recorded(name)?;
        let was = before
            .as_ref()
            .map_or("nothing".into(), |before| before.items.to_string());
        println!("{name}: {} public named items; recorded: {was}", now.items);
        let changes = before.map_or(Vec::new(), |before| now.changes(&before));
        changes.iter().for_each(|change| println!("  {change}"));
        changed |= !changes.is_empty();
        if arguments.update {
            let path = file(name);
            fs::create_dir_all(root().join("xtask").join("api"))?;
            fs::write(&path, now.to_text())
                .with_context(|| format!("writing {}", path.display()))?;
        }
    }
    if changed && !arguments.update {
        bail!("the public interface differs from the recorded one; {IF_INTENDED}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Fails if the interface differs from the recorded one.
pub fn check(workspace: &Workspace, skipped: &mut Skipped) -> Result<()> {
    if CRATES.iter().all(|name| !file(name).is_file()) {
        return skipped.add(
            "public interface",
            "nothing is recorded (cargo xtask api --update)",
        );
    }
    if !has_nightly() {
        return skipped.add(
            "public interface",
            "there is no nightly toolchain (rustup toolchain install nightly)",
        );
    }
    let mut changes = Vec::new();
    for (name, now) in listings(workspace)? {
        changes.extend(now.changes(&recorded(name)?.unwrap_or_default()));
    }
    if !changes.is_empty() {
        bail!(
            "the public interface differs from the recorded one:\n  {}\n{IF_INTENDED}",
            changes.join("\n  ")
        );
    }
    Ok(())
}

fn has_nightly() -> bool {
    succeeds(&mut nightly(&["--version"]))
}

/// The nightly cargo: rustdoc writes JSON only there.
fn nightly(arguments: &[&str]) -> Command {
    let mut nightly = command("rustup");
    nightly
        .args(["run", "nightly", "cargo"])
        .args(arguments)
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN");
    nightly
}

fn listings(workspace: &Workspace) -> Result<Vec<(&'static str, Listing)>> {
    // A folder of its own: another compiler would rebuild everything in the common one.
    let target = workspace.target_directory.join("api");
    let mut document = nightly(&["doc", "--quiet", "--no-deps", "--lib", "--target-dir"]);
    document
        .arg(&target)
        .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json");
    for name in CRATES {
        document.args(["--package", name]);
    }
    step("public interface", &mut document)?;
    let read = |name: &'static str| {
        let path = target
            .join("doc")
            .join(name.replace('-', "_"))
            .with_extension("json");
        let json = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        let listing = Listing::from_rustdoc(&serde_json::from_slice(&json)?, &root())
            .with_context(|| format!("listing the public interface of {name}"))?;
        Ok((name, listing))
    };
    CRATES.into_iter().map(read).collect()
}

fn file(name: &str) -> PathBuf {
    root()
        .join("xtask")
        .join("api")
        .join(name)
        .with_extension("txt")
}

fn recorded(name: &str) -> Result<Option<Listing>> {
    let path = file(name);
    if !path.is_file() {
        return Ok(None);
    }
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    Ok(Some(Listing::from_text(&text).with_context(|| {
        format!("{} is damaged", path.display())
    })?))
}
