//! Hostile files and bad models, for as long as one likes: `docs/reliability.md` has the figures.

use std::process::ExitCode;

use anyhow::Result;

use crate::shell::{cargo, command, has_cargo_command, step};

#[derive(clap::Args)]
pub struct Fuzz {
    /// How long
    #[arg(long, value_name = "N", default_value_t = 10.0)]
    minutes: f64,

    /// Seed of the mutations
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

#[derive(clap::Args)]
pub struct Soak {
    /// How many projections
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    calls: u64,

    /// Seed of models and inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Mutated real files through every reader; where cargo-fuzz is installed, models by libFuzzer as well.
pub fn fuzz(arguments: &Fuzz) -> Result<ExitCode> {
    let (minutes, seed) = (arguments.minutes.to_string(), arguments.seed.to_string());
    let run = [
        "run",
        "--release",
        "--package",
        "fabproj",
        "--features",
        "csv,npz",
        "--example",
        "fuzz",
        "--",
    ];
    let mut fuzz = cargo(&run);
    fuzz.args(["--minutes", &minutes, "--seed", &seed]);
    step("mutated files", &mut fuzz)?;
    if has_cargo_command("fuzz") {
        let seconds = format!("-max_total_time={:.0}", 60.0 * arguments.minutes);
        let mut models = command("cargo");
        models.args([
            "+nightly",
            "fuzz",
            "run",
            "--fuzz-dir",
            "crates/core/fuzz",
            "model_bytes",
            "--",
            &seconds,
        ]);
        step("models by libFuzzer", &mut models)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The guard against an independent test.
pub fn soak(arguments: &Soak) -> Result<ExitCode> {
    let (calls, seed) = (arguments.calls.to_string(), arguments.seed.to_string());
    let mut soak = cargo(&[
        "run",
        "--release",
        "--package",
        "fabproj",
        "--example",
        "soak",
        "--",
    ]);
    soak.args(["--calls", &calls, "--seed", &seed]);
    step("guard", &mut soak)?;
    Ok(ExitCode::SUCCESS)
}
