//! Answers of the learned tool, with networks made by hand: the point of a disc nearest to x, and a disc with a
//! bite.

use std::sync::atomic::{AtomicUsize, Ordering};

use fabproj_core::{
    AffineMap, Anchor, FormatError, Functions, KnownAnswers, LatentSet, Layer, Network, Proposer,
    SolveOutcome, Solver, SolverWeights, Weights,
};

use crate::common::counting::counted;
use crate::model_bytes::{Parts, leaves};

/// ‖y − x‖² where y is within the disc of radius 0.5 and y0 ≤ cut; nothing is known of the test.
struct Bitten {
    cut: f64,
}

impl Functions for Bitten {
    fn dim(&self) -> usize {
        2
    }
    fn x_dim(&self) -> usize {
        2
    }
    fn rows(&self) -> usize {
        1
    }
    fn values(&self, y: &[f64], x: &[f64], constraints: &mut [f64], _: &mut [f64]) -> f64 {
        let inside = y[0].hypot(y[1]) <= 0.5 && y[0] <= self.cut;
        constraints[0] = if inside { -1.0 } else { 1.0 };
        (y[0] - x[0]).powi(2) + (y[1] - x[1]).powi(2)
    }
    fn gradient(&self, y: &[f64], x: &[f64], _: &[f64], gradient: &mut [f64], _: &mut [f64]) {
        for i in 0..2 {
            gradient[i] = 2.0 * (y[i] - x[i]);
        }
    }
    fn slopes(&self, _: &[f64], _: &[f64], _: &[f64], slopes: &mut [f64], _: &mut [f64]) {
        slopes.fill(0.0);
    }
}

/// A projector onto the disc at any x, and a network that proposes x and the opposite point.
fn weights(tests: usize) -> SolverWeights {
    let disc = LatentSet::Ball {
        radius: 0.5,
        smooth: None,
    };
    let mut projector = Weights::identity(2, disc);
    projector.x_dim = 2;
    projector.x_frame.centre = vec![0.0; 2];
    projector.x_frame.scale = vec![1.0; 2];
    let chart = &mut projector.charts[0];
    // Both networks read x as well, and ignore it.
    let wide = vec![1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
    for network in [&mut chart.encoder, &mut chart.decoders[0]] {
        network.layers[0].inputs = 4;
        network.layers[0].weights.clone_from(&wide);
    }
    projector.anchors = vec![Anchor {
        chart: 0,
        latent: vec![-0.4, 0.0],
        x: vec![0.0; 2],
        point: vec![-0.4, 0.0],
    }];
    let layer = Layer {
        inputs: 2,
        outputs: 4,
        weights: vec![2.0, 0.0, 0.0, 2.0, -2.0, 0.0, 0.0, -2.0],
        bias: vec![0.0; 4],
    };
    let centre = AffineMap {
        constant: vec![0.0; 2],
        by_x: vec![0.0; 4],
    };
    SolverWeights {
        dim: 2,
        x_dim: 2,
        rows: 1,
        bounds: vec![(-1.0, 1.0); 2],
        start: centre.clone(),
        multipliers: AffineMap::default(),
        anchor: centre,
        metric: vec![1.0, 0.0, 0.0, 1.0],
        watched: vec![],
        pulls: vec![],
        gram: vec![],
        margins: vec![],
        active: vec![],
        steps: 0,
        linear: false,
        exact: false,
        near: None,
        x_range: vec![(-2.0, 2.0); 2],
        proposer: Some(Proposer {
            projector,
            network: Network {
                layers: vec![layer],
                ..Network::identity(2)
            },
            tests,
            stride: 0.5,
            known: KnownAnswers::default(),
        }),
        others: vec![],
    }
}

/// The same with good answers of the set that ends at y0 = 0.2, at x all around.
fn with_known(tests: usize) -> SolverWeights {
    let mut all = weights(tests);
    let known = &mut all.proposer.as_mut().expect("a proposer").known;
    for x in xs() {
        let length = x[0].hypot(x[1]).max(0.49);
        known.x.extend(x);
        known
            .y
            .extend([(0.49 * x[0] / length).min(0.19), 0.49 * x[1] / length]);
    }
    known.nearest = 3;
    all
}

fn xs() -> impl Iterator<Item = [f64; 2]> {
    (0..100).map(|i| {
        let angle = f64::from(i) * 0.7;
        [1.6 * angle.cos(), 1.6 * (1.3 * angle).sin()]
    })
}

#[test]
fn the_best_feasible_proposal_is_answered() {
    let solver = Solver::new(weights(0), Bitten { cut: 1.0 }).unwrap();
    for x in xs() {
        let (y, answer) = solver.solve(&x).unwrap();
        assert!(answer.outcome.is_verified() && answer.x_in_range);
        let length = x[0].hypot(x[1]);
        // The projection, up to single precision and the test's own edge.
        if answer.outcome == SolveOutcome::Solved && answer.objective < length * length {
            assert!((y[0] * x[1] - y[1] * x[0]).abs() < 1e-5, "{x:?} {y:?}");
        }
    }
}

#[test]
fn tests_improve_an_answer_and_never_leave_the_set() {
    let set = Bitten { cut: 0.2 };
    let (mut plain, mut polished) = (0.0, 0.0);
    for x in xs() {
        let answer = |tests| {
            let solver = Solver::new(weights(tests), Bitten { cut: 0.2 }).unwrap();
            let (y, answer) = solver.solve(&x).unwrap();
            assert!(answer.outcome.is_verified(), "{x:?}");
            let mut inside = [0.0];
            let objective = set.values(&y, &x, &mut inside, &mut []);
            assert_eq!((inside[0], objective), (-1.0, answer.objective));
            objective
        };
        let (before, after) = (answer(0), answer(40));
        assert!(after <= before);
        plain += before;
        polished += after;
    }
    assert!(polished < plain - 10.0, "{plain} {polished}");
}

#[test]
fn without_a_feasible_proposal_an_anchor_leads_back() {
    // The affine anchor and all proposals to the right are outside; the stored anchor is inside.
    let solver = Solver::new(weights(20), Bitten { cut: -0.3 }).unwrap();
    let (y, answer) = solver.solve(&[0.0, 1.0]).unwrap();
    assert_eq!(answer.outcome, SolveOutcome::Pulled);
    assert!(y[0] <= -0.3 && y[0] > -0.31, "{y:?}");

    let solver = Solver::new(weights(20), Bitten { cut: -0.6 }).unwrap();
    let (_, answer) = solver.solve(&[0.0, 1.0]).unwrap();
    assert_eq!(answer.outcome, SolveOutcome::MaybeInfeasible);
    let (_, answer) = solver.solve(&[f64::NAN, 1.0]).unwrap();
    assert_eq!(answer.outcome, SolveOutcome::NotFinite);
}

#[test]
fn an_answer_starts_from_the_known_answers_nearest_in_x() {
    let all = with_known(0);
    let known = all.proposer.clone().unwrap().known;
    let set = Bitten { cut: 0.2 };
    let solver = Solver::new(all, Bitten { cut: 0.2 }).unwrap();
    let mut from_known = 0;
    for (x, own) in xs().zip(known.y.chunks_exact(2)) {
        let (y, answer) = solver.solve(&x).unwrap();
        // The entry at x itself is the nearest; that of another x, or a point of the network, may be better.
        assert!(answer.objective <= set.values(own, &x, &mut [0.0], &mut []));
        from_known += usize::from(known.y.chunks_exact(2).any(|known| known == y));
    }
    // Points of the network are outside wherever x is on the right.
    assert!(from_known > 30, "{from_known}");
}

/// A set that counts its tests, beside an objective that can be asked for alone.
struct Counted {
    bitten: Bitten,
    tests: AtomicUsize,
}

impl Functions for Counted {
    fn dim(&self) -> usize {
        2
    }
    fn x_dim(&self) -> usize {
        2
    }
    fn rows(&self) -> usize {
        1
    }
    fn values(&self, y: &[f64], x: &[f64], constraints: &mut [f64], memory: &mut [f64]) -> f64 {
        self.tests.fetch_add(1, Ordering::Relaxed);
        self.bitten.values(y, x, constraints, memory)
    }
    fn objective(&self, y: &[f64], x: &[f64], memory: &mut [f64]) -> Option<f64> {
        Some(self.bitten.values(y, x, &mut [0.0], memory))
    }
    fn gradient(&self, y: &[f64], x: &[f64], weights: &[f64], gradient: &mut [f64], m: &mut [f64]) {
        self.bitten.gradient(y, x, weights, gradient, m);
    }
    fn slopes(&self, _: &[f64], _: &[f64], _: &[f64], slopes: &mut [f64], _: &mut [f64]) {
        slopes.fill(0.0);
    }
}

#[test]
fn what_is_not_better_is_not_tested() {
    let counted = Counted {
        bitten: Bitten { cut: 0.2 },
        tests: AtomicUsize::new(0),
    };
    let (mut alone, mut together) = (0.0, 0.0);
    let solver = Solver::new(with_known(20), &counted).unwrap();
    let plain = Solver::new(with_known(20), Bitten { cut: 0.2 }).unwrap();
    for x in xs() {
        counted.tests.store(0, Ordering::Relaxed);
        let (_, answer) = solver.solve(&x).unwrap();
        assert!(answer.outcome.is_verified());
        // One for each of two points of the network, and 20 more.
        assert!(counted.tests.load(Ordering::Relaxed) <= 22, "{x:?}");
        alone += answer.objective;
        together += plain.solve(&x).unwrap().1.objective;
    }
    // As good with fewer tests.
    assert!(alone < together + 0.05, "{alone} {together}");
}

#[test]
fn calls_do_not_allocate_and_batches_are_the_same() {
    let solver = Solver::new(with_known(30), Bitten { cut: 0.1 }).unwrap();
    let mut workspace = solver.workspace();
    let mut y = [0.0; 2];
    let ((), count) = counted(|| {
        for x in xs() {
            solver.solve_into(&x, &mut y, &mut workspace).unwrap();
        }
    });
    assert_eq!(count.allocations, 0);
    let x: Vec<f64> = xs().flatten().collect();
    let mut rows = vec![0.0; x.len()];
    let mut answers = vec![fabproj_core::Answer::default(); x.len() / 2];
    solver
        .solve_rows_into(&x, &mut rows, &mut answers, &mut workspace)
        .unwrap();
    for ((x, row), answer) in xs().zip(rows.chunks_exact(2)).zip(&answers) {
        assert_eq!(solver.solve(&x).unwrap(), (row.to_vec(), *answer));
    }
}

#[test]
fn the_gradient_is_that_of_the_proposal() {
    let solver = Solver::new(weights(0), Bitten { cut: 1.0 }).unwrap();
    let mut workspace = solver.pullback_workspace();
    let mut gradient = [0.0; 2];
    // Inside of the disc the answer is x itself.
    solver
        .pullback(&[0.2, 0.1], &[1.0, 2.0], &mut gradient, &mut workspace)
        .unwrap();
    assert!((gradient[0] - 1.0).abs() < 1e-3 && (gradient[1] - 2.0).abs() < 1e-3);
    // Outside it moves across the direction to x only.
    solver
        .pullback(&[1.0, 0.0], &[1.0, 2.0], &mut gradient, &mut workspace)
        .unwrap();
    assert!(
        gradient[0].abs() < 1e-3 && (gradient[1] - 1.0).abs() < 1e-2,
        "{gradient:?}"
    );
}

#[test]
fn files_come_back_and_other_weights_are_refused() {
    for weights in [weights(7), with_known(7)] {
        let bytes = weights.to_bytes().unwrap();
        assert_eq!(SolverWeights::from_bytes(&bytes).unwrap(), weights);
        assert_eq!(Weights::from_bytes(&bytes), Err(FormatError::Solver));
        // Files written before there were known answers have no entry.
        let proposer = Parts::of(&bytes).metadata()["solver"]["proposer"].clone();
        let known = &weights.proposer.as_ref().unwrap().known;
        assert_eq!(proposer.get("known").is_none(), known.y.is_empty());
    }
    let faults: [fn(&mut SolverWeights); 8] = [
        |weights| weights.proposer.as_mut().unwrap().known.nearest = 101,
        |weights| weights.proposer.as_mut().unwrap().known.y[5] = f64::NAN,
        |weights| weights.proposer.as_mut().unwrap().known.x.truncate(199),
        |weights| weights.proposer.as_mut().unwrap().known.y.truncate(199),
        |weights| weights.proposer.as_mut().unwrap().stride = f64::NAN,
        |weights| weights.proposer.as_mut().unwrap().network = Network::identity(3),
        |weights| weights.proposer.as_mut().unwrap().projector.x_dim = 1,
        |weights| weights.metric.clear(),
    ];
    for fault in faults {
        let mut wrong = with_known(7);
        fault(&mut wrong);
        assert!(Solver::new(wrong, Bitten { cut: 1.0 }).is_err());
    }
}

/// Every entry of the file's JSON object replaced by every kind of other value: no panic, and no allocation
/// beyond a small multiple of the file.
#[test]
fn edited_files_never_panic_or_allocate() {
    let bytes = with_known(7).to_bytes().unwrap();
    let values = serde_json::json!([0, -1, 1, 3, 0.5, 1e300, 4096, u64::MAX, null, [], "relu"]);
    let mut places = Vec::new();
    leaves(&Parts::of(&bytes).metadata(), String::new(), &mut places);
    let (mut edits, mut accepted) = (0, 0);
    for place in places.iter().filter(|place| *place != "/digest") {
        for value in values.as_array().unwrap() {
            let parts = Parts::of(&bytes);
            let mut metadata = parts.metadata();
            *metadata.pointer_mut(place).unwrap() = value.clone();
            let edited = parts.with_metadata(&metadata);
            let (read, count) = counted(|| SolverWeights::from_bytes(&edited));
            let most = 40 * edited.len() as isize;
            assert!(
                count.most < most,
                "{} bytes for {place} = {value}",
                count.most
            );
            edits += 1;
            let Ok(read) = read else { continue };
            if let Ok(solver) = Solver::new(read, Bitten { cut: 0.2 }) {
                accepted += 1;
                let _ = solver.solve(&[0.3, 0.4]).unwrap();
            }
        }
    }
    assert!(
        edits > 300 && accepted > 5,
        "{edits} edits, {accepted} accepted"
    );
}
