//! A step of phase 1 with the engine alone: reconstruction of points of an annulus, Adam.

use std::hint::black_box;

use fabproj_core::Activation;
use fabproj_nn::{Adam, AdamConfig, Mlp, MlpSpec, Tape};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{Case, Outcome};

const DIM: usize = 2;
const HIDDEN: [usize; 4] = [64; 4];
const BATCH: usize = 256;
/// Rows that go forward and backward together, as in the training's phase 1.
const PART: usize = 64;
const ROWS: usize = 48_000;
const LEARNING_RATE: f32 = 1e-3;

/// A network with all that its updates need.
struct Trained {
    network: Mlp,
    tape: Tape,
    gradient: Vec<f32>,
    adam: Adam,
}

impl Trained {
    fn new(output: Activation, rng: &mut ChaCha8Rng) -> Outcome<Self> {
        let network = Mlp::new(MlpSpec::new(DIM, &HIDDEN, DIM).with_output(output), rng)?;
        let length = network.parameters().len();
        Ok(Self {
            network,
            tape: Tape::new(),
            gradient: vec![0.0; length],
            adam: Adam::new(AdamConfig::default(), length),
        })
    }

    fn update(&mut self) {
        let parameters = self.network.parameters_mut();
        self.adam
            .consume(parameters, &mut self.gradient, LEARNING_RATE);
    }
}

struct PhaseOne {
    encoder: Trained,
    decoder: Trained,
    points: Vec<[f32; DIM]>,
    next: usize,
    d_output: Vec<f32>,
    d_latent: Vec<f32>,
    rng: ChaCha8Rng,
}

pub fn case() -> Outcome<Box<dyn Case>> {
    let mut rng = ChaCha8Rng::seed_from_u64(42);
    let uniform = || [rng.random_range(-2.0..2.0), rng.random_range(-2.0..2.0f32)];
    let feasible =
        |point: &[f32; DIM]| (1.0..=4.0).contains(&(point[0].powi(2) + point[1].powi(2)));
    let points = std::iter::repeat_with(uniform)
        .take(ROWS)
        .filter(feasible)
        .collect();
    Ok(Box::new(PhaseOne {
        encoder: Trained::new(Activation::Tanh, &mut rng)?,
        decoder: Trained::new(Activation::Identity, &mut rng)?,
        points,
        next: usize::MAX,
        d_output: vec![0.0; PART * DIM],
        d_latent: vec![0.0; PART * DIM],
        rng,
    }))
}

impl Case for PhaseOne {
    fn call(&mut self) {
        if self.next.saturating_add(BATCH) > self.points.len() {
            self.points.shuffle(&mut self.rng);
            self.next = 0;
        }
        let batch = self.points[self.next..self.next + BATCH].as_flattened();
        self.next += BATCH;
        let (encoder, decoder) = (&mut self.encoder, &mut self.decoder);
        let mut loss = 0.0;
        for part in batch.chunks_exact(PART * DIM) {
            let latents = encoder.network.forward(part, PART, &mut encoder.tape);
            let outputs = decoder.network.forward(latents, PART, &mut decoder.tape);
            for ((d, output), target) in self.d_output.iter_mut().zip(outputs).zip(part) {
                let error = output - target;
                loss += error * error;
                *d = 2.0 * error / (BATCH * DIM) as f32;
            }
            decoder.network.backward(
                &mut decoder.tape,
                &self.d_output,
                Some(&mut decoder.gradient),
                Some(&mut self.d_latent),
            );
            encoder.network.backward(
                &mut encoder.tape,
                &self.d_latent,
                Some(&mut encoder.gradient),
                None,
            );
        }
        black_box(loss);
        encoder.update();
        decoder.update();
    }

    /// Two for each multiply-add of the forward pass, the weights' and the inputs' gradient; the
    /// first layer's inputs need none.
    fn flops(&self) -> f64 {
        let multiply_adds =
            DIM * HIDDEN[0] + HIDDEN[0] * HIDDEN[0] * (HIDDEN.len() - 1) + HIDDEN[0] * DIM;
        (2 * BATCH * (2 * 3 * multiply_adds - DIM * HIDDEN[0])) as f64
    }
}
