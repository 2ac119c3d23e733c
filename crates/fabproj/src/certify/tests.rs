use std::sync::Arc;

use fabproj_core::{
    Activation, Anchor, Chart, Frame, LatentSet, Layer, Network, Projector, Weights,
};

use super::*;
use crate::set::{FnSet, built_in};

/// `factor`·y, reading only the first `dim` of its inputs.
fn linear(dim: usize, inputs: usize, factor: f32) -> Network {
    let weights = (0..dim * inputs)
        .map(|index| {
            if index / inputs == index % inputs {
                factor
            } else {
                0.0
            }
        })
        .collect();
    Network {
        layers: vec![Layer {
            inputs,
            outputs: dim,
            weights,
            bias: vec![0.0; dim],
        }],
        hidden: Activation::Relu,
        output: Activation::Identity,
        skip: None,
    }
}

fn unit(dim: usize) -> Frame {
    Frame {
        centre: vec![0.0; dim],
        scale: vec![1.0; dim],
    }
}

/// A model whose networks multiply by the factors given: a projection onto a multiple of `latent`.
fn model(dim: usize, x_dim: usize, latent: LatentSet, decoder: f32) -> Weights {
    Weights {
        dim,
        x_dim,
        frame: unit(dim),
        x_frame: unit(x_dim),
        gate: None,
        charts: vec![Chart {
            frame: unit(dim),
            encoder: linear(dim, dim + x_dim, 1.0),
            latent,
            decoders: vec![linear(dim, dim + x_dim, decoder)],
            decoder_gate: None,
        }],
        discriminator: None,
        anchors: Vec::new(),
        equations: None,
    }
}

fn shell(inner: f32, outer: f32) -> LatentSet {
    LatentSet::Shell {
        inner,
        outer,
        smooth: None,
    }
}

fn plan(samples: usize) -> Plan<'static> {
    Plan {
        samples,
        seed: 7,
        ..Plan::default()
    }
}

#[test]
fn a_nearly_exact_projector_is_certified() {
    let projector = Projector::new(&model(2, 0, shell(1.001, 1.999), 1.0)).unwrap();
    let ring = built_in("concentric-circles").unwrap();
    let found = certify(ring.as_ref(), &projector, &plan(5000)).unwrap();
    assert_eq!((found.raw_failures, found.raw_feasible), (0, 1.0));
    assert_eq!(found.raw_lower_bound, lower_bound(5000, 5000, 0.99));
    assert_eq!((found.inside_feasible, found.surface_feasible), (1.0, 1.0));
    assert_eq!(found.guarded_feasible, 1.0);
    assert!(found.coverage.unwrap() > 0.999, "{:?}", found.coverage_grid);
    let enclosed = found.enclosed_feasible.unwrap();
    assert_eq!((enclosed.samples, enclosed.failures), (5000, 0));
    // Feasible points outside the slightly smaller latent set move by 0.001 at most.
    assert!(found.mean_move.unwrap() < 1e-3);
    assert!((found.mean_excess.unwrap() - 1e-3).abs() < 1e-5);
    assert_eq!(found.set_hash, ring.description().hash());
    assert!(found.worst_slice.is_none() && found.slices.is_empty());
}

#[test]
fn a_bad_projector_is_shown_for_what_it_is() {
    // Decodes of a disc of radius 2 onto a ring: those within radius 1, a quarter, are in the hole.
    let disc = LatentSet::Ball {
        radius: 2.0,
        smooth: None,
    };
    let projector = Projector::new(&model(2, 0, disc, 0.999)).unwrap();
    let ring = built_in("concentric-circles").unwrap();
    let found = certify(ring.as_ref(), &projector, &plan(20_000)).unwrap();
    assert!((found.inside_feasible - 0.75).abs() < 0.02);
    assert_eq!(found.surface_feasible, 1.0);
    // Inputs within radius 1 of the box [-3, 3]² stay where they are.
    let hole = std::f64::consts::PI / 36.0;
    assert!((found.raw_feasible - (1.0 - hole)).abs() < 0.01);
    assert!(found.raw_lower_bound < found.raw_feasible);
    assert!(found.raw_feasible_of_infeasible.unwrap() < found.raw_feasible);
    assert_eq!(found.enclosed_feasible.unwrap().feasible, 0.0);
    assert_eq!(found.guarded_feasible, 1.0);
    assert!(
        found.guarded_outcomes["repaired"] > 0,
        "{:?}",
        found.guarded_outcomes
    );
    assert!(found.guarded_mean_distance.unwrap() > found.mean_distance.unwrap());
}

#[test]
fn a_collapsed_projector_covers_little() {
    let projector = Projector::new(&model(2, 0, shell(1.4, 1.45), 1.0)).unwrap();
    let ring = built_in("concentric-circles").unwrap();
    let found = certify(ring.as_ref(), &projector, &plan(5000)).unwrap();
    assert_eq!(found.raw_feasible, 1.0);
    assert!(found.coverage.unwrap() < 0.3);
    assert!(found.mean_move.unwrap() > 0.2);
    assert!(found.mean_excess.unwrap() > 0.4);
}

#[test]
fn a_projector_without_any_feasible_output_has_no_guard() {
    let projector = Projector::new(&model(2, 0, shell(1.0, 2.0), 10.0)).unwrap();
    let ring = built_in("concentric-circles").unwrap();
    let found = certify(ring.as_ref(), &projector, &plan(1000)).unwrap();
    assert_eq!((found.raw_feasible, found.guarded_feasible), (0.0, 0.0));
    assert_eq!((found.raw_lower_bound, found.coverage), (0.0, Some(0.0)));
    assert!(found.guard_problem.unwrap().contains("256"));
    assert_eq!(found.guarded_mean_distance, None);
}

#[test]
fn slices_name_where_an_input_dependent_set_is_served_badly() {
    // The projector knows the disc of radius 1.5 alone; the obstacle's centre x does not matter to it.
    let disc = LatentSet::Ball {
        radius: 1.499,
        smooth: None,
    };
    let mut model = model(2, 2, disc, 1.0);
    model.anchors.push(Anchor {
        chart: 0,
        latent: vec![0.0, -1.4],
        x: vec![0.0, 0.0],
        point: vec![0.0, -1.4],
    });
    let projector = Projector::new(&model).unwrap();
    let obstacle = built_in("moving-obstacle").unwrap();
    let found = certify(obstacle.as_ref(), &projector, &plan(20_000)).unwrap();
    // Eight of each coordinate, and a grid of four by four.
    assert_eq!(found.slices.len(), 8 + 8 + 16);
    for part in [
        &found.slices[..8],
        &found.slices[8..16],
        &found.slices[16..],
    ] {
        let samples = part.iter().map(|slice| slice.share.samples);
        let failures = part.iter().map(|slice| slice.share.failures);
        assert_eq!(samples.sum::<usize>(), 20_000);
        assert_eq!(failures.sum::<usize>(), found.raw_failures);
    }
    assert_eq!(found.slices[9].name, "x1 in [-0.75, -0.50]");
    let worst = found.worst_slice.unwrap();
    assert!(worst.share.feasible < found.raw_feasible);
    let shares = found.slices.iter().map(|slice| slice.share.feasible);
    assert_eq!(shares.fold(1.0, f64::min), worst.share.feasible);
    assert!(
        found
            .slices
            .iter()
            .all(|slice| slice.mean_distance.unwrap() > 0.0)
    );
    assert_eq!(found.empty, 0);
    assert!(
        worst.share.lower_bound
            < lower_bound(
                worst.share.samples - worst.share.failures,
                worst.share.samples,
                0.99,
            )
    );
    assert_eq!(found.guarded_feasible, 1.0);
    let grid = found.coverage_grid.unwrap();
    assert_eq!((grid.places, &grid.sides[..]), (5, &[0.1; 2][..]));
    assert!(found.coverage.unwrap() > 0.99, "{grid:?}");
    assert!(found.nearest_distance.is_some());
}

#[test]
fn a_thin_set_gets_cells_that_it_meets() {
    let projector = Projector::new(&model(2, 0, shell(1.295, 1.305), 1.0)).unwrap();
    let ring = FnSet::new("ring", vec![(-2.0, 2.0); 2], |y, _| {
        (y[0].hypot(y[1]) - 1.3).abs() <= 0.006
    });
    let found = certify(&ring, &projector, &plan(1000)).unwrap();
    let grid = found.coverage_grid.unwrap();
    assert!(grid.cells >= 50 && grid.sides[0] < 0.1, "{grid:?}");
    assert_eq!(found.coverage, Some(1.0));
}

#[test]
fn an_opening_of_the_width_of_a_cell_makes_a_hole_a_bay() {
    let projector = Projector::new(&model(2, 0, shell(1.01, 1.99), 1.0)).unwrap();
    let enclosed = |width: f64| {
        let ring = FnSet::new("ring", vec![(-2.5, 2.5); 2], move |y, _| {
            (1.0..=2.0).contains(&y[0].hypot(y[1])) && !(y[0] > 0.0 && y[1].abs() < width)
        });
        let found = certify(&ring, &projector, &plan(1000)).unwrap();
        found.enclosed_feasible
    };
    assert!(enclosed(0.06).is_none());
    // Thinner than a cell, and between two rows of middles.
    assert!(enclosed(0.04).is_some());
}

#[test]
fn coordinates_in_other_units_get_cells_of_other_sides() {
    let ball = LatentSet::Ball {
        radius: 1.0,
        smooth: None,
    };
    let mut model = model(2, 0, ball, 1.0);
    model.frame.scale = vec![1e4, 1.0];
    model.charts[0].frame.scale = vec![1e4, 1.0];
    let projector = Projector::new(&model).unwrap();
    let disc = FnSet::new("disc", vec![(-2e4, 2e4), (-2.0, 2.0)], |y, _| {
        (y[0] / 1e4).hypot(y[1]) <= 1.0
    });
    let found = certify(&disc, &projector, &plan(1000)).unwrap();
    let grid = found.coverage_grid.unwrap();
    assert_eq!(grid.sides, [1e3, 0.1]);
    assert!(found.enclosed_feasible.is_none());
    // π · 10², by the middles.
    assert_eq!((grid.cells, grid.reached), (316, 316));
}

#[test]
fn coverage_is_counted_at_several_x() {
    // A small disc, at the same place for every x: most of the set is out of its reach.
    let disc = LatentSet::Ball {
        radius: 0.5,
        smooth: None,
    };
    let projector = Projector::new(&model(2, 2, disc, 1.0)).unwrap();
    let obstacle = built_in("moving-obstacle").unwrap();
    let found = certify(obstacle.as_ref(), &projector, &plan(500)).unwrap();
    assert!((0.0..0.2).contains(&found.coverage.unwrap()), "{found:?}");
    let sparing = Plan {
        sparing: true,
        ..plan(500)
    };
    let found = certify(obstacle.as_ref(), &projector, &sparing).unwrap();
    assert_eq!(found.coverage, None);
}

/// The disc of radius 1 for x ≤ 0.5, nothing above it.
fn vanishing() -> FnSet {
    let inside = |y: &[f64], x: &[f64]| y[0].hypot(y[1]) <= 1.0 && x[0] <= 0.5;
    let builder = FnSet::new("vanishing", vec![(-2.0, 2.0); 2], inside);
    builder.with_x(vec![(0.0, 1.0)])
}

#[test]
fn parameters_of_an_empty_set_are_counted_and_left_out() {
    let disc = LatentSet::Ball {
        radius: 0.999,
        smooth: None,
    };
    let projector = Projector::new(&model(2, 1, disc, 1.0)).unwrap();
    let found = certify(&vanishing(), &projector, &plan(4000)).unwrap();
    assert!(
        (found.empty as f64 / 4000.0 - 0.5).abs() < 0.03,
        "{}",
        found.empty
    );
    assert_eq!((found.raw_failures, found.raw_feasible), (0, 1.0));
    assert_eq!(
        found.raw_lower_bound,
        lower_bound(4000 - found.empty, 4000 - found.empty, 0.99)
    );
    assert_eq!(found.guarded_feasible, 1.0);
    assert_eq!(found.guarded_outcomes["maybe-empty"], found.empty);
    assert_eq!((found.inside_feasible, found.surface_feasible), (1.0, 1.0));
    assert!(found.charts[0].inside.samples < 2200);
    let upper = &found.slices[4..];
    assert!(
        upper
            .iter()
            .all(|slice| slice.share.samples == 0 && slice.empty > 400)
    );
    // A slice without a point cannot be the worst.
    assert!(
        found
            .worst_slice
            .unwrap()
            .intervals
            .values()
            .all(|interval| interval.1 <= 0.5)
    );
}

#[test]
fn failures_where_the_set_is_not_empty_are_failures() {
    // Decodes reach radius 2: three quarters of them are infeasible wherever the set is not empty.
    let disc = LatentSet::Ball {
        radius: 2.0,
        smooth: None,
    };
    let projector = Projector::new(&model(2, 1, disc, 1.0)).unwrap();
    let found = certify(&vanishing(), &projector, &plan(4000)).unwrap();
    assert!(
        (found.empty as f64 / 4000.0 - 0.5).abs() < 0.03,
        "{}",
        found.empty
    );
    assert!(
        (found.inside_feasible - 0.25).abs() < 0.03,
        "{}",
        found.inside_feasible
    );
    assert!(found.raw_feasible < 0.5);
    assert_eq!(found.guarded_feasible, 1.0);
}

#[test]
fn distances_to_unknown_nearest_points_are_null() {
    let disc = FnSet::new("unit disc", vec![(-2.0, 2.0); 2], |y: &[f64], _: &[f64]| {
        y[0] * y[0] + y[1] * y[1] <= 1.0
    });
    let set: Arc<dyn Set> = Arc::new(disc);
    let latent = LatentSet::Ball {
        radius: 0.999,
        smooth: None,
    };
    let projector = Projector::new(&model(2, 0, latent, 1.0)).unwrap();
    let found = certify(set.as_ref(), &projector, &plan(2000)).unwrap();
    assert_eq!((found.nearest_distance, found.mean_excess), (None, None));
    assert!(found.mean_distance.is_some());
    let json = serde_json::to_value(&found).unwrap();
    assert!(json["nearest_distance"].is_null());
    let back: Certificate = serde_json::from_value(json).unwrap();
    assert_eq!(back, found);
}

#[test]
fn rare_feasible_inputs_are_searched_for() {
    let projector = Projector::new(&model(5, 0, shell(1.0, 2.0), 0.9995)).unwrap();
    let set = built_in("shell-5d").unwrap();
    let few = certify(set.as_ref(), &projector, &plan(500)).unwrap();
    // Two per cent of the box are feasible: ten of 500 inputs, and 200 of 10 000 further ones at least.
    assert!(few.feasible_inputs > 100, "{}", few.feasible_inputs);
    assert!(few.mean_move.unwrap() < 1e-3);
    assert_eq!(few.coverage, None);
}

#[test]
fn the_number_of_threads_and_the_machine_load_change_nothing() {
    let projector = Projector::new(&model(2, 0, shell(1.0, 2.0), 1.01)).unwrap();
    let ring = built_in("concentric-circles").unwrap();
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| certify(ring.as_ref(), &projector, &plan(5000)).unwrap())
    };
    assert_eq!(with(1), with(3));
    let other = Plan {
        seed: 8,
        ..plan(5000)
    };
    assert_ne!(with(1), certify(ring.as_ref(), &projector, &other).unwrap());
}

#[test]
fn what_does_not_fit_is_refused() {
    let projector = Projector::new(&model(2, 0, shell(1.0, 2.0), 1.0)).unwrap();
    let error = |set: &str, plan: Plan| {
        let set = built_in(set).unwrap();
        certify(set.as_ref(), &projector, &plan).unwrap_err()
    };
    assert_eq!(
        error("shell-3d", plan(10)),
        CertifyError::Dimension {
            what: "y",
            model: 2,
            set: 3
        }
    );
    assert_eq!(
        error("moving-obstacle", plan(10)),
        CertifyError::Dimension {
            what: "x",
            model: 0,
            set: 2
        }
    );
    assert_eq!(error("star-shaped", plan(0)), CertifyError::NoSamples);
    let confidence = Plan {
        confidence: 1.0,
        ..plan(10)
    };
    assert_eq!(
        error("star-shaped", confidence),
        CertifyError::Confidence { found: 1.0 }
    );
}

#[test]
fn a_certificate_stops() {
    static STOP: AtomicBool = AtomicBool::new(false);
    // The first answer stops it; a whole one asks for hundreds of thousands.
    let slow = FnSet::new("slow", [(-2.0, 2.0); 2], |y, _x| {
        std::thread::sleep(std::time::Duration::from_micros(100));
        STOP.store(true, std::sync::atomic::Ordering::Relaxed);
        y[0].hypot(y[1]) <= 1.0
    });
    let disc = LatentSet::Ball {
        radius: 0.9,
        smooth: None,
    };
    let projector = Projector::new(&model(2, 0, disc, 1.0)).unwrap();
    let plan = Plan {
        stop: Some(&STOP),
        ..Plan::default()
    };
    assert_eq!(
        certify(&slow, &projector, &plan),
        Err(CertifyError::Stopped)
    );
}
