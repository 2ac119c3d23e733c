//! Running other programs from the root of the repository.

use std::env;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;

/// The folder that holds the workspace's `Cargo.toml`.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// A command that starts in the root.
pub fn command(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.current_dir(root());
    command
}

/// The cargo that runs this task, so that a chosen toolchain stays chosen.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = command(env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from));
    cargo.args(arguments);
    if env::var_os("CARGO_INCREMENTAL").is_none() {
        // Tasks build everything: keeping notes for the next small change costs a fifth more.
        cargo.env("CARGO_INCREMENTAL", "0");
    }
    cargo
}

/// Runs a step with its output on the terminal, and fails with the command line that failed.
pub fn step(title: &str, command: &mut Command) -> Result<()> {
    eprintln!("\n── {title}: {}", line(command));
    let start = Instant::now();
    let status = command.status().map_err(|error| missing(command, error))?;
    if !status.success() {
        bail!("{title} failed ({status}): {}", line(command));
    }
    eprintln!("   {title}: done in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// The standard output of a command; its errors stay on the terminal.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| missing(command, error))?;
    if !output.status.success() {
        bail!("failed ({}): {}", output.status, line(command));
    }
    String::from_utf8(output.stdout).with_context(|| format!("output of {}", line(command)))
}

/// Builds a target with cargo's arguments `build`, and asks cargo where its executable is.
pub fn executable(build: &[&str], target: &str) -> Result<PathBuf> {
    let messages = output(cargo(build).arg("--message-format=json-render-diagnostics"))?;
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == target)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .with_context(|| format!("cargo built no executable named {target}"))
}

/// Whether `cargo NAME` is there.
pub fn has_cargo_command(name: &str) -> bool {
    succeeds(&mut cargo(&[name, "--version"]))
}

/// Whether a program is there and runs.
pub fn has_program(name: &str) -> bool {
    succeeds(command(name).arg("--version"))
}

/// Runs a command without its output.
pub fn succeeds(command: &mut Command) -> bool {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// The checks that could not run, because this machine lacks what they need.
pub struct Skipped {
    is_error: bool,
    checks: Vec<String>,
}

impl Skipped {
    /// With `is_error`, the first check that cannot run is an error.
    pub fn new(is_error: bool) -> Self {
        Self {
            is_error,
            checks: Vec::new(),
        }
    }

    /// Notes that a check is skipped, and why.
    pub fn add(&mut self, check: &str, reason: &str) -> Result<()> {
        if self.is_error {
            bail!("{check} cannot run: {reason}");
        }
        eprintln!("\n── {check}: skipped, {reason}");
        self.checks.push(format!("{check} ({reason})"));
        Ok(())
    }

    /// The closing line of a task that has passed.
    pub fn summary(&self, passed: &str) -> String {
        match self.checks.as_slice() {
            [] => passed.to_owned(),
            checks => format!("{passed}; skipped: {}", checks.join(", ")),
        }
    }
}

fn missing(command: &Command, error: std::io::Error) -> anyhow::Error {
    let program = command.get_program().to_string_lossy();
    match error.kind() {
        ErrorKind::NotFound => anyhow!("{program} was not found: install it, or add it to PATH"),
        _ => anyhow!(error).context(format!("starting {program}")),
    }
}

fn line(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_stem()
        .unwrap_or(command.get_program());
    let mut line = program.to_string_lossy().into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        let error = step("nothing", &mut command("no-such-program-anywhere")).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("no-such-program-anywhere was not found"),
            "{error}"
        );
    }

    #[test]
    fn a_failing_step_names_its_command() {
        let error = step("odd", &mut cargo(&["no-such-subcommand"])).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("odd failed"), "{message}");
        assert!(message.contains("cargo no-such-subcommand"), "{message}");
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("xtask").join("Cargo.toml").is_file());
    }

    #[test]
    fn a_skipped_check_is_told_or_an_error() {
        let mut skipped = Skipped::new(false);
        skipped.add("this", "that is missing").unwrap();
        assert_eq!(
            skipped.summary("done"),
            "done; skipped: this (that is missing)"
        );
        let error = Skipped::new(true)
            .add("this", "that is missing")
            .unwrap_err();
        assert_eq!(error.to_string(), "this cannot run: that is missing");
    }
}
