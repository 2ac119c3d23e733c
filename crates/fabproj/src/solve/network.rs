//! Training of the network that proposes points: the objective itself is its loss, through the projector,
//! which does not change.

use fabproj_core::{
    Activation, AffineMap, Functions, Membership, Projector, RawOutcome, Tape as ProjectorTape,
};
use fabproj_nn::state::{RandomState, State};
use fabproj_nn::{Adam, AdamConfig, Cosine, Mlp, MlpSpec, Tape, clip_norm, soft_minimum};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use super::affine::apply;
use super::black_box::Feasible;
use super::problem::Problem;
use super::settings::SolveSettings;
use crate::set::Interval;
use crate::train::{Event, Session, TrainError};

/// The unit of work that checkpoints know.
const UNIT: &str = "network";
/// x of a step.
const ROWS: usize = 128;
/// Hidden layers.
const DEPTH: usize = 3;
/// Steps between two checkpoints, and between two reports.
const SAVE: u64 = 500;
/// Learning rate at its peak, and the longest gradient.
const RATE: f32 = 2e-3;
const CLIP: f32 = 5.0;
/// Weight of the squared distance between proposal and projection.
const STAY: f32 = 0.05;
/// Weight of the distance between a proposal that leads outside and a feasible answer.
const WITHDRAW: f64 = 1.0;
/// Standard deviation of the heads' first offsets, in units of the set's size.
const SPREAD: f32 = 0.7;
/// Slopes below this part of the usual one do not make the loss larger.
const FLAT: f32 = 0.1;

/// What a network is trained for.
pub(super) struct Task<'a> {
    pub(super) problem: &'a Problem,
    pub(super) projector: &'a Projector,
    pub(super) set: &'a Feasible<'a>,
    /// What the network's outputs are added to.
    pub(super) start: &'a AffineMap,
    pub(super) x_range: &'a [Interval],
    /// The size of the set.
    pub(super) unit: f64,
}

/// A place in the training, beside the tensors.
#[derive(Serialize, Deserialize)]
struct Place {
    step: u64,
    usual: f32,
    random: RandomState,
}

impl Task<'_> {
    /// Trains a network; its outputs are in raw units.
    pub(super) fn train(
        &self,
        settings: &SolveSettings,
        session: &Session,
    ) -> Result<Mlp, TrainError> {
        session.emit(&Event::Stage {
            name: "network in front of the projector",
        });
        let mut random = ChaCha8Rng::seed_from_u64(settings.seed);
        random.set_stream(31);
        let mut net = self.network(settings, &mut random)?;
        let mut adam = Adam::new(AdamConfig::default(), net.parameters().len());
        let mut batch = Batch::new(self, settings.heads);
        let mut first = 0;
        if let Some(bytes) = session.load(UNIT) {
            let place = State::from_bytes(&bytes).and_then(|state| {
                let place: Place = state.value()?;
                let restored = state.get_network("net", &mut net, &mut adam, None);
                Some((place.step, place.usual, place.random.restore()?)).filter(|_| restored)
            });
            let Some((step, usual, generator)) = place else {
                return Err(TrainError::Checkpoint {
                    unit: UNIT.to_owned(),
                    reason: "not the state of this network".to_owned(),
                });
            };
            adam.step = step;
            (first, batch.usual, random) = (step, usual, generator);
        }
        let steps = settings.network_steps;
        let rates = Cosine {
            peak: RATE,
            end_fraction: 0.002,
            warm_up: 100.min(steps / 10),
            total: steps,
        };
        let mut tape = Tape::new();
        let mut gradient = vec![0.0; net.parameters().len()];
        for step in first..steps {
            batch.draw(self, &mut random);
            let outputs = net.forward(&batch.features, ROWS, &mut tape);
            let left = 1.0 - step as f32 / steps as f32;
            let loss = batch.differentiate(self, outputs, 0.5 * left * left + 1e-3);
            if !loss.is_finite() {
                return Err(TrainError::Diverged {
                    unit: UNIT.to_owned(),
                    step,
                    loss: f64::from(loss),
                });
            }
            gradient.fill(0.0);
            net.backward(&mut tape, &batch.delta, Some(&mut gradient), None);
            clip_norm(&mut gradient, CLIP);
            adam.update(net.parameters_mut(), &gradient, rates.at(step));
            let stopped = session.stopped();
            if stopped || (step + 1) % SAVE == 0 {
                session.save(UNIT, || {
                    let mut state = State::new(&Place {
                        step: step + 1,
                        usual: batch.usual,
                        random: RandomState::of(&random),
                    });
                    state.put_network("net", &net, &adam, None);
                    state.to_bytes()
                });
                session.emit(&Event::Progress {
                    unit: UNIT,
                    step: step + 1,
                    steps,
                    done: (step + 1) as f64 / steps as f64,
                    losses: &[("objective", loss)],
                });
            }
            if stopped {
                return Err(TrainError::Stopped);
            }
        }
        Ok(self.in_raw_units(net))
    }

    /// Heads that begin apart from each other.
    fn network(
        &self,
        settings: &SolveSettings,
        random: &mut ChaCha8Rng,
    ) -> Result<Mlp, TrainError> {
        let inputs = self.problem.x_dim().max(1);
        let outputs = settings.heads * self.problem.dim();
        let hidden = [settings.width; DEPTH];
        let spec = MlpSpec {
            skip: Some(inputs),
            ..MlpSpec::new(inputs, &hidden, outputs).with_hidden(Activation::Relu)
        };
        let mut net = Mlp::new(spec, random)?;
        let last = net.spec().layer_count() - 1;
        net.weights_mut(last).iter_mut().for_each(|w| *w *= 0.1);
        if let Some(skip) = net.skip_mut() {
            skip.fill(0.0);
        }
        if settings.heads > 1 {
            let bias = net.bias_mut(last);
            bias.fill_with(|| SPREAD * random.sample::<f32, _>(StandardNormal));
        }
        Ok(net)
    }

    fn in_raw_units(&self, mut net: Mlp) -> Mlp {
        let (last, unit) = (net.spec().layer_count() - 1, self.unit as f32);
        net.weights_mut(last).iter_mut().for_each(|w| *w *= unit);
        net.bias_mut(last).iter_mut().for_each(|b| *b *= unit);
        if let Some(skip) = net.skip_mut() {
            skip.iter_mut().for_each(|w| *w *= unit);
        }
        net
    }
}

/// The x of a step, and all that is computed from them.
struct Batch {
    heads: usize,
    x: Vec<f64>,
    features: Vec<f32>,
    points: Vec<f64>,
    answers: Vec<f64>,
    /// x once for each head.
    rows_of_x: Vec<f64>,
    outcomes: Vec<RawOutcome>,
    tape: ProjectorTape,
    values: Vec<f64>,
    gradients: Vec<f64>,
    back: Vec<f64>,
    delta: Vec<f32>,
    memory: Vec<f64>,
    constraints: Vec<f64>,
    /// Length of the objective's gradient, averaged over the steps so far.
    usual: f32,
}

impl Batch {
    fn new(task: &Task<'_>, heads: usize) -> Self {
        let (dim, x_dim) = (task.problem.dim(), task.problem.x_dim());
        let (rows, objective) = (ROWS * heads, task.problem.objective());
        Self {
            heads,
            x: vec![0.0; ROWS * x_dim],
            features: vec![0.0; ROWS * x_dim.max(1)],
            points: vec![0.0; rows * dim],
            answers: vec![0.0; rows * dim],
            rows_of_x: vec![0.0; rows * x_dim],
            outcomes: vec![RawOutcome::Inside; rows],
            tape: task.projector.tape(rows),
            values: vec![0.0; rows],
            gradients: vec![0.0; rows * dim],
            back: vec![0.0; rows * dim],
            delta: vec![0.0; rows * dim],
            memory: vec![0.0; objective.memory()],
            constraints: vec![0.0; objective.rows()],
            usual: 0.0,
        }
    }

    /// Draws x anew, and writes the network's inputs.
    fn draw(&mut self, task: &Task<'_>, random: &mut ChaCha8Rng) {
        let x_dim = task.problem.x_dim();
        if x_dim == 0 {
            return;
        }
        for x in self.x.chunks_exact_mut(x_dim) {
            task.problem.distribution().draw_one(random, x);
        }
        let coordinates = self.x.iter().zip(task.x_range.iter().cycle());
        for (feature, (x, (low, high))) in self.features.iter_mut().zip(coordinates) {
            let half = 0.5 * (high - low);
            *feature = if half > 0.0 {
                ((x - low - half) / half) as f32
            } else {
                0.0
            };
        }
    }

    /// The loss of the network's outputs; its gradient with respect to them is written into `delta`.
    fn differentiate(&mut self, task: &Task<'_>, outputs: &[f32], temperature: f32) -> f32 {
        let (dim, x_dim, heads) = (task.problem.dim(), task.problem.x_dim(), self.heads);
        for row in 0..ROWS {
            let x = &self.x[row * x_dim..][..x_dim];
            let start = apply(task.start, x);
            for head in 0..heads {
                let place = row * heads + head;
                self.rows_of_x[place * x_dim..][..x_dim].copy_from_slice(x);
                let point = &mut self.points[place * dim..][..dim];
                let offsets = &outputs[place * dim..][..dim];
                for ((point, start), offset) in point.iter_mut().zip(&start).zip(offsets) {
                    *point = start + task.unit * f64::from(*offset);
                }
            }
        }
        let (answers, outcomes) = (&mut self.answers, &mut self.outcomes);
        let (points, x) = (&self.points, &self.rows_of_x);
        let done = task
            .projector
            .forward(points, x, answers, outcomes, &mut self.tape);
        // Lengths and tape fit by construction.
        debug_assert!(done.is_ok());
        self.evaluate(task.problem.objective());
        let loss = self.weigh(task, temperature);
        let (back, tape) = (&mut self.back, &mut self.tape);
        let done = task
            .projector
            .pullback(&self.gradients, back, &mut [], tape);
        debug_assert!(done.is_ok());
        for (delta, back) in self.delta.iter_mut().zip(&self.back) {
            *delta += (task.unit * back) as f32;
        }
        loss
    }

    /// f and its gradient at all answers.
    fn evaluate(&mut self, objective: &dyn Functions) {
        let (dim, x_dim) = (objective.dim(), objective.x_dim());
        let none = vec![0.0; objective.rows()];
        for (place, value) in self.values.iter_mut().enumerate() {
            let y = &self.answers[place * dim..][..dim];
            let x = &self.rows_of_x[place * x_dim..][..x_dim];
            let gradient = &mut self.gradients[place * dim..][..dim];
            let (constraints, memory) = (&mut self.constraints, &mut self.memory);
            *value = objective.values(y, x, constraints, memory);
            objective.gradient(y, x, &none, gradient, memory);
            if !(value.is_finite() && gradient.iter().all(|value| value.is_finite())) {
                // A point without an objective: any other is better, and there is no slope.
                *value = f64::MAX;
                gradient.fill(0.0);
            }
        }
    }

    /// The losses of all heads, the best of each x with nearly all the weight. `gradients` become those of
    /// the loss with respect to the answers, `delta` those of the distance between proposal and answer.
    fn weigh(&mut self, task: &Task<'_>, temperature: f32) -> f32 {
        let (dim, heads) = (task.problem.dim(), self.heads);
        let (mut total, mut slopes) = (0.0, 0.0);
        let mut losses = vec![0.0; heads];
        let mut weights = vec![0.0; heads];
        for row in 0..ROWS {
            let all = row * heads * dim..(row + 1) * heads * dim;
            let square: f64 = self.gradients[all].iter().map(|value| value * value).sum();
            let slope = (square / heads as f64).sqrt() as f32;
            slopes += slope / ROWS as f32;
            // What a unit of the objective is worth at this x.
            let worth = 1.0 / (task.unit as f32 * slope.max(FLAT * self.usual).max(1e-20));
            let values = &self.values[row * heads..][..heads];
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            for (head, loss) in losses.iter_mut().enumerate() {
                let place = (row * heads + head) * dim;
                let points = &self.points[place..][..dim];
                let apart = points.iter().zip(&self.answers[place..]);
                let apart: f64 = apart.map(|(p, y)| (p - y) * (p - y)).sum();
                let apart = (apart / (task.unit * task.unit)) as f32;
                let above = ((values[head] - least) as f32 * worth).min(1e6);
                *loss = above + STAY * apart;
            }
            let inside = self.first_inside(task, row, &mut losses);
            soft_minimum(&losses, temperature, &mut weights);
            for (head, weight) in weights.iter().enumerate() {
                let share = weight / ROWS as f32;
                let place = (row * heads + head) * dim;
                if let Some(inside) = inside
                    && losses[head] == f32::INFINITY
                {
                    self.withdraw(place, (row * heads + inside) * dim, dim);
                    continue;
                }
                total += share * losses[head];
                for i in place..place + dim {
                    let apart = (self.points[i] - self.answers[i]) / task.unit;
                    let pull = 2.0 * STAY * share * apart as f32;
                    self.delta[i] = pull;
                    let gradient = &mut self.gradients[i];
                    *gradient = *gradient * f64::from(share * worth) - f64::from(pull) / task.unit;
                }
            }
        }
        self.usual = if self.usual == 0.0 {
            slopes
        } else {
            0.98 * self.usual + 0.02 * slopes
        };
        total
    }
}

impl Batch {
    /// The feasible head of least loss at an x. Heads of less loss are outside: theirs becomes infinite. None,
    /// and no change, if no head is feasible.
    fn first_inside(&self, task: &Task<'_>, row: usize, losses: &mut [f32]) -> Option<usize> {
        let (dim, x_dim, heads) = (task.problem.dim(), task.problem.x_dim(), self.heads);
        let x = &self.x[row * x_dim..][..x_dim];
        let mut order: Vec<usize> = (0..heads).collect();
        order.sort_by(|a, b| losses[*a].total_cmp(&losses[*b]));
        let inside = order.iter().position(|head| {
            let answer = &self.answers[(row * heads + head) * dim..][..dim];
            task.set.contains(answer, x)
        })?;
        order[..inside]
            .iter()
            .for_each(|head| losses[*head] = f32::INFINITY);
        Some(order[inside])
    }

    /// Makes the loss of a proposal its distance to another head's answer.
    fn withdraw(&mut self, from: usize, to: usize, dim: usize) {
        let away: Vec<f64> = (0..dim)
            .map(|i| self.points[from + i] - self.answers[to + i])
            .collect();
        let length = away.iter().map(|away| away * away).sum::<f64>().sqrt();
        let share = WITHDRAW / (ROWS as f64 * length.max(f64::MIN_POSITIVE));
        for (i, away) in away.iter().enumerate() {
            self.delta[from + i] = (share * away) as f32;
            self.gradients[from + i] = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use fabproj_core::{LatentSet, Weights};

    use super::*;
    use crate::set::FnSet;
    use crate::solve::FnFunctions;

    /// The gradient with respect to the network's outputs is that of the weighed objective and the distance
    /// between proposal and answer, through the projector.
    #[test]
    fn the_gradient_agrees_with_differences() {
        let slopes = [3.0, -1.0];
        let set = FnSet::new("disc", [(-1.0, 1.0); 2], |y, _| y[0].hypot(y[1]) <= 0.6);
        let objective = FnFunctions::new([2, 0, 0], move |y, _, _| {
            slopes[0] * y[0] + slopes[1] * y[1]
        });
        let problem = Problem::from_set(set, objective);
        let disc = LatentSet::Ball {
            radius: 0.5,
            smooth: None,
        };
        let projector = Projector::new(&Weights::identity(2, disc)).expect("a projector");
        let start = AffineMap {
            constant: vec![0.1, 0.0],
            by_x: Vec::new(),
        };
        let unit = 0.8;
        let task = Task {
            problem: &problem,
            projector: &projector,
            set: &Feasible::of(&problem).expect("a set"),
            start: &start,
            x_range: &[],
            unit,
        };
        let loss = |output: &[f64]| {
            let point = [0.1 + unit * output[0], unit * output[1]];
            let (y, _) = projector.project(&point, &[]).expect("a projection");
            let worth = 1.0 / (unit * slopes[0].hypot(slopes[1]));
            let apart = (point[0] - y[0]).hypot(point[1] - y[1]) / unit;
            worth * (slopes[0] * y[0] + slopes[1] * y[1]) + f64::from(STAY) * apart * apart
        };
        // Inside the disc and outside.
        for output in [[0.1, 0.2], [1.0, 0.5], [-0.3, -1.5]] {
            let outputs: Vec<f32> = output.map(|one| one as f32).repeat(ROWS);
            let mut batch = Batch::new(&task, 1);
            batch.differentiate(&task, &outputs, 0.1);
            for i in 0..2 {
                let at = |step: f64| {
                    let mut moved = output;
                    moved[i] += step;
                    loss(&moved)
                };
                let expected = (at(1e-3) - at(-1e-3)) / 2e-3;
                let found = f64::from(batch.delta[i]) * ROWS as f64;
                assert!(
                    (found - expected).abs() < 2e-3,
                    "{output:?}: {found}, {expected}"
                );
            }
        }
    }

    #[test]
    fn proposals_that_lead_outside_are_drawn_to_the_best_feasible_answer() {
        // All of the disc's projections are in the set but those on the right, which the objective wants.
        let set = FnSet::new("left", [(-1.0, 1.0); 2], |y, _| y[0] <= 0.2);
        let objective = FnFunctions::new([2, 0, 0], |y, _, _| -y[0]);
        let problem = Problem::from_set(set, objective);
        let disc = LatentSet::Ball {
            radius: 0.5,
            smooth: None,
        };
        let task = Task {
            problem: &problem,
            projector: &Projector::new(&Weights::identity(2, disc)).expect("a projector"),
            set: &Feasible::of(&problem).expect("a set"),
            start: &AffineMap {
                constant: vec![0.0; 2],
                by_x: Vec::new(),
            },
            x_range: &[],
            unit: 1.0,
        };
        let mut batch = Batch::new(&task, 3);
        let outputs = [0.4_f32, 0.0, -0.3, 0.0, 0.1, 0.0].repeat(ROWS);
        batch.differentiate(&task, &outputs, 0.01);
        let rows = ROWS as f32;
        let [outside, _, _, _, best, _] = batch.delta[..6] else {
            panic!("three heads");
        };
        // Back to the left, and the best feasible one further to the right.
        assert!((outside * rows - 1.0).abs() < 1e-3, "{outside}");
        assert!(best * rows < -0.9, "{best}");
    }
}
