//! Training within a number of membership queries.

use fabproj::certify::{Plan, certify};
use fabproj::core::Projector;
use fabproj::set::{Counted, Set, built_in};
use fabproj::train::{Session, ShapeConfig, TrainError, shape};

fn limited(queries: u64) -> ShapeConfig {
    ShapeConfig {
        max_queries: Some(queries),
        ..ShapeConfig::quick()
    }
}

#[test]
fn a_set_that_is_costly_to_ask_is_asked_no_more_than_allowed() {
    for (name, least) in [("star-shaped", 0.95), ("moving-obstacle", 0.93)] {
        let set = Counted::new(built_in(name).unwrap());
        let (model, summary) = shape(&set, &limited(30_000), 5, &Session::default()).unwrap();
        assert!(set.queries() <= 30_000, "{name}: {} queries", set.queries());
        assert_eq!(summary.queries, set.queries());
        let calibration = summary.calibration.unwrap();
        assert!(calibration.precision() > 0.95, "{calibration:?}");
        let plan = Plan {
            samples: 5_000,
            ..Plan::default()
        };
        let projector = Projector::new(&model).unwrap();
        let certificate = certify(&set, &projector, &plan).unwrap();
        assert_eq!(certificate.guarded_feasible, 1.0, "{name}");
        let raw = certificate.raw_feasible;
        assert!(raw > least, "{name}: {raw}");
        assert!(
            model.anchors.iter().all(|anchor| {
                let wide =
                    |values: &[f32]| values.iter().map(|v| f64::from(*v)).collect::<Vec<_>>();
                set.contains(&wide(&anchor.point), &wide(&anchor.parameters))
            }),
            "{name}"
        );
    }
}

#[test]
fn too_few_queries_are_refused() {
    let set = built_in("star-shaped").unwrap();
    let error = shape(set.as_ref(), &limited(10), 1, &Session::default()).unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, TrainError::Config(_)), "{message}");
    assert!(message.contains("max-queries = 10"), "{message}");
}
