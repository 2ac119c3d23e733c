//! The example in C is compiled against the static library and run under a sanitizer and under valgrind.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use fabproj_core::{LatentSet, Weights};

/// Projections onto the disc of radius 0.5; the guard keeps what its own test, the right half plane, allows.
const PRINTED: [&str; 4] = [
    "projected 0.3000 0.4000 (1)",
    "projected -0.3000 0.4000 (1)",
    "guarded 3.0000 4.0000 (0)",
    "error: `y` is NULL",
];

#[test]
fn it_runs_under_a_sanitizer() {
    run(
        &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
        &[],
    );
}

#[test]
fn it_runs_under_valgrind() {
    if !exists("valgrind") {
        eprintln!("no valgrind: skipped");
        return;
    }
    run(
        &[],
        &[
            "valgrind",
            "--quiet",
            "--leak-check=full",
            "--error-exitcode=9",
        ],
    );
}

/// Compiles the example with more flags and runs it with some words before it.
fn run(flags: &[&str], before: &[&str]) {
    if !exists("cc") {
        eprintln!("no C compiler: skipped");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (program, model) = (folder.path().join("project"), folder.path().join("disc"));
    let disc = LatentSet::Ball {
        radius: 0.5,
        smooth: None,
    };
    std::fs::write(
        &model,
        Weights::identity(2, disc).to_bytes().expect("weights"),
    )
    .expect("a file");

    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Cargo puts the library beside the tests that it builds.
    let library = std::env::current_exe()
        .expect("a path")
        .with_file_name("libfabproj_c.a");
    let mut compile = Command::new("cc");
    compile
        .args(["-std=c99", "-g", "-Wall", "-Wextra", "-Werror", "-pedantic"])
        .args(flags)
        .arg("-I")
        .arg(here.join("include"))
        .arg(here.join("example/project.c"))
        .arg(library)
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program);
    output(&mut compile);

    let mut command = match before {
        [] => Command::new(&program),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(&program);
            command
        }
    };
    let text = output(command.arg(model));
    for line in PRINTED {
        assert!(text.lines().any(|found| found == line), "{line}:\n{text}");
    }
}

fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// What a command prints; it must succeed.
fn output(command: &mut Command) -> String {
    let output = command.output().expect("a program");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}
