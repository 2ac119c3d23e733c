//! `fabproj project`: columns, numbers, outcomes.

use crate::common::{folder, run, run_with_input, write};
use fabproj::set::built_in;

#[test]
fn columns_of_y_are_replaced_and_all_others_kept_in_place() {
    let folder = folder();
    let points = "id,y1,note,y0\na,0.0,\"one, two\",3\nb,0,,4.0\n";
    write(folder.path(), "points.csv", points);
    let ran = run(folder.path(), &["project", "ring", "points.csv"]).done();
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "id,y1,note,y0,outcome");
    assert_eq!(
        lines[1],
        format!("a,0,\"one, two\",{},clamped", f64::from(1.999_f32))
    );
    assert!(lines[2].starts_with("b,0,,1.99"));
    assert_eq!(ran.stderr, "2 points: 2 clamped\n");
}

#[test]
fn a_feasible_input_passes_the_guard_letter_by_letter() {
    let folder = folder();
    // Feasible in double precision; neither number is one of single precision.
    let points = "y0,y1\n 1.2000000000000001 ,+0.30e0\n0.1,0.1\n";
    let ran = run_with_input(folder.path(), &["project", "ring", "--guard"], points).done();
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines[1], " 1.2000000000000001 ,+0.30e0,kept");
    assert!(lines[2].ends_with(",projected"));
}

#[test]
fn printed_numbers_are_exactly_the_checked_ones() {
    let folder = folder();
    let mut points = "y0,y1,x0,x1\n".to_owned();
    for index in 0..500 {
        let at = |step: f64, size: f64| size * (f64::from(index) * step).sin();
        points += &format!(
            "{},{},{},{}\n",
            at(0.7, 3.0),
            at(1.3, 3.0),
            at(2.1, 1.0),
            at(0.3, 1.0)
        );
    }
    let arguments = ["project", "obstacle", "-", "--guard", "moving-obstacle"];
    let ran = run_with_input(folder.path(), &arguments, &points).done();
    let set = built_in("moving-obstacle").unwrap();
    let inputs = points.lines().skip(1);
    let mut outcomes = std::collections::BTreeSet::new();
    for (line, input) in ran.stdout.lines().skip(1).zip(inputs) {
        let fields: Vec<&str> = line.split(',').collect();
        let numbers: Vec<f64> = fields[..4]
            .iter()
            .map(|field| field.parse().unwrap())
            .collect();
        assert!(set.contains(&numbers[..2], &numbers[2..]), "{line}");
        assert!(
            input.ends_with(&fields[2..4].join(",")),
            "x is kept: {line} {input}"
        );
        outcomes.insert(fields[4].to_owned());
    }
    assert!(
        outcomes.contains("kept") && outcomes.contains("repaired"),
        "{outcomes:?}"
    );
}

#[test]
fn files_pipes_and_options_agree() {
    let folder = folder();
    let points = "y0,y1\n3,0\n0,0.5\n";
    write(folder.path(), "points.csv", points);
    let piped = run_with_input(folder.path(), &["project", "ring"], points)
        .done()
        .stdout;
    run(
        folder.path(),
        &["project", "ring", "points.csv", "-o", "out.csv"],
    )
    .done();
    assert_eq!(
        std::fs::read_to_string(folder.path().join("out.csv")).unwrap(),
        piped
    );
    // Points may stand where a set could.
    let guarded = run(folder.path(), &["project", "ring", "--guard", "points.csv"])
        .done()
        .stdout;
    assert_eq!(guarded.replace("projected", "clamped"), piped);
    let bare = ["project", "ring", "points.csv", "--no-outcome", "-q"];
    let bare = run(folder.path(), &bare).done();
    assert_eq!(bare.stdout.lines().next(), Some("y0,y1"));
    assert_eq!(bare.stderr, "");
}

#[test]
fn without_header_the_first_columns_are_taken() {
    let folder = folder();
    let arguments = ["project", "ring", "--no-header", "--delimiter", ";"];
    let ran = run_with_input(folder.path(), &arguments, "3;0;left\n0;3;right\n").done();
    assert_eq!(ran.stdout.lines().count(), 2);
    assert!(ran.stdout.starts_with("1.99"));
    assert!(ran.stdout.contains(";left;clamped"));
}

#[test]
fn a_header_alone_gives_a_header_alone() {
    let folder = folder();
    let ran = run_with_input(folder.path(), &["project", "ring"], "y0,y1\n").done();
    assert_eq!(ran.stdout, "y0,y1,outcome\n");
}

#[test]
fn the_outcome_column_can_be_named() {
    let folder = folder();
    let points = "y0,y1,outcome\n3,0,mine\n";
    let clash = run_with_input(folder.path(), &["project", "ring"], points);
    clash.failed(2, &["`outcome`", "--outcome NAME"]);
    let arguments = ["project", "ring", "--outcome", "done"];
    let ran = run_with_input(folder.path(), &arguments, points).done();
    assert_eq!(ran.stdout.lines().next(), Some("y0,y1,outcome,done"));
}

#[test]
fn huge_numbers_still_end_in_the_set() {
    let folder = folder();
    let points = "y0,y1\n1e300,0\n-1e38,1e38\n";
    let ran = run_with_input(folder.path(), &["project", "ring", "--guard"], points).done();
    let set = built_in("concentric-circles").unwrap();
    for line in ran.stdout.lines().skip(1) {
        let y: Vec<f64> = line
            .split(',')
            .take(2)
            .map(|field| field.parse().unwrap())
            .collect();
        assert!(set.contains(&y, &[]), "{line}");
    }
}

#[test]
fn the_tally_is_json_on_request() {
    let folder = folder();
    let ran = run_with_input(
        folder.path(),
        &["project", "ring", "--json"],
        "y0,y1\n3,0\n",
    )
    .done();
    let tally: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(tally["points"], 1);
    assert_eq!(tally["outcomes"]["clamped"], 1);
}
