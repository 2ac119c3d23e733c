//! The two phases as things that can be driven.

use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::autoencoder::Reconstructing;
use super::drive::Phase;
use super::losses::Losses;
use super::material::{Batches, Frames, Material, Purpose, gather_flags, gather_rows, sub_seed};
use super::structuring::{Batch, Judge, Structuring};
use fabproj::set::Set;
use fabproj_nn::state::State;

/// Phase 1 on its rows.
pub(super) struct PhaseOneRun<'a> {
    pub(super) work: Reconstructing,
    material: &'a Material,
    batches: Batches,
    rows: Vec<f32>,
}

impl<'a> PhaseOneRun<'a> {
    pub(super) fn new(work: Reconstructing, material: &'a Material, batches: Batches) -> Self {
        Self {
            work,
            material,
            batches,
            rows: Vec::new(),
        }
    }
}

impl Phase for PhaseOneRun<'_> {
    fn step(&mut self, step: u64) -> Losses {
        let material = self.material;
        gather_rows(
            &material.rows,
            material.width,
            self.batches.rows(step),
            &mut self.rows,
        );
        Losses {
            reconstruction: self.work.step(&self.rows),
            ..Losses::default()
        }
    }

    fn save(&self, state: &mut State) {
        self.work.autoencoder.save(state);
    }

    fn load(&mut self, steps: u64, state: &State) -> bool {
        self.work.autoencoder.load(steps, state)
    }
}

/// Phase 2 on its rows.
pub(super) struct PhaseTwoRun<'a> {
    pub(super) work: Structuring,
    material: Arc<Material>,
    batches: Batches,
    judge: SetJudge<'a>,
    /// Latents of step t come from stream t, so that a step needs no memory of those before it.
    rng: ChaCha8Rng,
    discriminator_steps: u64,
    rows: Vec<f32>,
    labels: Vec<bool>,
    oracle: Vec<bool>,
}

impl<'a> PhaseTwoRun<'a> {
    pub(super) fn new(
        work: Structuring,
        material: Arc<Material>,
        batches: Batches,
        set: Option<&'a dyn Set>,
        seed: u64,
    ) -> Self {
        Self {
            discriminator_steps: work.discriminator_steps(),
            work,
            judge: SetJudge::new(set, material.frames.clone()),
            material,
            batches,
            rng: ChaCha8Rng::seed_from_u64(sub_seed(seed, Purpose::Latents)),
            rows: Vec::new(),
            labels: Vec::new(),
            oracle: Vec::new(),
        }
    }
}

impl Phase for PhaseTwoRun<'_> {
    fn step(&mut self, step: u64) -> Losses {
        let (material, rows) = (&self.material, self.batches.rows(step));
        gather_rows(&material.rows, material.width, rows, &mut self.rows);
        gather_flags(&material.labels, rows, &mut self.labels);
        gather_flags(&material.oracle, rows, &mut self.oracle);
        self.rng.set_stream(step);
        self.rng.set_word_pos(0);
        let batch = Batch {
            rows: &self.rows,
            labels: &self.labels,
            oracle: &self.oracle,
        };
        self.work.step(batch, &mut self.judge, &mut self.rng)
    }

    fn save(&self, state: &mut State) {
        self.work.autoencoder.save(state);
        if let Some(discriminator) = &self.work.discriminator {
            discriminator.save("discriminator", state);
        }
    }

    fn load(&mut self, steps: u64, state: &State) -> bool {
        let updates = steps * self.discriminator_steps;
        self.work.autoencoder.load(steps, state)
            && self
                .work
                .discriminator
                .as_mut()
                .is_none_or(|network| network.load("discriminator", updates, state))
    }
}

/// Asks the set about generated points, in raw units and f64.
struct SetJudge<'a> {
    set: Option<&'a dyn Set>,
    frames: Frames,
    y: Vec<f64>,
    x: Vec<f64>,
}

impl<'a> SetJudge<'a> {
    fn new(set: Option<&'a dyn Set>, frames: Frames) -> Self {
        Self {
            set,
            frames,
            y: Vec::new(),
            x: Vec::new(),
        }
    }
}

impl Judge for SetJudge<'_> {
    fn judge(&mut self, rows: &[f32], verdicts: &mut [bool]) {
        let Some(set) = self.set else {
            return verdicts.fill(false);
        };
        self.frames.leave(rows, &mut self.y, &mut self.x);
        set.contains_rows(&self.y, &self.x, verdicts);
    }
}
