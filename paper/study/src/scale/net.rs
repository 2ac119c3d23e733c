//! Networks as peers: a plain one with the ray map, DC3, FSNet, and what Homeomorphic Projection begins with.
//!
//! All answer y = base(x) + Σ z_i directions_i, so that the equations hold, with z from a network that is
//! trained on the objective at fresh x. The *ray map* shortens the way from a feasible base to the boundary.
//! *DC3* takes the coordinates that the equations leave as z ("completion") and then descends the squared
//! violation for a few steps ("correction"). *FSNet* minimises it by L-BFGS. Of a power network z is all of y,
//! squashed between its bounds, and the power flow completes it.

use fabproj_nn::{Adam, AdamConfig, Cosine, Mlp, MlpSpec, Tape};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::completion::completion;
use super::correct::longest_step;
use super::instance::Instance;
use super::linear::Along;
use super::map::{Map, Work};
use super::repair::Repair;
use crate::{Context, StudyError};

/// How a peer is trained.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct NetSettings {
    hidden: Vec<usize>,
    steps: u64,
    rows: usize,
    rate: f32,
    repair: Repair,
}

impl NetSettings {
    pub(super) fn ray(steps: u64) -> Self {
        Self {
            hidden: vec![64, 64],
            steps: 2 * steps,
            rows: 256,
            rate: 3e-3,
            repair: Repair::Ray,
        }
    }

    /// DC3's network and correction. Its published rate of 1e-7 corrects next to nothing here. The size of the
    /// objective sets the penalty's. As in the paper, an answer may take more steps than a training.
    pub(super) fn dc3(steps: u64, network: bool) -> Self {
        Self {
            hidden: vec![200, 200],
            steps,
            rows: 128,
            rate: 1e-3,
            repair: Repair::Correction {
                steps: 10,
                answer_steps: 100,
                rate: 1.0,
                momentum: 0.5,
                penalty: if network { 1e5 } else { 50.0 },
            },
        }
    }

    /// The ray map's network, which asks for feasible points and gets no help in training.
    pub(super) fn penalised(steps: u64) -> Self {
        Self {
            repair: Repair::Later { penalty: 1.0 },
            ..Self::ray(steps)
        }
    }

    /// FSNet's step, with the margin that our tuned form of it has elsewhere in the study.
    pub(super) fn fsnet(steps: u64, network: bool) -> Self {
        Self {
            hidden: vec![200, 200],
            steps,
            rows: 128,
            rate: 1e-3,
            repair: Repair::Seek {
                steps: 50,
                margin: 1e-5,
                distance: if network { 1e4 } else { 5.0 },
            },
        }
    }
}

/// A trained network with its map into the set.
pub(super) struct Net<'a> {
    instance: &'a Instance,
    settings: NetSettings,
    network: Mlp,
    along: Along,
    tape: Tape,
    inputs: Vec<f32>,
    work: Work,
}

impl<'a> Net<'a> {
    pub(super) fn train(
        instance: &'a Instance,
        settings: &NetSettings,
        seed: u64,
        context: &Context<'_>,
    ) -> Result<Self, StudyError> {
        let along = match (&instance.family, settings.repair) {
            (Some(family), Repair::Correction { .. }) => completion(&family.a, instance.dim()),
            (Some(family), _) => Along::new(&family.a, &family.q),
            (None, _) => Along::whole(instance.dim()),
        };
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (x_dim, free) = (instance.x_dim(), along.directions.len());
        let spec = MlpSpec::new(x_dim, &settings.hidden, free).with_skip(x_dim);
        let mut net = Self {
            instance,
            settings: settings.clone(),
            network: Mlp::new(spec, &mut random)?,
            along,
            tape: Tape::new(),
            inputs: vec![0.0; x_dim],
            work: Work::new(instance),
        };
        net.lengthen_steps();
        net.learn(&mut random, context)?;
        Ok(net)
    }

    /// From a share of the longest stable step to a step.
    fn lengthen_steps(&mut self) {
        let Repair::Correction { ref mut rate, .. } = self.settings.repair else {
            return;
        };
        let bounds = self.instance.x_bounds().iter();
        let x: Vec<f64> = bounds.map(|(low, high)| 0.5 * (low + high)).collect();
        let map = Map {
            instance: self.instance,
            along: &self.along,
            repair: Repair::Ray,
        };
        map.begin(&x, &vec![0.0; self.along.directions.len()], &mut self.work);
        *rate *= longest_step(self.instance, &self.along, &self.work.base, &x);
    }

    fn learn(&mut self, random: &mut ChaCha8Rng, context: &Context<'_>) -> Result<(), StudyError> {
        let (dim, x_dim, rows) = (
            self.instance.dim(),
            self.instance.x_dim(),
            self.settings.rows,
        );
        let free = self.along.directions.len();
        let mut adam = Adam::new(AdamConfig::default(), self.network.parameters().len());
        let mut gradient = vec![0.0; self.network.parameters().len()];
        let (mut tape, mut delta) = (Tape::new(), vec![0.0; rows * free]);
        let (mut x, mut inputs) = (vec![0.0; rows * x_dim], vec![0.0; rows * x_dim]);
        let mut y = vec![0.0; dim];
        let schedule = Cosine {
            peak: self.settings.rate,
            end_fraction: 0.001,
            warm_up: self.settings.steps / 50,
            total: self.settings.steps,
        };
        let scale = self.input_scale();
        for step in 0..self.settings.steps {
            context.check_stop()?;
            self.instance.draw_x(&mut x, random);
            let pairs = inputs.iter_mut().zip(&x);
            pairs.for_each(|(input, x)| *input = scale(*x));
            let outputs = self.network.forward(&inputs, rows, &mut tape);
            let each = x.chunks_exact(x_dim).zip(outputs.chunks_exact(free));
            let mut loss = 0.0;
            for ((x, output), delta) in each.zip(delta.chunks_exact_mut(free)) {
                let map = Map {
                    instance: self.instance,
                    along: &self.along,
                    repair: self.settings.repair,
                };
                map.answer(x, output, &mut y, &mut self.work);
                // Where a simulation fails, there is nothing to learn.
                loss += map.pull_back(x, &y, delta, &mut self.work).unwrap_or(0.0);
                delta.iter_mut().for_each(|delta| *delta /= rows as f32);
            }
            if !loss.is_finite() {
                let what = "a peer's network".to_owned();
                return Err(StudyError::Diverged { what, step });
            }
            gradient.fill(0.0);
            self.network
                .backward(&mut tape, &delta, Some(&mut gradient), None);
            adam.update(self.network.parameters_mut(), &gradient, schedule.at(step));
        }
        Ok(())
    }

    pub(super) fn answer(&mut self, x: &[f64], y: &mut [f64]) {
        self.answer_rows(x, 1, y);
    }

    /// Answers rows of x: the network for all at once, then the map row by row.
    pub(super) fn answer_rows(&mut self, x: &[f64], rows: usize, y: &mut [f64]) {
        self.answer_with(x, rows, y, |map, x, z, y, work| map.answer(x, z, y, work));
    }

    /// Answers rows of x by another map of an x and the network's output to y.
    pub(super) fn answer_with(
        &mut self,
        x: &[f64],
        rows: usize,
        y: &mut [f64],
        mut answer: impl FnMut(&Map<'_>, &[f64], &[f32], &mut [f64], &mut Work),
    ) {
        self.inputs.clear();
        let scale = self.input_scale();
        self.inputs.extend(x.iter().map(|x| scale(*x)));
        let outputs = self.network.forward(&self.inputs, rows, &mut self.tape);
        let map = Map {
            instance: self.instance,
            along: &self.along,
            repair: self.settings.repair.of_answers(),
        };
        let (x_dim, dim) = (self.instance.x_dim(), self.instance.dim());
        let each = x
            .chunks_exact(x_dim)
            .zip(outputs.chunks_exact(outputs.len() / rows));
        for ((x, output), y) in each.zip(y.chunks_exact_mut(dim)) {
            answer(&map, x, output, y, &mut self.work);
        }
    }

    /// The map that it was trained with.
    pub(super) fn map(&self) -> Map<'_> {
        Map {
            instance: self.instance,
            along: &self.along,
            repair: self.settings.repair,
        }
    }

    /// Brings an input near −1 to 1: loads of a network are multiples that vary by a little around 1.
    fn input_scale(&self) -> impl Fn(f64) -> f32 + use<> {
        let (low, high) = self.instance.x_bounds()[0];
        let (middle, half) = match self.instance.family {
            Some(_) => (0.0, 1.0),
            None => (0.5 * (low + high), 0.5 * (high - low)),
        };
        move |x| ((x - middle) / half) as f32
    }
}
