//! Whatever the weights and the membership test, what a guard calls verified has passed the test.

use std::cell::{Cell, RefCell};

use crate::common::{Random, Shape, cast, projector, row, wide};
use fabproj_core::{
    Anchor, Guard, GuardError, LatentSet, Layer, MAX_TESTS_PER_CALL, Membership, Outcome,
    Projector, Real, Weights,
};
use proptest::prelude::*;

/// How weights go wrong.
#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    CollapsedDecoder,
    HugeWeights,
    OverflowingDecoder,
    LyingAnchors,
    NoAnchors,
}

fn layers(weights: &mut Weights) -> impl Iterator<Item = &mut Layer> {
    let decoders = weights
        .charts
        .iter_mut()
        .flat_map(|chart| &mut chart.decoders);
    decoders.flat_map(|decoder| &mut decoder.layers)
}

fn break_weights(weights: &mut Weights, fault: Fault, random: &mut Random) {
    match fault {
        Fault::None => {}
        Fault::CollapsedDecoder => layers(weights).for_each(|layer| layer.weights.fill(0.0)),
        Fault::HugeWeights => {
            let encoders = weights
                .charts
                .iter_mut()
                .flat_map(|chart| &mut chart.encoder.layers);
            let weights = encoders.flat_map(|layer| &mut layer.weights);
            weights.for_each(|weight| *weight *= 1e30);
        }
        Fault::OverflowingDecoder => {
            layers(weights).for_each(|layer| layer.weights.iter_mut().for_each(|w| *w *= 1e37));
        }
        Fault::LyingAnchors => {
            for anchor in &mut weights.anchors {
                anchor.latent = random.floats(anchor.latent.len(), 1e6);
                anchor.point = random.floats(anchor.point.len(), 1e6);
            }
        }
        Fault::NoAnchors => weights.anchors.clear(),
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

/// A set that moves with x, and counts what it is asked. Whole batches are answered from the last row on.
struct Moving<'a> {
    set: &'a Set,
    tests: Cell<usize>,
}

impl Membership for Moving<'_> {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        self.tests.set(self.tests.get() + 1);
        let offset = x.first().copied().unwrap_or(0.0);
        let moved: Vec<_> = y.iter().map(|y| y - offset).collect();
        self.set.contains(&moved)
    }

    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        let rows = inside.len();
        assert!(rows > 0 && y.len().is_multiple_of(rows) && x.len().is_multiple_of(rows));
        assert!(inside.iter().all(|inside| !inside));
        let (n, p) = (y.len() / rows, x.len() / rows);
        for index in (0..rows).rev() {
            inside[index] = self.contains(row(y, index, n), row(x, index, p));
        }
    }
}

struct Case<'a> {
    projector: &'a Projector,
    set: &'a Set,
    keep: bool,
}

impl Case<'_> {
    fn guard(&self) -> Result<Guard<Moving<'_>>, GuardError> {
        let test = Moving {
            set: self.set,
            tests: Cell::new(0),
        };
        let guard = Guard::new(self.projector.clone(), test)?;
        Ok(guard.keep_feasible(self.keep))
    }

    /// Rows and single points agree, and what is said to be verified passes the test.
    fn check<T: Real>(&self, y: &[T], x: &[T], fixed: bool) -> Result<(), TestCaseError> {
        let guard = match self.guard() {
            Ok(guard) => guard,
            Err(GuardError::NoFeasiblePoint { anchors, .. }) => {
                prop_assert!(fixed);
                prop_assert_eq!(anchors, self.projector.anchors().len());
                return self.check_anchors();
            }
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        };
        let test = guard.membership();
        let (n, p) = (self.projector.dim(), self.projector.x_dim());
        let (out, outcomes) = guard.project_rows(y, x)?;
        let mut workspace = guard.workspace();
        for (index, outcome) in outcomes.iter().enumerate() {
            let (y, x, out) = (row(y, index, n), row(x, index, p), row(&out, index, n));
            prop_assert!(out.iter().all(|value| value.to_f64().is_finite()));
            let known = x.iter().all(|x| x.to_f64().is_finite());
            prop_assert_eq!(*outcome == Outcome::NotFinite, !known);
            if known {
                prop_assert_eq!(
                    outcome.is_verified(),
                    test.contains(&wide(out), &wide(x)),
                    "{:?}",
                    outcome
                );
            }
            // With equations no anchor may be feasible in f32.
            let excused = size_of::<T>() == 4 && self.projector.equations().is_some();
            prop_assert!(!fixed || excused || outcome.is_verified(), "{:?}", outcome);
            if *outcome == Outcome::Kept {
                let bits = |values: &[T]| -> Vec<u64> {
                    values
                        .iter()
                        .map(|value| value.to_f64().to_bits())
                        .collect()
                };
                prop_assert_eq!(bits(y), bits(out));
            }
            test.tests.set(0);
            let mut one = vec![T::default(); n];
            prop_assert_eq!(
                guard.project_into(y, x, &mut one, &mut workspace)?,
                *outcome
            );
            prop_assert!(
                test.tests.get() <= MAX_TESTS_PER_CALL,
                "{} tests",
                test.tests.get()
            );
            prop_assert_eq!(&one[..], out);
            prop_assert_eq!(guard.project(y, x)?, (one, *outcome));
        }
        Ok(())
    }

    /// A refusal is honest: then no stored point is feasible either.
    fn check_anchors(&self) -> Result<(), TestCaseError> {
        for anchor in self.projector.anchors() {
            let mut point = wide(&anchor.point);
            if let Some(equations) = self.projector.equations() {
                let z = point;
                point = vec![0.0; equations.dim()];
                equations.raise(&z, &[], &mut point)?;
            }
            prop_assert!(!self.set.contains(&point));
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn fixed_sets(
        mut shape in crate::common::shapes(),
        seed in any::<u64>(),
        fault in faults(),
        set in sets(),
        keep in any::<bool>(),
    ) {
        shape.x_dim = 0;
        let mut random = Random(seed);
        let mut weights = shape.weights(seed);
        break_weights(&mut weights, fault, &mut random);
        let projector = projector(&weights);
        let y = inputs(40 * projector.dim(), &mut random);
        let case = Case { projector: &projector, set: &set, keep };
        case.check(&y, &[], true)?;
        case.check::<f64>(&cast(&y), &[], true)?;
    }

    #[test]
    fn sets_that_depend_on_x(
        mut shape in crate::common::shapes(),
        seed in any::<u64>(),
        fault in faults(),
        set in sets(),
        keep in any::<bool>(),
    ) {
        shape.x_dim = shape.x_dim.max(1);
        let mut random = Random(seed);
        let mut weights = shape.weights(seed);
        break_weights(&mut weights, fault, &mut random);
        let projector = projector(&weights);
        let y = inputs(6 * projector.dim(), &mut random);
        let x = inputs(6 * projector.x_dim(), &mut random);
        let case = Case { projector: &projector, set: &set, keep };
        case.check(&y, &x, false)?;
        case.check::<f64>(&cast(&y), &cast(&x), false)?;
    }
}

/// The identity on the box of half side 1 around the origin.
fn identity() -> Weights {
    let unit_box = LatentSet::Box {
        half: 1.0,
        smooth: None,
    };
    let mut weights = Weights::identity(2, unit_box);
    weights.anchors = [[-0.5, 0.0], [-0.5, 0.6]]
        .map(|point| Anchor {
            chart: 0,
            latent: point.to_vec(),
            x: vec![],
            point: point.to_vec(),
        })
        .to_vec();
    weights
}

#[test]
fn repair_goes_to_the_boundary_from_the_nearest_anchor() {
    let guard = Guard::from_fn(projector(&identity()), |y, _| y[0] <= 0.0);
    let guard = guard.expect("both anchors are feasible");
    assert_eq!(guard.verified_anchors(), 2);
    let project = |y: [f32; 2]| guard.project(&y, &[]).expect("lengths fit");
    assert_eq!(project([-0.25, 0.5]), (vec![-0.25, 0.5], Outcome::Kept));
    assert_eq!(project([-3.0, 0.5]).1, Outcome::Kept);
    // Clamped to (1, 0.6), which fails: the segment from (-0.5, 0.6) meets the boundary at x = 0.
    let (out, outcome) = project([2.0, 0.6]);
    assert_eq!(outcome, Outcome::Repaired);
    assert!(out[0] <= 0.0 && out[0] > -0.01 && out[1] == 0.6, "{out:?}");
    assert_eq!(project([f32::NAN, 0.0]).1, Outcome::Anchored);
}

#[test]
fn without_keeping_feasible_inputs_are_projected() {
    let guard = Guard::from_fn(projector(&identity()), |_, _| true).expect("all is feasible");
    let guard = guard.keep_feasible(false);
    let found = guard.project(&[3.0, 0.5], &[]).expect("lengths fit");
    assert_eq!(found, (vec![1.0, 0.5], Outcome::Projected));
}

/// A stored point counts also where its decode does not pass: another machine's rounding, say.
#[test]
fn a_stored_point_is_enough() {
    let mut weights = identity();
    weights.anchors[0].point = vec![5.0, 5.0];
    let near_five = |y: &[f64], _: &[f64]| (y[0] - 5.0).abs() < 0.1 && (y[1] - 5.0).abs() < 0.1;
    let guard = Guard::from_fn(projector(&weights), near_five);
    let guard = guard.expect("the stored point is feasible");
    let found = guard.project(&[0.0, 0.0], &[]);
    assert_eq!(found, Ok((vec![5.0, 5.0], Outcome::Anchored)));
}

#[test]
fn weights_of_another_set_are_refused() {
    let error = Guard::from_fn(projector(&identity()), |y, _| y[0] > 100.0).err();
    let expected = GuardError::NoFeasiblePoint {
        anchors: 2,
        searched: 256,
    };
    assert_eq!(error, Some(expected));
}

#[test]
fn an_anchor_of_another_x_serves() {
    let shape = Shape {
        x_dim: 1,
        ..Shape::plain()
    };
    let mut weights = shape.weights(8);
    weights.anchors = [-1.0_f32, 1.0]
        .map(|x| Anchor {
            chart: 0,
            latent: vec![0.0; 2],
            x: vec![x],
            point: vec![x, 0.0],
        })
        .to_vec();
    // Feasible within 0.5 of x on the first axis, where no decode of these random weights is.
    let moving = |y: &[f64], x: &[f64]| (y[0] - x[0]).abs() <= 0.5 && y[1] == 0.0;
    let guard = Guard::from_fn(projector(&weights), moving);
    let guard = guard.expect("anchors are verified at each call");
    let project = |x: f32| guard.project(&[9.0, 9.0], &[x]).expect("lengths fit");
    assert_eq!(project(0.8), (vec![1.0, 0.0], Outcome::Anchored));
    assert_eq!(project(-0.6), (vec![-1.0, 0.0], Outcome::Anchored));
    assert_eq!(project(0.0).1, Outcome::MaybeEmpty);
    assert_eq!(project(f32::NAN).1, Outcome::NotFinite);
}

/// Borrowed, boxed and shared tests, and those behind a trait object.
#[test]
fn a_test_may_be_held_in_any_way() {
    struct Left;
    impl Membership for Left {
        fn contains(&self, y: &[f64], _: &[f64]) -> bool {
            y[0] <= 0.0
        }
    }
    fn verifies(test: impl Membership) -> bool {
        let guard = Guard::new(projector(&identity()), test).expect("both anchors are feasible");
        let (y, outcome) = guard.project(&[2.0, 0.6], &[]).expect("lengths fit");
        outcome.is_verified() && y[0] <= 0.0
    }
    let boxed: Box<dyn Membership> = Box::new(Left);
    assert!(verifies(&Left) && verifies(&*boxed) && verifies(std::sync::Arc::new(Left)));
    assert!(verifies(boxed));
}

/// Answers batches only, and counts them.
#[derive(Default)]
struct Batches {
    asked: RefCell<Vec<usize>>,
}

impl Membership for Batches {
    fn contains(&self, y: &[f64], _: &[f64]) -> bool {
        y[0] <= 0.9
    }

    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        self.asked.borrow_mut().push(inside.len());
        for (index, inside) in inside.iter_mut().enumerate() {
            *inside = self.contains(row(y, index, 2), x);
        }
    }
}

#[test]
fn rows_are_asked_about_in_blocks() {
    let guard = Guard::new(projector(&identity()), Batches::default());
    let guard = guard.expect("both anchors are feasible");
    let y = Random(1).floats(2 * 2500, 1.5);
    guard.membership().asked.borrow_mut().clear();
    let (out, outcomes) = guard.project_rows(&y, &[]).expect("lengths fit");
    // The inputs and the projections of three blocks; repairs ask about single points.
    let asked = guard.membership().asked.borrow();
    assert_eq!(asked.len(), 6, "{asked:?}");
    assert_eq!(asked.iter().step_by(2).sum::<usize>(), 2500);
    for (index, outcome) in outcomes.into_iter().enumerate() {
        let one = guard.project(row(&y, index, 2), &[]);
        assert_eq!(one, Ok((row(&out, index, 2).to_vec(), outcome)));
    }
}
