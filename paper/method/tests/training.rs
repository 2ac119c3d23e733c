//! The presets `paper` and `paper-text` at the public border.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fab_method::data::{PaperData, PaperError};
use fab_method::{
    self, CheckedPaperConfig, LabelledPoints, PaperConfig, PaperTrainError, PaperTraining,
    select_released,
};
use fabproj::core::{Blend, LatentSet, Model, Projector};
use fabproj::set::{Set, built_in};
use fabproj::train::{CheckpointStore, Event, MemoryStore, Observer, Session};

/// Few rows and epochs: enough to run through everything.
fn short() -> PaperConfig {
    PaperConfig {
        encoder_width: 16,
        encoder_depth: 2,
        decoder_width: 16,
        decoder_depth: 2,
        samples: Some(1_000),
        batch: 64,
        phase_one_epochs: 4,
        phase_two_epochs: 3,
        ..PaperConfig::released()
    }
}

fn checked(config: PaperConfig) -> CheckedPaperConfig {
    config.validate().expect("valid settings")
}

fn train(set: &str, config: PaperConfig, seed: u64) -> fab_method::PaperTrained {
    let set = built_in(set).expect("a built-in set");
    fab_method::train(set.as_ref(), &checked(config), seed, &Session::default()).expect("a model")
}

fn bits(model: &Model) -> Vec<u32> {
    let chart = &model.charts[0];
    let networks = chart
        .decoders
        .iter()
        .chain([&chart.encoder])
        .chain(&model.discriminator);
    let layers = networks.flat_map(|network| &network.layers);
    layers
        .flat_map(|layer| layer.weights.iter().chain(&layer.bias))
        .map(|value| value.to_bits())
        .collect()
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_others() {
    let first = train("blob-with-bite", short(), 1);
    let again = train("blob-with-bite", short(), 1);
    assert_eq!(first.model, again.model);
    assert_eq!(first.summary.score, again.summary.score);
    assert_ne!(
        bits(&first.model),
        bits(&train("blob-with-bite", short(), 2).model)
    );
}

#[test]
fn an_interrupted_training_gives_the_bits_of_an_uninterrupted_one() {
    let set = built_in("concentric-circles").unwrap();
    let config = checked(PaperConfig {
        decoders: 2,
        phase_one_epochs: 40,
        phase_two_epochs: 20,
        ..short()
    });
    let whole = fab_method::train(set.as_ref(), &config, 7, &Session::default()).unwrap();
    let store = MemoryStore::default();
    let mut stops = Vec::new();
    let resumed = loop {
        let stop = AtomicBool::new(false);
        let session = Session {
            store: Some(&store),
            stop: Some(&stop),
            ..Session::default()
        };
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(25));
                stop.store(true, Ordering::Relaxed);
            });
            fab_method::train(set.as_ref(), &config, 7, &session)
        });
        match outcome {
            Ok(trained) => break trained,
            Err(PaperTrainError::Stopped { unit, step, steps }) => {
                assert!(step <= steps);
                stops.push((unit, step));
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert!(stops.iter().any(|(_, step)| *step > 0), "{stops:?}");
    assert_eq!(resumed.model, whole.model);
    assert_eq!(resumed.summary.score, whole.summary.score);
    let (one, two) = (&resumed.summary.phase_two, &whole.summary.phase_two);
    assert_eq!(one.as_ref().unwrap().last, two.as_ref().unwrap().last);
}

#[derive(Default)]
struct Log(std::sync::Mutex<Vec<String>>);

impl Observer for Log {
    fn observe(&self, event: &Event) {
        let mut events = self.0.lock().expect("no observer panics");
        events.push(format!("{event:?}"));
    }
}

#[test]
fn a_finished_unit_is_not_trained_again_and_a_foreign_one_is_not_taken() {
    let set = built_in("star-shaped").unwrap();
    let (store, log) = (MemoryStore::default(), Log::default());
    let session = Session {
        store: Some(&store),
        observers: vec![&log],
        ..Session::default()
    };
    let config = checked(short());
    let first = fab_method::train(set.as_ref(), &config, 3, &session).unwrap();
    let states = store.load("paper-phase-one").unwrap();
    let again = fab_method::train(set.as_ref(), &config, 3, &session).unwrap();
    assert_eq!(first.model, again.model);
    assert_eq!(store.load("paper-phase-one").unwrap(), states);
    let warned = || log.0.lock().unwrap().iter().any(|e| e.contains("Warning"));
    assert!(!warned());
    let other = fab_method::train(set.as_ref(), &config, 4, &session).unwrap();
    assert!(warned());
    assert_eq!(other.model, train("star-shaped", short(), 4).model);
    store.save("paper-phase-one", b"no state at all");
    let spoiled = fab_method::train(set.as_ref(), &config, 4, &session).unwrap();
    assert_eq!(spoiled.model, other.model);
    assert!(
        log.0
            .lock()
            .unwrap()
            .iter()
            .any(|event| event.contains("phase 2"))
    );
}

#[test]
fn settings_shape_the_model() {
    let trained = train(
        "blob-with-bite",
        PaperConfig {
            decoders: 3,
            latent_dim: Some(3),
            decoder_width: 8,
            decoder_depth: 1,
            ..short()
        },
        1,
    );
    let chart = &trained.model.charts[0];
    assert_eq!((chart.decoders.len(), chart.latent_dim()), (3, 3));
    assert_eq!(chart.decoders[0].layers[0].outputs, 8);
    assert_eq!(chart.blend, Blend::Soft);
    let gate = chart.decoder_gate.as_ref().unwrap();
    assert_eq!(gate.layers[0].outputs, 32);
    assert_eq!(gate.outputs(), 3);
    assert_eq!(
        chart.latent,
        LatentSet::Ball {
            radius: 0.5,
            smooth: None
        }
    );
    assert!(trained.model.discriminator.is_some());
    Projector::new(&trained.model).unwrap();
}

#[test]
fn ablations_leave_out_what_they_say() {
    let base = short();
    let alone = train("star-shaped", base.clone().phase_one_only(), 1);
    assert!(alone.summary.phase_two.is_none());
    assert!(alone.model.discriminator.is_none());
    assert_eq!(alone.model.frame.scale, [1.0, 1.0]);
    let silent = train("star-shaped", base.clone().without_discriminator(), 1);
    assert!(silent.model.discriminator.is_none());
    let last = silent.summary.phase_two.unwrap().last;
    assert_eq!((last.feasibility, last.latent), (0.0, 0.0));
    assert!(last.geometry > 0.0 && last.hinge > 0.0);
    let full = train("star-shaped", base.clone(), 1);
    assert_ne!(
        bits(&full.model),
        bits(&train("star-shaped", base.without_hinge(), 1).model)
    );
    // Neither weight of "feasible" rows is the same for this set.
    let plain = PaperConfig {
        positive_weight: false,
        ..short()
    };
    assert_eq!(train("star-shaped", plain, 1).summary.positive_weight, 1.0);
    assert!(full.summary.positive_weight > 1.05);
}

#[test]
fn thinned_data_trains_on_what_was_kept() {
    let thin = train(
        "concentric-circles",
        PaperConfig {
            coverage: 0.25,
            ..short()
        },
        1,
    );
    let full = train("concentric-circles", short(), 1);
    assert!(thin.summary.phase_one.rows * 3 < full.summary.phase_one.rows);
    assert_eq!(
        thin.summary.phase_two.as_ref().unwrap().rows,
        full.summary.phase_two.as_ref().unwrap().rows
    );
    assert!(thin.summary.positive_weight > 3.0 * full.summary.positive_weight);
}

#[test]
fn the_printed_form_and_input_dependent_sets_train_too() {
    let text = PaperConfig {
        geometry_rows: 16,
        samples: Some(1_000),
        batch: 64,
        effort: 0.01,
        ..PaperConfig::text()
    };
    let trained = train("two-moons", text, 1);
    let last = trained.summary.phase_two.unwrap().last;
    assert_eq!(last.feasibility, 0.0);
    assert!(last.latent > 0.0);
    for decoders in [1, 2] {
        let config = PaperConfig {
            decoders,
            ..short()
        };
        let moving = train("moving-obstacle", config, 1);
        let set = built_in("moving-obstacle").unwrap();
        assert_eq!(moving.model.parameter_dim, set.x_dim());
        let projector = Projector::new(&moving.model).unwrap();
        let mut out = [0.0; 2];
        let mut workspace = projector.workspace();
        projector
            .project(&[2.0, 0.0], &[0.5, 0.0], &mut out, &mut workspace)
            .unwrap();
        assert!(out.iter().all(|v| v.is_finite()));
    }
}

#[test]
fn labels_alone_are_enough() {
    let set = built_in("concentric-circles").unwrap();
    let data = PaperData::sample_rows(set.as_ref(), 1_000, 5).unwrap();
    let points = LabelledPoints {
        dim: 2,
        x_dim: 0,
        points: &data.points,
        parameters: &[],
        labels: &data.labels,
    };
    let session = Session::default();
    let trained = fab_method::train_labelled(points, &checked(short()), 1, &session).unwrap();
    assert_eq!(trained.summary.score, None);
    assert!(trained.model.discriminator.is_some());
    let refused = PaperConfig {
        mask: Some(false),
        ..short()
    };
    assert_eq!(
        fab_method::train_labelled(points, &checked(refused), 1, &session).unwrap_err(),
        PaperTrainError::LabelsOnly
    );
}

#[test]
fn labelled_points_at_fault_are_named() {
    let config = checked(short());
    let good = LabelledPoints {
        dim: 2,
        x_dim: 0,
        points: &[0.0; 8],
        parameters: &[],
        labels: &[true, false, true, false],
    };
    let fail = |points| {
        fab_method::train_labelled(points, &config, 1, &Session::default())
            .map(|_| ())
            .unwrap_err()
    };
    assert_eq!(
        fail(LabelledPoints {
            points: &[0.0; 7],
            ..good
        }),
        PaperTrainError::Length {
            what: "points",
            found: 7,
            expected: 8
        }
    );
    let mut spoiled = [0.0; 8];
    spoiled[5] = f32::INFINITY;
    assert_eq!(
        fail(LabelledPoints {
            points: &spoiled,
            ..good
        }),
        PaperTrainError::NotFinite {
            what: "points",
            row: 2,
            value: f32::INFINITY
        }
    );
    assert_eq!(
        fail(LabelledPoints {
            labels: &[true; 4],
            ..good
        }),
        PaperTrainError::Data(PaperError::OneClass {
            rows: 4,
            feasible: 4
        })
    );
    // One row of the rarer kind cannot be divided into two parts.
    assert!(matches!(
        fail(LabelledPoints {
            labels: &[true, false, false, false],
            ..good
        }),
        PaperTrainError::Data(PaperError::Share { .. })
    ));
}

#[test]
fn a_learning_rate_beyond_reason_is_an_error() {
    let set = built_in("blob-with-bite").unwrap();
    let config = checked(PaperConfig {
        phase_one_rate: 1.0,
        phase_two_rate: 1.0,
        discriminator_rate: 1.0,
        phase_one_epochs: 2,
        phase_two_epochs: 2,
        ..short()
    });
    // Either it survives with numbers, or the divergence is reported: never a model with NaN.
    match fab_method::train(set.as_ref(), &config, 1, &Session::default()) {
        Ok(trained) => assert!(trained.model.validate().is_ok()),
        Err(error) => assert!(matches!(
            error,
            PaperTrainError::Diverged { .. } | PaperTrainError::Model(_)
        )),
    }
}

#[test]
fn second_phases_share_a_first_and_the_released_rule_chooses() {
    let set = built_in("blob-with-bite").unwrap();
    let config = checked(PaperConfig {
        phase_two_epochs: 1,
        samples: Some(400),
        ..short()
    });
    let training = PaperTraining::new(set.as_ref(), &config, 1).unwrap();
    let session = Session::default();
    let phase_one = training.phase_one(&session).unwrap();
    let all = training.grid(&phase_one, &session).unwrap();
    assert_eq!(all.len(), 24);
    let scores: Vec<f64> = all
        .iter()
        .map(|(_, trained)| trained.summary.score.unwrap())
        .collect();
    let chosen = select_released(scores.iter().copied()).unwrap();
    assert!(scores[..chosen].iter().all(|s| *s < scores[chosen]));
    assert!(scores[chosen..].iter().all(|s| *s <= scores[chosen]));
    let alone = training
        .phase_two(&phase_one, all[chosen].0, &session)
        .unwrap();
    assert_eq!(alone.model, all[chosen].1.model);
    let other = built_in("shell-3d").unwrap();
    let other = PaperTraining::new(other.as_ref(), &config, 1).unwrap();
    assert_eq!(
        other
            .phase_two(&phase_one, all[0].0, &session)
            .map(|_| ())
            .unwrap_err(),
        PaperTrainError::PhaseOne {
            found: (2, 0),
            expected: (3, 0)
        }
    );
}

/// What the paper claims for its simplest set, at a hundredth of its effort.
#[test]
fn the_ball_decodes_into_the_set_after_phase_two_only() {
    let config = PaperConfig {
        effort: 0.02,
        score_samples: 5_000,
        ..PaperConfig::released()
    };
    let full = train("blob-with-bite", config.clone(), 1).summary.score;
    let alone = train("blob-with-bite", config.phase_one_only(), 1)
        .summary
        .score;
    assert!(full.unwrap() > 0.97, "{full:?}");
    assert!(alone.unwrap() < full.unwrap() - 0.1, "{alone:?} {full:?}");
}
