//! Sets up, checks and benches everything. `cargo xtask help` lists the tasks.

mod arm;
mod bench;
mod check;
mod mujoco;
mod python;
mod shell;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
#[command(about = "Sets up, checks and benches everything")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Everything that CI runs: format, lints, docs, tests, the no_std build, Python consumers
    Test,
    /// The quick part of `test`: format, lints and docs
    Check,
    /// Tests of the core and the library on AArch64, emulated by QEMU
    Arm,
    /// Our speed beside PyTorch's and ONNX Runtime's, interleaved in one run on one core
    Bench(bench::Arguments),
    /// Fetch the MuJoCo library for the feature `mujoco` of fab-saferl
    Mujoco,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Test => test::run(),
        Task::Check => check::run(),
        Task::Arm => arm::run(),
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Mujoco => mujoco::run(),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}
