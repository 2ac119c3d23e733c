//! Sets made of sets and of closures: membership, violations, nearest points, descriptions, errors.

use std::sync::Arc;

use fabproj::Membership;
use fabproj::set::{Description, FnSet, Set, SetError, built_in, label};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

type Shared = Arc<dyn Set>;

fn named(name: &str) -> Shared {
    built_in(name).expect("in the catalogue")
}

/// Uniform points of the region of interest, widened, with parameters.
fn sample(set: &dyn Set, count: usize) -> Vec<(Vec<f64>, Vec<f64>)> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut draw = |bounds: &[(f64, f64)], widen: f64| -> Vec<f64> {
        bounds
            .iter()
            .map(|(low, high)| random.random_range(low - widen..=high + widen))
            .collect()
    };
    let (bounds, x_bounds) = (set.bounds(), set.x_bounds());
    (0..count)
        .map(|_| (draw(&bounds, 0.3), draw(&x_bounds, 0.0)))
        .collect()
}

/// Combinations that know their violation.
fn combinations() -> Vec<(&'static str, Shared)> {
    let rotation = vec![1.2, -1.6, 1.6, 1.2];
    let shear = vec![1.0, 0.5, 0.0, 2.0];
    let and = named("star-shaped")
        .and(named("blob-with-bite"))
        .expect("fits");
    let conditional = named("star-shaped")
        .and(named("moving-obstacle"))
        .expect("fits");
    let or = named("shell-sq-2d")
        .or(named("two-moons-disjoint"))
        .expect("fits");
    let turned = named("blob-with-bite")
        .affine(rotation, vec![5.0, -3.0])
        .expect("fits");
    let sheared = named("star-shaped")
        .affine(shear, vec![0.0, 1.0])
        .expect("fits");
    let shrunk = named("moving-obstacle").shrink(0.05).expect("fits");
    let solid = named("torus").shrink(0.1).expect("fits");
    vec![
        ("and", and),
        ("conditional and", conditional),
        ("or", or),
        ("turned", turned),
        ("sheared", sheared),
        ("shrunk", shrunk),
        ("shrunk solid", solid),
    ]
}

#[test]
fn violations_are_zero_exactly_inside_and_have_the_right_gradients() {
    let step = 1e-6;
    for (name, set) in combinations() {
        let (mut kinks, mut checked, mut inside) = (0, 0, 0);
        for (y, x) in sample(set.as_ref(), 1500) {
            let mut gradient = vec![f64::NAN; y.len()];
            let violation = set.violation(&y, &x, &mut gradient).unwrap();
            assert_eq!(violation == 0.0, set.contains(&y, &x), "{name} {y:?}");
            inside += usize::from(violation == 0.0);
            if violation < 1e-4 {
                continue;
            }
            for i in 0..y.len() {
                let at = |offset: f64| {
                    let mut moved = y.clone();
                    moved[i] += offset;
                    set.violation(&moved, &x, &mut vec![0.0; y.len()]).unwrap()
                };
                let (right, left) = (
                    (at(step) - violation) / step,
                    (violation - at(-step)) / step,
                );
                if (right - left).abs() > 1e-4 {
                    kinks += 1;
                    continue;
                }
                checked += 1;
                let difference = (right + left) / 2.0;
                assert!((difference - gradient[i]).abs() < 1e-5, "{name} {y:?} {i}");
            }
        }
        assert!(
            checked > 500 && inside > 20,
            "{name}: {checked} checked, {inside} inside"
        );
        assert!(kinks * 50 < checked, "{name}: {kinks} of {checked}");
    }
}

#[test]
fn membership_follows_the_logic() {
    let (star, moons) = (named("star-shaped"), named("two-moons"));
    let and = star.clone().and(moons.clone()).unwrap();
    let or = star.clone().or(moons.clone()).unwrap();
    let not = star.clone().complement().unwrap();
    for (y, _) in sample(&or, 5000) {
        let (a, b) = (star.contains(&y, &[]), moons.contains(&y, &[]));
        assert_eq!(and.contains(&y, &[]), a && b);
        assert_eq!(or.contains(&y, &[]), a || b);
        let in_bounds = y.iter().all(|value| (-3.0..=3.0).contains(value));
        assert_eq!(not.contains(&y, &[]), in_bounds && !a);
    }
    assert_eq!(and.bounds(), [(-1.627, 2.687), (-1.141, 1.648)]);
    assert_eq!(or.bounds(), [(-3.0, 3.0), (-3.0, 3.0)]);
}

#[test]
fn fixed_sets_stand_beside_sets_with_parameters() {
    let set = named("star-shaped").and(named("moving-obstacle")).unwrap();
    assert_eq!((set.dim(), set.x_dim()), (2, 2));
    assert_eq!(set.x_bounds(), [(-1.0, 1.0), (-1.0, 1.0)]);
    assert!(set.contains(&[0.0, 0.0], &[1.0, 1.0]));
    assert!(!set.contains(&[0.0, 0.0], &[0.1, 0.0]));
    let complement = named("moving-obstacle").complement().unwrap();
    assert!(!complement.contains(&[0.0, 0.0], &[f64::NAN, 0.0]));
    assert!(complement.contains(&[0.0, 0.0], &[0.0, 0.0]));
}

#[test]
fn nearest_points_of_unions_and_similar_images_are_nearest() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for name in ["or", "turned"] {
        let combinations = combinations();
        let (_, set) = combinations
            .iter()
            .find(|(other, _)| *other == name)
            .unwrap();
        for (y, _) in sample(set.as_ref(), 300) {
            let mut nearest = [0.0; 2];
            assert!(set.nearest(&y, &[], &mut nearest));
            assert!(set.contains(&nearest, &[]), "{name} {y:?}");
            let reach = (y[0] - nearest[0]).hypot(y[1] - nearest[1]);
            if set.contains(&y, &[]) {
                assert_eq!(reach, 0.0);
                continue;
            }
            for _ in 0..500 {
                let angle = random.random_range(0.0..std::f64::consts::TAU);
                let part = reach * random.random_range(0.5_f64..1.0).sqrt() * 0.9999;
                let probe = [y[0] + part * angle.cos(), y[1] + part * angle.sin()];
                assert!(
                    !set.contains(&probe, &[]),
                    "{name}: {probe:?} is nearer to {y:?}"
                );
            }
        }
    }
}

#[test]
fn a_map_that_is_not_a_similarity_knows_no_nearest_point() {
    let combinations = combinations();
    let (_, sheared) = combinations
        .iter()
        .find(|(name, _)| *name == "sheared")
        .unwrap();
    assert!(!sheared.nearest(&[9.0, 9.0], &[], &mut [0.0; 2]));
}

#[test]
fn an_affine_image_holds_the_images_of_the_points() {
    let matrix = [1.0, 0.5, 0.0, 2.0];
    let star = named("star-shaped");
    let image = star
        .clone()
        .affine(matrix.to_vec(), vec![0.0, 1.0])
        .unwrap();
    let bounds = image.bounds();
    for (y, _) in sample(star.as_ref(), 3000) {
        let mapped = [y[0] + 0.5 * y[1], 2.0 * y[1] + 1.0];
        assert_eq!(
            image.contains(&mapped, &[]),
            star.contains(&y, &[]),
            "{y:?}"
        );
        if star.contains(&y, &[]) {
            assert!(
                mapped
                    .iter()
                    .zip(&bounds)
                    .all(|(y, (low, high))| low <= y && y <= high)
            );
        }
    }
    assert!(!image.contains(&[f64::NAN, 0.0], &[]));
}

#[test]
fn maps_that_cannot_be_undone_are_refused() {
    let star = || named("star-shaped");
    let singular = star()
        .affine(vec![1.0, 2.0, 2.0, 4.0], vec![0.0; 2])
        .err()
        .unwrap();
    assert!(
        matches!(singular, SetError::Singular { column: 1, .. }),
        "{singular}"
    );
    assert!(star().affine(vec![0.0; 4], vec![0.0; 2]).is_err());
    assert!(star().affine(vec![1.0; 3], vec![0.0; 2]).is_err());
    assert!(
        star()
            .affine(vec![1.0, 0.0, 0.0, 1.0], vec![0.0; 3])
            .is_err()
    );
    assert!(
        star()
            .affine(vec![f64::NAN, 0.0, 0.0, 1.0], vec![0.0; 2])
            .is_err()
    );
}

#[test]
fn a_shrunk_ring_keeps_its_margin() {
    let margin = 0.1;
    let ring = named("concentric-circles").shrink(margin).unwrap();
    let solid = named("shell-3d").shrink(margin).unwrap();
    for (set, slack) in [(&ring, 0.03 * margin), (&solid, 0.1 * margin)] {
        for (y, _) in sample(set, 20_000) {
            let length = y.iter().map(|value| value * value).sum::<f64>().sqrt();
            let depth = (length - 1.0).min(2.0 - length);
            if depth > margin + 1e-9 {
                assert!(set.contains(&y, &[]), "{y:?}");
            }
            if depth < margin - slack {
                assert!(!set.contains(&y, &[]), "{y:?}");
            }
        }
    }
    for margin in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(named("torus").shrink(margin).is_err());
    }
}

#[test]
fn sets_that_do_not_fit_are_refused() {
    let error = named("star-shaped").and(named("torus")).err().unwrap();
    assert_eq!(
        error.to_string(),
        "coordinates of a combined set: expected 2 values, found 3"
    );
    assert!(matches!(
        Description::Or { sets: Vec::new() }.set().err(),
        Some(SetError::NoSets)
    ));
    let far = named("star-shaped")
        .affine(vec![1.0, 0.0, 0.0, 1.0], vec![100.0, 0.0])
        .unwrap();
    let apart = named("star-shaped").and(far).err().unwrap();
    assert_eq!(apart, SetError::EmptyIntersection { index: 0 });
    let one_parameter = FnSet::new("one", [(-1.0, 1.0); 2], |_, _| true).with_x([(0.0, 1.0)]);
    assert!(
        named("moving-obstacle")
            .and(Arc::new(one_parameter))
            .is_err()
    );
}

#[test]
fn closures_are_shielded_from_what_is_not_a_number() {
    let set = FnSet::new("all", [(-1.0, 1.0)], |_, _| true);
    assert!(set.contains(&[0.0], &[]) && !set.contains(&[f64::NAN], &[]));
    assert_eq!(set.names(), ["y0"]);
    assert_eq!(set.violation(&[0.0], &[], &mut [0.0]), None);
    assert!(!set.nearest(&[0.0], &[], &mut [0.0]));
    let error = set.description().set().err().unwrap();
    assert!(matches!(&error, SetError::NotRebuildable { name } if name == "all"));
}

#[test]
fn labels_are_those_of_the_set_row_by_row() {
    let set = named("moving-obstacle");
    let rows = sample(set.as_ref(), 5000);
    let ys: Vec<f64> = rows.iter().flat_map(|(y, _)| y.clone()).collect();
    let xs: Vec<f64> = rows.iter().flat_map(|(_, x)| x.clone()).collect();
    let expected: Vec<bool> = rows.iter().map(|(y, x)| set.contains(y, x)).collect();
    assert_eq!(label(set.as_ref(), &ys, &xs).unwrap(), expected);
    assert!(label(set.as_ref(), &ys[1..], &xs).is_err());
    assert!(label(set.as_ref(), &ys, &xs[2..]).is_err());
    assert!(label(set.as_ref(), &ys, &[]).is_err());
}

/// Descriptions of plane sets, nested a few levels deep.
fn descriptions() -> impl Strategy<Value = Description> {
    let names = prop_oneof![
        Just("star-shaped"),
        Just("shell-2d"),
        Just("moving-obstacle")
    ];
    let leaf = names.prop_map(Description::built_in);
    leaf.prop_recursive(3, 12, 3, |inner| {
        let several = prop::collection::vec(inner.clone(), 1..4);
        let entries = prop::collection::vec(0.1..2.0_f64, 3);
        prop_oneof![
            several.clone().prop_map(|sets| Description::And { sets }),
            several.prop_map(|sets| Description::Or { sets }),
            inner
                .clone()
                .prop_map(|set| Description::Not { set: Box::new(set) }),
            (inner.clone(), 1e-3..0.2_f64).prop_map(|(set, margin)| Description::Shrink {
                set: Box::new(set),
                margin
            }),
            (inner, entries).prop_map(|(set, e)| Description::Affine {
                set: Box::new(set),
                matrix: vec![e[0], e[1], -e[2], e[0]],
                offset: vec![e[1], e[2]],
            }),
        ]
    })
}

proptest! {
    #[test]
    fn sets_survive_being_written_down(description in descriptions()) {
        let json = serde_json::to_string(&description).unwrap();
        let read: Description = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&read, &description);
        prop_assert_eq!(read.hash(), description.hash());
        // Bounds of an intersection may be apart; everything else can be built.
        if let Ok(set) = read.set() {
            prop_assert_eq!(set.description(), description);
            let again = set.description().set().unwrap();
            for (y, x) in sample(set.as_ref(), 50) {
                prop_assert_eq!(set.contains(&y, &x), again.contains(&y, &x));
                let mut gradient = [0.0; 2];
                if let Some(violation) = set.violation(&y, &x, &mut gradient) {
                    prop_assert_eq!(violation == 0.0, set.contains(&y, &x));
                }
            }
        }
    }
}
