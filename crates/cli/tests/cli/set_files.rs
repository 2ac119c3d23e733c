//! Set files at the command line.

use crate::common::{run, run_with_input, write};
use fabproj::Model;

/// Settings with which a training takes a moment.
const TINY: [&str; 8] = [
    "width=16",
    "depth=1",
    "phase-one=40",
    "phase-two=120",
    "feasible=800",
    "infeasible=800",
    "boundary=400",
    "rounds=1",
];

const BUDGET: &str = r#"
name = "budget"
y = ["u", "v", "w"]
bounds = { u = [0, 1000], v = [0, 1000], w = [0, 1000] }
x = ["total"]
x_bounds = { total = [900, 1100] }
[[constraint]]
name = "spend all"
expr = "u + v + w == total"
[[constraint]]
name = "not too much at once"
all = ["u <= 700", "v <= 700", "w <= 700"]
"#;

fn train<'a>(set: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["train", set, "--samples", "500", "-q"];
    arguments.extend(TINY.iter().flat_map(|setting| ["--setting", setting]));
    arguments.extend(more);
    arguments
}

#[test]
fn set_files_stand_where_names_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = include_str!("../../../../examples/sets/swiss-cheese.toml");
    write(folder, "cheese.toml", text);
    run(folder, &train("cheese.toml", &[])).done();
    let inspected = run(folder, &["inspect", "cheese.safetensors"])
        .done()
        .stdout;
    for part in ["swiss-cheese", "hole 2", "p, q"] {
        assert!(inspected.contains(part), "{part}: {inspected}");
    }
    let certify = [
        "certify",
        "cheese.safetensors",
        "cheese.toml",
        "--samples",
        "500",
    ];
    run(folder, &certify).done();
    run(folder, &["plot", "cheese.safetensors", "-o", "cheese.svg"]).done();
    // The model alone knows its set.
    std::fs::remove_file(folder.join("cheese.toml")).unwrap();
    let points = "p,q\n1,1\n0,0\n9,-9\n";
    let ran = run_with_input(
        folder,
        &["project", "cheese.safetensors", "--guard"],
        points,
    )
    .done();
    assert!(ran.stdout.contains("0,0,kept"), "{}", ran.stdout);
    assert!(
        ran.stderr
            .ends_with("inputs violated: block (1), hole 1 (1)\n"),
        "{}",
        ran.stderr
    );
    // Another file, or the same file changed, is another set.
    write(folder, "other.toml", &text.replace("0.36", "0.35"));
    let other = ["certify", "cheese.safetensors", "other.toml"];
    run(folder, &other).failed(1, &["was trained for the set swiss-cheese"]);
}

#[test]
fn equalities_hold_in_every_output() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "budget.toml", BUDGET);
    run(folder, &train("budget.toml", &["-o", "budget"])).done();
    let model = Model::load(folder.join("budget")).unwrap();
    assert_eq!((model.projector().dim(), model.weights().dim), (3, 2));
    assert_eq!(model.record().names, ["u", "v", "w"]);
    let inspected = run(folder, &["inspect", "budget"]).done().stdout;
    assert!(
        inspected.contains("2 of 3 coordinates are free"),
        "{inspected}"
    );

    let mut points =
        "u,v,w,total\n400,300,300,1000\n400,300,300.1,1000\n1e30,0,0,1000\n".to_owned();
    for i in 0..60 {
        let wave = |k: f64| 500.0 + 900.0 * (f64::from(i) * k).sin();
        let total = 1000.0 + 100.0 * f64::from(i).cos();
        points += &format!("{},{},{},{total}\n", wave(0.7), wave(1.3), wave(2.1));
    }
    for guard in [false, true] {
        let how = if guard { "--guard" } else { "--raw" };
        let arguments = ["project", "budget", "-q", how];
        let out = run_with_input(folder, &arguments, &points).done().stdout;
        let rows: Vec<Vec<&str>> = out
            .lines()
            .skip(1)
            .map(|row| row.split(',').collect())
            .collect();
        assert_eq!(rows.len(), 63);
        for row in &rows {
            let [u, v, w, total] = [0, 1, 2, 3].map(|i| row[i].parse::<f64>().unwrap());
            assert!((u + v + w - total).abs() <= 1e-6, "{row:?}");
            if guard {
                assert!(u.max(v).max(w) <= 700.0 + 1e-6, "{row:?}");
                assert!(u.min(v).min(w) >= -1e-6, "{row:?}");
            }
        }
        if guard {
            assert_eq!(rows[0], ["400", "300", "300", "1000", "kept"]);
            assert_ne!(rows[1][4], "kept", "it does not add up");
        }
    }
    run(folder, &["certify", "budget", "--samples", "500"]).done();
    run(folder, &["plot", "budget", "-o", "budget.svg"]).done();
    run(folder, &["bench", "budget", "--calls", "100"]).done();
    // The same dimensions, other equations: nothing passes the test, and nothing is said to.
    write(
        folder,
        "other.toml",
        &BUDGET.replace("== total", "== total + 50"),
    );
    let other = ["project", "budget", "--guard", "other.toml", "--other-set"];
    let out = run_with_input(folder, &other, &points);
    assert_eq!(out.code, Some(1), "{}", out.stderr);
    assert!(out.stderr.contains("error: "), "{}", out.stderr);
    for row in out.stdout.lines().skip(1) {
        assert!(row.ends_with(",maybe-empty"), "{row}");
    }
}

#[test]
fn what_is_not_a_set_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder, &["train", "missing.toml"]).failed(2, &["file not found: missing.toml"]);
    run(folder, &["train", "sets/missing"]).failed(2, &["file not found: sets/missing"]);
    run(folder, &["train", "two-mons"])
        .failed(2, &["unknown set `two-mons`; did you mean `two-moons`"]);
    write(
        folder,
        "wrong.toml",
        &BUDGET.replace("v <= 700", "vv <= 700"),
    );
    let parts = [
        "wrong.toml, line 12, column 21: ",
        "unknown name `vv`; did you mean `v`",
        "^",
    ];
    run(folder, &["train", "wrong.toml"]).failed(1, &parts);
    write(folder, "empty.toml", "");
    run(folder, &["train", "empty.toml"]).failed(1, &["empty.toml, line 1", "`y` is missing"]);
    std::fs::write(folder.join("binary.toml"), [0u8, 159, 146, 150]).unwrap();
    run(folder, &["train", "binary.toml"]).failed(1, &["UTF-8 text"]);
}
