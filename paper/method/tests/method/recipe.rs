//! The paper's method as a recipe: deterministic, resumable, recorded.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use fab_method::{LossWeights, Paper, PaperError, PaperSettings, PaperTraining};
use fabproj::set::{FnSet, built_in, from_toml};
use fabproj::{Checkpoints, Event, Model, Session, TrainError, train_with};

use crate::training::{checked, labelled, short};

fn train(set: &str, settings: PaperSettings, seed: u64) -> Model {
    let set = built_in(set).unwrap();
    train_with(&set, &Paper::new(checked(settings), seed), &Session::new()).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let first = train("blob-with-bite", short(), 1);
    let again = train("blob-with-bite", short(), 1);
    assert_eq!(first.to_bytes().unwrap(), again.to_bytes().unwrap());
    let other = train("blob-with-bite", short(), 2);
    assert_ne!(first.weights(), other.weights());
}

#[test]
fn the_record_says_how_the_model_was_made() {
    let set = built_in("star-shaped").unwrap();
    let recipe = Paper::new(checked(short()), 7).with_name("paper, short");
    let model = train_with(&set, &recipe, &Session::new()).unwrap();
    let record = model.record();
    assert_eq!((record.recipe.as_str(), record.seed), ("paper, short", 7));
    let settings: PaperSettings = serde_json::from_str(&record.settings_json()).unwrap();
    assert_eq!(settings, short());
    let training = record.training_json();
    assert!(training.contains("\"samples\":1000"), "{training}");
    assert!(!training.contains("seconds"), "{training}");
}

/// Trains with checkpoints, and stops after every so many progress events.
fn interrupted(set: &str, recipe: &Paper, every: usize) -> (Model, usize) {
    let set = built_in(set).unwrap();
    let checkpoints = Checkpoints::memory();
    let mut stops = 0;
    loop {
        let (stop, seen) = (AtomicBool::new(false), Mutex::new(0));
        let watch = |event: &Event| {
            if matches!(event, Event::Progress { .. }) {
                let mut seen = seen.lock().unwrap();
                *seen += 1;
                stop.store(*seen % every == 0, Ordering::Relaxed);
            }
        };
        let session = Session::new()
            .observe(watch)
            .stop(&stop)
            .checkpoints(&checkpoints);
        match train_with(&set, recipe, &session) {
            Ok(model) => return (model, stops),
            Err(TrainError::Stopped) => stops += 1,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn an_interrupted_training_gives_the_bytes_of_an_uninterrupted_one() {
    let settings = PaperSettings {
        decoders: 2,
        phase_one_epochs: 40,
        phase_two_epochs: 20,
        ..short()
    };
    let whole = train("concentric-circles", settings.clone(), 7);
    let recipe = Paper::new(checked(settings), 7);
    let (resumed, stops) = interrupted("concentric-circles", &recipe, 2);
    assert!(stops > 3, "{stops}");
    assert_eq!(resumed.to_bytes().unwrap(), whole.to_bytes().unwrap());
}

#[test]
fn a_finished_training_is_not_repeated_and_another_one_is_refused() {
    let set = built_in("star-shaped").unwrap();
    let checkpoints = Checkpoints::memory();
    let steps = Mutex::new(0);
    let count = |event: &Event| {
        if matches!(event, Event::Progress { .. }) {
            *steps.lock().unwrap() += 1;
        }
    };
    let session = Session::new().observe(count).checkpoints(&checkpoints);
    let recipe = Paper::new(checked(short()), 3);
    let first = train_with(&set, &recipe, &session).unwrap();
    let after_first = *steps.lock().unwrap();
    assert!(after_first >= 2);
    assert_eq!(train_with(&set, &recipe, &session).unwrap(), first);
    assert_eq!(*steps.lock().unwrap(), after_first);
    let refused = train_with(&set, &Paper::new(checked(short()), 4), &session);
    assert!(matches!(refused, Err(TrainError::OtherTraining { .. })));
}

/// Closures of one name cannot be told apart by their description; their data can.
#[test]
fn checkpoints_of_other_data_are_refused() {
    let checkpoints = Checkpoints::memory();
    let session = Session::new().checkpoints(&checkpoints);
    let recipe = Paper::new(checked(short()), 3);
    let disc = |radius: f64| {
        FnSet::new("disc", [(-2.0, 2.0); 2], move |y, _x| {
            y[0].hypot(y[1]) <= radius
        })
    };
    train_with(&disc(1.0), &recipe, &session).unwrap();
    let refused = train_with(&disc(1.5), &recipe, &session);
    assert!(matches!(refused, Err(TrainError::Checkpoint { .. })));
}

#[test]
fn equations_hold_in_every_output() {
    let slice = from_toml(
        "y = ['a', 'b', 'c']\n\
         bounds = { a = [-2, 2], b = [-2, 2], c = [-2, 2] }\n\
         [[constraint]]\nexpr = 'a^2 + b^2 + c^2 <= 1.5'\n\
         [[constraint]]\nexpr = 'a + b + c == 0.5'\n",
    )
    .unwrap();
    let recipe = Paper::new(checked(short()), 5);
    let model = train_with(&slice, &recipe, &Session::new()).unwrap();
    let (y, _) = model.projector().project(&[1.0, -2.0, 0.3], &[]).unwrap();
    assert!((y.iter().sum::<f64>() - 0.5).abs() < 1e-12, "{y:?}");
}

#[test]
fn labelled_points_need_a_set_of_their_dimensions() {
    let points = labelled("concentric-circles", 600);
    let recipe = Paper::new(checked(short()), 1)
        .with_labelled(&points)
        .unwrap();
    let ring = built_in("concentric-circles").unwrap();
    let model = train_with(&ring, &recipe, &Session::new()).unwrap();
    assert!(model.record().training_json().contains("\"samples\":600"));
    assert!(!model.met_goals());
    let shell = built_in("shell-3d").unwrap();
    let refused = train_with(&shell, &recipe, &Session::new());
    assert!(matches!(refused, Err(TrainError::Set(_))));
    let unmasked = PaperSettings {
        mask: Some(false),
        ..short()
    };
    let refused = Paper::new(checked(unmasked), 1).with_labelled(&points);
    assert_eq!(refused.err(), Some(PaperError::LabelsOnly));
}

#[test]
fn a_finished_first_phase_gives_the_same_model() {
    let set = built_in("star-shaped").unwrap();
    let settings = PaperSettings {
        weights: LossWeights {
            hinge: 1.0,
            ..LossWeights::default()
        },
        ..short()
    };
    let training = PaperTraining::new(&set, &checked(short()), 3).unwrap();
    let phase_one = Arc::new(training.phase_one(&Session::new()).unwrap());
    let recipe = Paper::new(checked(settings.clone()), 3).with_phase_one(phase_one);
    let shared = train_with(&set, &recipe, &Session::new()).unwrap();
    let whole = train("star-shaped", settings, 3);
    assert_eq!(shared.to_bytes().unwrap(), whole.to_bytes().unwrap());
}
