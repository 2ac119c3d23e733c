//! What the steps of both phases have in common: the data and a network with all that updates need.

use fabproj::core::Activation;
use fabproj::nn::{Adam, AdamConfig, Mlp, MlpSpec, Tape};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::Outcome;

pub const DIM: usize = 2;
pub const HIDDEN: [usize; 4] = [64; 4];
pub const BATCH: usize = 256;
/// The training part of 60,000 points.
const ROWS: usize = 48_000;
const LEARNING_RATE: f32 = 1e-3;

/// Multiply-adds of one row through an encoder or a decoder.
pub const MULTIPLY_ADDS: usize = 2 * DIM * HIDDEN[0] + (HIDDEN.len() - 1) * HIDDEN[0] * HIDDEN[0];

/// Whether a point lies in `concentric-circles`, the set that all are trained on.
pub fn is_feasible(point: [f32; DIM]) -> bool {
    (1.0..=4.0).contains(&(point[0] * point[0] + point[1] * point[1]))
}

/// Points in shuffled batches, epoch after epoch.
pub struct Batches {
    points: Vec<[f32; DIM]>,
    next: usize,
    rng: ChaCha8Rng,
}

impl Batches {
    /// Uniform points of the square of side 4 that `keep` wants.
    pub fn new(keep: impl Fn(&[f32; DIM]) -> bool) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(42);
        let uniform = || [rng.random_range(-2.0..2.0), rng.random_range(-2.0..2.0f32)];
        let points = std::iter::repeat_with(uniform)
            .take(ROWS)
            .filter(keep)
            .collect();
        Self {
            points,
            next: usize::MAX,
            rng,
        }
    }

    pub fn draw(&mut self) -> &[[f32; DIM]] {
        if self.next.saturating_add(BATCH) > self.points.len() {
            self.points.shuffle(&mut self.rng);
            self.next = 0;
        }
        self.next += BATCH;
        &self.points[self.next - BATCH..self.next]
    }

    /// All points, in the present order.
    pub fn all(&mut self) -> &mut [[f32; DIM]] {
        &mut self.points
    }
}

/// A network with all that its updates need.
pub struct Trained {
    pub network: Mlp,
    pub tape: Tape,
    pub gradient: Vec<f32>,
    adam: Adam,
}

impl Trained {
    pub fn encoder(rng: &mut ChaCha8Rng) -> Outcome<Self> {
        Self::new(
            MlpSpec::new(DIM, &HIDDEN, DIM).with_output(Activation::Tanh),
            rng,
        )
    }

    pub fn decoder(rng: &mut ChaCha8Rng) -> Outcome<Self> {
        Self::new(MlpSpec::new(DIM, &HIDDEN, DIM), rng)
    }

    pub fn new(spec: MlpSpec, rng: &mut ChaCha8Rng) -> Outcome<Self> {
        let network = Mlp::new(spec, rng)?;
        let length = network.parameters().len();
        Ok(Self {
            network,
            tape: Tape::new(),
            gradient: vec![0.0; length],
            adam: Adam::new(AdamConfig::default(), length),
        })
    }

    /// One update by Adam, after which the gradient is zero again.
    pub fn update(&mut self) {
        self.adam
            .update(self.network.parameters_mut(), &self.gradient, LEARNING_RATE);
        self.gradient.fill(0.0);
    }
}
