//! A step of phase 1: reconstruction of feasible points, mean squared error, Adam.

use std::hint::black_box;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::training::{BATCH, Batches, DIM, HIDDEN, MULTIPLY_ADDS, Trained, is_feasible};
use crate::{Case, Outcome};

struct PhaseOne {
    encoder: Trained,
    decoder: Trained,
    batches: Batches,
    d_output: Vec<f32>,
    d_latent: Vec<f32>,
}

pub fn case() -> Outcome<Box<dyn Case>> {
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    Ok(Box::new(PhaseOne {
        encoder: Trained::encoder(rng)?,
        decoder: Trained::decoder(rng)?,
        batches: Batches::new(|point| is_feasible(*point)),
        d_output: vec![0.0; BATCH * DIM],
        d_latent: vec![0.0; BATCH * DIM],
    }))
}

impl Case for PhaseOne {
    fn call(&mut self) {
        let batch = self.batches.draw().as_flattened();
        let (encoder, decoder) = (&mut self.encoder, &mut self.decoder);
        let latents = encoder.network.forward(batch, BATCH, &mut encoder.tape);
        let outputs = decoder.network.forward(latents, BATCH, &mut decoder.tape);
        let mut loss = 0.0;
        for ((d, output), target) in self.d_output.iter_mut().zip(outputs).zip(batch) {
            let error = output - target;
            loss += error * error;
            *d = 2.0 * error / (BATCH * DIM) as f32;
        }
        black_box(loss);
        let (gradient, d_latent) = (
            Some(&mut decoder.gradient[..]),
            Some(&mut self.d_latent[..]),
        );
        decoder
            .network
            .backward(&mut decoder.tape, &self.d_output, gradient, d_latent);
        let gradient = Some(&mut encoder.gradient[..]);
        encoder
            .network
            .backward(&mut encoder.tape, &self.d_latent, gradient, None);
        encoder.update();
        decoder.update();
    }

    /// Two for each multiply-add of the forward pass, the weights' and the inputs' gradient; the
    /// first layer's inputs need none.
    fn flops(&self) -> f64 {
        (2 * BATCH * (2 * 3 * MULTIPLY_ADDS - DIM * HIDDEN[0])) as f64
    }
}
