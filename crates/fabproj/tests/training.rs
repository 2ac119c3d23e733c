//! The default recipe from outside: the same bits again, resumed or on other threads, and errors.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fabproj::core::{Guard, Projector};
use fabproj::set::{FnSet, Set, built_in};
use fabproj::train::{
    Event, LatentKind, MemoryStore, Observer, Session, ShapeConfig, TrainError, shape,
};

/// Seconds instead of a good model.
fn tiny() -> ShapeConfig {
    ShapeConfig {
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
        ..ShapeConfig::default()
    }
}

/// Stops a training at its n-th report of progress.
struct StopAt<'a> {
    reports: AtomicUsize,
    at: usize,
    stop: &'a AtomicBool,
}

impl Observer for StopAt<'_> {
    fn observe(&self, event: &Event) {
        if matches!(event, Event::Progress { .. })
            && self.reports.fetch_add(1, Ordering::Relaxed) + 1 == self.at
        {
            self.stop.store(true, Ordering::Relaxed);
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
        pool.install(|| shape(set.as_ref(), &tiny(), 7, &Session::default()).unwrap())
    };
    let (one, two) = (on(1), on(2));
    assert_eq!(one.0, two.0);
    assert_eq!(one.1, two.1);
    let other = shape(set.as_ref(), &tiny(), 8, &Session::default()).unwrap();
    assert_ne!(one.0, other.0);
}

#[test]
fn a_stopped_training_resumes_to_the_same_bits() {
    let set = built_in("concentric-circles").unwrap();
    let config = ShapeConfig {
        latent: Some(LatentKind::Ball),
        ..tiny()
    };
    let whole = shape(set.as_ref(), &config, 3, &Session::default()).unwrap();
    for at in [1, 9, 22] {
        let (stop, store) = (AtomicBool::new(false), MemoryStore::default());
        let stopper = StopAt {
            reports: AtomicUsize::new(0),
            at,
            stop: &stop,
        };
        let session = Session {
            observers: vec![&stopper],
            store: Some(&store),
            stop: Some(&stop),
        };
        let stopped = shape(set.as_ref(), &config, 3, &session);
        assert!(
            matches!(stopped, Err(TrainError::Stopped)),
            "stop at report {at}"
        );
        let resumed = Session {
            store: Some(&store),
            ..Session::default()
        };
        let model = shape(set.as_ref(), &config, 3, &resumed).unwrap();
        assert_eq!(model.0, whole.0, "stopped at report {at}");
    }
}

#[test]
fn a_checkpoint_of_other_settings_is_refused() {
    let set = built_in("concentric-circles").unwrap();
    let store = MemoryStore::default();
    let session = Session {
        store: Some(&store),
        ..Session::default()
    };
    shape(set.as_ref(), &tiny(), 3, &session).unwrap();
    let other = ShapeConfig {
        learning_rate: 1e-3,
        ..tiny()
    };
    let refused = shape(set.as_ref(), &other, 3, &session);
    assert!(matches!(refused, Err(TrainError::Checkpoint { .. })));
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
            let config = ShapeConfig {
                latent: Some(latent),
                smooth,
                charts: Some(1),
                ..tiny()
            };
            let (model, summary) = shape(set.as_ref(), &config, 1, &Session::default()).unwrap();
            let quality = &summary.candidates[0].1;
            assert!(
                quality.overall.raw > 0.3,
                "{latent:?} {smooth:?}: {quality:?}"
            );
            let projector = Projector::new(&model).unwrap();
            let guard = Guard::new(&projector, |y: &[f64], x: &[f64]| set.contains(y, x)).unwrap();
            let (mut out, mut workspace) = ([0.0; 2], guard.workspace());
            for y in [[3.0f32, -2.0], [0.1, 0.2], [-2.9, 2.9]] {
                assert!(
                    guard
                        .project(&y, &[], &mut out, &mut workspace)
                        .unwrap()
                        .is_verified()
                );
                assert!(set.contains(&out.map(f64::from), &[]));
            }
        }
    }
}

#[test]
fn a_set_thinner_than_the_margin_is_learned() {
    let ring = FnSet::builder("ring", vec![(-2.0, 2.0); 2], |y, _| {
        (y[0].hypot(y[1]) - 1.3).abs() <= 0.006
    })
    .build()
    .unwrap();
    let (_, summary) = shape(&ring, &ShapeConfig::quick(), 1, &Session::default()).unwrap();
    assert!(summary.accepted, "{:?}", summary.candidates);
    assert!(summary.margins[0] < 0.006, "{:?}", summary.margins);
}

#[test]
fn sets_that_cannot_be_learned_are_named_as_such() {
    let bounds = vec![(-1.0, 1.0), (-1.0, 1.0)];
    let config = ShapeConfig {
        draws: 2_000,
        ..tiny()
    };
    let empty = FnSet::builder("empty", bounds.clone(), |_, _| false)
        .build()
        .unwrap();
    let error = shape(&empty, &config, 1, &Session::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("0 of 2000") && error.contains("narrow the bounds"),
        "{error}"
    );
    let bad = ShapeConfig { width: 0, ..tiny() };
    let set = built_in("blob-with-bite").unwrap();
    let error = shape(set.as_ref(), &bad, 1, &Session::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("width = 0"), "{error}");
}

#[test]
fn input_dependent_sets_and_higher_dimensions_train() {
    for (name, least) in [
        ("moving-obstacle", 0.5),
        ("shell-5d", 0.9),
        ("shell-3d", 0.5),
    ] {
        let set = built_in(name).unwrap();
        let config = ShapeConfig {
            phase_two: 200,
            ..tiny()
        };
        let (model, summary) = shape(set.as_ref(), &config, 1, &Session::default()).unwrap();
        let raw = summary
            .candidates
            .iter()
            .map(|(_, quality)| quality.overall.raw);
        assert!(
            raw.fold(0.0, f64::max) > least,
            "{name}: {:?}",
            summary.candidates
        );
        assert_eq!(model.parameter_dim, set.x_dim());
        assert!(!model.anchors.is_empty());
    }
}
