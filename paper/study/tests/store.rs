//! Results that are kept: resumed, damaged, shared.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use fab_study::plan::{Event, Observer, Outcome, Plan, Selection, execute};
use fab_study::protocol::Protocol;
use fab_study::store::Store;
use fab_study::{Effort, StudyError, Workshop};

/// Writes down what it is told.
#[derive(Default)]
struct Diary(Mutex<Vec<String>>);

impl Observer for Diary {
    fn observe(&self, event: &Event<'_>) {
        self.0.lock().unwrap().push(format!("{event:?}"));
    }
}

impl Diary {
    fn count(&self, word: &str) -> usize {
        let entries = self.0.lock().unwrap();
        entries
            .iter()
            .filter(|entry| entry.starts_with(word))
            .count()
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn plan() -> Plan {
    Plan::new(
        &Selection {
            sets: names(&["concentric-circles"]),
            methods: names(&["projected-gradient", "penalty"]),
            objectives: names(&["linear", "distance"]),
            ..Selection::default()
        },
        &Effort::quick(),
    )
    .unwrap()
}

fn study(store: &Store, diary: &Diary) -> Result<Outcome, StudyError> {
    let protocol = Protocol {
        draws: 1,
        problems: 10,
    };
    let shop = Workshop::in_memory(Effort::quick())
        .with_protocol(protocol)
        .with_store(store)
        .with_observer(diary);
    execute(&plan(), &shop, store, 2, diary)
}

#[test]
fn a_finished_run_is_never_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let outcome = study(&store, &Diary::default()).unwrap();
    assert_eq!((outcome.finished, outcome.kept), (4, 0));
    let diary = Diary::default();
    let outcome = study(&store, &diary).unwrap();
    assert_eq!((outcome.finished, outcome.kept), (0, 4));
    assert_eq!(diary.count("Started"), 0);
}

#[test]
fn a_damaged_result_is_set_aside_and_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    study(&store, &Diary::default()).unwrap();
    let mut files: Vec<_> = fs::read_dir(folder.path().join("runs")).unwrap().collect();
    let (first, second) = (files.pop().unwrap().unwrap(), files.pop().unwrap().unwrap());
    fs::write(first.path(), b"{\"key\": 1").unwrap();
    // A result under another one's name is as bad as a broken one.
    fs::copy(files.pop().unwrap().unwrap().path(), second.path()).unwrap();
    let diary = Diary::default();
    let outcome = study(&store, &diary).unwrap();
    assert_eq!((outcome.finished, outcome.kept), (2, 2));
    assert_eq!(diary.count("Warning"), 2);
    let aside = fs::read_dir(folder.path().join("runs")).unwrap();
    let aside =
        aside.filter(|file| file.as_ref().unwrap().path().extension().unwrap() == "damaged");
    assert_eq!(aside.count(), 2);
    assert_eq!(store.runs().unwrap().0.len(), 4);
}

#[test]
fn stores_can_be_merged_by_copying() {
    let (left, right) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (from, to) = (
        Store::open(left.path()).unwrap(),
        Store::open(right.path()).unwrap(),
    );
    study(&from, &Diary::default()).unwrap();
    for file in fs::read_dir(left.path().join("runs")).unwrap() {
        let file = file.unwrap();
        fs::copy(
            file.path(),
            right.path().join("runs").join(file.file_name()),
        )
        .unwrap();
    }
    let outcome = study(&to, &Diary::default()).unwrap();
    assert_eq!(outcome.kept, 4);
}

#[test]
fn a_wish_to_stop_is_granted_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let stop = AtomicBool::new(true);
    let shop = Workshop::in_memory(Effort::quick())
        .with_store(&store)
        .with_stop(&stop);
    let diary = Diary::default();
    let stopped = execute(&plan(), &shop, &store, 1, &diary);
    assert!(matches!(stopped, Err(StudyError::Stopped)));
    assert_eq!(study(&store, &diary).unwrap().finished, 4);
}

#[cfg(unix)]
#[test]
fn a_place_that_cannot_be_written_to_ends_the_study_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    // A file where the folder of runs should be: no permission is needed to fail here.
    fs::remove_dir(folder.path().join("runs")).unwrap();
    fs::write(folder.path().join("runs"), b"").unwrap();
    let error = study(&store, &Diary::default()).unwrap_err().to_string();
    assert!(error.contains("runs") && error.contains("kept"), "{error}");
}

#[test]
fn unknown_names_bring_their_neighbours() {
    let message = |selection: Selection| {
        Plan::new(&selection, &Effort::quick())
            .err()
            .unwrap()
            .to_string()
    };
    let sets = message(Selection {
        sets: names(&["two-mons"]),
        ..Selection::default()
    });
    assert!(
        sets.contains("`two-mons`") && sets.contains("two-moons"),
        "{sets}"
    );
    let methods = message(Selection {
        methods: names(&["fap"]),
        ..Selection::default()
    });
    assert!(
        methods.contains("`fap`") && methods.contains("fab"),
        "{methods}"
    );
    let tables = message(Selection {
        tables: names(&["mian"]),
        ..Selection::default()
    });
    assert!(tables.contains("main"), "{tables}");
}
