//! Results that are kept: resumed, damaged, shared.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use fab_method::{LossWeights, PaperSettings};
use fab_study::method::catalogue;
use fab_study::plan::{Outcome, Pending, Plan, Retimed, Selection, time_again};
use fab_study::protocol::Protocol;
use fab_study::store::{Store, digest};
use fab_study::weight_search::{Search, SearchRecord};
use fab_study::{Context, Effort, ProjectorRecipe, StudyError, StudySet};
use fabproj::Event;

/// Keeps all events.
#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Log {
    fn keep(&self, event: &Event) {
        self.0.lock().unwrap().push(format!("{event:?}"));
    }

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

fn study(store: &Store, log: &Log) -> Result<Outcome, StudyError> {
    let protocol = Protocol {
        draws: 1,
        problems: 10,
    };
    let context = Context::in_memory(Effort::quick())
        .with_protocol(protocol)
        .with_store(store)
        .with_observer(|event| log.keep(event));
    Pending::of(&plan(), &context, store)?.execute(2)
}

#[test]
fn a_finished_run_is_never_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let outcome = study(&store, &Log::default()).unwrap();
    assert_eq!((outcome.finished, outcome.kept), (4, 0));
    let log = Log::default();
    let outcome = study(&store, &log).unwrap();
    assert_eq!((outcome.finished, outcome.kept), (0, 4));
    assert_eq!(log.count("Progress"), 0);
}

#[test]
fn times_are_taken_again_and_nothing_else_changes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    study(&store, &Log::default()).unwrap();
    let mut before = store.runs().unwrap().0;
    // Times of a busy machine, and a run that is not there.
    for record in &mut before {
        record.answers.p50_us = 1e9;
        store.save_run(record).unwrap();
    }
    let missing = format!("{}.json", digest(&before[0].key));
    fs::remove_file(folder.path().join("runs").join(missing)).unwrap();
    let log = Log::default();
    let context = Context::in_memory(Effort::quick())
        .with_protocol(before[0].key.protocol)
        .with_store(&store)
        .with_observer(|event| log.keep(event));
    let found = |timed, kept| Retimed {
        timed,
        kept,
        missing: 1,
    };
    assert_eq!(time_again(&plan(), &context, &store).unwrap(), found(3, 0));
    assert_eq!(log.count("Warning"), 0);
    for record in store.runs().unwrap().0 {
        assert!(record.timed_alone && record.answers.p50_us < 1e9);
        let old = before.iter().find(|old| old.key == record.key).unwrap();
        assert_eq!(record.answers.true_gap, old.answers.true_gap);
        assert_eq!(record.curve, old.curve);
    }
    assert_eq!(time_again(&plan(), &context, &store).unwrap(), found(0, 3));
}

#[test]
fn a_damaged_result_is_set_aside_and_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    study(&store, &Log::default()).unwrap();
    let mut files: Vec<_> = fs::read_dir(folder.path().join("runs")).unwrap().collect();
    let (first, second) = (files.pop().unwrap().unwrap(), files.pop().unwrap().unwrap());
    fs::write(first.path(), b"{\"key\": 1").unwrap();
    // A result under another one's name is as bad as a broken one.
    fs::copy(files.pop().unwrap().unwrap().path(), second.path()).unwrap();
    let log = Log::default();
    let outcome = study(&store, &log).unwrap();
    assert_eq!((outcome.finished, outcome.kept), (2, 2));
    assert_eq!(log.count("Warning"), 2);
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
    study(&from, &Log::default()).unwrap();
    for file in fs::read_dir(left.path().join("runs")).unwrap() {
        let file = file.unwrap();
        fs::copy(
            file.path(),
            right.path().join("runs").join(file.file_name()),
        )
        .unwrap();
    }
    let outcome = study(&to, &Log::default()).unwrap();
    assert_eq!(outcome.kept, 4);
}

#[test]
fn a_stopped_study_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let stop = AtomicBool::new(true);
    let context = Context::in_memory(Effort::quick())
        .with_store(&store)
        .with_stop(&stop);
    let pending = Pending::of(&plan(), &context, &store).unwrap();
    assert!(matches!(pending.execute(1), Err(StudyError::Stopped)));
    assert_eq!(study(&store, &Log::default()).unwrap().finished, 4);
}

#[cfg(unix)]
#[test]
fn a_place_that_cannot_be_written_to_ends_the_study_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    // A file where the folder of runs should be: no permission is needed to fail here.
    fs::remove_dir(folder.path().join("runs")).unwrap();
    fs::write(folder.path().join("runs"), b"").unwrap();
    let error = study(&store, &Log::default()).unwrap_err().to_string();
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

/// The keys of the whole study, as they were when its results were made.
#[test]
fn results_of_earlier_builds_are_found() {
    let effort = Effort::full();
    let all = Selection {
        methods: catalogue().iter().map(|entry| entry.name.clone()).collect(),
        ..Selection::default()
    };
    let plan = Plan::new(&all, &effort).unwrap();
    let keys = plan
        .runs
        .iter()
        .map(|run| run.key(&effort, Protocol::RELEASED));
    let digests: Vec<String> = keys.map(|key| digest(&key)).collect();
    assert_eq!(digests.len(), 1071);
    assert_eq!(digest(&digests), "378c295f60a36151f92392712ad2346e");
}

#[test]
fn a_method_of_two_tables_is_that_of_the_table_that_is_asked_for() {
    let planned = |set: &str| {
        let selection = Selection {
            sets: names(&[set]),
            methods: names(&["fsnet"]),
            ..Selection::default()
        };
        let plan = Plan::new(&selection, &Effort::quick()).unwrap();
        (plan.runs.len(), plan.scale.len())
    };
    assert_eq!(planned("star-shaped"), (3, 0));
    assert_eq!(planned("qp-100"), (0, 1));
}

#[test]
fn methods_of_the_table_of_families_can_be_named() {
    let planned = |sets: &[&str], tables: &[&str], methods: &[&str]| {
        let selection = Selection {
            sets: names(sets),
            tables: names(tables),
            methods: names(methods),
            ..Selection::default()
        };
        let plan = Plan::new(&selection, &Effort::quick()).map_err(|error| error.to_string())?;
        Ok::<_, String>((plan.runs.len(), plan.scale.len()))
    };
    assert_eq!(planned(&[], &["scale"], &["fsnet"]), Ok((0, 17)));
    assert_eq!(
        planned(&["qp-100"], &["scale"], &["fsnet", "dc3"]),
        Ok((0, 2))
    );
    // A family alone means all methods that suit it.
    assert_eq!(planned(&["stability"], &[], &[]), Ok((0, 5)));
    let error = planned(&[], &["main"], &["fab"]).unwrap_err();
    assert!(error.contains("not both"), "{error}");
    let error = planned(&[], &["scale"], &["fsnet", "dc4"]).unwrap_err();
    assert!(error.contains("`dc4`; did you mean `dc3`"), "{error}");
}

#[test]
fn a_record_of_an_earlier_build_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let run = include_str!("run_of_version_2.json");
    let name = "561cf8563aa640a481f96600846fe133.json";
    fs::write(folder.path().join("runs").join(name), run).unwrap();
    let selection = Selection {
        sets: names(&["star-shaped"]),
        methods: names(&["penalty"]),
        objectives: names(&["linear"]),
        ..Selection::default()
    };
    let plan = Plan::new(&selection, &Effort::quick()).unwrap();
    let context = Context::in_memory(Effort::quick()).with_protocol(Protocol {
        draws: 1,
        problems: 40,
    });
    assert_eq!(Pending::of(&plan, &context, &store).unwrap().kept, 1);
}

/// A search that takes a second.
fn search() -> Search {
    let settings = PaperSettings {
        samples: Some(600),
        effort: 0.002,
        ..PaperSettings::released()
    };
    let recipe = ProjectorRecipe::Searched(settings);
    let set = StudySet::open("concentric-circles").unwrap();
    Search::new(&set, "fab", Some(recipe), 5).unwrap()
}

/// The weights and scores of a search, without its times.
fn scores(record: &SearchRecord) -> Vec<(LossWeights, f64, Option<f64>)> {
    let trials = record.trials.iter();
    trials
        .map(|trial| (trial.weights, trial.score, trial.hole))
        .collect()
}

#[test]
fn a_stopped_search_goes_on_where_it_was_and_records_of_earlier_builds_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let context = Context::in_memory(Effort::quick()).with_store(&store);
    let whole = search().run(true, &context).unwrap();
    assert!(whole.is_complete() && whole.is_decided());
    assert!(whole.trials.iter().all(|trial| trial.hole.is_some()));
    let chosen = whole.released().unwrap().weights;
    // The choice needs no more of the grid than the first full score.
    let full = whole.trials.iter().position(|trial| trial.score >= 1.0);
    let mut part = whole.clone();
    part.trials.truncate(3);
    assert_eq!(part.is_decided(), full.is_some_and(|place| place < 3));
    store.save_search(&part).unwrap();
    let resumed = search().run(true, &context).unwrap();
    assert_eq!(scores(&resumed), scores(&whole));
    assert_eq!(resumed.released().unwrap().weights, chosen);
    // Earlier builds did not know of holes.
    let mut old = serde_json::to_value(&whole).unwrap();
    for trial in old["trials"].as_array_mut().unwrap() {
        trial.as_object_mut().unwrap().remove("hole");
    }
    let path = folder.path().join("weights");
    let path = path.join(format!("{}.json", digest(search().key())));
    fs::write(path, old.to_string()).unwrap();
    let found = search().run(true, &context).unwrap();
    assert!(found.trials.iter().all(|trial| trial.hole.is_none()));
    assert_eq!(found.released().unwrap().weights, chosen);
}

#[test]
fn who_comes_second_to_a_training_is_not_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let _first = store.checkpoints("the same").unwrap();
    assert!(store.checkpoints("the same").is_ok());
}
