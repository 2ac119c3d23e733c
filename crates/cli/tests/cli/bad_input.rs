//! Whatever is wrong is named, with the way out; what was saved before stays.

use std::io::Read;
use std::process::Stdio;

use crate::common::{fabproj, folder, run, run_with_input, write};

#[test]
fn unknown_sets_bring_near_names() {
    let folder = folder();
    let ran = run(folder.path(), &["certify", "ring", "concentric-circle"]);
    ran.failed(
        2,
        &["concentric-circle`", "concentric-circles", "fabproj sets"],
    );
    let ran = run_with_input(
        folder.path(),
        &["project", "ring", "--guard", "rings"],
        "y0,y1\n",
    );
    ran.failed(2, &["unknown set `rings`; did you mean"]);
    run(folder.path(), &["train", "two-mons"]).failed(2, &["two-mons", "two-moons"]);
    run(folder.path(), &["train", "shell-1d"]).failed(2, &["2 to 4096", "N = 1"]);
}

#[test]
fn numbers_that_are_none_are_named_with_their_row() {
    let folder = folder();
    let project = |points: &str| run_with_input(folder.path(), &["project", "ring"], points);
    let header_and_rows = "y0,y1\n1,2\n3,4\n";
    project(&format!("{header_and_rows}1,NaN\n")).failed(1, &["row 3", "line 4", "y1", "NaN"]);
    project(&format!("{header_and_rows}inf,0\n")).failed(1, &["row 3", "y0", "inf"]);
    project(&format!("{header_and_rows}1,two\n")).failed(1, &["row 3", "y1", "two"]);
    project(&format!("{header_and_rows},2\n")).failed(1, &["row 3", "y0", "empty"]);
}

#[test]
fn rows_after_the_first_chunk_are_counted_too() {
    let folder = folder();
    let points = format!("y0,y1\n{}nan,0\n", "1,1\n".repeat(5000));
    write(folder.path(), "points.csv", &points);
    write(folder.path(), "out.csv", "precious");
    let ran = run(
        folder.path(),
        &["project", "ring", "points.csv", "-o", "out.csv"],
    );
    ran.failed(1, &["points.csv, row 5001 (line 5002)"]);
    assert_eq!(
        std::fs::read_to_string(folder.path().join("out.csv")).unwrap(),
        "precious"
    );
}

#[test]
fn columns_that_do_not_fit_are_explained() {
    let folder = folder();
    let project = |points: &str| run_with_input(folder.path(), &["project", "ring"], points);
    project("").failed(1, &["standard input is empty", "y0,y1"]);
    project("y0,z1\n1,2\n").failed(1, &["no column `y1`", "did you mean", "`z1`"]);
    project("1,2\n3,4\n").failed(1, &["1,2", "y0,y1", "--no-header"]);
    project("y0,y1,y0\n1,2,3\n").failed(1, &["two columns `y0`"]);
    project("y0,y1\n1,2\n1,2,3\n").failed(1, &["line 3", "expected 2 columns, found 3"]);
    let ran = run_with_input(folder.path(), &["project", "shell", "--no-header"], "1,2\n");
    ran.failed(1, &["expected 5 columns", "found 2"]);
    let ran = run_with_input(folder.path(), &["project", "obstacle"], "y0,y1\n1,2\n");
    ran.failed(1, &["no column `x0`", "y0,y1,x0,x1"]);
}

#[test]
fn models_for_other_sets_are_refused() {
    let folder = folder();
    let ran = run(folder.path(), &["certify", "ring", "shell-5d"]);
    ran.failed(1, &["another set", "concentric-circles", "shell-5d"]);
    let before = std::fs::read(folder.path().join("ring")).unwrap();
    let ran = run(folder.path(), &["certify", "ring", "star-shaped"]);
    ran.failed(1, &["concentric-circles", "star-shaped", "--other-set"]);
    let points = "y0,y1\n1,2\n";
    let guard = ["project", "ring", "--guard", "star-shaped"];
    run_with_input(folder.path(), &guard, points).failed(1, &["--other-set"]);
    let allowed = [
        "certify",
        "ring",
        "star-shaped",
        "--other-set",
        "--samples",
        "500",
    ];
    run(folder.path(), &allowed).done();
    assert_eq!(std::fs::read(folder.path().join("ring")).unwrap(), before);
}

#[test]
fn files_that_are_not_models_are_refused() {
    let folder = folder();
    write(folder.path(), "text", "y0,y1\n1,2\n");
    write(folder.path(), "nothing", "");
    let whole = std::fs::read(folder.path().join("ring")).unwrap();
    std::fs::write(folder.path().join("half"), &whole[..whole.len() / 2]).unwrap();
    for command in ["inspect", "certify", "bench", "plot", "project"] {
        for file in ["text", "nothing", "half"] {
            let ran = run(folder.path(), &[command, file]);
            ran.failed(1, &[file, "not a fabproj model", "fabproj train"]);
        }
        run(folder.path(), &[command, "absent"]).failed(1, &["cannot read absent"]);
    }
}

#[test]
fn places_that_cannot_be_written_to_are_named_and_nothing_changes() {
    let folder = folder();
    write(folder.path(), "points.csv", "y0,y1\n3,0\n");
    let target = folder.path().join("no-such-folder/out");
    let target = target.to_str().unwrap();
    let ran = run(
        folder.path(),
        &["project", "ring", "points.csv", "-o", target],
    );
    ran.failed(1, &["cannot write", target]);
    let figure = format!("{target}.svg");
    run(folder.path(), &["plot", "ring", "-o", &figure]).failed(1, &["cannot write", &figure]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let folder = folder();
    write(folder.path(), "points.csv", "y0,y1\n3,0\n");
    let ran = run(
        folder.path(),
        &["project", "ring", "points.csv", "-o", "/dev/full"],
    );
    ran.failed(1, &["cannot write", "No space left"]);
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    for arguments in [
        &["sets"][..],
        &["inspect", "ring", "--json"],
        &["project", "ring", "points.csv"],
    ] {
        let binary = assert_cmd::cargo::cargo_bin("fabproj");
        let output = std::process::Command::new(binary)
            .args(arguments)
            .current_dir(folder.path())
            .stdout(full.try_clone().unwrap())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
        assert!(
            message.contains("No space left") && !message.contains("panicked"),
            "{message}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_model_in_a_read_only_folder_stays_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let before = std::fs::read(folder.path().join("ring")).unwrap();
    let mode = |mode| {
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o555);
    // Some users may write everywhere.
    let refused = std::fs::write(folder.path().join("probe"), "").is_err();
    let ran = run(folder.path(), &["certify", "ring", "--samples", "500"]);
    mode(0o755);
    if refused {
        ran.failed(1, &["cannot write", "ring", "Permission denied"]);
        assert_eq!(std::fs::read(folder.path().join("ring")).unwrap(), before);
    } else {
        ran.done();
    }
}

#[test]
fn a_reader_that_leaves_early_hears_nothing() {
    let folder = folder();
    let points = format!("y0,y1\n{}", "3,0\n".repeat(50_000));
    write(folder.path(), "points.csv", &points);
    for arguments in [&["sets"][..], &["project", "ring", "points.csv", "-q"]] {
        let binary = assert_cmd::cargo::cargo_bin("fabproj");
        let mut child = std::process::Command::new(binary)
            .args(arguments)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut message = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut message)
            .unwrap();
        assert_eq!(message, "", "{arguments:?}");
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn wrong_usage_has_its_own_exit_code() {
    let folder = folder();
    let wrong: [&[&str]; 8] = [
        &["certify", "ring", "--confidence", "1.5"],
        &["certify", "ring", "--samples", "0"],
        &["plot", "ring", "-o", "ring.jpeg"],
        &["plot", "ring", "-o", "ring.png", "--width", "1"],
        &["bench", "ring", "--calls", "0"],
        &["inspect"],
        &["inspekt", "ring"],
        &["sets", "--threads", "0"],
    ];
    for arguments in wrong {
        let ran = run(folder.path(), arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.stderr);
        assert!(
            ran.stderr.starts_with("error: "),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
    fabproj(folder.path()).assert().code(2);
}
