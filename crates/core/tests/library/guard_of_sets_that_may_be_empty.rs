//! A guard of a set that depends on x where no decode is feasible: it searches, and where the set is empty
//! it says so and returns the least violating point.

use std::cell::{Cell, RefCell};

use crate::common::{Random, Shape, cast, projector, wide};
use fabproj_core::{
    Anchor, Frame, Guard, LatentSet, MAX_TESTS_PER_CALL, Membership, Network, Outcome, Weights,
};
use proptest::prelude::*;

/// A set by its violation.
struct Violated<V>(V);

impl<V: Fn(&[f64], &[f64]) -> f64> Membership for Violated<V> {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        (self.0)(y, x) <= 0.0
    }

    fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        assert_eq!(gradient.len(), y.len());
        Some((self.0)(y, x))
    }
}

/// Projects onto the box of half side 1 in the plane, whatever x is.
fn onto_the_box() -> Weights {
    let mut shape = Shape::plain();
    shape.x_dim = 1;
    let mut weights = shape.weights(4);
    let mut identity = Network::identity(2);
    identity.layers[0].inputs = 3;
    identity.layers[0].weights = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let chart = &mut weights.charts[0];
    chart.encoder = identity.clone();
    chart.decoders = vec![identity];
    chart.latent = LatentSet::Box {
        half: 1.0,
        smooth: None,
    };
    chart.frame = Frame::unit(2);
    weights.frame = chart.frame.clone();
    weights.anchors = vec![Anchor {
        chart: 0,
        latent: vec![0.9, 0.9],
        x: vec![0.0],
        point: vec![0.9, 0.9],
    }];
    weights
}

/// A test without violations.
struct Closure<F>(F);

impl<F: Fn(&[f64], &[f64]) -> bool> Membership for Closure<F> {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        (self.0)(y, x)
    }
}

fn guarded(test: impl Membership, y: [f32; 2], x: f32) -> (Outcome, [f32; 2]) {
    let guard = Guard::new(projector(&onto_the_box()), test);
    let guard = guard.expect("anchors are verified at each call");
    let (out, outcome) = guard.project(&y, &[x]).expect("lengths fit");
    (outcome, [out[0], out[1]])
}

#[test]
fn an_empty_set_gives_the_least_violating_point() {
    // y0 ≤ -x and y0 ≥ x: empty for positive x, and violated least where y0 is 0.
    let split = |y: &[f64], x: &[f64]| (y[0] + x[0]).max(x[0] - y[0]);
    let (outcome, out) = guarded(Violated(split), [3.0, 0.2], 0.5);
    assert_eq!(outcome, Outcome::MaybeEmpty);
    assert!(!outcome.is_verified());
    assert!(out[0].abs() < 0.02, "{out:?}");
    // The same set at an x where it is not empty.
    let (outcome, out) = guarded(Violated(split), [3.0, 0.2], -0.5);
    assert!(outcome.is_verified());
    assert!(out[0].abs() <= 0.5);
}

#[test]
fn without_a_violation_an_empty_set_leaves_the_projection() {
    let nothing = |_: &[f64], _: &[f64]| false;
    let found = guarded(Closure(nothing), [3.0, 0.2], 0.5);
    assert_eq!(found, (Outcome::MaybeEmpty, [1.0, 0.2]));
    // Without a projection either: the projector's fallback.
    let found = guarded(Closure(nothing), [f32::NAN, 0.2], 0.5);
    assert_eq!(found, (Outcome::MaybeEmpty, [0.9, 0.9]));
}

#[test]
fn violations_that_are_not_numbers_count_for_nothing() {
    let unknown = |_: &[f64], _: &[f64]| f64::NAN;
    let found = guarded(Violated(unknown), [3.0, 0.2], 0.5);
    assert_eq!(found, (Outcome::MaybeEmpty, [1.0, 0.2]));
}

#[test]
fn a_search_finds_what_no_decode_reaches() {
    let above = |y: &[f64], _: &[f64]| y[1] >= 1.5;
    let (outcome, out) = guarded(Closure(above), [0.3, -0.5], 0.0);
    assert_eq!(outcome, Outcome::Anchored);
    // Walked back toward the projection, to the boundary.
    assert!(out[1] >= 1.5 && out[1] < 1.52, "{out:?}");
}

#[test]
fn a_violation_leads_to_what_is_small_and_far() {
    // A disc of radius 0.1: 1 in 2000 of the largest box.
    let centre = |x: &[f64]| [2.0 + x[0], -1.7];
    let small = |y: &[f64], x: &[f64]| {
        let centre = centre(x);
        (y[0] - centre[0]).hypot(y[1] - centre[1]) - 0.1
    };
    for x in [-0.4, 0.0, 0.3] {
        let (outcome, out) = guarded(Violated(small), [-0.9, 0.4], x);
        assert_eq!(outcome, Outcome::Anchored, "at {x}");
        assert!(small(&out.map(f64::from), &[f64::from(x)]) <= 0.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_that_was_tested_violates_less(
        mut shape in crate::common::shapes(),
        seed in any::<u64>(),
        keep in any::<bool>(),
        broken in any::<bool>(),
    ) {
        shape.x_dim = shape.x_dim.max(1);
        let mut random = Random(seed);
        let mut weights = shape.weights(seed);
        if broken {
            let decoders = weights.charts.iter_mut().flat_map(|chart| &mut chart.decoders);
            let layers = decoders.flat_map(|decoder| &mut decoder.layers);
            layers.for_each(|layer| layer.weights.iter_mut().for_each(|w| *w *= 1e37));
        }
        let projector = projector(&weights);
        let target = random.floats(projector.dim(), 3.0);
        let tested = RefCell::new(Vec::new());
        let weighed = Cell::new(0);
        let test = Nowhere { target: &target, tested: &tested, weighed: &weighed };
        let guard = Guard::new(projector, test).expect("anchors are verified at each call");
        let guard = guard.keep_feasible(keep);
        let (n, p) = (guard.projector().dim(), shape.x_dim);
        for double in [false, true] {
            tested.borrow_mut().clear();
            weighed.set(0);
            let (y, x) = (random.floats(n, 4.0), random.floats(p, 1.0));
            let (out, outcome) = if double {
                guard.project::<f64>(&cast(&y), &cast(&x))?
            } else {
                let (out, outcome) = guard.project(&y, &x)?;
                (wide(&out), outcome)
            };
            prop_assert_eq!(outcome, Outcome::MaybeEmpty);
            let tested = tested.borrow();
            let least = tested.iter().map(|y| away(y, &target)).fold(f64::INFINITY, f64::min);
            prop_assert_eq!(away(&out, &target), least);
            prop_assert!(tested.len() <= MAX_TESTS_PER_CALL, "{} tests", tested.len());
            prop_assert!(weighed.get() <= MAX_TESTS_PER_CALL, "{} violations", weighed.get());
        }
    }
}

/// An empty set that remembers what it was asked.
struct Nowhere<'a> {
    target: &'a [f32],
    tested: &'a RefCell<Vec<Vec<f64>>>,
    weighed: &'a Cell<usize>,
}

impl Membership for Nowhere<'_> {
    fn contains(&self, y: &[f64], _: &[f64]) -> bool {
        self.tested.borrow_mut().push(y.to_vec());
        false
    }

    fn violation(&self, y: &[f64], _: &[f64], _: &mut [f64]) -> Option<f64> {
        self.weighed.set(self.weighed.get() + 1);
        Some(away(y, self.target))
    }
}

fn away(y: &[f64], target: &[f32]) -> f64 {
    let squares = y
        .iter()
        .zip(target)
        .map(|(y, t)| (y - f64::from(*t)).powi(2));
    1.0 + squares.sum::<f64>().sqrt()
}
