//! Training from outside: the same bits again, resumed or on other threads; records; errors.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fabproj::set::{Description, FnSet, Set, built_in};
use fabproj::{
    Checkpoints, Event, LatentKind, Membership, Model, Recipe, Session, Settings, TrainError,
    train_with,
};

/// Seconds instead of a good model.
pub fn tiny() -> Settings {
    Settings {
        width: 16,
        depth: 2,
        phase_one: 20,
        phase_two: 1_130,
        rows: 16,
        gate_steps: 50,
        states: 40,
        feasible: 1_000,
        infeasible: 1_000,
        boundary: 600,
        samples: 500,
        rounds: 2,
        anchors: 8,
        ..Settings::default()
    }
}

fn train(set: &dyn Set, settings: &Settings) -> Result<Model, TrainError> {
    train_with(set, settings, &Session::new())
}

/// What the training says of itself.
fn summary(model: &Model) -> serde_json::Value {
    serde_json::from_str(&model.record().training_json()).expect("JSON")
}

/// Stops a training at its n-th report of progress.
fn stop_at(at: usize, stop: &AtomicBool) -> impl Fn(&Event) + Sync {
    let reports = AtomicUsize::new(0);
    move |event| {
        let reported = matches!(event, Event::Progress { .. });
        if reported && reports.fetch_add(1, Ordering::Relaxed) + 1 == at {
            stop.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_seed_gives_the_same_bits_on_any_number_of_threads() {
    let set = built_in("two-moons-disjoint").unwrap();
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| train(&set, &Settings { seed: 7, ..tiny() }).unwrap())
    };
    let (one, two) = (on(1), on(2));
    assert_eq!(one, two);
    let other = train(&set, &Settings { seed: 8, ..tiny() }).unwrap();
    assert_ne!(one.weights(), other.weights());
}

/// A ring around (x, 0) that counts its questions and the rows in them.
#[derive(Default)]
struct Counting {
    x_bounds: Vec<(f64, f64)>,
    questions: AtomicUsize,
    rows: AtomicUsize,
}

impl Membership for Counting {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        let mut inside = [false];
        self.contains_rows(y, x, &mut inside);
        inside[0]
    }

    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        self.questions.fetch_add(1, Ordering::Relaxed);
        self.rows.fetch_add(inside.len(), Ordering::Relaxed);
        for (row, inside) in inside.iter_mut().enumerate() {
            let centre = x.get(row).copied().unwrap_or(0.0);
            *inside = (0.8..=1.6).contains(&(y[2 * row] - centre).hypot(y[2 * row + 1]));
        }
    }
}

impl Set for Counting {
    fn dim(&self) -> usize {
        2
    }

    fn x_dim(&self) -> usize {
        self.x_bounds.len()
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        vec![(-2.0, 2.0); 2]
    }

    fn x_bounds(&self) -> Vec<(f64, f64)> {
        self.x_bounds.clone()
    }

    fn description(&self) -> Description {
        Description::Closure {
            name: "counting".to_owned(),
        }
    }
}

#[test]
fn a_set_is_asked_about_many_rows_at_once() {
    for x_bounds in [Vec::new(), vec![(-0.3, 0.3)]] {
        let set = Counting {
            x_bounds,
            ..Counting::default()
        };
        let trained = tiny().train(&set, &Session::new()).unwrap();
        let summary: serde_json::Value = serde_json::from_str(&trained.summary_json).unwrap();
        let (questions, rows) = (set.questions.into_inner(), set.rows.into_inner());
        assert_eq!(summary["queries"], rows, "every row is counted");
        assert!(8 * questions < rows, "{questions} questions, {rows} rows");
    }
}

#[test]
fn a_model_records_how_it_was_made() {
    let ring = FnSet::new("ring", [(-2.0, 2.0); 2], |y, _| {
        (0.8..=1.6).contains(&y[0].hypot(y[1]))
    });
    let settings = Settings {
        seed: 11,
        phase_two: 100,
        ..Settings::quick()
    };
    let mut model = fabproj::train(&ring, settings).unwrap();
    let record = model.record();
    assert_eq!((record.recipe.as_str(), record.seed), ("quick", 11));
    assert!(record.settings_json().contains("\"phase-two\":100"));
    assert_eq!(record.set().name(), "ring");
    assert_eq!(record.set_hash(), ring.description().hash());
    assert_eq!(record.names, ["y0", "y1"]);
    assert_eq!(record.bounds, [(-2.0, 2.0); 2]);
    assert!(record.x_bounds.is_empty());
    let certificate = model.certificate().expect("made by training");
    assert_eq!(certificate.inputs, "the set's region");
    assert_eq!(certificate.samples, 100_000);
    let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(again, model);

    let plan = fabproj::Plan {
        samples: 2,
        inputs: fabproj::Inputs::Rows {
            name: "proposals",
            y: &[0.1, 0.1, 1.0, 0.0],
            x: &[],
        },
        ..fabproj::Plan::default()
    };
    let certificate = model.certify(&ring, &plan).unwrap();
    assert_eq!(
        (certificate.inputs.as_str(), certificate.samples),
        ("proposals", 2)
    );
}

#[test]
fn a_stopped_training_resumes_to_the_same_bits() {
    let set = built_in("concentric-circles").unwrap();
    let settings = Settings {
        seed: 3,
        latent: Some(LatentKind::Ball),
        ..tiny()
    };
    let whole = train(&set, &settings).unwrap();
    for at in [1, 9, 22] {
        let (stop, checkpoints) = (AtomicBool::new(false), Checkpoints::memory());
        let session = Session::new()
            .observe(stop_at(at, &stop))
            .checkpoints(&checkpoints)
            .stop(&stop);
        let stopped = train_with(&set, &settings, &session);
        assert!(
            matches!(stopped, Err(TrainError::Stopped)),
            "stop at report {at}"
        );
        let resumed = Session::new().checkpoints(&checkpoints);
        let model = train_with(&set, &settings, &resumed).unwrap();
        assert_eq!(model, whole, "stopped at report {at}");
    }
}

#[test]
fn checkpoints_serve_their_own_training_only() {
    let (star, blob) = (
        built_in("star-shaped").unwrap(),
        built_in("blob-with-bite").unwrap(),
    );
    let settings = Settings {
        phase_two: 60,
        charts: Some(1),
        ..tiny()
    };
    let checkpoints = Checkpoints::memory();
    let session = Session::new().checkpoints(&checkpoints);
    train_with(&star, &settings, &session).unwrap();
    let refused = |set: &dyn Set, settings: &Settings, word: &str| {
        let error = train_with(set, settings, &session).unwrap_err();
        let message = error.to_string();
        assert!(
            matches!(error, TrainError::OtherTraining { .. }),
            "{message}"
        );
        assert!(message.contains(word), "{message}");
    };
    refused(&blob, &settings, "its set is star-shaped");
    let seed = Settings {
        seed: 1,
        ..settings.clone()
    };
    refused(&star, &seed, "its seed is 0, not 1");
    let rate = Settings {
        learning_rate: 1e-3,
        ..settings.clone()
    };
    refused(&star, &rate, "its learning-rate is");
    train_with(&star, &settings, &session).expect("the same training goes on");
}

#[test]
fn every_kind_of_latent_set_trains_and_can_be_guarded() {
    let set = built_in("star-shaped").unwrap();
    for latent in [
        LatentKind::Ball,
        LatentKind::Shell,
        LatentKind::Box,
        LatentKind::Simplex,
    ] {
        for smooth in [None, Some(20.0)] {
            let settings = Settings {
                seed: 1,
                latent: Some(latent),
                smooth,
                charts: Some(1),
                phase_two: 400,
                ..tiny()
            };
            let model = train(&set, &settings).unwrap();
            let raw = summary(&model)["candidates"][0][1]["overall"]["raw"].clone();
            assert!(raw.as_f64().unwrap() > 0.3, "{latent:?} {smooth:?}: {raw}");
            let guard = model.guard(&set).unwrap();
            for y in [[3.0, -2.0], [0.1, 0.2], [-2.9, 2.9]] {
                let (out, outcome) = guard.project(&y, &[]).unwrap();
                assert!(outcome.is_verified() && set.contains(&out, &[]));
            }
        }
    }
}

#[test]
fn a_set_thinner_than_the_margin_is_learned() {
    let ring = FnSet::new("ring", [(-2.0, 2.0); 2], |y, _| {
        (y[0].hypot(y[1]) - 1.3).abs() <= 0.006
    });
    let settings = Settings {
        seed: 1,
        ..Settings::quick()
    };
    let model = train(&ring, &settings).unwrap();
    let summary = summary(&model);
    assert!(model.met_goals(), "{summary}");
    assert!(summary["margins"][0].as_f64().unwrap() < 0.006, "{summary}");
}

#[test]
fn sets_that_cannot_be_learned_are_named_as_such() {
    let few = Settings {
        draws: 2_000,
        ..tiny()
    };
    let message =
        |set: &dyn Set, settings: &Settings| train(set, settings).unwrap_err().to_string();
    let empty = FnSet::new("empty", [(-1.0, 1.0); 2], |_, _| false);
    let error = message(&empty, &few);
    assert!(
        error.contains("0 of 2000") && error.contains("narrow the bounds"),
        "{error}"
    );
    let bad = Settings { width: 0, ..tiny() };
    let error = message(&built_in("blob-with-bite").unwrap(), &bad);
    assert!(error.contains("width = 0"), "{error}");
    let reversed = FnSet::new("reversed", [(-1.0, 1.0), (1.0, -1.0)], |_, _| true);
    let error = message(&reversed, &tiny());
    assert_eq!(
        error,
        "bounds of y[1]: the lower end 1 must be below the upper end -1"
    );
    let unnamed = FnSet::new("unnamed", [(-1.0, 1.0); 2], |_, _| true).with_names(&["a"], &[]);
    let error = message(&unnamed, &tiny());
    assert!(
        error.contains("names of y") && error.contains("found 1"),
        "{error}"
    );
}

#[test]
fn input_dependent_sets_and_higher_dimensions_train() {
    for (name, least) in [
        ("moving-obstacle", 0.5),
        ("shell-5d", 0.9),
        ("shell-3d", 0.5),
    ] {
        let set = built_in(name).unwrap();
        let settings = Settings {
            seed: 1,
            phase_two: 200,
            ..tiny()
        };
        let model = train(&set, &settings).unwrap();
        let summary = summary(&model);
        let candidates = summary["candidates"].as_array().unwrap();
        let raw = candidates
            .iter()
            .map(|candidate| candidate[1]["overall"]["raw"].as_f64().unwrap());
        assert!(raw.fold(0.0, f64::max) > least, "{name}: {summary}");
        assert_eq!(model.weights().x_dim, set.x_dim());
        assert!(!model.weights().anchors.is_empty());
    }
}
