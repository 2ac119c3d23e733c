//! An answer of the paper's kind: a quadratic problem's numbers, the solver network, one projection.

use std::hint::black_box;

use fabproj::Projector;
use fabproj::core::Workspace;
use fabproj_nn::{Mlp, MlpSpec, Tape};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::projection::{DIM, flops_per_point, paper_weights};
use crate::{Case, Outcome};

/// Problems that take turns.
const PROBLEMS: usize = 1024;
/// The upper triangle of Q, then p.
const FEATURES: usize = DIM * (DIM + 3) / 2;
/// Q and p.
const NUMBERS: usize = DIM * DIM + DIM;

struct Answer {
    network: Mlp,
    tape: Tape,
    projector: Projector,
    workspace: Workspace,
    problems: Vec<[f64; NUMBERS]>,
    next: usize,
    flops: f64,
}

/// The solver network and the projector of the paper's size.
pub fn case() -> Outcome<Box<dyn Case>> {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let network = Mlp::new(MlpSpec::new(FEATURES, &[128; 3], DIM), &mut rng)?;
    let weights = paper_weights()?;
    let projector = Projector::new(&weights)?;
    let problem = |_| std::array::from_fn(|_| rng.random_range(-2.0..2.0));
    let problems = (0..PROBLEMS).map(problem).collect();
    let layers = (0..network.spec().layer_count()).map(|layer| network.weights(layer).len());
    Ok(Box::new(Answer {
        flops: 2.0 * layers.sum::<usize>() as f64 + flops_per_point(&weights),
        network,
        tape: Tape::new(),
        workspace: projector.workspace(),
        projector,
        problems,
        next: 0,
    }))
}

/// What the solver network reads.
fn features(problem: &[f64; NUMBERS]) -> [f32; FEATURES] {
    let (matrix, vector) = problem.split_at(DIM * DIM);
    let rows = matrix.chunks_exact(DIM).enumerate();
    let triangle = rows.flat_map(|(row, entries)| &entries[row..]);
    let mut features = [0.0; FEATURES];
    for (feature, value) in features.iter_mut().zip(triangle.chain(vector)) {
        *feature = *value as f32;
    }
    features
}

impl Case for Answer {
    fn call(&mut self) -> Outcome<u64> {
        let problem = black_box(&self.problems[self.next]);
        self.next = (self.next + 1) % PROBLEMS;
        let features = features(problem);
        let point = self.network.forward(&features, 1, &mut self.tape);
        let mut out = [0.0; DIM];
        let workspace = &mut self.workspace;
        let outcome = self.projector.project_into(point, &[], &mut out, workspace);
        black_box((outcome?, out));
        Ok(1)
    }

    fn flops(&self) -> f64 {
        self.flops
    }
}
