//! A discriminator trained on labels.

use fabproj_core::{Activation, Frame, Network};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::LabelledSettings;
use super::split::Split;
use crate::data::labelled::LabelledData;
use crate::train::TrainError;
use crate::train::session::{Event, Session};
use fabproj_nn::{Adam, AdamConfig, Cosine, Ema, Mlp, MlpSpec, SpecError, Tape, clip_norm};

/// Steps between two measurements of the held-out error, when the hard rows are found anew.
const LOOK_EVERY: u64 = 250;
/// Share of the training rows of each label that counts as hard: those nearest to the boundary.
const HARD: f64 = 0.2;
/// Factor on the initial weights of the first layer: larger ones can follow a boundary with many bends.
const SHARPNESS: f32 = 3.0;
/// Rows evaluated at once.
const BATCH: usize = 4096;

/// All rows in the discriminator's units.
pub(super) struct Rows {
    inputs: usize,
    values: Vec<f32>,
    labels: Vec<bool>,
}

impl Rows {
    pub(super) fn new(data: &LabelledData, frame: &Frame, x_frame: &Frame) -> Self {
        let mut values = Vec::new();
        for row in 0..data.rows() {
            for (numbers, frame) in [(data.y(row), frame), (data.x(row), x_frame)] {
                for (j, number) in numbers.iter().enumerate() {
                    values.push((*number as f32 - frame.centre[j]) / frame.scale[j]);
                }
            }
        }
        Self {
            inputs: data.dim() + data.x_dim(),
            values,
            labels: data.labels().to_vec(),
        }
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.inputs..][..self.inputs]
    }
}

/// A discriminator in training.
pub(super) struct Classifier<'a> {
    settings: &'a LabelledSettings,
    network: Mlp,
    average: Ema,
    adam: Adam,
    rng: ChaCha8Rng,
    tape: Tape,
    /// The smallest held-out error so far, and the weights that had it.
    best: (f64, Vec<f32>),
}

impl<'a> Classifier<'a> {
    pub(super) fn new(
        rows: &Rows,
        settings: &'a LabelledSettings,
        mut rng: ChaCha8Rng,
    ) -> Result<Self, SpecError> {
        let spec = MlpSpec::new(rows.inputs, &vec![settings.width; settings.depth], 1)
            .with_hidden(Activation::Silu);
        let mut network = Mlp::new(spec, &mut rng)?;
        network
            .weights_mut(0)
            .iter_mut()
            .for_each(|weight| *weight *= SHARPNESS);
        network
            .bias_mut(0)
            .iter_mut()
            .for_each(|bias| *bias *= SHARPNESS);
        Ok(Self {
            settings,
            average: Ema::new(0.998, network.parameters()),
            adam: Adam::new(AdamConfig::default(), network.parameters().len()),
            best: (f64::INFINITY, network.parameters().to_vec()),
            network,
            rng,
            tape: Tape::new(),
        })
    }

    /// The discriminator with the smallest held-out error.
    pub(super) fn network(&self) -> Network {
        let mut network = self.network.clone();
        network.parameters_mut().copy_from_slice(&self.best.1);
        network.to_network()
    }

    /// Trains on the near rows of the training part, as many of each label: half of them any, half hard
    /// ones.
    pub(super) fn train(
        &mut self,
        rows: &Rows,
        split: &Split,
        near: &[bool],
        session: &Session,
    ) -> Result<(), TrainError> {
        let mut draws = [true, false].map(|label| Draw::new(rows, split, near, label));
        let choosing: Vec<usize> = near_rows(&split.choosing, near);
        let schedule = Cosine {
            peak: self.settings.learning_rate,
            end_fraction: 0.01,
            warm_up: 50,
            total: self.settings.steps,
        };
        let mut loss = 0.0;
        for step in 0..self.settings.steps {
            if step.is_multiple_of(LOOK_EVERY) {
                self.look(rows, &choosing, &mut draws);
                session.emit(&Event::Progress {
                    unit: "discriminator",
                    step,
                    steps: self.settings.steps,
                    done: 0.0,
                    losses: &[("labels", loss)],
                });
                if session.stopped() {
                    return Err(TrainError::Stopped);
                }
            }
            loss = self.step(rows, &draws, schedule.at(step));
        }
        self.look(rows, &choosing, &mut draws);
        Ok(())
    }

    fn step(&mut self, rows: &Rows, draws: &[Draw; 2], rate: f32) -> f32 {
        let count = self.settings.rows;
        let (mut input, mut targets) = (Vec::new(), Vec::new());
        for index in 0..count {
            // Labels in turn, and for each of them any row and a hard one in turn.
            let draw = &draws[index % 2];
            let list = if index % 4 < 2 { &draw.all } else { &draw.hard };
            let Some(row) = pick(list, &mut self.rng) else {
                continue;
            };
            input.extend_from_slice(rows.row(row));
            targets.push(rows.labels[row]);
        }
        let logits = self.network.forward(&input, targets.len(), &mut self.tape);
        let mut delta = vec![0.0; targets.len()];
        let mut loss = 0.0;
        for ((delta, logit), target) in delta.iter_mut().zip(logits).zip(&targets) {
            let target = f32::from(u8::from(*target));
            loss += cross_entropy(*logit, target);
            *delta = (sigmoid(*logit) - target) / targets.len() as f32;
        }
        let mut gradient = vec![0.0; self.network.parameters().len()];
        self.network
            .backward(&mut self.tape, &delta, Some(&mut gradient), None);
        clip_norm(&mut gradient, 1.0);
        self.adam
            .update(self.network.parameters_mut(), &gradient, rate);
        self.average.update(self.network.parameters());
        loss / targets.len().max(1) as f32
    }

    /// Measures the averaged weights on held-out rows, keeps them if they are the best so far, and finds
    /// the rows that are hard for them.
    fn look(&mut self, rows: &Rows, choosing: &[usize], draws: &mut [Draw; 2]) {
        let mut averaged = self.network.clone();
        averaged
            .parameters_mut()
            .copy_from_slice(&self.average.average);
        let scored = scores(&averaged, rows, choosing, &mut self.tape);
        let error = balanced_error(rows, choosing, &scored);
        // Of equal errors the last: further training sharpens the boundary.
        if error <= self.best.0 {
            self.best = (error, self.average.average.clone());
        }
        for draw in draws {
            let scores = scores(&averaged, rows, &draw.all, &mut self.tape);
            draw.find_hard(&scores);
        }
    }
}

/// Rows of one label to draw from.
struct Draw {
    all: Vec<usize>,
    hard: Vec<usize>,
}

impl Draw {
    /// The near rows of a label; all of its rows where none is near.
    fn new(rows: &Rows, split: &Split, near: &[bool], label: bool) -> Self {
        let own: Vec<usize> = split
            .training
            .iter()
            .copied()
            .filter(|row| rows.labels[*row] == label)
            .collect();
        let all = near_rows(&own, near);
        Self {
            hard: all.clone(),
            all,
        }
    }

    fn find_hard(&mut self, scores: &[f32]) {
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        order.sort_by(|a, b| scores[*a].abs().total_cmp(&scores[*b].abs()));
        let count = ((HARD * self.all.len() as f64).ceil() as usize).max(1);
        let hard = order.iter().take(count).map(|index| self.all[*index]);
        self.hard = hard.collect();
    }
}

fn near_rows(rows: &[usize], near: &[bool]) -> Vec<usize> {
    let kept: Vec<usize> = rows.iter().copied().filter(|row| near[*row]).collect();
    if kept.is_empty() { rows.to_vec() } else { kept }
}

fn pick(rows: &[usize], rng: &mut ChaCha8Rng) -> Option<usize> {
    (!rows.is_empty()).then(|| rows[rng.random_range(0..rows.len())])
}

fn scores(network: &Mlp, rows: &Rows, wanted: &[usize], tape: &mut Tape) -> Vec<f32> {
    let mut scores = vec![0.0; wanted.len()];
    let mut input = Vec::new();
    for (wanted, scores) in wanted.chunks(BATCH).zip(scores.chunks_mut(BATCH)) {
        input.clear();
        wanted
            .iter()
            .for_each(|row| input.extend_from_slice(rows.row(*row)));
        network.evaluate(&input, wanted.len(), tape, scores);
    }
    scores
}

/// The share of wrong signs for each label, averaged over the two.
///
/// Not the cross entropy: that grows with the confidence in the few wrong ones long after the boundary
/// has stopped getting worse.
fn balanced_error(rows: &Rows, wanted: &[usize], scores: &[f32]) -> f64 {
    let mut sums = [(0, 0); 2];
    for (row, score) in wanted.iter().zip(scores) {
        let label = rows.labels[*row];
        let (wrong, count) = &mut sums[usize::from(label)];
        *wrong += usize::from((*score > 0.0) != label);
        *count += 1;
    }
    let shares = sums.map(|(wrong, count)| wrong as f64 / count.max(1) as f64);
    0.5 * (shares[0] + shares[1])
}

fn sigmoid(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit).exp())
}

/// −log of the probability that the logit gives to the target, without overflow.
fn cross_entropy(logit: f32, target: f32) -> f32 {
    logit.max(0.0) - logit * target + (-logit.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_of_the_cross_entropy_is_the_sigmoid_less_the_target() {
        for (logit, target) in [(0.3, 1.0), (-2.0, 1.0), (4.0, 0.0), (-0.1, 0.0)] {
            let step = 1e-2;
            let ahead = cross_entropy(logit + step, target);
            let behind = cross_entropy(logit - step, target);
            let slope = (ahead - behind) / (2.0 * step);
            assert!((slope - (sigmoid(logit) - target)).abs() < 1e-3);
        }
        assert!(cross_entropy(500.0, 0.0) == 500.0 && cross_entropy(-500.0, 0.0) == 0.0);
    }

    #[test]
    fn the_rows_nearest_to_the_boundary_are_hard() {
        let mut draw = Draw {
            all: vec![10, 11, 12, 13, 14, 15, 16, 17, 18, 19],
            hard: Vec::new(),
        };
        draw.find_hard(&[5.0, -0.1, 3.0, 9.0, 0.2, -7.0, 4.0, 4.0, 4.0, 4.0]);
        assert_eq!(draw.hard, [11, 14]);
    }
}
