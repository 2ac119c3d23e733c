//! Exact optima against everything else that can be tried.

use fab_study::{Objective, Problem, SETS, StudySet};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// Spacing of the grids.
const SPACING: f64 = 0.01;

/// All feasible points of a grid over the set's bounds.
fn grid(set: &StudySet) -> Vec<[f64; 2]> {
    let bounds = set.set().bounds();
    let steps = |axis: usize| ((bounds[axis].1 - bounds[axis].0) / SPACING) as usize;
    let points = (0..=steps(0)).flat_map(|i| (0..=steps(1)).map(move |j| (i, j)));
    points
        .map(|(i, j)| {
            [
                bounds[0].0 + i as f64 * SPACING,
                bounds[1].0 + j as f64 * SPACING,
            ]
        })
        .filter(|point| set.set().contains(point, &[]))
        .collect()
}

#[test]
fn no_point_of_a_dense_grid_is_better_and_the_best_is_as_near_as_the_spacing_allows() {
    for name in SETS.into_iter().filter(|name| !name.starts_with("shell")) {
        let set = StudySet::open(name).unwrap();
        let grid = grid(&set);
        let mut random = ChaCha8Rng::seed_from_u64(17);
        for objective in Objective::ALL {
            for _ in 0..25 {
                let problem = Problem::draw(objective, 2, &mut random);
                let best = set.best_point(&problem);
                assert!(
                    set.set().contains(&best, &[]),
                    "{name} {problem:?} {best:?}"
                );
                let value = problem.value(&best);
                let on_grid = grid.iter().map(|point| problem.value(point));
                let least = on_grid.fold(f64::INFINITY, f64::min);
                assert!(
                    value <= least + 1e-6,
                    "{name} {problem:?}: {value}, but {least}"
                );
                // In a tip of the star the nearest point of the grid may be some spacings away.
                let mut gradient = [0.0; 2];
                problem.gradient(&best, &mut gradient);
                let slope =
                    gradient[0].hypot(gradient[1]) + problem.matrix().iter().sum::<f64>().abs();
                let allowed = 6.0 * SPACING * (slope + 0.1);
                assert!(
                    least - value <= allowed,
                    "{name} {problem:?}: {value}, but {least}"
                );
            }
        }
    }
}

#[test]
fn in_higher_dimensions_no_random_point_is_better() {
    for (name, dim) in [("shell-3d", 3), ("shell-5d", 5), ("shell-10d", 10)] {
        let set = StudySet::open(name).unwrap();
        let mut random = ChaCha8Rng::seed_from_u64(5);
        for objective in Objective::ALL {
            for _ in 0..20 {
                let problem = Problem::draw(objective, dim, &mut random);
                let best = set.best_point(&problem);
                assert!(set.set().contains(&best, &[]));
                let value = problem.value(&best);
                for trial in 0..3000 {
                    // Half of them near the optimum, at ever smaller distances.
                    let size = if trial % 2 == 0 {
                        1.5
                    } else {
                        0.5_f64.powi(trial / 200)
                    };
                    let mut other: Vec<f64> = best
                        .iter()
                        .map(|y| {
                            y * f64::from(trial % 2)
                                + size * random.sample::<f64, _>(StandardNormal)
                        })
                        .collect();
                    let length = other.iter().map(|y| y * y).sum::<f64>().sqrt();
                    let factor = length.clamp(1.0 + 1e-9, 2.0 - 1e-9) / length;
                    other.iter_mut().for_each(|y| *y *= factor);
                    assert!(
                        problem.value(&other) >= value - 1e-7,
                        "{name} {problem:?} {other:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn degenerate_problems_have_an_answer() {
    for name in SETS {
        let set = StudySet::open(name).unwrap();
        let dim = set.dim();
        for problem in [
            Problem::linear(vec![0.0; dim]),
            Problem::distance(vec![0.0; dim]),
            Problem::quadratic(
                (0..dim * dim)
                    .map(|i| f64::from(u8::from(i % (dim + 1) == 0)))
                    .collect(),
                vec![0.0; dim],
            ),
        ] {
            let best = set.best_point(&problem);
            let feasible =
                set.set().contains(&best, &[]) || problem.objective() == Objective::Linear;
            assert!(feasible, "{name}: {best:?}");
        }
    }
    // The middle of the bite, and where the bite touches the rim.
    let blob = StudySet::open("blob-with-bite").unwrap();
    for target in [vec![1.0, 0.0], vec![3.0, 0.0], vec![1.999, 1e-4]] {
        let best = blob.best_point(&Problem::distance(target));
        assert!(blob.set().contains(&best, &[]), "{best:?}");
    }
}

#[test]
fn the_violation_is_zero_exactly_on_the_set() {
    let mut random = ChaCha8Rng::seed_from_u64(8);
    for name in SETS {
        let set = StudySet::open(name).unwrap();
        let mut gradient = vec![0.0; set.dim()];
        for _ in 0..500 {
            let y: Vec<f64> = (0..set.dim())
                .map(|_| 1.5 * random.sample::<f64, _>(StandardNormal))
                .collect();
            let violation = set.set().violation(&y, &[], &mut gradient).unwrap();
            assert_eq!(
                violation == 0.0,
                set.set().contains(&y, &[]),
                "{name} {y:?}"
            );
        }
    }
}
