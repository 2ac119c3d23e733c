//! Training within a number of membership queries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fabproj::set::{FnSet, built_in, from_toml};
use fabproj::{Membership, Session, Settings, TrainError, train_with};

fn limited(queries: u64) -> Settings {
    Settings {
        seed: 5,
        max_queries: Some(queries),
        ..Settings::quick()
    }
}

#[test]
fn a_set_that_is_costly_to_ask_is_asked_no_more_than_allowed() {
    for (name, least) in [("star-shaped", 0.95), ("moving-obstacle", 0.93)] {
        let (asked, known) = (Arc::new(AtomicU64::new(0)), built_in(name).unwrap());
        let (count, inner) = (Arc::clone(&asked), Arc::clone(&known));
        let set = FnSet::new(name, known.bounds(), move |y, x| {
            count.fetch_add(1, Ordering::Relaxed);
            inner.contains(y, x)
        });
        let set = set.with_x(known.x_bounds());
        let (settings, session) = (limited(43_000), Session::new());
        let mut model = train_with(&set, &settings, &session).unwrap();
        let plan = settings.plan(session.queries(), model.projector().charts());
        let certificate = model.certify(&set, &plan).unwrap();
        let queries = session.queries() + certificate.queries;
        assert_eq!(queries, asked.load(Ordering::Relaxed), "{name}");
        assert!(queries <= 43_000, "{name}: {queries} queries");
        let summary: serde_json::Value =
            serde_json::from_str(&model.record().training_json()).unwrap();
        let lower_bound = summary["calibration"]["precision_lower_bound"].as_f64();
        assert!(lower_bound.unwrap() > 0.9, "{summary}");
        let certificate = model.certificate().unwrap();
        assert_eq!(certificate.guarded_feasible, 1.0, "{name}");
        let raw = certificate.raw_feasible;
        assert!(raw > least, "{name}: {raw}");
        let wide = |values: &[f32]| values.iter().map(|v| f64::from(*v)).collect::<Vec<_>>();
        let anchors = &model.weights().anchors;
        assert!(
            anchors
                .iter()
                .all(|anchor| set.contains(&wide(&anchor.point), &wide(&anchor.x))),
            "{name}"
        );
    }
}

#[test]
fn equations_survive_a_limit_of_queries() {
    let set = from_toml(
        "y = [\"a\", \"b\", \"c\"]\nbounds = { a = [0, 1], b = [0, 1], c = [0, 1] }\n\
         [[constraint]]\nexpr = \"a + b + c == 1\"\n[[constraint]]\nexpr = \"a <= 0.5\"\n",
    )
    .unwrap();
    let model = fabproj::train(&set, limited(20_000)).unwrap();
    let guard = model.guard(&set).unwrap();
    let (y, outcome) = guard.project(&[0.9, 0.8, 0.7], &[]).unwrap();
    assert!(outcome.is_verified() && set.contains(&y, &[]));
    assert!((y.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{y:?}");
}

#[test]
fn too_few_queries_are_refused() {
    let set = built_in("star-shaped").unwrap();
    let error = fabproj::train(&set, limited(10)).unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, TrainError::Setting { .. }), "{message}");
    assert!(message.contains("max-queries = 10"), "{message}");
}
