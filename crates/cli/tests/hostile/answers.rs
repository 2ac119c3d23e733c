//! Answers that must not fool anybody.

use super::{TINY, words};
use crate::common::{folder, run, run_with_input, write};

/// A set that is empty for x above 1.
const SOMETIMES_EMPTY: &str = r#"
name = "sometimes-empty"
y = ["a", "b"]
x = ["load"]
bounds = { a = [-2, 2], b = [-2, 2] }
x_bounds = { load = [0, 1] }
[[constraint]]
name = "disc"
expr = "norm(a, b) <= 1.2 - load"
"#;

#[test]
fn inputs_outside_of_the_region_are_counted_and_empty_sets_fail() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "set.toml", SOMETIMES_EMPTY);
    run(
        folder.path(),
        &[words("train set.toml"), words(TINY)].concat(),
    )
    .done();
    let project = |more: &str, input: &str| {
        let command = [words("project set.safetensors"), words(more)].concat();
        run_with_input(folder.path(), &command, input)
    };
    let inside = project("", "a,b,load\n2,0,0.5\n").done();
    assert!(!inside.stderr.contains("warning"), "{}", inside.stderr);
    let far = project("", "a,b,load\n2,0,0.5\n2,0,1.1\n2,0,-3\n").done();
    for part in [
        "warning: 2 of 3 inputs",
        "row 2",
        "load = 1.100 is not in [0, 1.000]",
    ] {
        assert!(far.stderr.contains(part), "{part}: {}", far.stderr);
    }
    project("--refuse-outside", "a,b,load\n2,0,0.5\n2,0,500\n").failed(1, &["row 2", "load = 500"]);
    // Nothing is feasible there: the result is whole, and the exit code says so.
    let rows = "a,b,load\n2,0,0.5\n2,0,500\n1,1,7\n";
    let empty = project("", rows);
    assert_eq!(empty.code, Some(1));
    assert_eq!(empty.stdout.lines().count(), 4);
    assert!(
        empty.stderr.contains("error: 2 of 3 points"),
        "{}",
        empty.stderr
    );
    assert!(empty.stderr.contains("2 maybe-empty"), "{}", empty.stderr);
    project("--allow-infeasible", rows).done();
    let json = project("--json", rows);
    assert_eq!(json.code, Some(1));
    let report: serde_json::Value = serde_json::from_str(&json.stderr).unwrap();
    assert_eq!(
        (&report["unverified"], &report["outside"]),
        (&2.into(), &2.into())
    );
}

#[test]
fn outputs_are_tested_unless_that_is_switched_off() {
    let folder = folder();
    // In the middle of the obstacle, which the networks do not know.
    let points = "y0,y1,x0,x1\n0.5,0.5,0.5,0.5\n1.25,0.1000000000000000055,-1,0\n";
    let guarded = run_with_input(folder.path(), &words("project obstacle"), points).done();
    let lines: Vec<&str> = guarded.stdout.lines().collect();
    assert!(!lines[1].starts_with("0.5,0.5"), "{}", guarded.stdout);
    assert_eq!(lines[2], "1.25,0.1000000000000000055,-1,0,kept");
    let raw = run_with_input(folder.path(), &words("project obstacle --raw"), points).done();
    assert!(
        raw.stdout
            .lines()
            .skip(1)
            .all(|line| line.ends_with(",untested")),
        "{}",
        raw.stdout
    );
    assert!(!raw.stdout.contains("inside"), "{}", raw.stdout);
    run(folder.path(), &words("project obstacle --raw --guard"))
        .code
        .filter(|code| *code == 2)
        .unwrap();
}

#[test]
fn the_statistical_promise_comes_first_and_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "a,b,label\n".to_owned();
    for index in 0..1500 {
        let share = |step: f64| (f64::from(index) * step).fract() * 4.0 - 2.0;
        let (a, b) = (share(0.754_877_666), share(0.569_840_291));
        text += &format!("{a},{b},{}\n", u8::from(a.hypot(b) <= 1.2));
    }
    write(folder.path(), "points.csv", &text);
    let train = "train points.csv --quick --setting width=16 --setting phase-two=300 --setting rounds=1 \
                 --samples 1000";
    let ran = run(folder.path(), &words(train)).done();
    assert!(ran.stdout.starts_with("guard"), "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("at least").count(), 1, "{}", ran.stdout);
    assert!(!ran.stdout.contains("100 % (at least"), "{}", ran.stdout);
    let certified = run(
        folder.path(),
        &words("certify points.safetensors --samples 1000"),
    )
    .done();
    assert!(certified.stdout.starts_with("promise"));
    assert_eq!(
        certified.stdout.matches("at least").count(),
        1,
        "{}",
        certified.stdout
    );
}

#[test]
fn a_certificate_says_what_was_tested() {
    let folder = folder();
    let ran = run(folder.path(), &words("certify ring --samples 500")).done();
    assert!(ran.stdout.contains("all tested"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("beyond the nearest point"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("inputs, raw"), "{}", ran.stdout);
}

#[test]
fn a_new_set_file_can_be_trained_and_settings_listed() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &words("new my-set.toml")).done();
    let ran = run(
        folder.path(),
        &[words("train my-set.toml"), words(TINY)].concat(),
    )
    .done();
    for command in [
        "fabproj project my-set.safetensors",
        "fabproj inspect",
        "fabproj certify",
    ] {
        assert!(ran.stdout.contains(command), "{}", ran.stdout);
    }
    let listed = run(
        folder.path(),
        &words("train --list-settings --setting width=48"),
    )
    .done();
    assert!(listed.stdout.contains("width = 48\n"), "{}", listed.stdout);
    let figures = listed
        .stdout
        .lines()
        .filter_map(|line| line.split_once(" = "));
    for (name, figure) in figures {
        assert!(figure.len() < 16, "{name} = {figure}");
    }
    let json = run(folder.path(), &words("train --list-settings --json"))
        .done()
        .json();
    assert!(json["width"].is_number(), "{json}");
    let script = run(folder.path(), &words("completions bash")).done();
    assert!(script.stdout.contains("--refuse-outside"));
    run(folder.path(), &words("man pages")).done();
    assert!(folder.path().join("pages/fabproj-train.1").exists());
}
