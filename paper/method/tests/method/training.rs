//! Phases and ablations, one by one.

use fab_method::data::PaperData;
use fab_method::{
    CheckedPaperSettings, PaperError, PaperSettings, PaperTrained, PaperTraining, grid,
    select_released,
};
use fabproj::core::LatentSet;
use fabproj::set::{LabelledData, Set, built_in};
use fabproj::{Projector, Session, TrainError};

/// Few rows and epochs: enough to run through everything.
pub fn short() -> PaperSettings {
    PaperSettings {
        encoder_width: 16,
        encoder_depth: 2,
        decoder_width: 16,
        decoder_depth: 2,
        samples: Some(1_000),
        batch: 64,
        phase_one_epochs: 4,
        phase_two_epochs: 3,
        ..PaperSettings::released()
    }
}

pub fn checked(settings: PaperSettings) -> CheckedPaperSettings {
    settings.validate().expect("valid settings")
}

fn train(set: &str, settings: PaperSettings, seed: u64) -> PaperTrained {
    let set = built_in(set).expect("a built-in set");
    let training = PaperTraining::new(&set, &checked(settings), seed).expect("data");
    training.run(&Session::new()).expect("a model")
}

/// The reason that the paper's method gives.
fn reason(error: TrainError) -> PaperError {
    match error {
        TrainError::Recipe(error) => *error.downcast().expect("of the paper's method"),
        error => panic!("{error}"),
    }
}

/// Rows of a set with their labels.
pub fn labelled(set: &str, rows: usize) -> LabelledData {
    let set = built_in(set).expect("a built-in set");
    let data = PaperData::sample_rows(&set, rows, 5).expect("both kinds of points");
    let points = data.y.iter().map(|value| f64::from(*value)).collect();
    LabelledData::new(set.names(), points, Vec::new(), Vec::new(), data.labels).expect("rows")
}

#[test]
fn settings_shape_the_model() {
    let trained = train(
        "blob-with-bite",
        PaperSettings {
            decoders: 3,
            latent_dim: Some(3),
            decoder_width: 8,
            decoder_depth: 1,
            ..short()
        },
        1,
    );
    let chart = &trained.weights.charts[0];
    assert_eq!((chart.decoders.len(), chart.latent_dim()), (3, 3));
    assert_eq!(chart.decoders[0].layers[0].outputs, 8);
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
    assert!(trained.weights.discriminator.is_some());
    Projector::new(&trained.weights).unwrap();
}

#[test]
fn ablations_leave_out_what_they_say() {
    let base = short();
    let alone = train("star-shaped", base.clone().phase_one_only(), 1);
    assert!(alone.summary.phase_two.is_none());
    assert!(alone.weights.discriminator.is_none());
    assert_eq!(alone.weights.frame.scale, [1.0, 1.0]);
    let silent = train("star-shaped", base.clone().without_discriminator(), 1);
    assert!(silent.weights.discriminator.is_none());
    let last = silent.summary.phase_two.unwrap().last;
    assert_eq!((last.feasibility, last.latent), (0.0, 0.0));
    assert!(last.geometry > 0.0 && last.hinge > 0.0);
    let full = train("star-shaped", base.clone(), 1);
    assert_ne!(
        full.weights,
        train("star-shaped", base.without_hinge(), 1).weights
    );
    // Neither weight of "feasible" rows is the same for this set.
    let plain = PaperSettings {
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
        PaperSettings {
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
    let text = PaperSettings {
        geometry_rows: 16,
        samples: Some(1_000),
        batch: 64,
        effort: 0.01,
        ..PaperSettings::text()
    };
    let trained = train("two-moons", text, 1);
    let last = trained.summary.phase_two.unwrap().last;
    assert_eq!(last.feasibility, 0.0);
    assert!(last.latent > 0.0);
    for decoders in [1, 2] {
        let settings = PaperSettings {
            decoders,
            ..short()
        };
        let moving = train("moving-obstacle", settings, 1);
        let set = built_in("moving-obstacle").unwrap();
        assert_eq!(moving.weights.x_dim, set.x_dim());
        let projector = Projector::new(&moving.weights).unwrap();
        let (y, _) = projector.project(&[2.0, 0.0], &[0.5, 0.0]).unwrap();
        assert!(y.iter().all(|v: &f64| v.is_finite()));
    }
}

#[test]
fn labels_alone_are_enough() {
    let points = labelled("concentric-circles", 1_000);
    let training = PaperTraining::labelled(&points, &checked(short()), 1).unwrap();
    let trained = training.run(&Session::new()).unwrap();
    assert_eq!(trained.summary.score, None);
    assert!(trained.weights.discriminator.is_some());
    let refused = PaperSettings {
        mask: Some(false),
        ..short()
    };
    let refused = PaperTraining::labelled(&points, &checked(refused), 1);
    assert_eq!(refused.err(), Some(PaperError::LabelsOnly));
}

#[test]
fn labelled_points_that_cannot_be_used_are_named() {
    let points = |last: f64, labels: [bool; 4]| {
        let y = vec![0.0, 1.0, 2.0, last];
        LabelledData::new(vec!["y".into()], y, Vec::new(), Vec::new(), labels.into()).unwrap()
    };
    let large = points(1e300, [true, false, true, false]);
    let refused = PaperTraining::labelled(&large, &checked(short()), 1);
    let expected = PaperError::TooLarge {
        what: "y",
        row: 4,
        value: 1e300,
    };
    assert_eq!(refused.err(), Some(expected));
    // One row of the rarer kind cannot be divided into two parts.
    let rare = points(3.0, [true, false, false, false]);
    let training = PaperTraining::labelled(&rare, &checked(short()), 1).unwrap();
    let refused = training.run(&Session::new()).expect_err("too few rows");
    assert!(matches!(reason(refused), PaperError::Share { .. }));
}

#[test]
fn a_learning_rate_beyond_reason_is_an_error() {
    let set = built_in("blob-with-bite").unwrap();
    let settings = checked(PaperSettings {
        phase_one_rate: 1.0,
        phase_two_rate: 1.0,
        discriminator_rate: 1.0,
        phase_one_epochs: 2,
        phase_two_epochs: 2,
        ..short()
    });
    let training = PaperTraining::new(&set, &settings, 1).unwrap();
    // Either it survives, or the divergence is reported: never a model with NaN.
    match training.run(&Session::new()) {
        Ok(trained) => assert!(trained.weights.validate().is_ok()),
        Err(TrainError::Diverged { .. } | TrainError::Model(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn second_phases_share_a_first_and_the_released_rule_chooses() {
    let set = built_in("blob-with-bite").unwrap();
    let settings = checked(PaperSettings {
        phase_two_epochs: 1,
        samples: Some(400),
        ..short()
    });
    let training = PaperTraining::new(&set, &settings, 1).unwrap();
    let session = Session::new();
    let phase_one = training.phase_one(&session).unwrap();
    let score = |weights| {
        let trained = training.phase_two(&phase_one, weights, &session).unwrap();
        trained.summary.score.unwrap()
    };
    let scores: Vec<f64> = grid().map(score).collect();
    let chosen = select_released(scores.iter().copied()).unwrap();
    assert!(scores[..chosen].iter().all(|s| *s < scores[chosen]));
    assert!(scores[chosen..].iter().all(|s| *s <= scores[chosen]));
    let other = built_in("shell-3d").unwrap();
    let other = PaperTraining::new(&other, &settings, 1).unwrap();
    let weights = settings.weights;
    let refused = other.phase_two(&phase_one, weights, &session).unwrap_err();
    let expected = PaperError::PhaseOne {
        found: (2, 0),
        expected: (3, 0),
    };
    assert_eq!(reason(refused), expected);
}

/// What the paper claims for its simplest set, at a hundredth of its effort.
#[test]
fn the_ball_decodes_into_the_set_after_phase_two_only() {
    let settings = PaperSettings {
        effort: 0.02,
        score_samples: 5_000,
        ..PaperSettings::released()
    };
    let full = train("blob-with-bite", settings.clone(), 1).summary.score;
    let alone = train("blob-with-bite", settings.phase_one_only(), 1)
        .summary
        .score;
    assert!(full.unwrap() > 0.97, "{full:?}");
    assert!(alone.unwrap() < full.unwrap() - 0.1, "{alone:?} {full:?}");
}
