//! Several charts and the gate that chooses between them.

use fabproj_core::{Chart, Frame, Weights};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::assignment::Assignment;
use super::chart::TrainedChart;
use crate::data::{Pool, Units};
use crate::tree::squared_distance;
use fabproj_nn::{Adam, AdamConfig, Cosine, Mlp, MlpSpec, SpecError, Tape};

/// Rows per step of the gate's training.
const GATE_ROWS: usize = 256;
const GATE_RATE: f32 = 3e-3;
/// Inputs that every chart projects to train the gate, and how many at once.
const OUTCOMES: usize = 60_000;
const OUTCOMES_AT_ONCE: usize = 1_024;
/// The distance that an infeasible output counts as, and the difference at which a chart is clearly better;
/// working units.
const MISSED: f32 = 1.0;
const DISTANCE_SCALE: f32 = 0.05;

/// Trains a classifier that chooses the chart of a point by the cells of rows, before there are charts.
pub(crate) fn train_gate(
    pool: &Pool,
    assignment: &Assignment,
    hidden: &[usize],
    steps: u64,
    rng: &mut ChaCha8Rng,
) -> Result<Mlp, SpecError> {
    let charts = assignment.rows.len();
    let mut gate = new_gate(pool, charts, hidden, rng)?;
    fit_gate(&mut gate, steps, |place, input, wanted| {
        let (rows, labelled) = if place % 2 == 0 || assignment.infeasible.is_empty() {
            (&pool.feasible, &assignment.feasible)
        } else {
            (&pool.infeasible, &assignment.infeasible)
        };
        let (row, chart) = labelled[rng.random_range(0..labelled.len())];
        let row = row as usize;
        input.extend_from_slice(&rows.y[row * pool.dim()..][..pool.dim()]);
        input.extend_from_slice(pool.state_inner(rows.state[row]));
        wanted[chart as usize] = 1.0;
    });
    Ok(gate)
}

fn new_gate(
    pool: &Pool,
    charts: usize,
    hidden: &[usize],
    rng: &mut ChaCha8Rng,
) -> Result<Mlp, SpecError> {
    let inputs = pool.dim() + pool.x_dim();
    Mlp::new(MlpSpec::new(inputs, hidden, charts), rng)
}

/// Fits the gate to rows with wanted shares of the charts: `draw` appends the input of the row at a place
/// of the batch, and fills in its shares, which are zero before.
fn fit_gate(gate: &mut Mlp, steps: u64, mut draw: impl FnMut(usize, &mut Vec<f32>, &mut [f32])) {
    let charts = gate.spec().outputs;
    let mut adam = Adam::new(AdamConfig::default(), gate.parameters().len());
    let (mut tape, mut gradient) = (Tape::new(), vec![0.0; gate.parameters().len()]);
    let mut input = Vec::new();
    let mut wanted = vec![0.0; GATE_ROWS * charts];
    let schedule = Cosine {
        peak: GATE_RATE,
        end_fraction: 0.02,
        warm_up: 0,
        total: steps,
    };
    for step in 0..steps {
        input.clear();
        wanted.fill(0.0);
        for (place, wanted) in wanted.chunks_exact_mut(charts).enumerate() {
            draw(place, &mut input, wanted);
        }
        let mut delta = gate.forward(&input, GATE_ROWS, &mut tape).to_vec();
        for (logits, wanted) in delta
            .chunks_exact_mut(charts)
            .zip(wanted.chunks_exact(charts))
        {
            softmax(logits);
            for (share, wanted) in logits.iter_mut().zip(wanted) {
                *share = (*share - wanted) / GATE_ROWS as f32;
            }
        }
        gradient.fill(0.0);
        gate.backward(&mut tape, &delta, Some(&mut gradient), None);
        adam.update(gate.parameters_mut(), &gradient, schedule.at(step));
    }
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
pub(crate) struct Atlas {
    /// Chooses the chart; `None` for a single one.
    pub gate: Option<Mlp>,
    /// The charts.
    pub charts: Vec<TrainedChart>,
}

impl Atlas {
    /// Trains the gate on fresh inputs: it should choose the chart whose output is feasible and nearest.
    pub(crate) fn choose_by_outcome(
        &mut self,
        pool: &Pool,
        hidden: &[usize],
        steps: u64,
        rng: &mut ChaCha8Rng,
    ) -> Result<(), SpecError> {
        let (dim, charts) = (pool.dim(), self.charts.len());
        if charts < 2 {
            return Ok(());
        }
        let mut gate = match self.gate.take() {
            Some(gate) => gate,
            None => new_gate(pool, charts, hidden, rng)?,
        };
        let (mut y, mut states) = (Vec::new(), Vec::new());
        for number in 0..OUTCOMES {
            let state = rng.random_range(0..pool.states.len());
            if number % 3 == 0 {
                let row = rng.random_range(0..pool.feasible.len());
                y.extend_from_slice(&pool.feasible.y[row * dim..][..dim]);
                states.push(pool.feasible.state[row]);
            } else {
                y.extend(pool.enlarged_input(state, 1.0 + 0.1 * rng.random::<f64>(), rng));
                states.push(state as u32);
            }
        }
        let mut wanted = vec![0.0f32; OUTCOMES * charts];
        let (mut tape, mut out) = (Tape::new(), Vec::new());
        for chart in 0..charts {
            for start in (0..OUTCOMES).step_by(OUTCOMES_AT_ONCE) {
                let end = (start + OUTCOMES_AT_ONCE).min(OUTCOMES);
                let (y, states) = (&y[start * dim..end * dim], &states[start..end]);
                self.project_by(pool, chart, y, states, &mut tape, &mut out);
                let inside = pool.contains_rows(&out, states);
                let outcomes = y.chunks_exact(dim).zip(out.chunks_exact(dim)).zip(inside);
                for (row, ((input, output), inside)) in outcomes.enumerate() {
                    let missed = if inside { 0.0 } else { MISSED };
                    let distance = squared_distance(input, output).sqrt();
                    wanted[(start + row) * charts + chart] = -(distance + missed) / DISTANCE_SCALE;
                }
            }
        }
        wanted.chunks_exact_mut(charts).for_each(softmax);
        fit_gate(&mut gate, steps, |_, input, share| {
            let row = rng.random_range(0..OUTCOMES);
            input.extend_from_slice(&y[row * dim..][..dim]);
            input.extend_from_slice(pool.state_inner(states[row]));
            share.copy_from_slice(&wanted[row * charts..][..charts]);
        });
        self.gate = Some(gate);
        Ok(())
    }

    /// The same in raw units, without anchors.
    pub(crate) fn weights(&self, units: &Units, x_units: &Units) -> Weights {
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
            }
        });
        Weights {
            dim: units.centre.len(),
            x_dim: x_units.centre.len(),
            frame: units.frame(),
            x_frame: x_units.frame(),
            gate: self.gate.as_ref().map(Mlp::to_network),
            charts: charts.collect(),
            discriminator: None,
            anchors: Vec::new(),
            equations: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use fabproj_core::LatentSet;
    use rand::SeedableRng;

    use super::*;
    use crate::data::PoolSizes;
    use crate::set::FnSet;

    /// A chart that clamps to a disc, in working units, exactly.
    fn disc(centre: &[f32], radius: f32) -> TrainedChart {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut identity = Mlp::new(MlpSpec::new(2, &[2], 2).with_skip(2), &mut rng).unwrap();
        identity.parameters_mut().fill(0.0);
        let skip = identity.skip_mut().unwrap();
        skip.copy_from_slice(&[1.0, 0.0, 0.0, 1.0]);
        TrainedChart {
            encoder: identity.clone(),
            decoder: identity,
            latent: LatentSet::Ball {
                radius,
                smooth: None,
            },
            centre: centre.to_vec(),
            scale: 1.0,
        }
    }

    #[test]
    fn the_gate_learns_who_serves_best() {
        let discs = |y: &[f64], _: &[f64]| (y[0].abs() - 1.2).hypot(y[1]) <= 0.6;
        let set = FnSet::new("discs", vec![(-2.0, 2.0); 2], discs);
        let sizes = PoolSizes {
            states: 1,
            feasible: 2_000,
            infeasible: 2_000,
            boundary: 500,
            draws: 1 << 20,
        };
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let pool = Pool::draw(&set, &sizes, &mut rng).unwrap();
        let units = pool.oracle.units();
        let chart = |x: f64| {
            let mut centre = Vec::new();
            units.push(&[x, 0.0], &mut centre);
            disc(&centre, 0.59 / units.scale[0] as f32)
        };
        // The third lies between the discs: what it gives is near, and of no use.
        let mut atlas = Atlas {
            gate: None,
            charts: vec![chart(-1.2), chart(1.2), chart(0.0)],
        };
        atlas
            .choose_by_outcome(&pool, &[16, 16], 600, &mut rng)
            .unwrap();
        let (mut y, mut out) = (Vec::new(), Vec::new());
        for _ in 0..2_000 {
            y.extend(pool.enlarged_input(0, 1.0, &mut rng));
        }
        let chosen = atlas.project(&pool, &y, &[0; 2_000], &mut out);
        // A fifth of a unit from the line between the discs there is no doubt.
        for (row, chart) in y.chunks_exact(2).zip(chosen) {
            let side = row[0] - (0.0 - units.centre[0] as f32) / units.scale[0] as f32;
            assert!(chart < 2, "an input at {row:?} is sent to no disc");
            assert!(side.abs() < 0.2 || (chart == 1) == (side > 0.0), "{row:?}");
        }
    }
}
