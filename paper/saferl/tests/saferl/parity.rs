//! The simulator agrees with recordings of the original package.

use std::fs;
use std::path::{Path, PathBuf};

use fab_saferl::parity::{Activity, ParityError, Quantity, Report, replay_folder};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// A folder with copies of fixtures under other names.
fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (fixture, name) in files {
        fs::copy(fixtures().join(fixture), folder.path().join(name)).unwrap();
    }
    folder
}

fn steps(report: &Report, activity: Activity) -> usize {
    let tasks = report.tasks();
    tasks.iter().map(|task| task.steps(activity)).sum()
}

#[test]
fn every_recorded_step_is_within_the_tolerances() {
    let report = replay_folder(&fixtures(), false).unwrap();
    assert_eq!(report.failures(), Vec::<String>::new());
    assert_eq!(report.tasks().len(), 4);
    // Enough of both kinds for the tolerances to mean something.
    assert!(steps(&report, Activity::Quiet) > 3000);
    assert!(steps(&report, Activity::Active) > 500);
    for task in report.tasks() {
        for quantity in Quantity::ALL {
            let largest = task.largest(Activity::Quiet, quantity);
            assert!(
                largest <= 1e-9,
                "{}: {} {largest}",
                task.task,
                quantity.name()
            );
        }
    }
}

#[test]
fn every_recorded_step_is_within_the_tolerances_with_sleep() {
    let report = replay_folder(&fixtures(), true).unwrap();
    assert_eq!(report.failures(), Vec::<String>::new());
}

#[test]
fn a_recording_of_another_seed_fails() {
    let folder = folder_with(&[("Goal1_seed00_iid.npz", "Goal1_seed03_iid.npz")]);
    let report = replay_folder(folder.path(), false).unwrap();
    let failures = report.failures().join("\n");
    assert!(failures.contains("objects placed elsewhere"), "{failures}");
    assert!(failures.contains("random numbers differ"), "{failures}");
    assert!(failures.contains("lidars of quiet steps"), "{failures}");
}

#[test]
fn a_recording_of_another_task_is_refused() {
    let folder = folder_with(&[("Goal2_seed00_iid.npz", "Goal1_seed00_iid.npz")]);
    let error = replay_folder(folder.path(), false).unwrap_err();
    assert!(matches!(error, ParityError::Format { .. }), "{error}");
    let folder = folder_with(&[("Push1_seed00_iid.npz", "Goal1_seed00_iid.npz")]);
    let error = replay_folder(folder.path(), false).unwrap_err();
    assert!(matches!(error, ParityError::Format { .. }), "{error}");
}

#[test]
fn bad_folders_and_files_are_named() {
    let missing = replay_folder(Path::new("no-such-folder"), false).unwrap_err();
    assert!(missing.to_string().contains("no-such-folder"), "{missing}");
    let empty = folder_with(&[]);
    let error = replay_folder(empty.path(), false).unwrap_err();
    assert!(matches!(error, ParityError::NoRecordings { .. }), "{error}");
    let named = folder_with(&[("Goal1_seed00_iid.npz", "walk.npz")]);
    let error = replay_folder(named.path(), false).unwrap_err();
    assert!(error.to_string().contains("walk.npz"), "{error}");
    let cut = tempfile::tempdir().unwrap();
    let whole = fs::read(fixtures().join("Goal1_seed00_iid.npz")).unwrap();
    fs::write(cut.path().join("Goal1_seed00_iid.npz"), &whole[..5000]).unwrap();
    let error = replay_folder(cut.path(), false).unwrap_err();
    assert!(matches!(error, ParityError::Format { .. }), "{error}");
}
