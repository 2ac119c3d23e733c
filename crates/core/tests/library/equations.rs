//! Points that obey equations: the projector applies them by itself, in every call.

use crate::common::{Random, Shape, projector};
use fabproj_core::{
    CallError, Equations, Guard, LatentSet, Outcome, Projector, RawOutcome, Weights, WeightsError,
};
use proptest::prelude::*;

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

/// Two reduced coordinates and one x for points of three.
fn with_equations() -> Weights {
    let shape = Shape {
        x_dim: 1,
        ..Shape::plain()
    };
    let weights = shape.weights(5);
    assert!(weights.equations.is_some(), "odd seeds have them");
    weights
}

/// How far y is from the solutions at x.
fn residual(equations: &Equations, y: &[f64], x: &[f64]) -> f64 {
    let mut z = vec![0.0; equations.reduced_dim()];
    let mut foot = vec![0.0; y.len()];
    equations.lower(y, x, &mut z).expect("lengths fit");
    equations.raise(&z, x, &mut foot).expect("lengths fit");
    norm(y.iter().zip(&foot).map(|(y, foot)| y - foot))
}

proptest! {
    #[test]
    fn lowering_finds_the_nearest_point(seed in any::<u64>(), dim in 1usize..6, x_dim in 0usize..3) {
        let mut random = Random(seed);
        let equations = random.equations(dim, x_dim);
        let mut numbers = |count: usize| -> Vec<f64> {
            (0..count).map(|_| 3.0 * f64::from(random.signed())).collect()
        };
        let (y, x) = (numbers(dim + 1), numbers(x_dim));
        let (mut z, mut foot) = (vec![0.0; dim], vec![0.0; dim + 1]);
        equations.lower(&y, &x, &mut z)?;
        equations.raise(&z, &x, &mut foot)?;
        // Down and up again changes nothing more, and what was taken away is at right angles.
        let mut again = vec![0.0; dim];
        equations.lower(&foot, &x, &mut again)?;
        prop_assert!(norm(again.iter().zip(&z).map(|(a, b)| a - b)) < 1e-12);
        let mut other = vec![0.0; dim + 1];
        equations.raise(&numbers(dim), &x, &mut other)?;
        let product: f64 = (0..=dim).map(|i| (y[i] - foot[i]) * (other[i] - foot[i])).sum();
        prop_assert!(product.abs() < 1e-11, "{}", product);
    }

    #[test]
    fn every_call_obeys_them(shape in crate::common::shapes(), seed in any::<u64>(), rows in 1usize..80) {
        let weights = shape.weights(seed | 1);
        let projector = projector(&weights);
        let equations = projector.equations().expect("odd seeds have them");
        let (n, p) = (projector.dim(), projector.x_dim());
        prop_assert_eq!(n, shape.dim + 1);
        let mut random = Random(seed);
        let y: Vec<f64> = crate::common::cast(&random.floats(rows * n, 3.0));
        let x: Vec<f64> = crate::common::cast(&random.floats(rows * p, 1.0));
        let (out, outcomes) = projector.project_rows(&y, &x)?;
        for (row, outcome) in outcomes.iter().enumerate() {
            let x = crate::common::row(&x, row, p);
            prop_assert!(residual(equations, crate::common::row(&out, row, n), x) < 1e-12);
            prop_assert_ne!(*outcome, RawOutcome::NotFinite);
        }
        let mut latent = vec![0.0; projector.latent_dim(0).expect("a chart")];
        let (mut workspace, mut decode) = (projector.workspace(), vec![0.0; n]);
        prop_assert!(projector.encode(0, &y[..n], &x[..p], &mut latent, &mut workspace)?);
        prop_assert!(projector.decode(0, &latent, &x[..p], &mut decode, &mut workspace)?);
        prop_assert!(residual(equations, &decode, &x[..p]) < 1e-12);
        // What is off the solutions does not change the answer.
        let mut z = vec![0.0; shape.dim];
        let mut foot = vec![0.0; n];
        equations.lower(&y[..n], &x[..p], &mut z)?;
        equations.raise(&z, &x[..p], &mut foot)?;
        let (moved, _) = projector.project(&foot, &x[..p])?;
        prop_assert!(norm(moved.iter().zip(&out).map(|(a, b)| a - b)) < 1e-4);
    }
}

/// Two rows of three are not three rows of two.
#[test]
fn rows_are_counted_in_the_callers_coordinates() {
    let projector = projector(&with_equations());
    assert_eq!(projector.dim(), 3);
    let rows = projector
        .project_rows(&[0.0; 6], &[0.0; 2])
        .map(|(_, rows)| rows.len());
    assert_eq!(rows, Ok(2));
    assert!(projector.project_rows(&[0.0; 6], &[0.0; 3]).is_err());
    assert!(projector.vjp(&[0.0; 6], &[0.0; 3], &[0.0; 6]).is_err());
    let (d_y, d_x) = projector
        .vjp(&[0.0; 6], &[0.0; 2], &[1.0; 6])
        .expect("lengths fit");
    assert_eq!((d_y.len(), d_x.len()), (6, 2));
}

#[test]
fn outputs_obey_the_equation_at_any_scale() {
    let mut weights = with_equations();
    if let Some(equations) = &mut weights.equations {
        equations.origin.iter_mut().for_each(|value| *value *= 1e3);
    }
    let projector = Projector::from_bytes(&weights.to_bytes().unwrap()).unwrap();
    let equations = projector.equations().unwrap();
    for scale in [1e-3, 1.0, 1e3, 1e9, 1e300, f64::NAN] {
        let x = if scale.is_nan() {
            0.7
        } else {
            0.7 * scale.min(1e3)
        };
        let (out, outcome) = projector
            .project(&[scale, -0.5 * scale, 0.3], &[x])
            .unwrap();
        assert!(
            out.iter().all(|value| value.is_finite()),
            "{scale} {outcome}"
        );
        assert!(residual(equations, &out, &[x]) < 1e-9, "{scale}");
    }
    let (out, outcome) = projector.project(&[1.0; 3], &[f64::NAN]).unwrap();
    assert_eq!(outcome, RawOutcome::NotFinite);
    assert!(out.iter().all(|value| value.is_finite()));
}

/// The test sees all coordinates; equations hold for what it accepts.
#[test]
fn guards_test_the_callers_points() {
    let projector = projector(&with_equations());
    let equations = projector.equations().unwrap().clone();
    let (sample, _) = projector.project(&[0.2, 0.1, 0.4], &[0.3]).unwrap();
    let bound = sample[0] + 0.05;
    let feasible = |y: &[f64], x: &[f64]| y[0] <= bound && residual(&equations, y, x) < 1e-9;
    let guard = Guard::from_fn(projector, feasible).unwrap();
    for y in [[5.0, 1.0, -2.0], [0.0, 0.0, 0.0], [-9.0, 3.0, 3.0]] {
        let (out, outcome) = guard.project(&y, &[0.3]).unwrap();
        assert!(
            outcome != Outcome::Kept && outcome.is_verified(),
            "{outcome}"
        );
        assert!(feasible(&out, &[0.3]), "{out:?}");
        // What it returned is feasible, and so it is kept.
        assert_eq!(guard.project(&out, &[0.3]).unwrap(), (out, Outcome::Kept));
    }
}

/// A fixed set whose equation no f32 point obeys closely enough: f32 calls say so, f64 calls work.
#[test]
fn a_guard_does_not_claim_what_f32_cannot_hold() {
    let half = 0.5_f64.sqrt();
    let mut weights = Weights::identity(
        1,
        LatentSet::Box {
            half: 0.5,
            smooth: None,
        },
    );
    weights.equations = Some(Equations {
        origin: vec![1.0 / 3.0; 2],
        basis: vec![half, -half],
        by_x: vec![],
    });
    let exact = |y: &[f64], _: &[f64]| (y[0] + y[1] - 2.0 / 3.0).abs() < 1e-12;
    let guard = Guard::from_fn(projector(&weights), exact).unwrap();
    let (out, outcome) = guard.project(&[3.0_f64, 4.0], &[]).unwrap();
    assert!(outcome == Outcome::Projected && exact(&out, &[]));
    let (out, outcome) = guard.project(&[3.0_f32, 4.0], &[]).unwrap();
    assert_eq!(
        outcome.is_verified(),
        exact(&crate::common::wide(&out), &[])
    );
    assert_eq!(outcome, Outcome::MaybeEmpty);
}

#[test]
fn what_does_not_fit_is_refused() {
    let weights = with_equations();
    let equations = weights.equations.clone().unwrap();
    let wrong = equations.lower(&[0.0; 2], &[0.0], &mut [0.0; 2]);
    let expected = CallError::Length {
        argument: "y",
        expected: 3,
        found: 2,
    };
    assert_eq!(wrong, Err(expected));
    assert!(equations.raise(&[0.0; 2], &[], &mut [0.0; 3]).is_err());

    let changed = |change: &dyn Fn(&mut Equations)| {
        let mut weights = weights.clone();
        change(weights.equations.as_mut().unwrap());
        weights.validate().unwrap_err()
    };
    let skewed = changed(&|equations| equations.basis[0] += 1e-6);
    assert!(matches!(skewed, WeightsError::Basis { .. }), "{skewed}");
    assert!(skewed.to_string().contains("not orthonormal"));
    let says = |error: WeightsError, text: &str| {
        assert!(error.to_string().contains(text), "{error}");
    };
    says(
        changed(&|equations| equations.origin[1] = f64::INFINITY),
        "equations.origin[1] is inf",
    );
    says(
        changed(&|equations| equations.basis[2] = f64::NAN),
        "equations.basis[2]",
    );
    says(
        changed(&|equations| equations.by_x.truncate(2)),
        "equations.by_x",
    );
    says(
        changed(&|equations| equations.origin.truncate(1)),
        "equations",
    );
}
