//! Wrong lengths, foreign workspaces and models that do not fit together: typed errors, no panics, and
//! nothing written.

mod common;

use common::{Shape, projector};
use fabproj_core::{
    Activation, Anchor, CallError, Gradient, Guard, LatentSet, Model, ModelError, Projector, Status,
};

fn error_of(change: impl FnOnce(&mut Model)) -> ModelError {
    let shape = Shape {
        parameter_dim: 1,
        charts: 2,
        decoders: 2,
        anchors: 2,
        skip: true,
        ..Shape::plain()
    };
    let mut model = shape.model(4);
    Projector::new(&model).expect("the fixture is valid");
    change(&mut model);
    Projector::new(&model).expect_err("a fault")
}

#[test]
fn models_that_cannot_run_are_refused_by_part() {
    let says = |error: ModelError, text: &str| {
        assert!(error.to_string().contains(text), "{error}");
    };
    says(error_of(|m| m.dim = 0), "dim is empty");
    says(error_of(|m| m.dim = 5000), "the limit is 4096");
    says(error_of(|m| m.dim = 3), "frame.centre is 2");
    says(
        error_of(|m| m.parameter_frame.scale[0] = 0.0),
        "parameter_frame.scale[0] is 0",
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
        error_of(|m| m.anchors[0].parameters.clear()),
        "the length of anchors[0].parameters is 0",
    );
}

#[test]
fn too_wide_a_layer_is_refused() {
    let mut model = Shape::plain().model(0);
    let wide = common::Random(0).network(&[2, 4097, 2], &Shape::plain(), Activation::Tanh);
    model.charts[0].encoder = wide;
    let error = Projector::new(&model).expect_err("too wide");
    assert!(
        matches!(
            error,
            ModelError::TooLarge {
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
        parameter_dim: 1,
        ..Shape::plain()
    };
    let projector = projector(&shape.model(1));
    let mut workspace = projector.workspace();
    let mut out = [7.0; 2];
    let length = |argument, expected, found| CallError::Length {
        argument,
        expected,
        found,
    };
    let call = projector.project(&[1.0], &[0.0], &mut out, &mut workspace);
    assert_eq!(call, Err(length("y", 2, 1)));
    let call = projector.project(&[1.0, 2.0], &[], &mut out, &mut workspace);
    assert_eq!(call, Err(length("x", 1, 0)));
    let call = projector.project(&[1.0, 2.0], &[0.0], &mut out[..1], &mut workspace);
    assert_eq!(call, Err(length("out", 2, 1)));

    let mut statuses = [Status::Kept; 2];
    let call = projector.project_batch(&[0.0; 3], &[0.0], &mut out, &mut statuses, &mut workspace);
    assert_eq!(
        call,
        Err(CallError::Rows {
            argument: "y",
            row: 2,
            found: 3
        })
    );
    let call = projector.project_batch(&[0.0; 4], &[0.0], &mut out, &mut statuses, &mut workspace);
    assert_eq!(call, Err(length("x", 2, 1)));
    let call = projector.project_batch(&[0.0; 2], &[0.0], &mut out, &mut statuses, &mut workspace);
    assert_eq!(call, Err(length("statuses", 1, 2)));

    let (mut dy, mut dx) = ([7.0; 2], [7.0; 2]);
    let gradient = Gradient {
        y: &mut dy,
        x: &mut dx,
    };
    let call = projector.vjp(
        &[0.0; 2],
        &[0.0],
        &[0.0; 2],
        &mut out,
        gradient,
        &mut workspace,
    );
    assert_eq!(call, Err(length("gradient.x", 1, 2)));
    let gradient = Gradient {
        y: &mut dy,
        x: &mut dx[..1],
    };
    let call = projector.vjp(
        &[0.0; 2],
        &[0.0],
        &[0.0; 3],
        &mut out,
        gradient,
        &mut workspace,
    );
    assert_eq!(call, Err(length("cotangent", 2, 3)));

    let call = projector.decode(3, &[0.0; 2], &[0.0], &mut out, &mut workspace);
    assert_eq!(
        call,
        Err(CallError::Chart {
            chart: 3,
            charts: 1
        })
    );
    let call = projector.encode(0, &[0.0; 2], &[0.0], &mut out[..1], &mut workspace);
    assert_eq!(call, Err(length("latent", 2, 1)));
    let call = projector.decode(0, &[0.0; 4], &[0.0; 2], &mut out, &mut workspace);
    assert_eq!(call, Err(length("latent", 2, 4)));
    assert_eq!(projector.latent_dim(1), None);

    assert_eq!((out, dy, dx), ([7.0; 2], [7.0; 2], [7.0; 2]));
}

#[test]
fn a_workspace_of_another_projector_is_refused() {
    let ours = projector(&Shape::plain().model(1));
    let theirs = projector(
        &Shape {
            decoders: 3,
            ..Shape::plain()
        }
        .model(1),
    );
    let mut out = [0.0; 2];
    let call = ours.project(&[0.0; 2], &[], &mut out, &mut theirs.workspace());
    assert_eq!(call, Err(CallError::Workspace));
    let test = |_: &[f64], _: &[f64]| true;
    let (ours, theirs) = (Guard::new(ours, test), Guard::new(theirs, test));
    let (ours, theirs) = (
        ours.expect("all is feasible"),
        theirs.expect("all is feasible"),
    );
    let call = ours.project(&[0.0; 2], &[], &mut out, &mut theirs.workspace());
    assert_eq!(call, Err(CallError::Workspace));
}

/// Same networks, other anchors: a guard's workspace must fit these too.
#[test]
fn a_guards_workspace_fits_its_anchors() {
    let shape = Shape {
        parameter_dim: 1,
        ..Shape::plain()
    };
    let mut model = shape.model(1);
    let few = projector(&model);
    model.anchors = vec![
        Anchor {
            chart: 0,
            latent: vec![0.0; 2],
            parameters: vec![0.0],
            point: vec![1.0, 0.0]
        };
        30
    ];
    let many = projector(&model);
    let never = |y: &[f64], _: &[f64]| y == [1.0, 0.0];
    let few = Guard::new(few, never).expect("anchors are verified at each call");
    let many = Guard::new(many, never).expect("anchors are verified at each call");
    let mut out = [0.0; 2];
    let call = many.project(&[0.0; 2], &[0.0], &mut out, &mut few.workspace());
    assert_eq!(call, Err(CallError::Workspace));
    let call = few.project(&[0.0; 2], &[0.0], &mut out, &mut many.workspace());
    assert_eq!(call, Err(CallError::Workspace));
}

#[test]
fn without_a_discriminator_there_is_no_score() {
    let projector = projector(&common::paper_size());
    let call = projector.score_batch(&[0.0; 2], &[], &mut [0.0], &mut projector.workspace());
    assert_eq!(call, Err(CallError::NoDiscriminator));
}

#[test]
fn empty_batches_are_fine() {
    let projector = projector(&Shape::plain().model(1));
    let mut workspace = projector.workspace();
    let tally = projector.project_batch(&[], &[], &mut [], &mut [], &mut workspace);
    assert_eq!(tally.map(|tally| tally.total()), Ok(0));
}

/// One projector serves all threads; each thread takes its workspace along.
#[test]
fn projectors_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Projector>();
    shared::<Guard<Projector, fn(&[f64], &[f64]) -> bool>>();
    shared::<fabproj_core::Workspace>();
}
