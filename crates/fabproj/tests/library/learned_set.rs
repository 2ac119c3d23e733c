//! Sets that are learned from labelled points.

use fabproj::set::{LabelledData, LabelledSettings, Learned, Set, built_in};
use fabproj::{Membership, Model, Session, Settings, train_with};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Uniform points of a set's bounds with their labels; of the feasible ones a share is kept.
fn points(set: &dyn Set, rows: usize, keep: f64) -> LabelledData {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (mut points, mut parameters, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    while labels.len() < rows {
        let mut uniform = |bounds: Vec<(f64, f64)>| -> Vec<f64> {
            bounds
                .iter()
                .map(|(low, high)| rng.random_range(*low..*high))
                .collect()
        };
        let (y, x) = (uniform(set.bounds()), uniform(set.x_bounds()));
        let label = set.contains(&y, &x);
        if label && rng.random::<f64>() > keep {
            continue;
        }
        points.extend(y);
        parameters.extend(x);
        labels.push(label);
    }
    LabelledData::new(set.names(), points, set.x_names(), parameters, labels)
        .expect("fits together")
}

fn quick() -> LabelledSettings {
    LabelledSettings {
        steps: 1500,
        rows: 256,
        ..LabelledSettings::default()
    }
}

/// Share of accepted ones of fresh points that are feasible, and of feasible ones that are accepted.
fn precision_and_recall(truth: &dyn Set, learned: &Learned) -> (f64, f64) {
    let fresh = points(truth, 8000, 1.0);
    let (mut both, mut accepted) = (0.0, 0.0);
    for row in 0..fresh.rows() {
        if learned.contains(fresh.y(row), fresh.x(row)) {
            accepted += 1.0;
            both += f64::from(u8::from(fresh.labels()[row]));
        }
    }
    (both / accepted, both / fresh.feasible() as f64)
}

#[test]
fn what_is_accepted_is_nearly_always_feasible() {
    for name in ["concentric-circles", "moving-obstacle"] {
        let truth = built_in(name).unwrap();
        let data = points(truth.as_ref(), 12_000, 1.0);
        let learned = data.learn("ring", &quick(), 1, &Session::new()).unwrap();
        let (precision, recall) = precision_and_recall(truth.as_ref(), &learned);
        assert!(
            precision > 0.99 && recall > 0.75,
            "{name}: {precision} {recall}"
        );
        let calibration = learned.record().calibration;
        assert!(calibration.precision_lower_bound > 0.95, "{calibration:?}");
        assert!(
            (calibration.recall() - recall).abs() < 0.06,
            "{calibration:?}"
        );
        assert_eq!(learned.calibration(), Some(calibration));
        assert!(!learned.contains(&[f64::NAN, 1.0], &vec![0.0; truth.x_dim()]));
    }
}

#[test]
fn one_feasible_point_in_a_hundred_is_enough_to_learn_from() {
    let truth = built_in("star-shaped").unwrap();
    let data = points(truth.as_ref(), 20_000, 0.012);
    assert!(data.feasible() < 400, "{}", data.feasible());
    let learned = data.learn("star", &quick(), 1, &Session::new()).unwrap();
    let (precision, recall) = precision_and_recall(truth.as_ref(), &learned);
    assert!(
        precision > 0.98 && recall > 0.5,
        "{precision} {recall} {:?}",
        learned.record()
    );
    assert!(learned.record().points.feasible_share() < 0.02);
}

#[test]
fn a_model_file_holds_its_learned_set() {
    let truth = built_in("concentric-circles").unwrap();
    let data = points(truth.as_ref(), 6000, 1.0);
    let learned = data.learn("ring", &quick(), 1, &Session::new()).unwrap();
    let settings = Settings {
        seed: 1,
        phase_two: 400,
        ..Settings::quick()
    };
    let model = train_with(&learned, &settings, &Session::new()).unwrap();
    let model = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    let set = model.set().unwrap();
    let again = set.learned().expect("learned");
    assert_eq!(again.record(), learned.record());
    assert_eq!(again.description(), learned.description());
    let fresh = points(truth.as_ref(), 4000, 1.0);
    for row in 0..fresh.rows() {
        let (before, after) = (
            learned.score(fresh.y(row), &[]),
            again.score(fresh.y(row), &[]),
        );
        let near = (before - after).abs() < 2e-3 * before.abs().max(1.0);
        assert!(near || before == after, "{before} {after}");
    }
    let guard = model.guard(&set).unwrap();
    let mut feasible = 0;
    for row in 0..1000 {
        let (out, outcome) = guard.project(fresh.y(row), &[]).unwrap();
        assert!(outcome.is_verified() && again.contains(&out, &[]));
        feasible += usize::from(truth.contains(&out, &[]));
    }
    assert!(feasible >= 980, "{feasible}");
}

#[test]
fn the_same_seed_learns_the_same_set() {
    let truth = built_in("star-shaped").unwrap();
    let data = points(truth.as_ref(), 1500, 1.0);
    let config = LabelledSettings {
        steps: 300,
        ..quick()
    };
    let learned = |seed| data.learn("star", &config, seed, &Session::new()).unwrap();
    let (one, same, other) = (learned(1), learned(1), learned(2));
    assert_eq!(one.score(&[0.3, 0.2], &[]), same.score(&[0.3, 0.2], &[]));
    assert_eq!(one.record(), same.record());
    assert_ne!(one.score(&[0.3, 0.2], &[]), other.score(&[0.3, 0.2], &[]));
}

#[test]
fn settings_out_of_range_are_refused() {
    let truth = built_in("star-shaped").unwrap();
    let data = points(truth.as_ref(), 200, 1.0);
    let config = LabelledSettings {
        precision: 1.0,
        ..quick()
    };
    let error = data
        .learn("star", &config, 1, &Session::new())
        .err()
        .unwrap();
    assert!(error.to_string().contains("precision = 1"), "{error}");
}
