//! Endless, huge and strange inputs: limits with messages.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::words;
use crate::common::{Ran, folder, run, run_with_input, write};

#[test]
fn a_stream_without_line_breaks_ends() {
    let folder = folder();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("fabproj"))
        .args(words("project ring -"))
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"y0,y1\n").unwrap();
    // Until the command has read enough.
    let mut sent = 0;
    while input.write_all(&[b'1'; 1 << 16]).is_ok() {
        sent += 1 << 16;
        assert!(sent < 64 << 20, "it reads on");
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("line 2 is longer than"), "{said}");
}

#[cfg(unix)]
#[test]
fn endless_files_and_pipes_without_a_writer_are_refused() {
    let folder = folder();
    run(folder.path(), &words("train star --config /dev/zero")).failed(1, &["1000000 bytes"]);
    let made = Command::new("mkfifo")
        .args(["pipe.npz"])
        .current_dir(folder.path())
        .status();
    assert!(made.unwrap().success());
    run(folder.path(), &words("train pipe.npz")).failed(1, &["pipe.npz", "a pipe"]);
    let set =
        "y = 2\nbounds = [0, 1]\narrays = \"pipe.npz\"\n[[constraint]]\nexpr = \"h @ y <= 1\"\n";
    write(folder.path(), "set.toml", set);
    run(folder.path(), &words("train set.toml")).failed(1, &["line 3", "a pipe"]);
}

#[test]
fn tables_wider_than_any_model_are_refused_before_they_are_learned() {
    let folder = folder();
    let row = |value: &str| vec![value; 5000].join(",");
    let names: Vec<String> = (0..5000).map(|index| format!("c{index}")).collect();
    let table = format!(
        "{},label\n{},1\n{},0\n",
        names.join(","),
        row("1"),
        row("2")
    );
    write(folder.path(), "wide.csv", &table);
    run(folder.path(), &words("train wide.csv")).failed(1, &["5000 columns", "at most 4096"]);
}

#[test]
fn long_fields_and_names_give_short_messages() {
    let folder = folder();
    let field = "x".repeat(500_000);
    let ran = run_with_input(
        folder.path(),
        &["project", "ring"],
        &format!("y0,y1\n1,{field}\n"),
    );
    assert!(ran.stderr.len() < 2500, "{}", ran.stderr.len());
    ran.failed(1, &["is not a number", "500000 characters"]);
    let name = "n".repeat(30_000);
    let started = Instant::now();
    let ran = run(folder.path(), &["train", &name]);
    assert!(ran.stderr.len() < 2500, "{}", ran.stderr.len());
    ran.failed(2, &["unknown set"]);
    let variables: Vec<String> = (0..500).map(|index| format!("\"v{index}\"")).collect();
    let bounds: Vec<String> = (0..500).map(|index| format!("v{index} = [0, 1]")).collect();
    let set = format!(
        "y = [{}]\nbounds = {{ {} }}\n[[constraint]]\nexpr = \"{name} <= 1\"\n",
        variables.join(", "),
        bounds.join(", ")
    );
    write(folder.path(), "long.toml", &set);
    let ran = run(folder.path(), &["train", "long.toml"]);
    assert!(ran.stderr.len() < 2500, "{}", ran.stderr.len());
    ran.failed(1, &["unknown name"]);
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn threads_of_the_environment_have_a_limit_too() {
    let folder = folder();
    let mut command = crate::common::fabproj(folder.path());
    let command = command.args(words("inspect ring"));
    Ran::of(command.env("RAYON_NUM_THREADS", "5000")).failed(2, &["at most"]);
    Ran::of(command.env("RAYON_NUM_THREADS", "2")).done();
}

#[test]
fn words_of_the_command_are_no_orders_to_a_terminal() {
    let folder = folder();
    let long = "n".repeat(30_000);
    for word in [
        "\u{1b}[2J",
        "--\u{1b}[2J",
        "--threads=\u{1b}[2J\u{7}",
        &long,
    ] {
        // As on a terminal.
        let mut command = crate::common::fabproj(folder.path());
        let ran = Ran::of(command.args(["sets", word]).env("CLICOLOR_FORCE", "1"));
        assert!(!ran.stderr.contains("\u{1b}[2J") && !ran.stderr.contains('\u{7}'));
        assert!(ran.stderr.len() < 2500, "{}", ran.stderr.len());
        ran.failed(2, &[]);
    }
}

#[test]
fn many_equations_are_read_in_time() {
    let folder = folder();
    let count = 300;
    let names: Vec<String> = (0..count).map(|index| format!("\"v{index}\"")).collect();
    let bounds: Vec<String> = (0..count)
        .map(|index| format!("v{index} = [0, 1]"))
        .collect();
    let mut set = format!(
        "y = [{}]\nbounds = {{ {} }}\n",
        names.join(", "),
        bounds.join(", ")
    );
    for index in 0..count / 3 {
        let (a, b, c) = (3 * index, 3 * index + 1, 3 * index + 2);
        set += &format!("[[constraint]]\nexpr = \"v{a} + v{b} + v{c} == 1\"\n");
    }
    write(folder.path(), "many.toml", &set);
    let started = Instant::now();
    // The figure cannot be written: the set is read first, and nothing is trained.
    run(folder.path(), &words("certify ring many.toml")).failed(1, &["another set"]);
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
}
