//! Wrong lengths, foreign workspaces and models that do not fit together: typed errors, no panics, and
//! nothing written.

use crate::common::{Shape, projector};
use fabproj_core::{
    Activation, Anchor, CallError, FnMembership, Guard, LatentSet, Outcome, Projector, RawOutcome,
    Weights, WeightsError,
};

fn error_of(change: impl FnOnce(&mut Weights)) -> WeightsError {
    let shape = Shape {
        x_dim: 1,
        charts: 2,
        decoders: 2,
        anchors: 2,
        skip: true,
        ..Shape::plain()
    };
    let mut weights = shape.weights(4);
    Projector::new(&weights).expect("the fixture is valid");
    change(&mut weights);
    Projector::new(&weights).expect_err("a fault")
}

#[test]
fn weights_that_cannot_run_are_refused_by_part() {
    let says = |error: WeightsError, text: &str| {
        assert!(error.to_string().contains(text), "{error}");
    };
    says(error_of(|m| m.dim = 0), "dim is empty");
    says(error_of(|m| m.dim = 5000), "the limit is 4096");
    says(error_of(|m| m.dim = 3), "frame.centre is 2");
    says(
        error_of(|m| m.x_frame.scale[0] = 0.0),
        "x_frame.scale[0] is 0",
    );
    says(error_of(|m| m.charts.clear()), "charts is empty");
    says(error_of(|m| m.gate = None), "gate is missing, with 2");
    says(
        error_of(|m| drop(m.charts.pop())),
        "gate is present, with 1",
    );
    says(
        error_of(|m| m.charts[1].decoder_gate = None),
        "charts[1].decoder_gate is missing",
    );
    says(
        error_of(|m| m.charts[0].decoders.clear()),
        "charts[0].decoders is empty",
    );
    says(
        error_of(|m| m.charts[0].encoder.layers.clear()),
        "charts[0].encoder.layers is empty",
    );
    says(
        error_of(|m| m.charts[0].encoder.layers[1].bias[3] = f32::NAN),
        "charts[0].encoder.layers[1].bias[3] is NaN",
    );
    says(
        error_of(|m| m.charts[1].decoders[1].layers[0].weights[7] = f32::INFINITY),
        "charts[1].decoders[1].layers[0].weights[7] is inf",
    );
    says(
        error_of(|m| m.charts[0].encoder.layers[1].inputs = 3),
        "charts[0].encoder.layers[1]'s inputs is 3",
    );
    says(
        error_of(|m| m.charts[0].encoder.layers[0].weights.truncate(3)),
        "the length of charts[0].encoder.layers[0].weights is 3",
    );
    says(
        error_of(|m| m.charts[0].encoder.skip = Some(vec![])),
        "charts[0].encoder.skip is empty",
    );
    says(
        error_of(|m| m.charts[0].encoder.skip = Some(vec![0.0; 80])),
        "the limit is 3",
    );
    says(
        error_of(|m| m.charts[0].encoder.skip = Some(vec![0.0; 3])),
        "the length of charts[0].encoder.skip is 3",
    );
    says(
        error_of(|m| {
            m.charts[0].latent = LatentSet::Ball {
                radius: 0.0,
                smooth: None,
            }
        }),
        "charts[0].latent: radius is 0",
    );
    says(
        error_of(|m| m.discriminator = m.gate.clone()),
        "discriminator's outputs is 2",
    );
    says(
        error_of(|m| m.anchors[1].chart = 9),
        "anchors[1] names chart 9, but there are 2",
    );
    says(
        error_of(|m| m.anchors[0].latent.push(0.0)),
        "the length of anchors[0].latent is 3",
    );
    says(
        error_of(|m| m.anchors[0].point[1] = f32::NAN),
        "anchors[0].point[1] is NaN",
    );
    says(
        error_of(|m| m.anchors[0].x.clear()),
        "the length of anchors[0].x is 0",
    );
}

#[test]
fn too_wide_a_layer_is_refused() {
    let mut weights = Shape::plain().weights(0);
    let wide = crate::common::Random(0).network(&[2, 4097, 2], &Shape::plain(), Activation::Tanh);
    weights.charts[0].encoder = wide;
    let error = Projector::new(&weights).expect_err("too wide");
    assert!(
        matches!(
            error,
            WeightsError::TooLarge {
                found: 4097,
                limit: 4096,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn wrong_lengths_are_errors_and_write_nothing() {
    let shape = Shape {
        x_dim: 1,
        ..Shape::plain()
    };
    let projector = projector(&shape.weights(2));
    let mut workspace = projector.workspace();
    let mut out = [7.0; 2];
    let length = |argument, expected, found| CallError::Length {
        argument,
        expected,
        found,
    };
    let call = projector.project_into(&[1.0], &[0.0], &mut out, &mut workspace);
    assert_eq!(call, Err(length("y", 2, 1)));
    let call = projector.project_into(&[1.0, 2.0], &[], &mut out, &mut workspace);
    assert_eq!(call, Err(length("x", 1, 0)));
    let call = projector.project_into(&[1.0, 2.0], &[0.0], &mut out[..1], &mut workspace);
    assert_eq!(call, Err(length("out", 2, 1)));
    assert_eq!(
        projector.project(&[1.0_f64], &[0.0]),
        Err(length("y", 2, 1))
    );

    let mut outcomes = [RawOutcome::NotFinite; 2];
    let mut rows = |y: &[f64], x: &[f64]| {
        projector.project_rows_into(y, x, &mut out, &mut outcomes, &mut workspace)
    };
    let three = CallError::Rows {
        argument: "y",
        row: 2,
        found: 3,
    };
    assert_eq!(rows(&[0.0; 3], &[0.0]), Err(three));
    assert_eq!(rows(&[0.0; 4], &[0.0]), Err(length("x", 2, 1)));
    assert_eq!(rows(&[0.0; 4], &[0.0; 2]), Err(length("out", 4, 2)));
    assert_eq!(rows(&[0.0; 2], &[0.0]), Err(length("outcomes", 1, 2)));

    let call = projector.vjp(&[0.0; 2], &[0.0], &[0.0; 3]);
    assert_eq!(call, Err(length("cotangent", 2, 3)));
    let mut tape = projector.tape(1);
    let call = projector.forward(&[0.0; 2], &[0.0], &mut out, &mut [], &mut tape);
    assert_eq!(call, Err(length("outcomes", 1, 0)));

    let call = projector.decode(3, &[0.0; 2], &[0.0], &mut out, &mut workspace);
    let third = CallError::Chart {
        chart: 3,
        charts: 1,
    };
    assert_eq!(call, Err(third));
    let mut latent = [7.0; 1];
    let call = projector.encode(0, &[0.0; 2], &[0.0], &mut latent, &mut workspace);
    assert_eq!(call, Err(length("latent", 2, 1)));
    let call = projector.decode(0, &[0.0; 4], &[0.0; 2], &mut out, &mut workspace);
    assert_eq!(call, Err(length("latent", 2, 4)));
    assert_eq!(projector.latent_dim(1), None);
    assert_eq!((out, latent), ([7.0; 2], [7.0; 1]));
}

#[test]
fn a_workspace_of_another_projector_is_refused() {
    let ours = projector(&Shape::plain().weights(2));
    let theirs = projector(
        &Shape {
            decoders: 3,
            ..Shape::plain()
        }
        .weights(2),
    );
    let mut out = [0.0; 2];
    let call = ours.project_into(&[0.0; 2], &[], &mut out, &mut theirs.workspace());
    assert_eq!(call, Err(CallError::Workspace));
    let all = |_: &[f64], _: &[f64]| true;
    let guard = Guard::from_fn(ours.clone(), all).expect("all is feasible");
    let other = Guard::from_fn(theirs, all).expect("all is feasible");
    let call = guard.project_into(&[0.0; 2], &[], &mut out, &mut other.workspace());
    assert_eq!(call, Err(CallError::Workspace));
    // A projector's workspace lacks what a guard needs; a guard's has all that its projector needs.
    let call = guard.project_into(&[0.0; 2], &[], &mut out, &mut ours.workspace());
    assert_eq!(call, Err(CallError::Workspace));
    let call = ours.project_into(&[0.0; 2], &[], &mut out, &mut guard.workspace());
    assert!(call.is_ok());
}

/// Same networks, other anchors: a guard's workspace must fit these too.
#[test]
fn a_guards_workspace_fits_its_anchors() {
    let shape = Shape {
        x_dim: 1,
        ..Shape::plain()
    };
    let mut weights = shape.weights(2);
    let few = projector(&weights);
    let anchor = Anchor {
        chart: 0,
        latent: vec![0.0; 2],
        x: vec![0.0],
        point: vec![1.0, 0.0],
    };
    weights.anchors = vec![anchor; 30];
    let many = projector(&weights);
    let never = |y: &[f64], _: &[f64]| y == [1.0, 0.0];
    let few = Guard::from_fn(few, never).expect("anchors are verified at each call");
    let many = Guard::from_fn(many, never).expect("anchors are verified at each call");
    let mut out = [0.0; 2];
    let call = many.project_into(&[0.0; 2], &[0.0], &mut out, &mut few.workspace());
    assert_eq!(call, Err(CallError::Workspace));
    let call = few.project_into(&[0.0; 2], &[0.0], &mut out, &mut many.workspace());
    assert_eq!(call, Err(CallError::Workspace));
}

#[test]
fn without_a_discriminator_there_is_no_score() {
    let projector = projector(&crate::common::paper_size());
    assert!(!projector.has_discriminator());
    let call = projector.score_rows(&[0.0; 2], &[], &mut [0.0], &mut projector.workspace());
    assert_eq!(call, Err(CallError::NoDiscriminator));
}

#[test]
fn empty_batches_are_fine() {
    let projector = projector(&Shape::plain().weights(2));
    let none: [f64; 0] = [];
    assert_eq!(projector.project_rows(&none, &none), Ok((vec![], vec![])));
    assert_eq!(projector.vjp(&none, &none, &none), Ok((vec![], vec![])));
    let guard = Guard::from_fn(projector, |_, _| true).expect("all is feasible");
    assert_eq!(guard.project_rows(&none, &none), Ok((vec![], vec![])));
}

#[test]
fn outcomes_have_words() {
    let raw = RawOutcome::ALL.map(|outcome| outcome.to_string());
    assert_eq!(raw, ["inside", "clamped", "not-finite"]);
    let words = [
        "kept",
        "projected",
        "repaired",
        "anchored",
        "maybe-empty",
        "not-finite",
    ];
    assert_eq!(Outcome::ALL.map(Outcome::name), words);
}

/// One projector serves all threads; each thread takes its workspace along.
#[test]
fn projectors_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Projector>();
    shared::<Guard<FnMembership<fn(&[f64], &[f64]) -> bool>>>();
    shared::<fabproj_core::Tape>();
    shared::<fabproj_core::Workspace>();
}
