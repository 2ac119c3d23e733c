//! Links, devices, pipes, owners and locks.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{TINY, words};
use crate::common::{folder, run, run_with_input, write};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("there").permissions().mode() & 0o7777
}

fn train(more: &str) -> Vec<&str> {
    [words("train concentric-circles"), words(TINY), words(more)].concat()
}

#[test]
fn links_stay_links_and_files_keep_their_mode() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    write(folder.path(), "in.csv", "y0,y1\n3,0\n");
    for (target, link, command) in [
        (
            "out.csv",
            "out-link",
            "project ring in.csv --force -o out-link",
        ),
        ("ring.svg", "figure.svg", "plot ring --force -o figure.svg"),
        ("ring", "ring-link", "certify ring-link --samples 500"),
    ] {
        if !at(target).exists() {
            write(folder.path(), target, "old");
        }
        std::fs::set_permissions(at(target), PermissionsExt::from_mode(0o600)).unwrap();
        symlink(target, at(link)).unwrap();
        let before = std::fs::read(at(target)).unwrap();
        run(folder.path(), &words(command)).done();
        assert!(std::fs::symlink_metadata(at(link)).unwrap().is_symlink());
        assert_ne!(std::fs::read(at(target)).unwrap(), before, "{command}");
        assert_eq!(mode(&at(target)), 0o600, "{command}");
    }
    write(folder.path(), "model", "old");
    std::fs::set_permissions(at("model"), PermissionsExt::from_mode(0o640)).unwrap();
    symlink("model", at("model-link")).unwrap();
    run(folder.path(), &train("--force -o model-link")).done();
    assert!(
        std::fs::symlink_metadata(at("model-link"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(mode(&at("model")), 0o640);
}

/// A pipe and, where the user may make one, a device of this test alone.
#[test]
fn devices_and_pipes_are_written_to_or_refused_but_never_replaced() {
    let folder = folder();
    write(folder.path(), "in.csv", "y0,y1\n3,0\n");
    let make = |arguments: &[&str]| {
        let mut command = Command::new("mknod");
        let made = command
            .args(arguments)
            .current_dir(folder.path())
            .stderr(Stdio::null());
        made.status().is_ok_and(|status| status.success())
    };
    assert!(make(&["pipe.svg", "p"]));
    // The numbers of /dev/null: what is written to it is gone.
    let device = make(&["device.svg", "c", "1", "3"]);
    let names = if device {
        vec!["pipe.svg", "device.svg"]
    } else {
        vec!["pipe.svg"]
    };
    for name in names {
        let kind = || {
            std::fs::symlink_metadata(folder.path().join(name))
                .unwrap()
                .file_type()
        };
        let before = kind();
        let refused = |command: Vec<&str>| {
            run(folder.path(), &command).failed(1, &["device or a pipe"]);
        };
        refused(words(&format!("plot ring --force -o {name}")));
        refused(train(&format!("--force -o {name}")));
        refused(train(&format!("--force -o m --plot {name}")));
        assert_eq!(kind(), before);
    }
    if device {
        // A file system may forbid devices: then it cannot be opened, and stays as well.
        let _ = run(
            folder.path(),
            &words("project ring in.csv --force -o device.svg"),
        );
        let kind = std::fs::symlink_metadata(folder.path().join("device.svg")).unwrap();
        assert!(!kind.is_file());
    }
    std::fs::rename(
        folder.path().join("pipe.svg"),
        folder.path().join("fabproj.1"),
    )
    .unwrap();
    run(folder.path(), &words("man .")).failed(1, &["fabproj.1", "device or a pipe"]);
    std::fs::rename(
        folder.path().join("fabproj.1"),
        folder.path().join("pipe.svg"),
    )
    .unwrap();
    // A reader at the other end gets the rows.
    let pipe = folder.path().join("pipe.svg");
    let reader = std::thread::spawn(move || std::fs::read_to_string(pipe).unwrap());
    run(folder.path(), &words("project ring in.csv -o pipe.svg")).done();
    assert!(reader.join().unwrap().starts_with("y0,y1,outcome\n"));
}

#[test]
fn a_second_training_hears_who_holds_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let long = long("");
    let mut first = Command::new(assert_cmd::cargo::cargo_bin("fabproj"))
        .args(&long)
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while !folder
        .path()
        .join("model.checkpoint/training.json")
        .exists()
    {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "no checkpoints"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let holder = format!("process {}", first.id());
    for more in ["", "--resume", "--force"] {
        let second = [long.clone(), words(more)].concat();
        run(folder.path(), &second).failed(1, &["another training", &holder]);
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let mut said = String::new();
    first
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    // The lock has died with its process; every line of the log is whole.
    run(folder.path(), &long).failed(1, &["stopped training", "--resume"]);
    let log = std::fs::read_to_string(folder.path().join("model.log.jsonl")).unwrap();
    assert!(
        log.lines()
            .all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
    );
}

#[test]
fn two_links_to_one_model_are_one_place() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for link in ["one", "other"] {
        symlink("model", at(link)).unwrap();
    }
    let _held = fabproj::Checkpoints::folder(at("model.checkpoint")).unwrap();
    let holder = format!("process {}", std::process::id());
    for link in ["one", "other"] {
        let linked = [words("train concentric-circles -o"), vec![link]].concat();
        run(folder.path(), &linked).failed(1, &["another training", &holder]);
    }
}

#[test]
fn a_log_is_not_written_over_an_input() {
    let folder = tempfile::tempdir().unwrap();
    let set = "y = [\"a\"]\nbounds = { a = [-2, 2] }\n[[constraint]]\nexpr = \"a <= 1\"\n";
    write(folder.path(), "set.toml", set);
    symlink("set.toml", folder.path().join("m.log.jsonl")).unwrap();
    run(folder.path(), &words("train set.toml -o m --force")).failed(1, &["is an input"]);
    let left = std::fs::read_to_string(folder.path().join("set.toml")).unwrap();
    assert_eq!(left, set);
}

#[test]
fn a_model_that_was_replaced_is_not_lost_to_a_certificate() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let made = Command::new("mkfifo").arg(at("rows.csv")).status();
    assert!(made.unwrap().success());
    let child = Command::new(assert_cmd::cargo::cargo_bin("fabproj"))
        .args(words("certify ring --inputs rows.csv --force"))
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Opened once the model is read.
    let mut rows = File::options().write(true).open(at("rows.csv")).unwrap();
    std::fs::copy(at("shell"), at("new")).unwrap();
    std::fs::rename(at("new"), at("ring")).unwrap();
    rows.write_all(b"y0,y1\n3,0\n").unwrap();
    drop(rows);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("was replaced"), "{said}");
    let (left, new) = (std::fs::read(at("ring")), std::fs::read(at("shell")));
    assert_eq!(left.unwrap(), new.unwrap());
}

#[test]
fn damaged_checkpoints_and_cut_logs_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    stopped(folder.path());
    // A log that ends within a line goes on with a whole one.
    let log = std::fs::read(at("model.log.jsonl")).unwrap();
    std::fs::write(at("model.log.jsonl"), &log[..log.len() - 5]).unwrap();
    let states: Vec<_> = std::fs::read_dir(at("model.checkpoint"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "state"))
        .collect();
    assert!(states.len() > 1, "{states:?}");
    for path in states.iter().chain([&at("model.checkpoint/training.json")]) {
        let whole = std::fs::read(path).unwrap();
        let mut damaged = whole.clone();
        let place = whole.len() / 2;
        damaged[place] ^= 1;
        std::fs::write(path, damaged).unwrap();
        run(folder.path(), &long("--resume")).failed(1, &["damaged", "--force"]);
        std::fs::write(path, whole).unwrap();
    }
    let other = [long("--resume"), words("--samples 400")].concat();
    run(folder.path(), &other).failed(1, &["--samples is left out, not 400"]);
    let log = std::fs::read_to_string(at("model.log.jsonl")).unwrap();
    assert!(
        log.lines()
            .all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
    );
}

fn long(more: &str) -> Vec<&str> {
    let long = "train concentric-circles -o model --setting phase-two=1000000 --setting rounds=1 \
                --setting width=8 --setting depth=1 --setting phase-one=20 --setting feasible=600 \
                --setting infeasible=600 --setting boundary=400";
    [words(long), words(more)].concat()
}

/// Leaves a training that was stopped after its first states.
fn stopped(folder: &Path) {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("fabproj"))
        .args(long(""))
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let started = Instant::now();
    let states = || {
        let entries = std::fs::read_dir(folder.join("model.checkpoint"))
            .into_iter()
            .flatten();
        let names = entries.flatten().map(|entry| entry.file_name());
        names
            .filter(|name| name.to_string_lossy().ends_with(".state"))
            .count()
    };
    while states() < 2 {
        assert!(started.elapsed() < Duration::from_secs(120), "no state");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

#[test]
fn a_full_disk_is_not_called_a_checkpoint() {
    // Only a file system of its own can be full: one in memory, where the user may mount it.
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("small");
    std::fs::create_dir(&place).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=24k", "tmpfs"])
        .arg(&place)
        .stderr(Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        println!("no file system can be mounted here");
        return;
    }
    let train = [
        words("train concentric-circles -o model"),
        words(TINY),
        words("--setting width=64"),
    ];
    let ran = run(&place, &train.concat());
    let unmounted = Command::new("umount").arg(&place).status();
    assert!(unmounted.is_ok_and(|status| status.success()));
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("No space left"), "{}", ran.stderr);
    assert!(
        !ran.stderr.contains("checkpoints are kept"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_weaker_certificate_does_not_replace_a_better_one() {
    let folder = folder();
    let samples = || {
        let json = run(folder.path(), &words("inspect ring --json"))
            .done()
            .json();
        json["certificate"]["samples"].as_u64().unwrap()
    };
    run(folder.path(), &words("certify ring --samples 2000")).done();
    let ran = run(folder.path(), &words("certify ring --samples 500")).done();
    assert!(ran.stderr.contains("not saved"), "{}", ran.stderr);
    assert_eq!(samples(), 2000);
    run(folder.path(), &words("certify ring --samples 500 --force")).done();
    assert_eq!(samples(), 500);
    run(folder.path(), &words("certify ring --samples 700")).done();
    assert_eq!(samples(), 700);
    write(folder.path(), "two.csv", "y0,y1\n3,0\n1.5,0\n");
    let ran = run(folder.path(), &words("certify ring --inputs two.csv")).done();
    assert!(ran.stderr.contains("not saved"), "{}", ran.stderr);
    assert_eq!(samples(), 700);
}

/// A pipe whose reader has gone.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

#[test]
fn results_are_saved_though_nobody_reads_the_messages() {
    for (command, file) in [
        ("certify ring --samples 1000", "ring"),
        ("project ring points.csv -o out.csv", "out.csv"),
        ("project ring points.csv -o all.csv --json", "all.csv"),
        ("plot ring -o ring.svg", "ring.svg"),
        ("export ring --c ring.c", "ring.c"),
        ("new set.toml", "set.toml"),
    ] {
        let folder = folder();
        crate::common::write(folder.path(), "points.csv", "y0,y1\n9,0\n");
        let before = std::fs::read(folder.path().join(file)).ok();
        let ended = Command::new(assert_cmd::cargo::cargo_bin("fabproj"))
            .args(words(command))
            .current_dir(folder.path())
            .stdout(closed_pipe())
            .stderr(closed_pipe())
            .status()
            .unwrap();
        assert!(ended.success(), "{command}: {ended}");
        let after = std::fs::read(folder.path().join(file)).ok();
        assert!(after.is_some() && after != before, "{command}");
    }
}

#[test]
fn nothing_is_left_of_a_projection_that_was_ended() {
    let folder = folder();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("fabproj"))
        .args(words("project ring - -o out.csv"))
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"y0,y1\n3,0\n").unwrap();
    input.write_all("1,1\n".repeat(100_000).as_bytes()).unwrap();
    let names = || -> Vec<_> {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    let started = Instant::now();
    while !names().iter().any(|name| name.ends_with(".tmp")) {
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", names());
        std::thread::sleep(Duration::from_millis(10));
    }
    super::signals::send(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let mut left = names();
    left.sort();
    assert_eq!(left, ["obstacle", "ring", "shell"]);
}

#[test]
fn a_comment_does_not_make_another_set() {
    let folder = tempfile::tempdir().unwrap();
    let set = "name = \"disc\"\ny = [\"a\", \"b\"]\nbounds = { a = [-2, 2], b = [-2, 2] }\n\
               [[constraint]]\nexpr = \"norm(a, b) <= 1\"\n";
    write(folder.path(), "disc.toml", set);
    run(
        folder.path(),
        &[words("train disc.toml"), words(TINY)].concat(),
    )
    .done();
    let commented = format!("# the same\n{}", set.replace("<= 1", "<=  1.0"));
    write(folder.path(), "disc.toml", &commented.replace("1.0", "1"));
    let project = words("project disc.safetensors --guard disc.toml");
    run_with_input(folder.path(), &project, "a,b\n2,0\n").done();
    write(folder.path(), "disc.toml", &set.replace("<= 1", "<= 1.5"));
    run_with_input(folder.path(), &project, "a,b\n2,0\n").failed(1, &["--other-set"]);
}

#[test]
fn standard_input_is_not_written_over() {
    let folder = folder();
    let rows = "y0,y1\n3,0\n";
    write(folder.path(), "in.csv", rows);
    let ended = Command::new(assert_cmd::cargo::cargo_bin("fabproj"))
        .args(words("project ring -o in.csv --force"))
        .current_dir(folder.path())
        .stdin(File::open(folder.path().join("in.csv")).unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("is an input"), "{said}");
    let left = std::fs::read_to_string(folder.path().join("in.csv")).unwrap();
    assert_eq!(left, rows);
}
