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
    let mut time = RUN;
    time[1] = "time";
    let timed = run(folder.path(), &time).done().stdout;
    assert_eq!(
        timed.trim(),
        "6 runs timed, 0 timed before, 0 not in the store"
    );
    let report = run(folder.path(), &["study", "report", "-o", "report"]).done();
    assert_eq!(report.stdout.lines().count(), 5);
    let read =
        |name: &str| fs::read_to_string(folder.path().join("report").join(name)).expect(name);
    // The overview is short; what each method did on each problem stands apart.
    assert!(read("study.md").contains("## Beside the paper"));
    assert!(!read("study.md").contains("## Main tables"));
    assert!(read("study.md").contains("all taken by `study time`"));
    assert!(read("tables.md").contains("## Main tables"));
    let page = read("study.html");
    assert!(page.contains("<svg") && page.contains("projected gradient"));
    // It opens from a disk without a network.
    assert!(!page.contains("src=") && !page.contains("<link"));
    let table = read("study.csv");
    let lines: Vec<usize> = table.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(lines, [lines[0]; 7]);
    let latex = read("study.tex");
    assert_eq!(latex.matches('{').count(), latex.matches('}').count());
}

#[test]
fn answers_are_written_problem_by_problem() {
    let folder = folder();
    let mut arguments = RUN;
    arguments[1] = "answers";
    let text = run(folder.path(), &arguments).done().stdout;
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    // Two methods, three objectives, ten problems.
    assert_eq!(lines.len(), 61);
    assert!(lines.iter().all(|line| line.len() == lines[0].len()));
    let column = |name: &str| {
        lines[0]
            .iter()
            .position(|column| *column == name)
            .expect(name)
    };
    for line in &lines[1..] {
        let number = |name: &str| -> f64 { line[column(name)].parse().expect(name) };
        let gap = number("value") - number("optimum");
        assert!((gap - number("gap")).abs() < 1e-9);
        assert_eq!(
            line[column("violation")].is_empty(),
            line[column("feasible")] == "true"
        );
        assert!(
            gap > -1e-6 || line[column("feasible")] == "false",
            "{line:?}"
        );
    }
    let file = [&arguments[..], &["--csv", "answers.csv"]].concat();
    run(folder.path(), &file).done();
    let written = fs::read_to_string(folder.path().join("answers.csv")).expect("the file");
    assert_eq!(written.lines().count(), 61);
}

#[test]
fn unknown_names_bring_near_ones() {
    let folder = folder();
    let study = |option: &str, name: &str| run(folder.path(), &["study", "run", option, name]);
    study("--methods", "fabproy").failed(2, &["fabproy", "fabproj"]);
    study("--sets", "two-mons").failed(2, &["two-mons", "two-moons"]);
    study("--tables", "ablation").failed(2, &["ablations"]);
    study("--objectives", "linea").failed(2, &["linear"]);
    study("--problems", "0").failed(2, &["not in 1..="]);
    study("--problems", "99999999999").failed(2, &["not in 1..="]);
    study("--draws", "99999999999").failed(2, &["not in 1..="]);
    run(folder.path(), &["study", "report", "--store", "nowhere"])
        .failed(2, &["nowhere", "study run"]);
}
