//! `fabproj train`: files, resuming, stopping, settings.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Ran, folder, run, write};
use fabproj::Model;
use tempfile::TempDir;

/// Settings with which a training takes a moment.
const TINY: [&str; 8] = [
    "width=8",
    "depth=1",
    "phase-one=20",
    "phase-two=60",
    "feasible=600",
    "infeasible=600",
    "boundary=400",
    "rounds=1",
];

fn tiny<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["train", "concentric-circles", "--samples", "500"];
    arguments.extend(TINY.iter().flat_map(|setting| ["--setting", setting]));
    arguments.extend(more);
    arguments
}

fn train(folder: &Path, more: &[&str]) -> Ran {
    run(folder, &tiny(more))
}

fn settings(model: &Model) -> serde_json::Value {
    serde_json::from_str(&model.record().settings_json()).expect("JSON")
}

fn empty() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> = entries
        .map(|entry| {
            entry
                .expect("a file")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn a_training_ends_with_a_table_and_files() {
    let folder = empty();
    let ran = train(folder.path(), &["-o", "model", "--plot", "model.svg"]).done();
    for part in [
        "feasible, raw",
        "feasible, guarded",
        "coverage",
        "one call",
        "training",
        "model.svg",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    assert_eq!(
        files(folder.path()),
        ["model", "model.log.jsonl", "model.svg"]
    );
    // No progress where there is no terminal.
    assert!(!ran.stderr.contains('━'), "{}", ran.stderr);
    let log = std::fs::read_to_string(folder.path().join("model.log.jsonl")).unwrap();
    let events: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let seen = |event: &str| events.iter().any(|line| line["event"] == event);
    assert!(
        [
            "start",
            "stage",
            "progress",
            "measured",
            "certified",
            "saved"
        ]
        .into_iter()
        .all(seen)
    );
    let model = Model::load(folder.path().join("model")).unwrap();
    assert_eq!(model.record().recipe, "default");
    assert_eq!(settings(&model)["width"], 8);
    assert!(model.certificate().is_some());
}

#[test]
fn the_same_seed_gives_the_same_model_on_any_number_of_threads() {
    let folder = empty();
    let json = train(folder.path(), &["-o", "one", "--threads", "1", "--json"])
        .done()
        .json();
    assert!(json["certificate"]["raw_feasible"].is_number() && json["p50_ns"].is_number());
    train(folder.path(), &["-o", "two", "--threads", "2", "-q"]).done();
    train(folder.path(), &["-o", "other", "--seed", "1", "-q"]).done();
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("one"), read("two"));
    assert_ne!(read("one"), read("other"));
}

#[test]
fn a_bad_result_comes_with_advice() {
    let folder = empty();
    let ran = train(
        folder.path(),
        &["--setting", "phase-two=1", "-o", "model", "--json"],
    )
    .done();
    let json = ran.json();
    assert_eq!(json["met_goals"], false);
    let warnings = json["warnings"].to_string();
    for part in ["\"only ", "; try "] {
        assert!(warnings.contains(part), "{warnings}");
    }
    let inspected = run(folder.path(), &["inspect", "model"]).done().stdout;
    let missed = json["training"]["missed"].as_array().unwrap();
    assert!(!missed.is_empty());
    for missed in missed {
        assert!(missed["found"].as_f64() > missed["allowed"].as_f64());
        let line = format!("{} ", missed["defect"].as_str().unwrap());
        assert!(inspected.contains(&line), "{inspected}");
    }
}

#[test]
fn an_existing_model_is_replaced_only_by_force() {
    let folder = empty();
    write(folder.path(), "concentric-circles.safetensors", "precious");
    let ran = train(folder.path(), &[]);
    ran.failed(1, &["concentric-circles.safetensors exists", "--force"]);
    assert_eq!(files(folder.path()), ["concentric-circles.safetensors"]);
    train(folder.path(), &["--force", "-q"]).done();
    Model::load(folder.path().join("concentric-circles.safetensors")).unwrap();
}

#[test]
fn settings_come_from_preset_file_and_command_line() {
    let folder = empty();
    write(
        folder.path(),
        "config.toml",
        "phase-two = 40\nlearning-rate = 0.001\n",
    );
    let more = [
        "--preset",
        "small",
        "--config",
        "config.toml",
        "--setting",
        "hinge=4",
        "-o",
        "model",
    ];
    train(folder.path(), &more).done();
    let model = Model::load(folder.path().join("model")).unwrap();
    assert_eq!(model.record().recipe, "small");
    let settings = settings(&model);
    // The command line has the last word.
    assert_eq!(settings["phase-two"], 60);
    assert!((settings["learning-rate"].as_f64().unwrap() - 0.001).abs() < 1e-9);
    assert_eq!(settings["hinge"], 4.0);
}

#[test]
fn wrong_settings_are_named_with_the_way_out() {
    let folder = empty();
    let wrong = |setting: &str, parts: &[&str]| {
        train(folder.path(), &["--setting", setting]).failed(2, parts);
    };
    wrong(
        "widht=8",
        &["unknown setting `widht`; did you mean `width`"],
    );
    wrong("width=wide", &["--setting width=wide"]);
    wrong("width=0", &["width = 0", "from 1 to 4096"]);
    wrong("width", &["KEY=VALUE"]);
    write(folder.path(), "config.toml", "rws = 3\n");
    let ran = train(folder.path(), &["--config", "config.toml"]);
    ran.failed(
        2,
        &["config.toml, rws: unknown setting `rws`; did you mean `rows`"],
    );
    write(folder.path(), "config.toml", "rows = \n");
    let ran = train(folder.path(), &["--config", "config.toml"]);
    ran.failed(1, &["cannot parse config.toml as TOML"]);
    train(folder.path(), &["--plot", "figure.jpg"]).failed(2, &["figure.jpg", ".svg or .png"]);
    assert_eq!(files(folder.path()), ["config.toml"]);
}

#[test]
fn a_set_without_feasible_points_is_refused() {
    let folder = empty();
    let set = "kind = \"shrink\"\nmargin = 0.9\n[set]\nkind = \"built-in\"\nname = \"concentric-circles\"\n";
    write(folder.path(), "empty.toml", set);
    let ran = run(
        folder.path(),
        &["train", "empty.toml", "--setting", "draws=20000"],
    );
    ran.failed(1, &["20000"]);
    assert!(!folder.path().join("empty.safetensors").exists());
}

#[test]
fn a_place_that_cannot_be_written_to_is_found_before_the_training() {
    let folder = empty();
    let ran = run(
        folder.path(),
        &["train", "two-moons", "-o", "no-such-folder/model"],
    );
    ran.failed(1, &["no-such-folder"]);
    let ran = run(folder.path(), &["train", "two-moons", "-o", "."]);
    ran.failed(1, &["is a folder"]);
}

#[test]
fn resuming_needs_something_to_resume() {
    let folder = folder();
    let ran = train(folder.path(), &["-o", "ring", "--resume"]);
    ran.failed(
        1,
        &["nothing to resume: ring.checkpoint", "without --resume"],
    );
    assert!(Model::load(folder.path().join("ring")).is_ok());
}

/// Starts a training that takes long, and waits until it makes steps.
fn start_long(folder: &Path, model: &str, more: &[&str]) -> Child {
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("fabproj"))
        .args(tiny(&["--setting", "phase-two=5000", "-o", model]))
        .args(more)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let log = folder.join(format!("{model}.log.jsonl"));
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        if text
            .lines()
            .filter(|line| line.contains("\"progress\""))
            .count()
            > 3
        {
            return child;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().and_then(|()| child.wait()).expect("it ends");
    panic!("the training did not begin");
}

#[cfg(unix)]
fn signal(child: &Child, name: &str) {
    let sent = std::process::Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(sent.expect("there is such a command").success());
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_cleanly_and_resuming_gives_the_same_model() {
    let folder = empty();
    let child = start_long(folder.path(), "stopped", &[]);
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{message}");
    assert!(
        message.contains("stopped")
            && message.contains("fabproj train concentric-circles")
            && message.contains(" --resume"),
        "{message}"
    );
    assert_eq!(
        files(folder.path()),
        ["stopped.checkpoint", "stopped.log.jsonl"]
    );

    // Neither a new training nor another one may take its place by accident.
    let long = ["--setting", "phase-two=5000", "-q"];
    let with = |more: &[&str]| train(folder.path(), &[&long, more].concat());
    with(&["-o", "stopped"]).failed(1, &["--resume", "--force"]);
    with(&["-o", "stopped", "--resume", "--seed", "4"])
        .failed(1, &["its seed is 0, not 4", "--force"]);
    with(&["-o", "stopped", "--resume", "--setting", "rows=32"]).failed(1, &["rows"]);

    with(&["-o", "stopped", "--resume"]).done();
    with(&["-o", "straight"]).done();
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("stopped"), read("straight"));
    assert!(!folder.path().join("stopped.checkpoint").exists());
}

#[cfg(unix)]
#[test]
fn a_killed_training_leaves_the_old_model() {
    let folder = empty();
    write(folder.path(), "model", "precious");
    let mut child = start_long(folder.path(), "model", &["--force"]);
    signal(&child, "-KILL");
    assert!(!child.wait().unwrap().success());
    assert_eq!(
        std::fs::read_to_string(folder.path().join("model")).unwrap(),
        "precious"
    );
    let log = std::fs::read_to_string(folder.path().join("model.log.jsonl")).unwrap();
    log.lines()
        .for_each(|line| drop(serde_json::from_str::<serde_json::Value>(line).unwrap()));
}

#[test]
fn training_and_certificate_share_the_queries() {
    let folder = empty();
    let set = "moving-obstacle";
    let mut arguments = vec!["train", set, "--max-queries", "20000", "--json"];
    arguments.extend(TINY.iter().flat_map(|setting| ["--setting", setting]));
    let value = run(folder.path(), &arguments).done().json();
    let queries = |name: &str| value[name].as_u64().expect("a count");
    let both = queries("queries") + queries("certificate_queries");
    assert!(queries("certificate_queries") > 1_000, "{value}");
    assert!(both <= 20_000, "{both} queries");
}
