//! The tests of core and library on emulated AArch64: elsewhere the NEON kernels are not even compiled.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::shell::{cargo, has_program, step};

const TARGET: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: &str = "qemu-aarch64";

pub fn run() -> Result<ExitCode> {
    for program in [LINKER, EMULATOR] {
        if !has_program(program) {
            bail!(
                "{program} was not found: on Debian and Ubuntu the packages are gcc-aarch64-linux-gnu and \
                 qemu-user; the target is added by `rustup target add {TARGET}`"
            );
        }
    }
    step(
        "core on AArch64",
        &mut tests(&["--package", "fabproj-core"]),
    )?;
    step(
        "library on AArch64",
        &mut tests(&["--package", "fabproj", "--lib"]),
    )?;
    Ok(ExitCode::SUCCESS)
}

fn tests(chosen: &[&str]) -> std::process::Command {
    let mut tests = cargo(&["test", "--target", TARGET]);
    tests
        .args(chosen)
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
        .env(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
            format!("{EMULATOR} -L /usr/aarch64-linux-gnu"),
        );
    tests
}
