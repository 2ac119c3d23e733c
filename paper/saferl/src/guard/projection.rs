//! The projection φ of a guard for rows of actions, with its derivative.

use std::sync::Arc;

use super::autoencoder::{clamp, clamp_back};
use super::features::FEATURES;
use super::model::Guard;
use super::set_net::SetTape;
use crate::filter::ActionProjector;

/// φ(a, o) = R(clamp(E(u, s)), s) in the task's units, s the features of the observation.
pub(crate) struct GuardProjector {
    guard: Arc<Guard>,
}

/// What a projection leaves behind for its derivative.
struct Pass {
    latents: Vec<f32>,
    decoded: Vec<f32>,
    encode: SetTape,
    decode: SetTape,
}

impl GuardProjector {
    pub(crate) fn new(guard: Arc<Guard>) -> Self {
        Self { guard }
    }

    fn features(&self, observations: &[f32], rows: usize) -> Vec<f32> {
        let width = observations.len() / rows.max(1);
        let mut features = vec![0.0; rows * FEATURES];
        for (observation, slot) in observations
            .chunks_exact(width.max(1))
            .zip(features.chunks_exact_mut(FEATURES))
        {
            let wide: Vec<f64> = observation.iter().map(|value| f64::from(*value)).collect();
            self.guard.map.write(&wide, slot);
        }
        features
    }

    fn run(&self, observations: &[f32], actions: &[f32]) -> Pass {
        let scale = self.guard.scale;
        let features = self.features(observations, actions.len() / 2);
        let unit =
            |(index, value): (usize, &f32)| (value / scale[index % 2] as f32).clamp(-1.0, 1.0);
        let units: Vec<f32> = actions.iter().enumerate().map(unit).collect();
        let (mut encode, mut decode) = (SetTape::default(), SetTape::default());
        let autoencoder = &self.guard.autoencoder;
        let latents = autoencoder.encode(&features, &units, 1, &mut encode);
        let decoded = autoencoder.decode(&features, &clamp(&latents), 1, &mut decode);
        Pass {
            latents,
            decoded,
            encode,
            decode,
        }
    }
}

impl ActionProjector for GuardProjector {
    fn project(&self, observations: &[f32], actions: &[f32]) -> Vec<f32> {
        let decoded = self.run(observations, actions).decoded;
        let scaled = decoded.iter().enumerate();
        scaled
            .map(|(index, unit)| unit * self.guard.scale[index % 2] as f32)
            .collect()
    }

    fn pull_back(&self, observations: &[f32], actions: &[f32], d_projected: &[f32]) -> Vec<f32> {
        let Pass {
            latents,
            decoded,
            mut encode,
            mut decode,
        } = self.run(observations, actions);
        let (scale, autoencoder) = (self.guard.scale, &self.guard.autoencoder);
        let d_units = d_projected.iter().enumerate();
        let d_units: Vec<f32> = d_units.map(|(i, d)| d * scale[i % 2] as f32).collect();
        let d_inside = autoencoder.decode_back(&decoded, &d_units, &mut decode, None);
        let d_latents = clamp_back(&latents, &d_inside);
        let d_actions = autoencoder.encode_back(&d_latents, &mut encode);
        let each = d_actions.iter().zip(actions).enumerate();
        each.map(|(index, (d, action))| {
            let scale = scale[index % 2] as f32;
            if action.abs() < scale { d / scale } else { 0.0 }
        })
        .collect()
    }
}
