//! `fab-paper study` as a user meets it.

use std::fs;

use crate::{folder, run};

const RUN: [&str; 10] = [
    "study",
    "run",
    "--sets",
    "concentric-circles",
    "--methods",
    "projected-gradient,penalty",
    "--draws",
    "1",
    "--problems",
    "10",
];

#[test]
fn a_study_prints_its_table_is_kept_and_reported() {
    let folder = folder();
    let first = run(folder.path(), &RUN).done();
    for part in ["concentric-circles", "projected gradient", "exact solver"] {
        assert!(first.stdout.contains(part), "{}", first.stdout);
    }
    // Nothing is made twice: the times are those of the first run.
    assert_eq!(run(folder.path(), &RUN).done().stdout, first.stdout);
    let report = run(folder.path(), &["study", "report", "-o", "report"]).done();
    assert_eq!(report.stdout.lines().count(), 4);
    let page = fs::read_to_string(folder.path().join("report/study.html")).expect("the page");
    assert!(page.contains("<svg") && page.contains("projected gradient"));
    // It opens from a disk without a network.
    assert!(!page.contains("src=") && !page.contains("<link"));
    let table = fs::read_to_string(folder.path().join("report/study.csv")).expect("the table");
    let lines: Vec<usize> = table.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(lines, [lines[0]; 7]);
    let latex = fs::read_to_string(folder.path().join("report/study.tex")).expect("the tables");
    assert_eq!(latex.matches('{').count(), latex.matches('}').count());
}

#[test]
fn unknown_names_bring_near_ones() {
    let folder = folder();
    let study = |option: &str, name: &str| run(folder.path(), &["study", "run", option, name]);
    study("--methods", "fabproy").failed(2, &["fabproy", "fabproj"]);
    study("--sets", "two-mons").failed(2, &["two-mons", "two-moons"]);
    study("--tables", "ablation").failed(2, &["ablations"]);
    study("--objectives", "linea").failed(2, &["linear"]);
    study("--problems", "0").failed(2, &["at least 1"]);
    run(folder.path(), &["study", "report", "--store", "nowhere"])
        .failed(2, &["nowhere", "study run"]);
}
