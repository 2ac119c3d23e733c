use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::active_set::{ActiveSet, Ending};
use crate::vector::{affine, dot};

/// A stream of numbers between -1 and 1.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005);
        state = state.wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// J Jᵀ
fn gram(jacobian: &[f64], dim: usize) -> Vec<f64> {
    let rows = || jacobian.chunks_exact(dim);
    rows()
        .flat_map(|a| rows().map(move |b| dot(a, b)))
        .collect()
}

/// −Jᵀ l
fn step(jacobian: &[f64], dim: usize, multipliers: &[f64]) -> Vec<f64> {
    let column = |i: usize| {
        let entries = jacobian.iter().skip(i).step_by(dim).zip(multipliers);
        -entries.map(|(j, l)| j * l).sum::<f64>()
    };
    (0..dim).map(column).collect()
}

/// Whether l ≥ 0, J d + q ≤ 0 and l · (J d + q) = 0 for d = −Jᵀ l.
fn is_optimal(
    jacobian: &[f64],
    dim: usize,
    q: &[f64],
    multipliers: &[f64],
    tolerance: f64,
) -> bool {
    let d = step(jacobian, dim, multipliers);
    let mut values = vec![0.0; q.len()];
    affine(q, jacobian, &d, &mut values);
    let mut pairs = values.iter().zip(multipliers);
    pairs.all(|(r, l)| *l >= 0.0 && *r <= tolerance && (l * r).abs() <= tolerance * (1.0 + l))
}

/// Solves the linear equations by elimination with pivots; `None` if they are nearly singular.
fn eliminate(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let size = right.len();
    for column in 0..size {
        let best = (column..size).max_by(|a, b| {
            let magnitude = |row: &usize| matrix[*row][column].abs();
            magnitude(a).total_cmp(&magnitude(b))
        })?;
        matrix.swap(column, best);
        right.swap(column, best);
        if matrix[column][column].abs() < 1e-9 {
            return None;
        }
        for row in 0..size {
            if row != column {
                let factor = matrix[row][column] / matrix[column][column];
                let pivot = matrix[column].clone();
                for (value, pivot) in matrix[row].iter_mut().zip(pivot) {
                    *value -= factor * pivot;
                }
                right[row] -= factor * right[column];
            }
        }
    }
    Some((0..size).map(|row| right[row] / matrix[row][row]).collect())
}

/// The step by trying every active set; `None` if none is optimal.
fn by_enumeration(jacobian: &[f64], dim: usize, q: &[f64]) -> Option<Vec<f64>> {
    let rows = q.len();
    let gram = gram(jacobian, dim);
    (0..1_usize << rows).find_map(|set| {
        let active: Vec<usize> = (0..rows).filter(|row| set >> row & 1 == 1).collect();
        let matrix = active
            .iter()
            .map(|a| active.iter().map(|b| gram[a * rows + b]).collect());
        let held = eliminate(matrix.collect(), active.iter().map(|row| q[*row]).collect())?;
        let mut multipliers = vec![0.0; rows];
        for (row, value) in active.iter().zip(held) {
            multipliers[*row] = value;
        }
        let optimal = is_optimal(jacobian, dim, q, &multipliers, 1e-9);
        optimal.then(|| step(jacobian, dim, &multipliers))
    })
}

proptest! {
    /// Against every active set, from any guess. Small integers make dependent rows and ties common.
    #[test]
    fn small_programs_agree_with_enumeration(
        dim in 1_usize..4,
        rows in 1_usize..7,
        seed in 0_u64..1_000_000,
        integers in any::<bool>(),
        guess in 0_usize..64,
    ) {
        let mut number = numbers(seed);
        let mut entry = || if integers { libm::round(2.0 * number()) } else { number() };
        let jacobian: Vec<f64> = (0..rows * dim).map(|_| entry()).collect();
        let q: Vec<f64> = (0..rows).map(|_| entry()).collect();
        let guess: Vec<usize> = (0..rows).filter(|row| guess >> row & 1 == 1).collect();
        let mut program = ActiveSet::new(rows, dim);
        let ending = program.solve(&gram(&jacobian, dim), &q, &guess);
        match by_enumeration(&jacobian, dim, &q) {
            Some(expected) => {
                prop_assert_eq!(ending, Ending::Optimal);
                let found = step(&jacobian, dim, &program.multipliers);
                for (found, expected) in found.iter().zip(expected) {
                    prop_assert!((found - expected).abs() < 1e-6, "{found} but {expected}");
                }
            }
            None => prop_assert_ne!(ending, Ending::Optimal),
        }
    }
}

/// Random rows around a point that obeys all of them, by at least `slack`.
fn crowded(rows: usize, dim: usize, slack: f64, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut number = numbers(seed);
    let jacobian: Vec<f64> = (0..rows * dim).map(|_| number()).collect();
    let inside: Vec<f64> = (0..dim).map(|_| 3.0 * number()).collect();
    let values = jacobian.chunks_exact(dim).map(|row| -dot(row, &inside));
    let q = values.map(|value| value - slack * (1.0 + number().abs()));
    let q = q.collect();
    (jacobian, q)
}

#[test]
fn many_more_rows_than_dimensions() {
    for seed in 0..60 {
        for (rows, dim) in [(200, 50), (60, 10), (40, 39)] {
            let (jacobian, q) = crowded(rows, dim, 0.05, seed);
            let mut program = ActiveSet::new(rows, dim);
            let ending = program.solve(&gram(&jacobian, dim), &q, &[]);
            assert_eq!(ending, Ending::Optimal, "{rows} rows, seed {seed}");
            let optimal = is_optimal(&jacobian, dim, &q, &program.multipliers, 1e-8);
            assert!(optimal, "{rows} rows, seed {seed}");
        }
    }
}

#[test]
fn the_primal_dual_method_alone_would_fail_there() {
    let failures = (0..60).filter(|seed| {
        let (jacobian, q) = crowded(200, 50, 0.05, *seed);
        let mut program = ActiveSet::new(200, 50);
        !program.primal_dual(&gram(&jacobian, 50), &q)
    });
    assert!(failures.count() > 10);
}

#[test]
fn rows_that_contradict_each_other_are_infeasible() {
    // d ≤ -1 and d ≥ 1
    let (jacobian, q) = ([1.0, -1.0], [1.0, 1.0]);
    let mut program = ActiveSet::new(2, 1);
    let ending = program.solve(&gram(&jacobian, 1), &q, &[]);
    assert_eq!(ending, Ending::Infeasible);
    // A row that nothing can move.
    let mut program = ActiveSet::new(1, 1);
    assert_eq!(program.solve(&[0.0], &[1.0], &[]), Ending::Infeasible);
    assert_eq!(program.solve(&[0.0], &[-1.0], &[]), Ending::Optimal);
    assert_eq!(program.solve(&[1.0], &[f64::NAN], &[]), Ending::Stalled);
}

#[test]
fn a_row_that_is_there_twice_changes_nothing() {
    for seed in 0..50 {
        let (mut jacobian, mut q) = crowded(12, 6, 0.1, seed);
        let mut once = ActiveSet::new(12, 6);
        assert_eq!(once.solve(&gram(&jacobian, 6), &q, &[]), Ending::Optimal);
        let expected = step(&jacobian, 6, &once.multipliers);
        jacobian.extend(jacobian.clone());
        q.extend(q.clone());
        let mut twice = ActiveSet::new(24, 6);
        assert_eq!(twice.solve(&gram(&jacobian, 6), &q, &[]), Ending::Optimal);
        let found = step(&jacobian, 6, &twice.multipliers);
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9);
        }
    }
}
