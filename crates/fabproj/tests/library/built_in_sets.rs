//! What every built-in set promises, checked on random points.

use std::sync::Arc;

use fabproj::Membership;
use fabproj::set::{self, Description, Set, SetError};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// One of each, families at several dimensions.
const NAMES: [&str; 15] = [
    "blob-with-bite",
    "concentric-circles",
    "star-shaped",
    "two-moons",
    "two-moons-disjoint",
    "shell-2d",
    "shell-3d",
    "shell-5d",
    "shell-10d",
    "shell-sq-2d",
    "shell-sq-5d",
    "torus",
    "sphere-with-bite",
    "disconnected-shells",
    "moving-obstacle",
];

fn all() -> Vec<(&'static str, Arc<dyn Set>)> {
    NAMES
        .map(|name| (name, set::built_in(name).expect("in the catalogue")))
        .into()
}

fn uniform(bounds: &[(f64, f64)], widen: f64, random: &mut ChaCha8Rng) -> Vec<f64> {
    let draw = |&(low, high): &(f64, f64)| {
        let (middle, half) = ((low + high) / 2.0, (high - low) / 2.0 * widen);
        random.random_range(middle - half..=middle + half)
    };
    bounds.iter().map(draw).collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).powi(2))
        .sum::<f64>()
        .sqrt()
}

/// Random (set, y, x), with y from a box somewhat larger than the region of interest.
fn check(points: usize, mut property: impl FnMut(&str, &dyn Set, &[f64], &[f64])) {
    for (name, set) in all() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        for _ in 0..points {
            let y = uniform(&set.bounds(), 1.2, &mut random);
            let x = uniform(&set.x_bounds(), 1.0, &mut random);
            property(name, set.as_ref(), &y, &x);
        }
    }
}

#[test]
fn the_violation_is_zero_exactly_inside() {
    check(5000, |name, set, y, x| {
        let mut gradient = vec![0.0; y.len()];
        let violation = set.violation(y, x, &mut gradient).unwrap();
        assert_eq!(violation == 0.0, set.contains(y, x), "{name} {y:?}");
        assert!(violation >= 0.0, "{name} {y:?}");
        if violation == 0.0 {
            assert!(gradient.iter().all(|value| *value == 0.0), "{name} {y:?}");
        }
    });
}

#[test]
fn gradients_of_violations_agree_with_differences() {
    let step = 1e-6;
    let mut kinks = 0;
    let mut checked = 0;
    check(2000, |name, set, y, x| {
        let mut gradient = vec![0.0; y.len()];
        let mut unused = gradient.clone();
        let violation = set.violation(y, x, &mut gradient).unwrap();
        if violation < 1e-4 {
            return;
        }
        for i in 0..y.len() {
            let mut at = |offset: f64| {
                let mut moved = y.to_vec();
                moved[i] += offset;
                set.violation(&moved, x, &mut unused).unwrap()
            };
            let (above, below) = (at(step), at(-step));
            let (right, left) = ((above - violation) / step, (violation - below) / step);
            // Between two equally near points the violation has a kink and no derivative.
            if (right - left).abs() > 1e-4 {
                kinks += 1;
                continue;
            }
            checked += 1;
            let difference = (above - below) / (2.0 * step);
            assert!(
                (difference - gradient[i]).abs() < 1e-5,
                "{name} {y:?} {i}: {difference} {gradient:?}"
            );
        }
    });
    assert!(kinks * 100 < checked, "{kinks} of {checked}");
}

#[test]
fn nearest_points_are_inside_and_feasible_points_stay() {
    check(5000, |name, set, y, x| {
        let mut nearest = vec![f64::NAN; y.len()];
        assert!(set.nearest(y, x, &mut nearest), "{name} {y:?}");
        assert!(set.contains(&nearest, x), "{name} {y:?} {nearest:?}");
        if set.contains(y, x) {
            assert_eq!(nearest, y, "{name}");
        }
    });
}

#[test]
fn no_feasible_point_is_nearer_than_the_nearest() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    check(150, |name, set, y, x| {
        let mut nearest = vec![0.0; y.len()];
        assert!(set.nearest(y, x, &mut nearest));
        let reach = distance(y, &nearest);
        if reach < 1e-4 {
            return;
        }
        for part in [0.9999, 0.999, 0.99, 0.9, 0.7, 0.4] {
            for _ in 0..500 {
                let direction: Vec<f64> = y
                    .iter()
                    .map(|_| random.sample(rand_distr::StandardNormal))
                    .collect();
                let length = distance(&direction, &vec![0.0; y.len()]);
                let probe: Vec<f64> = y
                    .iter()
                    .zip(&direction)
                    .map(|(y, d)| y + part * reach * d / length)
                    .collect();
                assert!(
                    !set.contains(&probe, x),
                    "{name}: {probe:?} is nearer to {y:?} than {nearest:?}"
                );
            }
        }
    });
}

/// A dense list of boundary points, for the sets whose boundary is easy to walk along.
fn boundary(name: &str, x: &[f64]) -> Vec<[f64; 2]> {
    let circle = |centre: [f64; 2], radius: f64| {
        (0..50_000).map(move |i| {
            let angle = f64::from(i) * std::f64::consts::TAU / 50_000.0;
            [
                centre[0] + radius * angle.cos(),
                centre[1] + radius * angle.sin(),
            ]
        })
    };
    let star = || {
        (0..50_000).map(|i| {
            let angle = f64::from(i) * std::f64::consts::TAU / 50_000.0;
            let from_valley = (angle.to_degrees() + 36.0).rem_euclid(72.0) - 36.0;
            let radius = 1.0 + from_valley.abs() / 36.0;
            [radius * angle.cos(), radius * angle.sin()]
        })
    };
    match name {
        "blob-with-bite" => circle([0.0; 2], 2.0)
            .chain(circle([1.0, 0.0], 1.0))
            .collect(),
        "concentric-circles" => circle([0.0; 2], 2.0).chain(circle([0.0; 2], 1.0)).collect(),
        "moving-obstacle" => circle([0.0; 2], 1.5)
            .chain(circle([x[0], x[1]], 0.6))
            .collect(),
        "star-shaped" => star().collect(),
        _ => Vec::new(),
    }
}

#[test]
fn nearest_points_agree_with_a_dense_walk_along_the_boundary() {
    check(25, |name, set, y, x| {
        let walked = boundary(name, x)
            .into_iter()
            // Points of the walk are on the boundary only up to rounding: ask slightly inside.
            .filter(|point| {
                let nudges = [[1e-8, 0.0], [-1e-8, 0.0], [0.0, 1e-8], [0.0, -1e-8]];
                nudges
                    .iter()
                    .any(|nudge| set.contains(&[point[0] + nudge[0], point[1] + nudge[1]], x))
            })
            .map(|point| distance(&point, y))
            .fold(f64::INFINITY, f64::min);
        if walked.is_finite() && !set.contains(y, x) {
            let mut nearest = [0.0; 2];
            assert!(set.nearest(y, x, &mut nearest));
            let found = distance(&nearest, y);
            // The walk may step over a corner, never past a nearer point.
            let excess = walked - found;
            assert!(
                excess > -1e-7 && excess < 5e-4,
                "{name} {y:?}: {found} {walked}"
            );
        }
    });
}

#[test]
fn special_points_have_a_nearest_point() {
    for (name, set) in all() {
        let dim = set.dim();
        let mut axis = vec![0.0; dim];
        axis[0] = 2.0 + 1e-12;
        let mut specials = vec![vec![0.0; dim], vec![1e200; dim], vec![-1e-200; dim], axis];
        for (along, across) in [
            (1.0, 0.0),
            (1.5, 0.0),
            (-1.5, 0.0),
            (3.0, 0.0),
            (3.0, 1e-5),
            (3.0, 1e-9),
        ] {
            let mut y = vec![0.0; dim];
            (y[0], y[1]) = (along, across);
            specials.push(y);
        }
        let parameters: &[[f64; 2]] = &[
            [0.0, 0.0],
            [1.0, 1.0],
            [0.9, 0.0],
            [0.9 - 1e-15, 0.0],
            [0.9 + 1e-15, 0.0],
            [0.0, -0.9],
        ];
        for y in specials {
            for x in parameters {
                let x = &x[..set.x_dim()];
                let mut nearest = vec![f64::NAN; dim];
                assert!(set.nearest(&y, x, &mut nearest), "{name} {y:?} {x:?}");
                assert!(set.contains(&nearest, x), "{name} {y:?} {x:?} {nearest:?}");
            }
        }
    }
}

#[test]
fn the_horns_of_the_blob_meet_in_a_point() {
    let blob = set::built_in("blob-with-bite").unwrap();
    assert!(blob.contains(&[2.0, 0.0], &[]));
    let mut nearest = [0.0; 2];
    for across in [0.0, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4] {
        let y = [3.0, across];
        assert!(blob.nearest(&y, &[], &mut nearest));
        assert!(blob.contains(&nearest, &[]));
        assert!(
            (distance(&y, &nearest) - 1.0).abs() < 1e-7,
            "{across} {nearest:?}"
        );
    }
}

#[test]
fn points_almost_on_the_axis_find_the_corner_of_the_bite() {
    let obstacle = set::built_in("moving-obstacle").unwrap();
    let x = [0.83, 0.64];
    for across in [0.0, 1e-15, 1e-12, 3e-11, 1e-9] {
        let y = [2.0 * x[0] - across, 2.0 * x[1] + across];
        let mut nearest = [0.0; 2];
        assert!(obstacle.nearest(&y, &x, &mut nearest));
        assert!(obstacle.contains(&nearest, &x));
        let (rim, bite) = (distance(&nearest, &[0.0; 2]), distance(&nearest, &x));
        assert!(
            (rim - 1.5).abs() < 1e-8 && (bite - 0.6).abs() < 1e-8,
            "{across}: {rim} {bite}"
        );
    }
}

#[test]
fn what_is_not_a_number_is_outside() {
    for (name, set) in all() {
        let x = vec![0.5; set.x_dim()];
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for i in 0..set.dim() {
                let mut y = vec![0.5; set.dim()];
                y[i] = bad;
                let mut out = y.clone();
                assert!(!set.contains(&y, &x), "{name} {y:?}");
                assert!(!set.nearest(&y, &x, &mut out), "{name} {y:?}");
                assert_eq!(
                    set.violation(&y, &x, &mut out),
                    Some(f64::INFINITY),
                    "{name} {y:?}"
                );
            }
        }
    }
    let obstacle = set::built_in("moving-obstacle").unwrap();
    assert!(!obstacle.contains(&[1.2, 0.0], &[f64::NAN, 0.0]));
}

#[test]
fn bounds_hold_the_set_and_some_exterior() {
    for (name, set) in all() {
        let mut random = ChaCha8Rng::seed_from_u64(11);
        let bounds = set.bounds();
        assert_eq!(bounds.len(), set.dim());
        let mut outside = 0;
        for _ in 0..20_000 {
            let y = uniform(&bounds, 1.5, &mut random);
            let x = uniform(&set.x_bounds(), 1.0, &mut random);
            let in_bounds = y
                .iter()
                .zip(&bounds)
                .all(|(y, (low, high))| (low..=high).contains(&y));
            assert!(in_bounds || !set.contains(&y, &x), "{name} {y:?}");
            outside += usize::from(in_bounds && !set.contains(&y, &x));
        }
        assert!(outside > 0, "{name}");
    }
}

#[test]
fn volumes_are_those_of_the_formulas() {
    use std::f64::consts::PI;
    let expected = [
        ("blob-with-bite", 3.0 * PI),
        ("concentric-circles", 3.0 * PI),
        ("star-shaped", 7.0 * PI / 3.0),
        ("two-moons-disjoint", 2.0 * (0.3 * PI + 0.0225 * PI)),
        ("shell-3d", 4.0 / 3.0 * PI * 7.0),
        ("shell-sq-2d", PI),
        ("torus", 2.0 * PI * PI * 1.5 * 0.25),
        ("disconnected-shells", 2.0 * 4.0 / 3.0 * PI * 0.875),
    ];
    for (name, volume) in expected {
        let set = set::built_in(name).unwrap();
        let bounds = set.bounds();
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let draws = 400_000;
        let inside = (0..draws)
            .filter(|_| set.contains(&uniform(&bounds, 1.0, &mut random), &[]))
            .count();
        let all: f64 = bounds.iter().map(|(low, high)| high - low).product();
        let share = inside as f64 / f64::from(draws);
        let deviation = 5.0 * (share * (1.0 - share) / f64::from(draws)).sqrt();
        assert!(
            (share - volume / all).abs() < deviation,
            "{name}: {} {volume}",
            share * all
        );
    }
}

#[test]
fn boundaries_belong_to_the_sets() {
    let inside = [
        ("blob-with-bite", vec![-2.0, 0.0]),
        ("blob-with-bite", vec![0.0, 0.0]),
        ("concentric-circles", vec![0.0, 1.0]),
        ("concentric-circles", vec![-2.0, 0.0]),
        ("star-shaped", vec![1.0, 0.0]),
        ("star-shaped", vec![-2.0, 0.0]),
        ("shell-sq-2d", vec![1.0, 1.0]),
        ("torus", vec![0.0, 2.0, 0.0]),
        ("sphere-with-bite", vec![0.5, 0.0, 0.0]),
        ("disconnected-shells", vec![-1.0, 0.0, 0.0]),
    ];
    for (name, y) in inside {
        assert!(
            set::built_in(name).unwrap().contains(&y, &[]),
            "{name} {y:?}"
        );
    }
}

#[test]
fn every_name_of_the_catalogue_builds_what_it_says() {
    for entry in set::Entry::ALL {
        let name = entry.name.replace('N', "7");
        let set = set::built_in(&name).unwrap();
        let (least, most) = entry.dims;
        assert_eq!(set.dim(), if least == most { least } else { 7 });
        assert_eq!(set.x_dim(), entry.x_dim);
        assert_eq!(set.description(), Description::built_in(&name));
        let again = set.description().set().unwrap();
        assert_eq!(again.description().hash(), set.description().hash());
    }
}

#[test]
fn unknown_names_are_answered_with_near_ones() {
    let near = |name: &str| match set::built_in(name).err().unwrap() {
        SetError::Unknown { near, .. } => near,
        other => panic!("{other}"),
    };
    assert_eq!(near("two-mons")[0], "two-moons");
    assert_eq!(near("Star-Shaped")[0], "star-shaped");
    assert_eq!(near("blob")[0], "blob-with-bite");
    assert_eq!(near("shell-xd")[0], "shell-Nd");
    assert_eq!(near("shell-03d")[0], "shell-Nd");
    let error = set::built_in("shell-1d").err().unwrap();
    assert!(matches!(error, SetError::Dimension { dim: 1, .. }));
    assert_eq!(
        error.to_string(),
        "`shell-Nd` needs N = 2 to 4096, found N = 1"
    );
    assert!(set::built_in("shell-sq-99999d").is_err());
    assert!(set::built_in("").is_err());
}

proptest! {
    #[test]
    fn any_obstacle_leaves_a_nearest_point(
        y in proptest::array::uniform2(-5.0..5.0_f64),
        x in proptest::array::uniform2(-3.0..3.0_f64),
    ) {
        let set = set::built_in("moving-obstacle").unwrap();
        let mut nearest = [0.0; 2];
        prop_assert!(set.nearest(&y, &x, &mut nearest));
        prop_assert!(set.contains(&nearest, &x));
    }

    #[test]
    fn arbitrary_names_never_panic(name in "(shell-|shell-sq-)?[a-z0-9+-]{0,24}d?") {
        let _ = set::built_in(&name);
    }
}
