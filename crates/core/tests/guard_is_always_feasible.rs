//! Whatever the model and the membership test, what a guard calls verified has passed the test.

mod common;

use std::cell::Cell;

use common::{Random, Shape, projector};
use fabproj_core::{Guard, GuardError, Layer, MAX_TESTS_PER_CALL, Model, Status};
use proptest::prelude::*;

/// How a model goes wrong.
#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    CollapsedDecoder,
    HugeWeights,
    OverflowingDecoder,
    LyingAnchors,
    NoAnchors,
}

fn layers(model: &mut Model) -> impl Iterator<Item = &mut Layer> {
    let decoders = model
        .charts
        .iter_mut()
        .flat_map(|chart| &mut chart.decoders);
    decoders.flat_map(|decoder| &mut decoder.layers)
}

fn break_model(model: &mut Model, fault: Fault, random: &mut Random) {
    match fault {
        Fault::None => {}
        Fault::CollapsedDecoder => layers(model).for_each(|layer| layer.weights.fill(0.0)),
        Fault::HugeWeights => {
            let encoders = model
                .charts
                .iter_mut()
                .flat_map(|chart| &mut chart.encoder.layers);
            let weights = encoders.flat_map(|layer| &mut layer.weights);
            weights.for_each(|weight| *weight *= 1e30);
        }
        Fault::OverflowingDecoder => {
            layers(model).for_each(|layer| layer.weights.iter_mut().for_each(|w| *w *= 1e37));
        }
        Fault::LyingAnchors => {
            for anchor in &mut model.anchors {
                anchor.latent = random.floats(anchor.latent.len(), 1e6);
                anchor.point = random.floats(anchor.point.len(), 1e6);
            }
        }
        Fault::NoAnchors => model.anchors.clear(),
    }
}

/// Which points are feasible.
#[derive(Clone, Debug)]
enum Set {
    HalfSpace {
        normal: Vec<f64>,
        offset: f64,
    },
    Annulus {
        inner: f64,
        outer: f64,
    },
    TinyDisc {
        centre: Vec<f64>,
    },
    /// No geometry at all: one bit of a hash of the point.
    Dust,
    Everything,
    Nothing,
}

impl Set {
    fn contains(&self, y: &[f64]) -> bool {
        assert!(
            y.iter().all(|y| y.is_finite()),
            "the guard asked about {y:?}"
        );
        let norm = y.iter().map(|y| y * y).sum::<f64>().sqrt();
        match self {
            Self::HalfSpace { normal, offset } => {
                normal.iter().zip(y).map(|(n, y)| n * y).sum::<f64>() <= *offset
            }
            Self::Annulus { inner, outer } => (*inner..=*outer).contains(&norm),
            Self::TinyDisc { centre } => {
                centre
                    .iter()
                    .zip(y)
                    .map(|(c, y)| (c - y) * (c - y))
                    .sum::<f64>()
                    <= 1e-6
            }
            Self::Dust => {
                y.iter()
                    .fold(Random(1), |r, y| Random(r.0 ^ y.to_bits()))
                    .bits()
                    % 4
                    == 0
            }
            Self::Everything => true,
            Self::Nothing => false,
        }
    }
}

fn sets() -> impl Strategy<Value = Set> {
    let normal = prop::collection::vec(-1.0_f64..1.0, 3);
    prop_oneof![
        (normal.clone(), -2.0_f64..2.0)
            .prop_map(|(normal, offset)| Set::HalfSpace { normal, offset }),
        (0.0_f64..2.0, 0.01_f64..2.0).prop_map(|(inner, width)| Set::Annulus {
            inner,
            outer: inner + width
        }),
        normal.prop_map(|centre| Set::TinyDisc { centre }),
        Just(Set::Dust),
        Just(Set::Everything),
        Just(Set::Nothing),
    ]
}

fn faults() -> impl Strategy<Value = Fault> {
    prop::sample::select(vec![
        Fault::None,
        Fault::CollapsedDecoder,
        Fault::HugeWeights,
        Fault::OverflowingDecoder,
        Fault::LyingAnchors,
        Fault::NoAnchors,
    ])
}

/// Ordinary points, and all that should not be there.
fn inputs(count: usize, random: &mut Random) -> Vec<f32> {
    let odd = [
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        f32::MIN_POSITIVE,
        -0.0,
    ];
    (0..count)
        .map(|_| match random.bits() % 20 {
            0 => odd[(random.bits() % 6) as usize],
            _ => 4.0 * random.signed(),
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn fixed_sets(
        mut shape in common::shapes(),
        seed in any::<u64>(),
        fault in faults(),
        set in sets(),
        keep in any::<bool>(),
    ) {
        shape.parameter_dim = 0;
        let mut random = Random(seed);
        let mut model = shape.model(seed);
        break_model(&mut model, fault, &mut random);
        let projector = projector(&model);
        let test = |y: &[f64], _: &[f64]| set.contains(y);
        let guard = match Guard::new(&projector, test) {
            Ok(guard) => guard.keep_feasible(keep),
            Err(GuardError::NoFeasiblePoint { anchors, .. }) => {
                // Honest: then no stored point is feasible either.
                prop_assert_eq!(anchors, model.anchors.len());
                for anchor in &model.anchors {
                    prop_assert!(!set.contains(&common::reference::wide(&anchor.point)));
                }
                return Ok(());
            }
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        };
        let mut workspace = guard.workspace();
        let (rows, n) = (40, shape.dim);
        let y = inputs(rows * n, &mut random);
        let mut out = vec![0.0; y.len()];
        let mut statuses = vec![Status::Inside; rows];
        let tally = guard.project_batch(&y, &[], &mut out, &mut statuses, &mut workspace)?;
        prop_assert_eq!(tally.total(), rows);
        for (row, status) in statuses.iter().enumerate() {
            let (y, out) = (&y[row * n..][..n], &out[row * n..][..n]);
            prop_assert!(status.is_verified(), "{status:?}");
            prop_assert!(set.contains(&common::reference::wide(out)), "{status:?} {out:?}");
            let mut one = vec![0.0; n];
            prop_assert_eq!(guard.project(y, &[], &mut one, &mut workspace)?, *status);
            prop_assert_eq!(&one[..], out);
            if *status == Status::Kept {
                prop_assert!(keep);
                prop_assert_eq!(y, out);
            }
        }
    }

    #[test]
    fn input_dependent_sets(
        mut shape in common::shapes(),
        seed in any::<u64>(),
        fault in faults(),
        set in sets(),
        keep in any::<bool>(),
    ) {
        shape.parameter_dim = shape.parameter_dim.max(1);
        let mut random = Random(seed);
        let mut model = shape.model(seed);
        break_model(&mut model, fault, &mut random);
        let projector = projector(&model);
        // The set moves with x.
        let moved = |y: &[f64], x: &[f64]| {
            let moved: Vec<_> = y.iter().map(|y| y - x[0]).collect();
            set.contains(&moved)
        };
        let tests = Cell::new(0);
        let counted = |y: &[f64], x: &[f64]| {
            tests.set(tests.get() + 1);
            moved(y, x)
        };
        let guard = Guard::new(&projector, counted).expect("anchors are verified at each call");
        let guard = guard.keep_feasible(keep);
        let mut workspace = guard.workspace();
        let (rows, n, p) = (6, shape.dim, shape.parameter_dim);
        let (y, x) = (inputs(rows * n, &mut random), inputs(rows * p, &mut random));
        let mut out = vec![0.0; y.len()];
        let mut statuses = vec![Status::Inside; rows];
        guard.project_batch(&y, &x, &mut out, &mut statuses, &mut workspace)?;
        for (row, status) in statuses.iter().enumerate() {
            let (y, x) = (&y[row * n..][..n], &x[row * p..][..p]);
            let out = &out[row * n..][..n];
            prop_assert!(out.iter().all(|value| value.is_finite()));
            let known = x.iter().all(|x| x.is_finite());
            prop_assert_eq!(*status == Status::NotFinite, !known);
            if known {
                let (out, x) = (common::reference::wide(out), common::reference::wide(x));
                prop_assert_eq!(status.is_verified(), moved(&out, &x), "{:?}", status);
            }
            tests.set(0);
            let mut one = vec![0.0; n];
            prop_assert_eq!(guard.project(y, x, &mut one, &mut workspace)?, *status);
            prop_assert_eq!(&one[..], out);
            prop_assert!(tests.get() <= MAX_TESTS_PER_CALL, "{} tests in one call", tests.get());
        }
    }
}

/// A model whose decoder is the identity on the unit box around the origin.
fn identity_model() -> Model {
    let mut model = Shape::plain().model(5);
    let identity = fabproj_core::Network::identity(2);
    let chart = &mut model.charts[0];
    chart.encoder = identity.clone();
    chart.decoders = vec![identity];
    chart.latent = fabproj_core::LatentSet::Box {
        half: 1.0,
        smooth: None,
    };
    chart.frame = fabproj_core::Frame::unit(2);
    model.frame = chart.frame.clone();
    model.anchors = [[-0.5, 0.0], [-0.5, 0.6]]
        .map(|point| fabproj_core::Anchor {
            chart: 0,
            latent: point.to_vec(),
            parameters: vec![],
            point: point.to_vec(),
        })
        .to_vec();
    model
}

#[test]
fn repair_goes_to_the_boundary_from_the_nearest_anchor() {
    let projector = projector(&identity_model());
    let left_half = |y: &[f64], _: &[f64]| y[0] <= 0.0;
    let guard = Guard::new(&projector, left_half).expect("both anchors are feasible");
    assert_eq!(guard.verified_anchors(), 2);
    let mut workspace = guard.workspace();
    let mut out = [0.0; 2];
    let mut project = |y: [f32; 2]| {
        let status = guard
            .project(&y, &[], &mut out, &mut workspace)
            .expect("lengths fit");
        (status, out)
    };
    assert_eq!(project([-0.25, 0.5]), (Status::Kept, [-0.25, 0.5]));
    assert_eq!(project([-3.0, 0.5]).0, Status::Kept);
    // Clamped to (1, 0.6), which fails: the segment from (-0.5, 0.6) meets the boundary at x = 0.
    let (status, out) = project([2.0, 0.6]);
    assert_eq!(status, Status::Repaired);
    assert!(out[0] <= 0.0 && out[0] > -0.01 && out[1] == 0.6, "{out:?}");
    assert_eq!(project([f32::NAN, 0.0]).0, Status::Anchored);
}

#[test]
fn without_keeping_feasible_inputs_are_projected() {
    let projector = projector(&identity_model());
    let guard = Guard::new(&projector, |_: &[f64], _: &[f64]| true).expect("all is feasible");
    let guard = guard.keep_feasible(false);
    let mut out = [0.0; 2];
    let mut workspace = guard.workspace();
    let status = guard
        .project(&[3.0, 0.5], &[], &mut out, &mut workspace)
        .expect("lengths fit");
    assert_eq!((status, out), (Status::Projected, [1.0, 0.5]));
    let status = guard
        .project(&[0.25, 0.5], &[], &mut out, &mut workspace)
        .expect("lengths fit");
    assert_eq!((status, out), (Status::Inside, [0.25, 0.5]));
}

/// A stored point counts also where its decode does not pass: another machine's rounding, say.
#[test]
fn a_stored_point_is_enough() {
    let mut model = identity_model();
    model.anchors[0].point = vec![5.0, 5.0];
    let projector = projector(&model);
    let near_five = |y: &[f64], _: &[f64]| (y[0] - 5.0).abs() < 0.1 && (y[1] - 5.0).abs() < 0.1;
    let guard = Guard::new(projector, near_five).expect("the stored point is feasible");
    let mut out = [0.0; 2];
    let status = guard.project(&[0.0, 0.0], &[], &mut out, &mut guard.workspace());
    assert_eq!((status, out), (Ok(Status::Anchored), [5.0, 5.0]));
}

#[test]
fn a_model_of_another_set_is_refused() {
    let projector = projector(&identity_model());
    let far_away = |y: &[f64], _: &[f64]| y[0] > 100.0;
    let error = Guard::new(&projector, far_away).err();
    assert_eq!(
        error,
        Some(GuardError::NoFeasiblePoint {
            anchors: 2,
            searched: 256
        })
    );
}

#[test]
fn an_anchor_of_other_parameters_serves() {
    let mut shape = Shape::plain();
    shape.parameter_dim = 1;
    let mut model = shape.model(8);
    model.anchors = [-1.0_f32, 1.0]
        .map(|x| fabproj_core::Anchor {
            chart: 0,
            latent: vec![0.0; 2],
            parameters: vec![x],
            point: vec![x, 0.0],
        })
        .to_vec();
    let projector = projector(&model);
    // Feasible within 0.5 of x on the first axis, where no decode of this random model is.
    let moving = |y: &[f64], x: &[f64]| (y[0] - x[0]).abs() <= 0.5 && y[1] == 0.0;
    let guard = Guard::new(&projector, moving).expect("anchors are verified at each call");
    let mut workspace = guard.workspace();
    let mut out = [0.0; 2];
    let mut project = |x: f32| {
        let status = guard
            .project(&[9.0, 9.0], &[x], &mut out, &mut workspace)
            .expect("lengths fit");
        (status, out)
    };
    assert_eq!(project(0.8), (Status::Anchored, [1.0, 0.0]));
    assert_eq!(project(-0.6), (Status::Anchored, [-1.0, 0.0]));
    assert_eq!(project(0.0).0, Status::MaybeEmpty);
    assert_eq!(project(f32::NAN).0, Status::NotFinite);
}
