//! Points that obey equations: down to the model's coordinates, and back.

mod common;

use common::{Random, Shape};
use fabproj_core::{
    CallError, FormatError, Guard, Lift, Lifted, Model, ModelError, Projector, Status,
};
use proptest::prelude::*;

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

/// A model of two coordinates and one parameter for points of three.
fn lifted_model() -> Model {
    let shape = Shape {
        parameter_dim: 1,
        ..Shape::plain()
    };
    let model = shape.model(5);
    assert!(model.lift.is_some(), "odd seeds have one");
    model
}

/// A unit vector that the basis is at right angles to.
fn normal(lift: &Lift) -> Vec<f64> {
    let (dim, reduced) = (lift.dim(), lift.reduced_dim());
    let mut normal = vec![1.0, 0.37, -0.81];
    normal.resize(dim, 0.5);
    for _ in 0..2 {
        for column in 0..reduced {
            let basis = |row: usize| lift.basis[row * reduced + column];
            let along: f64 = (0..dim).map(|row| normal[row] * basis(row)).sum();
            (0..dim).for_each(|row| normal[row] -= along * basis(row));
        }
    }
    let length = norm(normal.iter().copied());
    normal.iter().map(|value| value / length).collect()
}

proptest! {
    #[test]
    fn lowering_finds_the_nearest_point(seed in any::<u64>(), dim in 1usize..6, parameters in 0usize..3) {
        let mut random = Random(seed);
        let lift = random.lift(dim, parameters);
        let mut numbers = |count: usize| -> Vec<f64> {
            (0..count).map(|_| 3.0 * f64::from(random.signed())).collect()
        };
        let (y, x) = (numbers(dim + 1), numbers(parameters));
        let (mut z, mut foot) = (vec![0.0; dim], vec![0.0; dim + 1]);
        lift.lower(&y, &x, &mut z)?;
        lift.raise(&z, &x, &mut foot)?;
        // Down and up again changes nothing more, and what was taken away is at right angles.
        let mut again = vec![0.0; dim];
        lift.lower(&foot, &x, &mut again)?;
        prop_assert!(norm(again.iter().zip(&z).map(|(a, b)| a - b)) < 1e-12);
        let mut other = vec![0.0; dim + 1];
        lift.raise(&numbers(dim), &x, &mut other)?;
        let product: f64 = (0..=dim).map(|i| (y[i] - foot[i]) * (other[i] - foot[i])).sum();
        prop_assert!(product.abs() < 1e-11, "{}", product);
    }
}

#[test]
fn outputs_obey_the_equation_at_any_scale() {
    let mut model = lifted_model();
    if let Some(lift) = &mut model.lift {
        lift.origin.iter_mut().for_each(|value| *value *= 1e3);
    }
    let lifted = Lifted::from_bytes(&model.to_bytes().unwrap()).unwrap();
    let normal = normal(lifted.lift());
    let mut workspace = lifted.workspace();
    let mut out = [0.0; 3];
    for scale in [1e-3, 1.0, 1e3, 1e9, 1e300, f64::NAN] {
        let x = [0.7 * scale.clamp(0.0, 1e3)];
        let x = if x[0].is_nan() { [0.7] } else { x };
        let status = lifted
            .project(&[scale, -0.5 * scale, 0.3], &x, &mut out, &mut workspace)
            .unwrap();
        assert!(
            out.iter().all(|value| value.is_finite()),
            "{scale} {status}"
        );
        let (mut foot, zero) = ([0.0; 3], vec![0.0; lifted.lift().reduced_dim()]);
        lifted.lift().raise(&zero, &x, &mut foot).unwrap();
        let apart: f64 = (0..3).map(|i| normal[i] * (out[i] - foot[i])).sum();
        assert!(apart.abs() < 1e-9, "{scale}: {apart}");
    }
}

#[test]
fn guards_are_lifted_too() {
    let model = lifted_model();
    let projector = Projector::new(&model).unwrap();
    let lift = model.lift.clone().unwrap();
    let raised = |z: &[f64], x: &[f64]| {
        let mut y = [0.0; 3];
        lift.raise(z, x, &mut y).unwrap();
        y
    };
    let mut sample = [0.0; 2];
    projector
        .project(&[0.2, 0.1], &[0.3], &mut sample, &mut projector.workspace())
        .unwrap();
    let bound = raised(&sample.map(f64::from), &[f64::from(0.3_f32)])[0] + 0.05;
    let guard = Guard::new(&projector, |z: &[f64], x: &[f64]| raised(z, x)[0] <= bound).unwrap();
    let lifted = Lifted::new(guard, lift.clone()).unwrap();
    let mut workspace = lifted.workspace();
    let mut out = [0.0; 3];
    for y in [[5.0, 1.0, -2.0], [0.0, 0.0, 0.0], [-9.0, 3.0, 3.0]] {
        let x = [f64::from(0.3_f32)];
        let status = lifted.project(&y, &x, &mut out, &mut workspace).unwrap();
        assert!(status != Status::Kept && status.is_verified(), "{status}");
        assert!(out[0] <= bound + 1e-12, "{out:?}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let model = lifted_model();
    let lift = model.lift.clone().unwrap();
    let wrong = lift.lower(&[0.0; 2], &[0.0], &mut [0.0; 2]);
    assert!(matches!(
        wrong,
        Err(CallError::Length {
            argument: "y",
            expected: 3,
            found: 2
        })
    ));
    assert!(lift.raise(&[0.0; 2], &[], &mut [0.0; 3]).is_err());

    let changed = |change: &dyn Fn(&mut Lift)| {
        let mut model = model.clone();
        change(model.lift.as_mut().unwrap());
        model.validate().unwrap_err()
    };
    let skewed = changed(&|lift| lift.basis[0] += 1e-6);
    assert!(matches!(skewed, ModelError::Basis { .. }), "{skewed}");
    assert!(skewed.to_string().contains("not orthonormal"));
    let infinite = changed(&|lift| lift.origin[1] = f64::INFINITY);
    assert!(
        infinite.to_string().contains("lift.origin[1] is inf"),
        "{infinite}"
    );
    let nothing = changed(&|lift| lift.basis[2] = f64::NAN);
    assert!(nothing.to_string().contains("lift.basis[2]"), "{nothing}");
    let short = changed(&|lift| lift.by_parameter.truncate(2));
    assert!(short.to_string().contains("lift.by_parameter"), "{short}");
    let small = changed(&|lift| lift.origin.truncate(1));
    assert!(small.to_string().contains("lift"), "{small}");

    let plain = Model {
        lift: None,
        ..model.clone()
    };
    let error = Lifted::from_bytes(&plain.to_bytes().unwrap()).unwrap_err();
    assert_eq!(
        error,
        FormatError::Model(ModelError::Empty {
            part: "lift".into()
        })
    );
}
