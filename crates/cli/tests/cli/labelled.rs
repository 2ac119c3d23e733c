//! Sets of which only labelled points are known.

use std::fmt::Write;
use std::path::Path;

use crate::common::{Ran, run, run_with_input, write};
use fabproj::Model;
use fabproj::set::built_in;

/// Points of the ring's region with their labels, and a column that is none of our business.
fn ring_points(count: usize) -> String {
    let ring = built_in("concentric-circles").expect("built in");
    let mut text = "north,east,source,label\n".to_owned();
    for index in 0..count {
        let share = |step: f64| (index as f64 * step).fract() * 5.0 - 2.5;
        let y = [share(0.754_877_666), share(0.569_840_291)];
        let label = u8::from(ring.contains(&y, &[]));
        writeln!(text, "{},{},measured,{label}", y[0], y[1]).expect("a string takes it");
    }
    text
}

const TINY: [&str; 13] = [
    "--y",
    "north,east",
    "--quick",
    "--setting",
    "width=16",
    "--setting",
    "depth=2",
    "--setting",
    "phase-two=300",
    "--setting",
    "rounds=1",
    "--samples",
    "1000",
];

fn train(folder: &Path, more: &[&str]) -> Ran {
    run(
        folder,
        &[&["train", "points.csv"], &TINY[..], more].concat(),
    )
}

#[test]
fn a_model_is_trained_from_labels_and_guarded_by_what_it_learned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "points.csv", &ring_points(6000));
    let ran = train(path, &["--plot", "points.svg"]).done();
    for part in ["6 000 used", "statistical", "sure"] {
        assert!(ran.stdout.contains(part), "{}", ran.stdout);
    }
    let model = Model::load(path.join("points.safetensors")).unwrap();
    assert_eq!(model.record().names, ["north", "east"]);

    // The points are not needed any more.
    std::fs::remove_file(path.join("points.csv")).unwrap();
    let json = run(
        path,
        &[
            "certify",
            "points.safetensors",
            "--samples",
            "2000",
            "--json",
        ],
    )
    .done()
    .json();
    assert_eq!(json["statistical"], true);
    assert!(
        json["precision_lower_bound"].as_f64().unwrap() > 0.9,
        "{json}"
    );
    assert_eq!(json["guarded_feasible"], 1.0);
    let json = run(path, &["inspect", "points.safetensors", "--json"])
        .done()
        .json();
    assert_eq!(json["learned"]["points"]["used"], 6000);
    let inspected = run(path, &["inspect", "points.safetensors"]).done();
    assert!(
        inspected.stdout.contains("statistical"),
        "{}",
        inspected.stdout
    );
    run(path, &["plot", "points.safetensors"]).done();

    // The truth may be asked about the model: its guard is still what was learned.
    let truth = [
        "certify",
        "points.safetensors",
        "concentric-circles",
        "--samples",
        "2000",
        "--json",
    ];
    let json = run(path, &truth).done().json();
    assert_eq!(json["statistical"], false);
    assert!(json["guarded_feasible"].as_f64().unwrap() > 0.97, "{json}");

    let project = ["project", "points.safetensors", "-", "--guard", "--json"];
    let ran = run_with_input(path, &project, "north,east\n0,0\n3,3\n1.5,0\n").done();
    let report: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(report["statistical"], true);
    for line in ran.stdout.lines().skip(1) {
        let y: Vec<f64> = line
            .split(',')
            .take(2)
            .map(|field| field.parse().unwrap())
            .collect();
        assert!((0.97..2.03).contains(&y[0].hypot(y[1])), "{line}");
    }
}

#[test]
fn what_is_wrong_with_the_points_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::from("north,east,constant,label\n");
    for line in ring_points(400).lines().skip(1) {
        writeln!(text, "{}", line.replace("measured", "7")).unwrap();
    }
    // Two rows that are there already, and one that contradicts the first.
    let first = text.lines().nth(1).unwrap().to_owned();
    let second = text.lines().nth(2).unwrap().to_owned();
    let flipped = format!(
        "{}{}",
        &first[..first.len() - 1],
        1 - first[first.len() - 1..].parse::<u8>().unwrap()
    );
    writeln!(text, "{second}\n{flipped}").unwrap();
    write(folder.path(), "points.csv", &text);
    let ran = run(
        folder.path(),
        &[
            "train",
            "points.csv",
            "--quick",
            "--setting",
            "phase-two=100",
            "--setting",
            "rounds=1",
            "--samples",
            "500",
            "--json",
        ],
    )
    .done();
    let points = &ran.json()["learned"]["points"];
    assert_eq!(
        (&points["rows"], &points["used"]),
        (&402.into(), &399.into()),
        "{points}"
    );
    assert_eq!(
        (&points["duplicates"], &points["contradictory"]),
        (&1.into(), &2.into())
    );
    assert_eq!(points["constant"], serde_json::json!(["constant"]));
    let warnings = ran.json()["warnings"].to_string();
    for part in [
        "`constant`",
        "contradict",
        "the guard promises a precision of",
    ] {
        assert!(warnings.contains(part), "{warnings}");
    }
}

/// The crate that reads Parquet panics on this one.
#[test]
#[cfg(feature = "parquet")]
fn a_damaged_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let sound = "../fabproj/tests/library/labelled/arrow-snappy.parquet";
    let mut bytes = std::fs::read(sound).unwrap();
    bytes[374] = 16;
    std::fs::write(folder.path().join("damaged.parquet"), bytes).unwrap();
    run(folder.path(), &["train", "damaged.parquet"]).failed(1, &["damaged.parquet", "damaged"]);
}

#[test]
fn labels_that_tell_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |points: &str, parts: &[&str]| {
        write(folder.path(), "points.csv", points);
        run(folder.path(), &["train", "points.csv"]).failed(1, parts);
    };
    refused("", &["points.csv", "no rows"]);
    refused("a,b,label\n", &["points.csv", "no rows"]);
    refused(
        "a,b,label\n1,2,1\n3,4,1\n",
        &["all 2 labelled points are feasible"],
    );
    refused(
        "a,b,label\n1,2,0\n3,4,no\n",
        &["all 2 labelled points are infeasible"],
    );
    refused(
        "a,b,label\n1,2,1\n3,4,maybe\n",
        &["row 2", "line 3", "maybe"],
    );
    refused("a,b,label\n1,nan,1\n3,4,0\n", &["row 1", "`b`", "NaN"]);
    refused("a,b,lable\n1,2,1\n3,4,0\n", &["no column `label`", "lable"]);
    refused("label\n1\n0\n", &["no columns of y"]);
    let run = |arguments: &[&str]| run(folder.path(), arguments);
    run(&["train", "two-moons", "--y", "a,b"]).failed(2, &["--y", "labelled points"]);
    run(&["train", "two-moons", "--guard-precision", "0.9"]).failed(2, &["--guard-precision"]);
    write(folder.path(), "points.csv", &ring_points(50));
    run(&[
        "train",
        "points.csv",
        "--y",
        "north,east",
        "--guard-precision",
        "1.5",
    ])
    .failed(2, &["1.5"]);
    run(&["train", "missing.npz"]).failed(1, &["missing.npz"]);
    assert!(!folder.path().join("points.safetensors").exists());
}

#[test]
fn the_worked_example_holds_against_the_truth() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/labelled-data");
    for file in ["points.csv", "asked.csv", "truth.toml"] {
        std::fs::copy(source.join(file), folder.path().join(file)).unwrap();
    }
    let truth = fabproj::set::from_file(source.join("truth.toml")).unwrap();
    let points = std::fs::read_to_string(source.join("points.csv")).unwrap();
    for line in points.lines().skip(1) {
        let row: Vec<f64> = line
            .split(',')
            .map(|field| field.parse().unwrap())
            .collect();
        assert_eq!(truth.contains(&row[..2], &[]), row[2] == 1.0, "{line}");
    }

    let train = "train points.csv --quick --seed 1 --samples 1000 -o reactor.safetensors";
    let words = |text: &'static str| text.split(' ').collect::<Vec<_>>();
    run(folder.path(), &words(train)).done();
    let certify = "certify reactor.safetensors truth.toml --samples 4000 --json";
    let json = run(folder.path(), &words(certify)).done().json();
    assert!(json["guarded_feasible"].as_f64().unwrap() > 0.97, "{json}");
    let project = "project reactor.safetensors asked.csv --guard";
    let ran = run(folder.path(), &words(project)).done();
    assert!(
        ran.stdout.contains("wednesday,330,60,kept"),
        "{}",
        ran.stdout
    );
}
