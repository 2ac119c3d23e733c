//! Sets up, checks, tests and benches everything. `cargo xtask --help` lists the tasks.

mod api;
mod arm;
mod arrows;
mod bench;
mod bindings;
mod check;
mod features;
mod links;
mod metadata;
mod mujoco;
mod packages;
mod power_flow;
mod python;
mod reliability;
mod rl_parity;
mod shell;
mod test;
mod workflows;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
#[command(about = "Sets up, checks, tests and benches everything")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Format, lints, docs, links, dependencies, packages, public interface
    Check(check::Arguments),
    /// Everything that CI runs: `check`, all tests, `bindings`, the no_std program
    Test(check::Arguments),
    /// Compare the public interface with the recorded one
    Api(api::Arguments),
    /// Compare our speed with PyTorch and ONNX Runtime, interleaved on one core
    Bench(bench::Arguments),
    /// Test the Python package, alone and beside the frameworks; exported graphs in tract
    Bindings(check::Arguments),
    /// Build the native module for maturin
    #[command(hide = true)]
    Rustc(bindings::Rustc),
    /// Compare the speed of the Python package with that of other frameworks
    BenchBindings(bindings::Bench),
    /// Test the core and the library on AArch64, emulated by QEMU
    Arm,
    /// Read mutated set files, tables and models for some minutes
    Fuzz(reliability::Fuzz),
    /// Run the guard over good and bad models, against an independent test
    Soak(reliability::Soak),
    /// Fetch the MuJoCo library for the feature `mujoco` of fab-saferl
    Mujoco,
    /// Compare answers to optimal power flow with PYPOWER
    PowerFlow(power_flow::Arguments),
    /// Compare policies here and in the original Python package
    RlParity(rl_parity::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Check(arguments) => check::run(&arguments),
        Task::Test(arguments) => test::run(&arguments),
        Task::Api(arguments) => api::run(&arguments),
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Bindings(arguments) => bindings::run(&arguments),
        Task::Rustc(arguments) => bindings::rustc(&arguments),
        Task::BenchBindings(arguments) => bindings::bench(&arguments),
        Task::Arm => arm::run(),
        Task::Fuzz(arguments) => reliability::fuzz(&arguments),
        Task::Soak(arguments) => reliability::soak(&arguments),
        Task::Mujoco => mujoco::run(),
        Task::PowerFlow(arguments) => power_flow::run(&arguments),
        Task::RlParity(arguments) => rl_parity::run(&arguments),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("\nerror: {error:#}");
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_help_has_one_line_per_task() {
        let mut command = Arguments::command();
        command.clone().debug_assert();
        let help = command.render_help().to_string();
        for task in command.get_subcommands().filter(|task| !task.is_hide_set()) {
            let about = task
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                !about.is_empty() && help.contains(&about),
                "{}",
                task.get_name()
            );
        }
    }
}
