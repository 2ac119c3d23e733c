//! `sets`, `inspect`, `certify`, `bench` and `plot`: figures, JSON and files.

use crate::common::{folder, run, write};
use fabproj::Model;

#[test]
fn every_command_has_an_example_in_its_help() {
    let folder = folder();
    for command in [
        "sets", "train", "project", "certify", "inspect", "plot", "bench",
    ] {
        let help = run(folder.path(), &[command, "--help"]).done().stdout;
        assert!(
            help.contains("Example:") && help.contains("fabproj "),
            "{command}: {help}"
        );
        for option in ["--json", "--seed", "--threads", "--quiet"] {
            assert!(help.contains(option), "{command} has {option}");
        }
    }
}

#[test]
fn sets_lists_all_that_is_built_in() {
    let folder = folder();
    let text = run(folder.path(), &["sets"]).done().stdout;
    assert!(text.contains("two-moons") && text.contains("shell-Nd") && text.contains("2 to 4096"));
    let json = run(folder.path(), &["sets", "--json"]).done().json();
    let obstacle = json
        .as_array()
        .unwrap()
        .iter()
        .find(|set| set["name"] == "moving-obstacle");
    assert_eq!(obstacle.unwrap()["x_dimension"], 2);
}

#[test]
fn a_certificate_is_printed_and_saved() {
    let folder = folder();
    let arguments = [
        "certify",
        "ring",
        "--samples",
        "2000",
        "--seed",
        "5",
        "--json",
    ];
    let ran = run(folder.path(), &arguments).done();
    let json = ran.json();
    for key in [
        "samples",
        "raw_feasible",
        "raw_lower_bound",
        "guarded_feasible",
        "coverage",
        "mean_distance",
        "nearest_distance",
        "mean_move",
        "mean_excess",
        "inside_feasible",
        "inside_lower_bound",
        "surface_feasible",
        "surface_lower_bound",
        "set_hash",
        "seed",
        "confidence",
    ] {
        assert!(!json[key].is_null(), "{key}: {json}");
    }
    assert_eq!((&json["samples"], &json["seed"]), (&2000.into(), &5.into()));
    assert_eq!(json["raw_feasible"], 1.0);
    let model = Model::load(folder.path().join("ring")).unwrap();
    assert_eq!(
        serde_json::to_value(model.certificate()).unwrap(),
        json,
        "saved as printed"
    );
    assert!(ran.stderr.contains("certificate written into ring"));
    let text = run(folder.path(), &["inspect", "ring"]).done().stdout;
    assert!(
        text.contains("inputs, guarded") && text.contains("100 %"),
        "{text}"
    );
}

#[test]
fn a_certificate_can_be_made_for_inputs_of_a_file() {
    let folder = folder();
    write(
        folder.path(),
        "mine.csv",
        "who,y1,y0,x0,x1\na,0,1.2,0.1,0.1\nb,0,3,0.2,0.2\nc,2,2,0,0\n",
    );
    let arguments = ["certify", "obstacle", "--inputs", "mine.csv"];
    let arguments = [&arguments[..], &["--samples", "500", "--json"]].concat();
    let json = run(folder.path(), &arguments).done().json();
    assert_eq!(json["inputs"], "mine.csv");
    assert_eq!(json["samples"], 3);
    let text = run(folder.path(), &["inspect", "obstacle"]).done().stdout;
    assert!(text.contains("3 from mine.csv"), "{text}");
    write(folder.path(), "none.csv", "y0,y1,x0,x1\n");
    let arguments = ["certify", "obstacle", "--inputs", "none.csv"];
    run(folder.path(), &arguments).failed(1, &["none.csv has no rows"]);
    write(folder.path(), "less.csv", "y0,y1,x0\n1,2,3\n");
    let arguments = ["certify", "obstacle", "--inputs", "less.csv"];
    run(folder.path(), &arguments).failed(1, &["less.csv", "no column `x1`"]);
}

#[test]
fn a_certificate_can_be_only_printed() {
    let folder = folder();
    let before = std::fs::read(folder.path().join("shell")).unwrap();
    let arguments = ["certify", "shell", "--samples", "500", "--no-save", "-q"];
    let ran = run(folder.path(), &arguments).done();
    assert!(ran.stdout.contains("not measured"), "{}", ran.stdout);
    assert_eq!(ran.stderr, "");
    assert_eq!(std::fs::read(folder.path().join("shell")).unwrap(), before);
}

#[test]
fn the_worst_slice_of_x_is_named() {
    let folder = folder();
    let ran = run(folder.path(), &["certify", "obstacle", "--samples", "2000"]).done();
    assert!(
        ran.stdout.contains("worst slice") && ran.stdout.contains(" in ["),
        "{}",
        ran.stdout
    );
}

#[test]
fn the_same_seed_gives_the_same_certificate_on_any_number_of_threads() {
    let folder = folder();
    let certify = |threads: &str| {
        let arguments = [
            "certify",
            "obstacle",
            "--samples",
            "3000",
            "--json",
            "--threads",
            threads,
        ];
        run(folder.path(), &arguments).done().stdout
    };
    assert_eq!(certify("1"), certify("2"));
}

#[test]
fn inspect_shows_what_the_file_holds() {
    let folder = folder();
    let text = run(folder.path(), &["inspect", "obstacle"]).done().stdout;
    for part in [
        "moving-obstacle",
        "y0, y1",
        "x0, x1",
        "ball of radius 1.499",
        "no certificate",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = run(folder.path(), &["inspect", "obstacle", "--json"])
        .done()
        .json();
    assert_eq!(json["dimension"], 2);
    assert_eq!(json["networks"][0]["widths"], serde_json::json!([4, 2]));
    assert_eq!(json["charts"][0]["latent"]["kind"], "ball");
}

#[test]
fn bench_measures_calls_and_batches() {
    let folder = folder();
    let json = run(
        folder.path(),
        &["bench", "ring", "--calls", "2000", "--json"],
    )
    .done()
    .json();
    let number = |key: &str| json[key].as_f64().unwrap();
    assert!(number("p50_ns") <= number("p99_ns") && number("p99_ns") <= number("p999_ns"));
    for rows in ["1", "32", "1024", "65536"] {
        assert!(
            json["points_per_second"][rows].as_f64().unwrap() > 0.0,
            "{json}"
        );
    }
    let text = run(folder.path(), &["bench", "ring", "--calls", "2000"])
        .done()
        .stdout;
    assert!(text.contains("99.9 %") && text.contains("65 536"), "{text}");
}

#[test]
fn figures_are_svg_or_png_by_their_ending() {
    let folder = folder();
    for model in ["ring", "shell", "obstacle"] {
        let svg = format!("{model}.svg");
        run(folder.path(), &["plot", model, "-o", &svg]).done();
        let text = std::fs::read_to_string(folder.path().join(&svg)).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        assert!(text.contains("feasible set"), "a legend");
        assert!(!text.contains("NaN"));
    }
    let png = ["plot", "ring", "-o", "ring.png", "--width", "500"];
    let ran = run(folder.path(), &png);
    if cfg!(feature = "png") {
        ran.done();
        let png = std::fs::read(folder.path().join("ring.png")).unwrap();
        assert!(png.starts_with(b"\x89PNG"));
    } else {
        ran.failed(2, &["ring.png", "--all-features"]);
    }
    // The same seed draws the same figure.
    run(folder.path(), &["plot", "ring", "-o", "again.svg"]).done();
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("ring.svg"), read("again.svg"));
}

#[test]
fn set_files_describe_combined_sets() {
    let folder = folder();
    let file = "kind = \"shrink\"\nmargin = 0.0005\n[set]\nkind = \"built-in\"\nname = \"concentric-circles\"\n";
    write(folder.path(), "tighter.toml", file);
    let arguments = [
        "certify",
        "ring",
        "tighter.toml",
        "--other-set",
        "--samples",
        "500",
    ];
    run(folder.path(), &arguments).done();
    write(folder.path(), "wrong.toml", "kind = \"shrunk\"\n");
    let arguments = ["certify", "ring", "wrong.toml"];
    run(folder.path(), &arguments).failed(1, &["wrong.toml", "shrunk"]);
}
