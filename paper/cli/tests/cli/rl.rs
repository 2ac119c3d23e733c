//! `fab-paper rl` as a user meets it.

use std::fs;
use std::path::PathBuf;

use crate::{folder, run};

const TRAIN: [&str; 9] = [
    "rl",
    "train",
    "--steps",
    "4000",
    "--setting",
    "rollout.steps_per_epoch=2000",
    "--episodes",
    "3",
    "--quiet",
];

/// The policy that a training left in its store.
fn policy(folder: &tempfile::TempDir) -> PathBuf {
    let policies = fs::read_dir(folder.path().join("rl/policies")).expect("the policies");
    policies.flatten().next().expect("a policy").path()
}

#[test]
fn a_training_is_kept_evaluated_drawn_and_reported() {
    let folder = folder();
    let first = run(folder.path(), &TRAIN).done();
    assert!(first.stdout.contains("ppo, seed 0"), "{}", first.stdout);
    // Nothing is made twice: the times are those of the first run.
    assert_eq!(run(folder.path(), &TRAIN).done().stdout, first.stdout);
    let policy = policy(&folder);
    let policy = policy.to_str().expect("a path");
    let eval = ["rl", "eval", policy, "--episodes", "2", "--json"];
    let json: serde_json::Value =
        serde_json::from_str(&run(folder.path(), &eval).done().stdout).expect("JSON");
    assert_eq!(json["summary"]["episodes"], 2);
    let draw = [
        "rl",
        "eval",
        policy,
        "--episodes",
        "1",
        "--plot",
        "episode.svg",
    ];
    run(folder.path(), &draw).done();
    let picture = fs::read_to_string(folder.path().join("episode.svg")).expect("the picture");
    assert!(picture.starts_with("<svg") && !picture.contains("<animate"));
    run(
        folder.path(),
        &["rl", "train", "--algorithm", "zero", "--episodes", "3"],
    )
    .done();
    let report = run(folder.path(), &["rl", "report", "-o", "report"]).done();
    assert_eq!(report.stdout.lines().count(), 3);
    let page = fs::read_to_string(folder.path().join("report/rl.html")).expect("the page");
    assert!(page.contains("<svg") && page.contains("zero"));
    // It opens from a disk without a network.
    assert!(!page.contains("src=") && !page.contains("<link"));
    let table = fs::read_to_string(folder.path().join("report/rl.csv")).expect("the table");
    assert_eq!(table.lines().count(), 3);
}

#[test]
fn wrong_usage_is_named() {
    let folder = folder();
    let rl = |arguments: &[&str]| run(folder.path(), &[&["rl"], arguments].concat());
    rl(&["train", "--algorithm", "ppoo"]).failed(2, &["ppoo", "ppo-lag"]);
    rl(&["train", "--task", "goal3"]).failed(2, &["goal3", "goal2"]);
    rl(&["train", "--setting", "algorithm.clip=2"]).failed(2, &["clip", "between 0 and 1"]);
    rl(&["train", "--setting", "algorithm.clipp=0.1"]).failed(2, &["clipp"]);
    rl(&["eval", "random"]).failed(2, &["--task"]);
    rl(&["eval", "nowhere.safetensors"]).failed(1, &["nowhere.safetensors"]);
    rl(&["report", "--store", "nowhere"]).failed(2, &["nowhere", "rl train"]);
}

#[cfg(not(feature = "mujoco"))]
#[test]
fn a_task_without_its_simulator_names_the_remedy() {
    let folder = folder();
    let goal = ["rl", "train", "--task", "goal2"];
    run(folder.path(), &goal).failed(1, &["cargo xtask mujoco", "--features mujoco"]);
    run(folder.path(), &["rl", "parity", "."]).failed(1, &["cargo xtask mujoco"]);
}

/// A folder with one recording of the package, under a name of ours.
#[cfg(feature = "mujoco")]
fn recording(name: &str) -> tempfile::TempDir {
    let folder = folder();
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../saferl/tests/fixtures");
    let recording = PathBuf::from(fixtures).join("Goal1_seed00_iid.npz");
    fs::copy(recording, folder.path().join(name)).expect("a copy");
    folder
}

#[cfg(feature = "mujoco")]
#[test]
fn recordings_are_replayed_and_differences_are_an_error() {
    let right = recording("Goal1_seed00_iid.npz");
    let replayed = run(right.path(), &["rl", "parity", "."]).done();
    assert!(
        replayed.stdout.contains("cost flips 0"),
        "{}",
        replayed.stdout
    );
    // The same recording under another seed: the layout is another one.
    let wrong = recording("Goal1_seed01_iid.npz");
    let replayed = run(wrong.path(), &["rl", "parity", ".", "--json"]);
    replayed.failed(1, &["deviates", "placed elsewhere"]);
    let empty = folder();
    run(empty.path(), &["rl", "parity", "."]).failed(1, &["no recordings"]);
}

#[test]
fn a_guard_and_the_papers_projector_are_collected_and_used() {
    let folder = folder();
    let rl = |arguments: &[&str]| run(folder.path(), &[&["rl"], arguments].concat());
    let few = "collect.states=600";
    let short = "guard.discriminator.steps=60";
    let guard = ["collect", "--quick", "--setting", few, "--setting", short];
    let printed = rl(&guard).done().stdout;
    assert!(printed.contains("unsafe passed"), "{printed}");
    rl(&guard).failed(1, &["guard.safetensors", "--force"]);
    let refresh = [&guard[..], &["--refresh", "guard.safetensors", "--force"]].concat();
    rl(&refresh).failed(1, &["is an input"]);
    rl(&["train", "--shield", "--hold", "0"]).failed(2, &["`hold`"]);
    for (command, setting, named) in [
        ("train", "hidden=[99999999999]", "`hidden`"),
        (
            "train",
            "rollout.environments=99999999999",
            "`environments`",
        ),
        ("collect", "collect.states=999999999999", "`states`"),
    ] {
        let output = if command == "collect" {
            &["-o", "none"][..]
        } else {
            &[]
        };
        rl(&[&[command, "--setting", setting][..], output].concat()).failed(2, &[named]);
    }
    let random = [
        "eval",
        "random",
        "--task",
        "double-integrator",
        "--episodes",
        "3",
        "--json",
    ];
    let corrected = |filter: &[&str]| {
        let json = rl(&[&random, filter].concat()).done().stdout;
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        json["summary"]["corrected_share"]
            .as_f64()
            .expect("a number")
    };
    assert_eq!(corrected(&[]), 0.0);
    let share = corrected(&["--guard", "guard.safetensors"]);
    assert!(share > 0.0 && share < 1.0, "{share}");
    let projector = [
        "collect",
        "--recipe",
        "paper",
        "--quick",
        "-o",
        "projector.safetensors",
    ];
    rl(&projector).done();
    assert_eq!(corrected(&["--projector", "projector.safetensors"]), 1.0);
    let train = [
        "train",
        "--algorithm",
        "ppo-fab",
        "--steps",
        "2000",
        "--episodes",
        "2",
    ];
    let epoch = ["--setting", "rollout.steps_per_epoch=2000", "--quiet"];
    rl(&[&train[..], &epoch].concat()).failed(2, &["filter"]);
    let filter = [
        "--projector",
        "projector.safetensors",
        "--units",
        "released",
    ];
    rl(&[&train[..], &epoch, &filter].concat()).done();
    rl(&[&train[..], &epoch, &["--guard", "guard.safetensors"]].concat()).done();
    // The policy was trained with the guard's 20 hints; without them it does not fit.
    let policies = fs::read_dir(folder.path().join("rl/policies")).expect("the policies");
    let policies: Vec<String> = policies
        .flatten()
        .map(|entry| entry.path().display().to_string())
        .collect();
    let eval = |policy: &String, filter: &[&str]| {
        let eval = ["eval", policy, "--episodes", "2", "--store", "rl"];
        rl(&[&eval[..], filter].concat())
    };
    let guarded = ["--guard", "guard.safetensors", "--threshold", "0.6"];
    let (hinted, plain): (Vec<&String>, Vec<&String>) = policies
        .iter()
        .partition(|policy| eval(policy, &guarded).code == Some(0));
    assert_eq!((hinted.len(), plain.len()), (1, 1));
    eval(hinted[0], &[]).failed(1, &["34 inputs", "14 inputs"]);
    // Evaluations under another threshold are runs of their own.
    rl(&["report", "-o", "report"]).done();
    let table = fs::read_to_string(folder.path().join("report/rl.csv")).expect("the table");
    assert!(table.contains("threshold = 0.6") && table.contains("trained with guard"));
    rl(&[
        "eval",
        "random",
        "--task",
        "goal2",
        "--guard",
        "guard.safetensors",
    ])
    .failed(2, &["double-integrator", "--task goal2"]);
}

#[test]
fn settings_are_listed_and_nothing_is_computed() {
    let folder = folder();
    let list = |command: &[&str], change: &str| {
        let arguments = [&["rl"], command, &["--list-settings", "--setting", change]].concat();
        run(folder.path(), &arguments).done().stdout
    };
    let text = list(
        &["train", "--algorithm", "ppo-fab"],
        "algorithm.cost_price=0.5",
    );
    assert!(text.contains("cost_price = 0.5"), "{text}");
    let text = list(&["collect"], "collect.states=77");
    assert!(
        text.contains("states = 77") && text.contains("nearest"),
        "{text}"
    );
    let text = list(&["collect", "--recipe", "paper"], "pairs.pairs=99");
    assert!(text.contains("pairs = 99"), "{text}");
    let left = fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(left, 0, "files were written");
}
