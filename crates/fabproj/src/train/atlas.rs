//! Several charts and the gate that chooses between them.

use fabproj_core::{Blend, Chart, Frame, Model};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::assignment::Assignment;
use super::chart::TrainedChart;
use crate::data::{Pool, Units};
use crate::nn::{Adam, AdamConfig, Cosine, Mlp, MlpSpec, SpecError, Tape};

/// Rows per step of the gate's training.
const GATE_ROWS: usize = 256;
const GATE_RATE: f32 = 3e-3;

/// Trains the classifier that chooses the chart of a point; `None` for a single chart.
pub fn train_gate(
    pool: &Pool,
    assignment: &Assignment,
    width: usize,
    steps: u64,
    rng: &mut ChaCha8Rng,
) -> Result<Option<Mlp>, SpecError> {
    let charts = assignment.rows.len();
    if charts < 2 {
        return Ok(None);
    }
    let inputs = pool.dim() + pool.parameter_dim();
    let mut gate = Mlp::new(MlpSpec::new(inputs, &[width, width], charts), rng)?;
    let mut adam = Adam::new(AdamConfig::default(), gate.parameters().len());
    let (mut tape, mut gradient) = (Tape::new(), vec![0.0; gate.parameters().len()]);
    let (mut input, mut labels) = (Vec::new(), Vec::new());
    let schedule = Cosine {
        peak: GATE_RATE,
        end_fraction: 0.02,
        warm_up: 0,
        total: steps,
    };
    for step in 0..steps {
        input.clear();
        labels.clear();
        for index in 0..GATE_ROWS {
            let (rows, labelled) = if index % 2 == 0 || assignment.infeasible.is_empty() {
                (&pool.feasible, &assignment.feasible)
            } else {
                (&pool.infeasible, &assignment.infeasible)
            };
            let (row, chart) = labelled[rng.random_range(0..labelled.len())];
            let row = row as usize;
            input.extend_from_slice(&rows.y[row * pool.dim()..][..pool.dim()]);
            input.extend_from_slice(pool.state_inner(rows.state[row]));
            labels.push(chart as usize);
        }
        let mut delta = gate.forward(&input, GATE_ROWS, &mut tape).to_vec();
        for (logits, label) in delta.chunks_exact_mut(charts).zip(&labels) {
            softmax(logits);
            logits[*label] -= 1.0;
            logits.iter_mut().for_each(|d| *d /= GATE_ROWS as f32);
        }
        gradient.fill(0.0);
        gate.backward(&mut tape, &delta, Some(&mut gradient), None);
        adam.update(gate.parameters_mut(), &gradient, schedule.at(step));
    }
    Ok(Some(gate))
}

fn softmax(logits: &mut [f32]) {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for logit in logits.iter_mut() {
        *logit = (*logit - largest).exp();
        sum += *logit;
    }
    logits.iter_mut().for_each(|logit| *logit /= sum);
}

/// Charts with their gate, in the pool's working units.
#[derive(Clone, Debug)]
pub struct Atlas {
    /// Chooses the chart; `None` for a single one.
    pub gate: Option<Mlp>,
    /// The charts.
    pub charts: Vec<TrainedChart>,
}

impl Atlas {
    /// The same in raw units, without anchors.
    pub fn model(&self, units: &Units, parameter_units: &Units) -> Model {
        let charts = self.charts.iter().map(|chart| {
            let raw_scale = units.scale.iter().map(|s| s * f64::from(chart.scale));
            let raw_centre = (0..units.centre.len())
                .map(|j| units.centre[j] + units.scale[j] * f64::from(chart.centre[j]));
            Chart {
                frame: Frame {
                    centre: raw_centre.map(|c| c as f32).collect(),
                    scale: raw_scale.map(|s| s as f32).collect(),
                },
                encoder: chart.encoder.to_network(),
                latent: chart.latent,
                decoders: vec![chart.decoder.to_network()],
                decoder_gate: None,
                blend: Blend::Soft,
            }
        });
        Model {
            dim: units.centre.len(),
            parameter_dim: parameter_units.centre.len(),
            frame: units.frame(),
            parameter_frame: parameter_units.frame(),
            gate: self.gate.as_ref().map(Mlp::to_network),
            charts: charts.collect(),
            discriminator: None,
            anchors: Vec::new(),
            lift: None,
        }
    }
}
