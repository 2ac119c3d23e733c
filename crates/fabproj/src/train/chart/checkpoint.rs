//! A chart's training as bytes, to go on later with the same bits.

use std::io;

use serde::{Deserialize, Serialize};

use super::{ChartSettings, ChartTraining};
use fabproj_nn::state::{RandomState, State};

/// The part of a checkpoint that is not tensors.
#[derive(Serialize, Deserialize)]
struct Progress {
    settings: ChartSettings,
    step: u64,
    margin: f32,
    random: RandomState,
}

impl ChartTraining<'_> {
    /// Everything that a later process needs to go on with the same bits.
    pub(crate) fn state(&self) -> io::Result<Vec<u8>> {
        let progress = Progress {
            settings: self.settings.clone(),
            step: self.step,
            margin: self.margin,
            random: RandomState::of(&self.rng),
        };
        let mut state = State::new(&progress);
        let [encoder_adam, decoder_adam] = &self.optimiser;
        let [encoder_ema, decoder_ema] = &self.average;
        state.put_network("encoder", &self.encoder, encoder_adam, Some(encoder_ema));
        state.put_network("decoder", &self.decoder, decoder_adam, Some(decoder_ema));
        state.to_bytes()
    }

    /// Goes on from a saved state; false, and nothing usable, when it is not one of this training.
    pub(crate) fn restore(&mut self, bytes: &[u8]) -> bool {
        let Some(state) = State::from_bytes(bytes) else {
            return false;
        };
        let Some(progress) = state.value::<Progress>() else {
            return false;
        };
        let Some(rng) = progress.random.restore() else {
            return false;
        };
        let [encoder_adam, decoder_adam] = &mut self.optimiser;
        let [encoder_ema, decoder_ema] = &mut self.average;
        let fits = progress.settings == self.settings
            && state.get_network(
                "encoder",
                &mut self.encoder,
                encoder_adam,
                Some(encoder_ema),
            )
            && state.get_network(
                "decoder",
                &mut self.decoder,
                decoder_adam,
                Some(decoder_ema),
            );
        if !fits {
            return false;
        }
        for (adam, ema) in self.optimiser.iter_mut().zip(&mut self.average) {
            adam.step = progress.step;
            ema.step = progress.step;
        }
        self.step = progress.step;
        self.rng = rng;
        self.margin = progress.margin;
        self.erode();
        true
    }
}
