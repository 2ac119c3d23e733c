//! The paper's data: distributions, labels, splits and thinning.

use fab_method::PaperError;
use fab_method::data::{PaperData, split};
use fabproj::set::{FnSet, Set, built_in, label};
use proptest::prelude::*;

fn sample(name: &str) -> PaperData {
    let set = built_in(name).expect("in the catalogue");
    PaperData::sample(&set, 42).expect("both kinds of points")
}

fn share(labels: &[bool]) -> f64 {
    labels.iter().filter(|label| **label).count() as f64 / labels.len() as f64
}

#[test]
fn sizes_and_feasible_shares_are_those_of_the_paper() {
    use std::f64::consts::PI;
    let expected = [
        ("blob-with-bite", 60_000, 3.0 * PI / 48.0),
        ("concentric-circles", 60_000, 3.0 * PI / 16.0),
        ("star-shaped", 60_000, 7.0 * PI / 48.0),
        ("shell-3d", 90_000, 1.0 - 0.125),
        ("shell-5d", 150_000, 1.0 - 1.0 / 32.0),
        ("shell-10d", 350_000, 1.0 - 1.0 / 1024.0),
        ("shell-sq-2d", 60_000, 0.5),
        ("torus", 60_000, 2.0 * PI * PI * 1.5 * 0.25 / 50.0),
    ];
    for (name, rows, feasible) in expected {
        let data = sample(name);
        assert_eq!(data.rows(), rows, "{name}");
        assert_eq!(data.y.len(), rows * data.dim, "{name}");
        let deviation = (feasible * (1.0 - feasible) / rows as f64).sqrt();
        let found = share(&data.labels);
        assert!(
            (found - feasible).abs() < 5.0 * deviation,
            "{name}: {found} {feasible}"
        );
        assert_eq!(data.labels, data.oracle, "{name}");
    }
}

#[test]
fn points_fill_their_box_or_ball() {
    let corner = |data: &PaperData| {
        data.y
            .iter()
            .fold(0.0_f32, |far, value| far.max(value.abs()))
    };
    assert!((corner(&sample("star-shaped")) - 2.0).abs() < 1e-3);
    assert!((corner(&sample("blob-with-bite")) - 4.0).abs() < 1e-3);
    let ball = sample("shell-5d");
    let inner = ball.y.chunks_exact(5).map(|row| {
        let squared: f32 = row.iter().map(|value| value * value).sum();
        (squared.sqrt() / 2.0).powi(5)
    });
    // The volume inside a uniform point is uniform.
    let mean = inner.clone().sum::<f32>() / ball.rows() as f32;
    assert!((mean - 0.5).abs() < 0.005, "{mean}");
    assert!(inner.fold(0.0, f32::max) <= 1.0 + 1e-5);
}

#[test]
fn moons_are_labelled_by_where_they_come_from() {
    let data = sample("two-moons");
    assert_eq!((data.rows(), data.feasible().len()), (60_000, 30_000));
    assert!(
        (share(&data.oracle) - 0.68).abs() < 0.01,
        "{}",
        share(&data.oracle)
    );
    let (mut wrong_negatives, mut wrong_positives) = (0, 0);
    for (label, oracle) in data.labels.iter().zip(&data.oracle) {
        wrong_negatives += usize::from(!label && *oracle);
        wrong_positives += usize::from(*label && !oracle);
    }
    assert!(
        (wrong_negatives as f64 / 30_000.0 - 0.364).abs() < 0.015,
        "{wrong_negatives}"
    );
    assert_eq!(wrong_positives, 0);
    let x = data.y.iter().step_by(2);
    let (low, high) = x.fold((f32::MAX, f32::MIN), |(low, high), x| {
        (low.min(*x), high.max(*x))
    });
    assert!(
        (low + 1.627).abs() < 2e-3 && (high - 2.687).abs() < 2e-3,
        "{low} {high}"
    );
    // Shuffled: the first rows are of both kinds.
    assert!(data.labels[..64].contains(&true) && data.labels[..64].contains(&false));
}

#[test]
fn seeds_decide_everything() {
    let set = built_in("two-moons").unwrap();
    let rows = |seed| PaperData::sample_rows(&set, 2000, seed).unwrap();
    assert_eq!(rows(1), rows(1));
    assert_ne!(rows(1), rows(2));
}

#[test]
fn sets_of_ones_own_are_sampled_in_their_bounds() {
    let strip =
        FnSet::new("strip", [(10.0, 12.0), (0.0, 1.0)], |y, x| y[1] <= x[0]).with_x([(0.2, 0.8)]);
    let data = PaperData::sample(&strip, 7).unwrap();
    assert_eq!((data.rows(), data.x.len()), (60_000, 60_000));
    assert!((share(&data.labels) - 0.5).abs() < 0.02);
    assert!(
        data.y
            .chunks_exact(2)
            .all(|row| row[0] >= 10.0 && row[0] <= 12.0)
    );
    assert!(data.x.iter().all(|x| (0.2..=0.8).contains(x)));
    assert_eq!(label(&strip, &data.y, &data.x).unwrap(), data.labels);
}

#[test]
fn data_of_one_kind_is_refused() {
    let whole = FnSet::new("whole", [(0.0, 1.0)], |_, _| true);
    let speck = FnSet::new("speck", [(0.0, 1.0)], |y, _| y[0] < 1e-9);
    let error = |set: &dyn Set| PaperData::sample_rows(set, 1000, 0).err().unwrap();
    assert_eq!(
        error(&whole),
        PaperError::OneClass {
            rows: 1000,
            feasible: 1000
        }
    );
    assert_eq!(
        error(&speck),
        PaperError::OneClass {
            rows: 1000,
            feasible: 0
        }
    );
    assert!(
        error(&speck)
            .to_string()
            .starts_with("0 of 1000 rows are feasible")
    );
    let moons = built_in("two-moons").unwrap();
    for rows in [0, 1] {
        assert!(PaperData::sample_rows(&moons, rows, 0).is_err());
    }
}

#[test]
fn coverage_keeps_a_share_and_forgets_the_rest() {
    let set = built_in("star-shaped").unwrap();
    let data = PaperData::sample_rows(&set, 3001, 3).unwrap();
    let feasible = data.feasible();
    for fraction in [0.1, 0.25, 0.5, 0.75, 1.0] {
        let coverage = data.cover(fraction, 42).unwrap();
        let expected = (fraction * feasible.len() as f64).ceil() as usize;
        assert_eq!(coverage.kept.len(), expected);
        let mut kept = coverage.kept.clone();
        kept.sort_unstable();
        let labelled: Vec<usize> = (0..data.rows())
            .filter(|&row| coverage.labels[row])
            .collect();
        assert_eq!(kept, labelled);
        assert!(kept.iter().all(|&row| data.labels[row]));
    }
    assert_eq!(data.cover(0.5, 1).unwrap(), data.cover(0.5, 1).unwrap());
    assert_ne!(data.cover(0.5, 1).unwrap(), data.cover(0.5, 2).unwrap());
    for bad in [0.0, -0.5, 1.5, f64::NAN] {
        assert!(matches!(data.cover(bad, 0), Err(PaperError::Share { .. })));
    }
}

proptest! {
    #[test]
    fn splits_are_complete_and_disjoint(rows in 2..500_usize, share in 0.01..0.9_f64, seed: u64) {
        let held_back = (share * rows as f64).ceil() as usize;
        match split((0..rows).collect(), share, seed) {
            Ok(parts) => {
                prop_assert_eq!(parts.validation.len(), held_back);
                let mut all = [parts.train, parts.validation].concat();
                all.sort_unstable();
                prop_assert_eq!(all, (0..rows).collect::<Vec<_>>());
            }
            Err(_) => prop_assert!(held_back == 0 || held_back >= rows),
        }
    }
}

#[test]
fn splits_that_leave_nothing_are_refused() {
    for bad in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(split((0..10).collect(), bad, 0).is_err(), "{bad}");
    }
    assert!(split(Vec::new(), 0.2, 0).is_err());
    assert!(split(vec![5], 0.2, 0).is_err());
}
