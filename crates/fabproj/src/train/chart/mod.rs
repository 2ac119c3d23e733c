//! Trains one chart: an encoder and a decoder whose latent set decodes to (a cell of) the feasible set.
//!
//! Reconstruction goes through the clamp, infeasible rows are drawn to their nearest feasible point,
//! and every decode that is not feasible by a margin is pulled to the boundary and through it.

mod checkpoint;
mod draw;
mod margin;

use fabproj_core::LatentSet;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::data::boundary::Boundary;
use crate::data::restore::Restorer;
use crate::data::{Pool, Rows};
use crate::tree::squared_distance;
use fabproj_nn::{Adam, AdamConfig, Cosine, Ema, Mlp, MlpSpec, SpecError, Tape, clip_norm};

use super::fit::{Fit, LatentKind, centre_of_shell};
use super::penalty::Penalty;
use draw::Drawn;
use margin::Wanted;

/// How one chart is trained. All lengths are in working units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChartSettings {
    /// Width of the hidden layers of encoder and decoder.
    pub width: usize,
    /// Number of hidden layers of each.
    pub depth: usize,
    /// The latent set's kind.
    pub latent: LatentKind,
    /// Smoothness of its map; `None`: the hard map.
    pub smooth: Option<f32>,
    /// Steps of phase 1: reconstruction alone.
    pub phase_one: u64,
    /// Steps of phase 2: structuring.
    pub phase_two: u64,
    /// Feasible rows per step; as many infeasible rows, and twice as many latent samples.
    pub rows: usize,
    /// Learning rate at its peak.
    pub learning_rate: f32,
    /// The margin at the start.
    pub margin: f32,
    /// The range in which the margin follows the measured failures.
    pub margin_range: (f32, f32),
    /// The failure rate that the margin aims at.
    pub failure_goal: f32,
    /// Weight of the terms that ask for feasibility.
    pub hinge: f32,
}

/// Rows of the pool that belong to one chart.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChartRows {
    /// Indices of feasible rows.
    pub feasible: Vec<u32>,
    /// Indices of boundary rows.
    pub edge: Vec<u32>,
    /// Indices of infeasible rows whose target is in the chart.
    pub infeasible: Vec<u32>,
    /// Targets of these.
    pub targets: Vec<f32>,
    /// Other inputs that the gate sends here. No target was looked for: they must become feasible, anywhere.
    pub visitors: Rows,
}

/// Restorations per step above three dimensions: for this share of the rows that are projected, and for
/// as many latent samples.
const RESTORED: f32 = 0.3;
const EMA_DECAY: f32 = 0.998;
const CLIP: f32 = 2.0;

/// What one step measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct StepReport {
    /// Mean squared reconstruction error of feasible rows, chart units.
    pub reconstruction: f32,
    /// Mean squared distance of infeasible rows to their targets, chart units.
    pub projection: f32,
    /// Mean of the margin's hinge over decodes.
    pub hinge: f32,
    /// Share of infeasible decodes.
    pub failures: f32,
}

impl StepReport {
    /// Losses by name, for observers.
    pub(crate) fn losses(&self) -> [(&'static str, f32); 4] {
        [
            ("reconstruction", self.reconstruction),
            ("projection", self.projection),
            ("hinge", self.hinge),
            ("failures", self.failures),
        ]
    }
}

/// One chart in training.
pub(crate) struct ChartTraining<'a> {
    settings: ChartSettings,
    pool: &'a Pool<'a>,
    rows: ChartRows,
    restorer: Option<&'a Restorer>,
    /// The boundaries of what is feasible by the margin, by state; empty above three dimensions.
    eroded: Vec<Boundary>,
    /// What every row of the chart should be mapped to, in the order of `rows`.
    wanted: Wanted,
    /// From working to chart units.
    centre: Vec<f32>,
    scale: f32,
    latent: LatentSet,
    latent_dim: usize,
    encoder: Mlp,
    decoder: Mlp,
    optimiser: [Adam; 2],
    average: [Ema; 2],
    margin: f32,
    step: u64,
    rng: ChaCha8Rng,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    tapes: [Tape; 2],
    gradients: [Vec<f32>; 2],
    input: Vec<f32>,
    latent_before: Vec<f32>,
    decoder_input: Vec<f32>,
    d_output: Vec<f32>,
    d_latent: Vec<f32>,
    d_encoder: Vec<f32>,
    wanted: Vec<f32>,
    states: Vec<u32>,
}

impl<'a> ChartTraining<'a> {
    /// Networks that start as "clamp of the identity" in the frame of the chart's rows.
    pub(crate) fn new(
        settings: ChartSettings,
        pool: &'a Pool<'a>,
        rows: ChartRows,
        restorer: Option<&'a Restorer>,
        mut rng: ChaCha8Rng,
    ) -> Result<Self, SpecError> {
        let dim = pool.dim();
        let points = gather(&pool.feasible.y, &rows.feasible, dim);
        let (mut centre, scale) = centre_and_scale(&points, dim);
        if settings.latent == LatentKind::Shell {
            centre_of_shell(&points, dim, &mut centre);
        }
        let mut inner = points;
        for row in inner.chunks_exact_mut(dim) {
            row.iter_mut()
                .zip(&centre)
                .for_each(|(v, c)| *v = (*v - c) / scale);
        }
        let fit = Fit::new(settings.latent, settings.smooth, &inner, dim);
        let hidden = vec![settings.width; settings.depth];
        let x_dim = pool.x_dim();
        let encoder = MlpSpec::new(dim + x_dim, &hidden, fit.latent_dim).with_skip(dim);
        let decoder = MlpSpec::new(fit.latent_dim + x_dim, &hidden, dim).with_skip(fit.latent_dim);
        let encoder = start(encoder, &fit.encoder_skip, &mut rng)?;
        let decoder = start(decoder, &fit.decoder_skip, &mut rng)?;
        let adam = |network: &Mlp| Adam::new(AdamConfig::default(), network.parameters().len());
        let ema = |network: &Mlp| Ema::new(EMA_DECAY, network.parameters());
        let mut training = Self {
            eroded: Vec::new(),
            wanted: Wanted::default(),
            margin: settings.margin,
            step: 0,
            optimiser: [adam(&encoder), adam(&decoder)],
            average: [ema(&encoder), ema(&decoder)],
            scratch: Scratch {
                gradients: [
                    vec![0.0; encoder.parameters().len()],
                    vec![0.0; decoder.parameters().len()],
                ],
                ..Scratch::default()
            },
            settings,
            pool,
            rows,
            restorer,
            centre,
            scale,
            latent: fit.latent,
            latent_dim: fit.latent_dim,
            encoder,
            decoder,
            rng,
        };
        training.fit_margin();
        Ok(training)
    }

    /// Whether all steps are done.
    pub(crate) fn finished(&self) -> bool {
        self.step >= self.steps()
    }

    /// Steps of both phases.
    pub(crate) fn steps(&self) -> u64 {
        self.settings.phase_one + self.settings.phase_two
    }

    /// Steps done so far.
    pub(crate) fn step_count(&self) -> u64 {
        self.step
    }

    /// The margin in force.
    pub(crate) fn margin(&self) -> f32 {
        self.margin
    }

    /// One optimisation step.
    pub(crate) fn step(&mut self) -> StepReport {
        let phase_two = self.step >= self.settings.phase_one;
        let drawn = self.draw_rows(phase_two);
        let samples = if phase_two { 2 * self.settings.rows } else { 0 };
        encode(&self.encoder, &self.latent, self.pool, &mut self.scratch);
        self.draw_latents(samples);
        let report = self.losses(&drawn, samples);
        self.update(drawn.encoded(), drawn.encoded() + samples);
        self.step += 1;
        if phase_two {
            self.follow_failures();
        }
        report
    }

    /// Decodes, and writes the loss's derivative with respect to the decodes.
    fn losses(&mut self, drawn: &Drawn, samples: usize) -> StepReport {
        let (feasible, infeasible, encoded) = (drawn.feasible, drawn.infeasible, drawn.encoded());
        let dim = self.pool.dim();
        let rows = encoded + samples;
        let mut report = StepReport::default();
        let scratch = &mut self.scratch;
        let decodes = self
            .decoder
            .forward(&scratch.decoder_input, rows, &mut scratch.tapes[1]);
        scratch.d_output.clear();
        scratch.d_output.resize(rows * dim, 0.0);
        for row in 0..feasible + infeasible {
            let share = 1.0 / if row < feasible { feasible } else { infeasible } as f32;
            let mut square = 0.0;
            for j in 0..dim {
                let wanted = (scratch.wanted[row * dim + j] - self.centre[j]) / self.scale;
                let error = decodes[row * dim + j] - wanted;
                square += error * error;
                scratch.d_output[row * dim + j] = 2.0 * share * error;
            }
            *(if row < feasible {
                &mut report.reconstruction
            } else {
                &mut report.projection
            }) += share * square;
        }
        if samples == 0 {
            return report;
        }
        let restorations = (RESTORED * self.settings.rows as f32).ceil() as usize;
        let mut penalty = Penalty {
            pool: self.pool,
            restorer: self.restorer,
            eroded: &self.eroded,
            margin: self.margin,
            restorations,
            failures: 0,
            pull: vec![0.0; dim],
            point: vec![0.0; dim],
            shifted: vec![0.0; dim],
        };
        let frame = (self.centre.as_slice(), self.scale);
        let points = out_of_chart(decodes, frame);
        let inside = self.pool.contains_rows(&points, &scratch.states);
        for row in 0..rows {
            if row == encoded {
                penalty.restorations = restorations;
            }
            let group = if row < encoded { encoded } else { samples };
            let weight = self.settings.hinge / group as f32;
            penalty.point.copy_from_slice(&points[row * dim..][..dim]);
            let distance = penalty.evaluate(inside[row], scratch.states[row], &mut self.rng);
            let value = distance / self.scale;
            report.hinge += value / rows as f32;
            if value > 0.0 {
                for j in 0..dim {
                    scratch.d_output[row * dim + j] += weight * penalty.pull[j];
                }
            }
        }
        report.failures = penalty.failures as f32 / rows as f32;
        report
    }

    /// Back-propagates through decoder, clamp and encoder, and moves the weights.
    fn update(&mut self, encoded: usize, decoded: usize) {
        let dim = self.latent_dim;
        let width = dim + self.pool.x_dim();
        let total = self.steps();
        let rate = Cosine {
            peak: self.settings.learning_rate,
            end_fraction: 0.01,
            warm_up: 0,
            total,
        }
        .at(self.step);
        let scratch = &mut self.scratch;
        scratch.d_latent.resize(decoded * width, 0.0);
        let [encoder_gradient, decoder_gradient] = &mut scratch.gradients;
        encoder_gradient.fill(0.0);
        decoder_gradient.fill(0.0);
        let [encoder_tape, decoder_tape] = &mut scratch.tapes;
        self.decoder.backward(
            decoder_tape,
            &scratch.d_output,
            Some(decoder_gradient),
            Some(&mut scratch.d_latent[..decoded * width]),
        );
        scratch.d_encoder.resize(encoded * dim, 0.0);
        for row in 0..encoded {
            let cotangent = &mut scratch.d_encoder[row * dim..][..dim];
            cotangent.copy_from_slice(&scratch.d_latent[row * width..][..dim]);
            self.latent
                .clamp_vjp(&scratch.latent_before[row * dim..][..dim], cotangent);
        }
        self.encoder.backward(
            encoder_tape,
            &scratch.d_encoder[..encoded * dim],
            Some(encoder_gradient),
            None,
        );
        for (index, network) in [&mut self.encoder, &mut self.decoder]
            .into_iter()
            .enumerate()
        {
            clip_norm(&mut scratch.gradients[index], CLIP);
            self.optimiser[index].update(network.parameters_mut(), &scratch.gradients[index], rate);
            self.average[index].update(network.parameters());
        }
    }

    /// The chart as it is now, with averaged weights.
    pub(crate) fn chart(&self) -> TrainedChart {
        let averaged = |network: &Mlp, average: &Ema| {
            let mut network = network.clone();
            network.parameters_mut().copy_from_slice(&average.average);
            network
        };
        TrainedChart {
            encoder: averaged(&self.encoder, &self.average[0]),
            decoder: averaged(&self.decoder, &self.average[1]),
            latent: self.latent,
            centre: self.centre.clone(),
            scale: self.scale,
        }
    }
}

/// A finished chart, in the pool's working units.
#[derive(Clone, Debug)]
pub(crate) struct TrainedChart {
    /// E
    pub encoder: Mlp,
    /// R
    pub decoder: Mlp,
    /// S
    pub latent: LatentSet,
    /// Centre of the chart's frame, working units.
    pub centre: Vec<f32>,
    /// Scale of the chart's frame, working units.
    pub scale: f32,
}

/// Encodes the drawn rows, clamps, and starts the decoder's input with them.
fn encode(encoder: &Mlp, latent_set: &LatentSet, pool: &Pool, scratch: &mut Scratch) {
    let dim = encoder.spec().outputs;
    let rows = scratch.states.len();
    let latents = encoder.forward(&scratch.input, rows, &mut scratch.tapes[0]);
    scratch.latent_before.clear();
    scratch.latent_before.extend_from_slice(latents);
    scratch.decoder_input.clear();
    for (row, latent) in scratch.latent_before.chunks_exact(dim).enumerate() {
        let start = scratch.decoder_input.len();
        scratch.decoder_input.extend_from_slice(latent);
        latent_set.clamp(&mut scratch.decoder_input[start..]);
        scratch
            .decoder_input
            .extend_from_slice(pool.state_inner(scratch.states[row]));
    }
}

/// Rows in chart units, in working units.
fn out_of_chart(rows: &[f32], (centre, scale): (&[f32], f32)) -> Vec<f32> {
    let values = rows.iter().zip(centre.iter().cycle());
    values
        .map(|(value, centre)| value * scale + centre)
        .collect()
}

pub(super) fn gather(rows: &[f32], indices: &[u32], dim: usize) -> Vec<f32> {
    indices
        .iter()
        .flat_map(|index| rows[*index as usize * dim..][..dim].iter().copied())
        .collect()
}

fn centre_and_scale(points: &[f32], dim: usize) -> (Vec<f32>, f32) {
    let count = (points.len() / dim).max(1) as f32;
    let mut centre = vec![0.0; dim];
    for row in points.chunks_exact(dim) {
        for (c, v) in centre.iter_mut().zip(row) {
            *c += v / count;
        }
    }
    let square: f32 = points
        .chunks_exact(dim)
        .map(|row| squared_distance(row, &centre))
        .sum();
    let scale = (square / (count * dim as f32)).sqrt();
    (centre, if scale > 1e-6 { scale } else { 1.0 })
}

/// Default weights with a faint last layer, and the given skip.
fn start(spec: MlpSpec, skip: &[f32], rng: &mut ChaCha8Rng) -> Result<Mlp, SpecError> {
    let last = spec.layer_count() - 1;
    let mut network = Mlp::new(spec, rng)?;
    network.weights_mut(last).iter_mut().for_each(|w| *w *= 0.1);
    network.bias_mut(last).fill(0.0);
    if let Some(weights) = network.skip_mut() {
        weights.copy_from_slice(skip);
    }
    Ok(network)
}
