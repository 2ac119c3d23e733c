//! Steps of the paper's two phases, as the preset `paper` makes them on `concentric-circles`.

use fab_method::{PaperSettings, PaperTraining, PhaseOne};
use fabproj::Session;
use fabproj::set::{Set, built_in};

use crate::{Case, Outcome};

const DIM: usize = 2;
/// The training part of 60,000 points.
const ROWS: usize = 48_000;
/// Epochs of phase 1 in a call: what comes before its first step is then too little to matter.
const EPOCHS: usize = 8;

fn settings() -> PaperSettings {
    PaperSettings {
        samples: Some(ROWS),
        validation_share: 0.0,
        phase_one_epochs: EPOCHS,
        phase_two_epochs: 1,
        ..PaperSettings::released()
    }
}

/// The set stays for as long as the process does.
fn training() -> Outcome<PaperTraining<'static>> {
    let set: &'static dyn Set = &**Box::leak(Box::new(built_in("concentric-circles")?));
    Ok(PaperTraining::new(set, &settings().validate()?, 42)?)
}

/// Multiply-adds of one row through layers of these widths.
fn multiply_adds(inputs: usize, hidden: &[usize], outputs: usize) -> f64 {
    let widths: Vec<usize> = [&[inputs], hidden, &[outputs]].concat();
    widths
        .windows(2)
        .map(|pair| (pair[0] * pair[1]) as f64)
        .sum()
}

/// Multiply-adds of one row through the encoder, and through the decoder.
fn autoencoder_multiply_adds(settings: &PaperSettings) -> f64 {
    multiply_adds(
        DIM,
        &vec![settings.encoder_width; settings.encoder_depth],
        DIM,
    )
}

struct First {
    training: PaperTraining<'static>,
}

/// Phase 1: reconstruction of feasible points.
pub fn phase_one() -> Outcome<Box<dyn Case>> {
    Ok(Box::new(First {
        training: training()?,
    }))
}

impl Case for First {
    fn call(&mut self) -> Outcome<u64> {
        Ok(self.training.phase_one(&Session::new())?.summary().steps)
    }

    /// Two for each multiply-add of the forward pass, the weights' and the inputs' gradient; the
    /// first layer's inputs need none.
    fn flops(&self) -> f64 {
        let settings = settings();
        let first_layer = (DIM * settings.encoder_width) as f64;
        2.0 * settings.batch as f64
            * (2.0 * 3.0 * autoencoder_multiply_adds(&settings) - first_layer)
    }
}

struct Second {
    training: PaperTraining<'static>,
    phase_one: PhaseOne,
}

/// Phase 2: three discriminator steps with oracle labels and one autoencoder step for each batch.
pub fn phase_two() -> Outcome<Box<dyn Case>> {
    let training = training()?;
    let phase_one = training.phase_one(&Session::new())?;
    Ok(Box::new(Second {
        training,
        phase_one,
    }))
}

impl Case for Second {
    fn call(&mut self) -> Outcome<u64> {
        let session = Session::new();
        let trained = self
            .training
            .phase_two(&self.phase_one, settings().weights, &session)?;
        Ok(trained.summary.phase_two.map_or(0, |summary| summary.steps))
    }

    /// As in phase 1, counting the passes that the mathematics needs: the encoder's, the decoder's of the
    /// batch, of the ball, of the tangents and of the points for the discriminator, and the discriminator's.
    fn flops(&self) -> f64 {
        let settings = settings();
        let [batch, steps] =
            [settings.batch, settings.discriminator_steps].map(|count| count as f64);
        let tangents = (settings.geometry_rows * DIM) as f64;
        let autoencoder = autoencoder_multiply_adds(&settings);
        let discriminator = multiply_adds(DIM, &settings.discriminator, 1);
        let encoder_rows = 3.0 * batch;
        let decoder_rows = 3.0 * (2.0 * batch + tangents) + steps * batch;
        let discriminator_rows = steps * 3.0 * 3.0 * batch + 2.0 * 2.0 * batch;
        2.0 * ((encoder_rows + decoder_rows) * autoencoder + discriminator_rows * discriminator)
    }
}
