//! Training of solver networks by the objective itself.

use fabproj_nn::{Cosine, soft_minimum};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use serde::Serialize;

use super::learner::Learner;
use super::{Correction, Features, SolverNet};
use crate::StudyError;
use crate::method::{Polish, Task};
use crate::problem::{MOST, Objective, Problem, norm, widen};

/// Settings of the training; the defaults are ours, [`plain`](Self::plain) ones those of the paper's
/// baselines.
///
/// Per head the loss is f(answer)/scale + stay·‖point − answer‖² (and what the [`Correction`] adds);
/// the heads of a problem are weighted by a softmin of their losses that sharpens over the training,
/// so that they share the problems among them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Unsupervised {
    /// How problems are presented. Default [`Features::Unaimed`].
    pub features: Features,
    /// Hidden layers. Default 128, 128, 128.
    pub hidden: Vec<usize>,
    /// Points proposed per problem. Default 4.
    pub heads: usize,
    /// Steps. Default 3000.
    pub steps: u64,
    /// Fresh problems per step. Default 128.
    pub rows: usize,
    /// Learning rate of Adam, at its peak. Default 0.002.
    pub rate: f32,
    /// Whether the rate warms up and falls along a cosine; otherwise it stays. Default true.
    pub cosine: bool,
    /// Gradients are shortened to this length. Default 5.
    pub clip: Option<f32>,
    /// Whether the objective is divided by its scale in each problem. Default true.
    pub scaled: bool,
    /// Weight of the squared distance between point and answer. Default 0.05.
    pub stay: f32,
    /// Standard deviation of the heads' first biases. Default 0.7.
    pub spread: f32,
    /// How the best feasible answer is improved, if at all. Default [`Polish::default`]. Not written where there is
    /// none, so that the keys of those methods do not know of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polish: Option<Polish>,
}

impl Default for Unsupervised {
    fn default() -> Self {
        Self {
            features: Features::Unaimed,
            hidden: vec![128; 3],
            heads: 4,
            steps: 3_000,
            rows: 128,
            rate: 2e-3,
            cosine: true,
            clip: Some(5.0),
            scaled: true,
            stay: 0.05,
            spread: 0.7,
            polish: Some(Polish::default()),
        }
    }
}

impl Unsupervised {
    /// A network for fast answers, aimed at two microseconds: smaller, two points per problem, not polished.
    pub fn small() -> Self {
        Self {
            hidden: vec![48; 2],
            heads: 2,
            polish: None,
            ..Self::default()
        }
    }

    /// As the paper trains its baselines: the objective itself, one point per problem, 500 steps of 32,
    /// plain Adam.
    pub fn plain() -> Self {
        Self {
            features: Features::Paper,
            heads: 1,
            steps: 500,
            rows: 32,
            rate: 1e-3,
            cosine: false,
            clip: None,
            scaled: false,
            stay: 0.0,
            polish: None,
            ..Self::default()
        }
    }

    /// About how many seconds of a core the training takes, if a point's correction and its gradient
    /// take so many microseconds.
    pub fn seconds(&self, correction: f64) -> f64 {
        let points = self.steps as f64 * (self.rows * self.heads) as f64;
        1e-6 * points * (0.8 + correction)
    }

    /// Trains a network.
    ///
    /// # Errors
    /// [`StudyError`] when the numbers grow beyond all bounds or the study stops.
    pub fn train(
        &self,
        task: &Task<'_>,
        correction: &mut dyn Correction,
    ) -> Result<(SolverNet, Vec<(u64, f64)>), StudyError> {
        let mut random = ChaCha8Rng::seed_from_u64(task.seed);
        random.set_stream(21 + task.objective as u64);
        let net = self.start(task, &mut random)?;
        let mut batch = Batch::new(self, task, &net, &mut random);
        let mut features = vec![0.0; self.rows * net.inputs()];
        let mut learner = Learner::new(net, self.steps, self.rows);
        let clip = self.clip.unwrap_or(f32::INFINITY);
        for step in 0..self.steps {
            batch.draw(learner.net(), &mut features, &mut random);
            let left = 1.0 - step as f32 / self.steps as f32;
            let temperature = 0.5 * left * left + 1e-3;
            learner.step(
                task,
                &features,
                (self.rate_at(step), clip),
                |outputs, delta| {
                    batch.propose(outputs);
                    batch.differentiate(self, temperature, correction, delta)
                },
            )?;
        }
        Ok(learner.finish())
    }

    fn rate_at(&self, step: u64) -> f32 {
        if !self.cosine {
            return self.rate;
        }
        let schedule = Cosine {
            peak: self.rate,
            end_fraction: 0.002,
            warm_up: 100,
            total: self.steps,
        };
        schedule.at(step)
    }

    /// Heads that begin apart from each other.
    fn start(&self, task: &Task<'_>, random: &mut ChaCha8Rng) -> Result<SolverNet, StudyError> {
        let dim = task.set.dim();
        let hidden = &self.hidden;
        let mut net = SolverNet::new(
            self.features,
            task.objective,
            dim,
            hidden,
            self.heads,
            random,
        )?;
        if self.heads > 1 {
            let last = net.network().spec().layer_count() - 1;
            let bias = net.network_mut().bias_mut(last);
            bias.fill_with(|| self.spread * random.sample::<f32, _>(StandardNormal));
        }
        Ok(net)
    }
}

/// What a unit of the objective is worth in a problem.
fn scale(problem: &Problem) -> f64 {
    let length = norm(problem.vector());
    match problem.objective() {
        Objective::Linear => length.max(1e-9),
        Objective::Distance => 1.0 + length,
        Objective::Quadratic => {
            let diagonal = problem.matrix().iter().step_by(problem.dim() + 1);
            diagonal.sum::<f64>() + length
        }
    }
}

/// The problems of a step, and all that is computed from them.
struct Batch {
    problems: Vec<Problem>,
    bases: Vec<f32>,
    points: Vec<f32>,
    answers: Vec<f32>,
    cotangent: Vec<f32>,
    own: Vec<f32>,
    losses: Vec<f32>,
    weights: Vec<f32>,
    dim: usize,
    heads: usize,
}

impl Batch {
    fn new(
        settings: &Unsupervised,
        task: &Task<'_>,
        net: &SolverNet,
        random: &mut ChaCha8Rng,
    ) -> Self {
        let (rows, dim, heads) = (settings.rows, net.dim(), net.heads());
        let problems = (0..rows).map(|_| Problem::draw(task.objective, dim, random));
        let points = vec![0.0; rows * heads * dim];
        Self {
            problems: problems.collect(),
            bases: vec![0.0; rows * dim],
            answers: points.clone(),
            cotangent: points.clone(),
            own: points.clone(),
            points,
            losses: vec![0.0; rows * heads],
            weights: vec![0.0; heads],
            dim,
            heads,
        }
    }

    /// Draws problems anew, and writes the network's inputs.
    fn draw(&mut self, net: &SolverNet, features: &mut [f32], random: &mut ChaCha8Rng) {
        let features = features.chunks_exact_mut(net.inputs());
        let bases = self.bases.chunks_exact_mut(self.dim);
        for ((problem, features), base) in self.problems.iter_mut().zip(features).zip(bases) {
            problem.redraw(random);
            net.prepare(problem, features, base);
        }
    }

    /// Adds the network's outputs to the base points.
    fn propose(&mut self, outputs: &[f32]) {
        let width = self.heads * self.dim;
        let rows = self
            .points
            .chunks_exact_mut(width)
            .zip(outputs.chunks_exact(width));
        for ((points, outputs), base) in rows.zip(self.bases.chunks_exact(self.dim)) {
            for ((point, output), base) in points.iter_mut().zip(outputs).zip(base.iter().cycle()) {
                *point = base + output;
            }
        }
    }

    /// The mean over problems of the weighted losses; writes its gradient with respect to the outputs.
    fn differentiate(
        &mut self,
        settings: &Unsupervised,
        temperature: f32,
        correction: &mut dyn Correction,
        delta: &mut [f32],
    ) -> f64 {
        let (dim, heads) = (self.dim, self.heads);
        correction.correct(&self.points, &mut self.answers);
        self.evaluate(settings);
        correction.penalise(&self.points, &mut self.losses, &mut self.own);
        let mut total = 0.0;
        let share = 1.0 / self.problems.len() as f32;
        for row in 0..self.problems.len() {
            let losses = &self.losses[row * heads..][..heads];
            soft_minimum(losses, temperature, &mut self.weights);
            for (head, weight) in self.weights.iter().enumerate() {
                total += f64::from(weight * losses[head]);
                let place = (row * heads + head) * dim;
                for value in &mut self.cotangent[place..][..dim] {
                    *value *= weight * share;
                }
                for (index, own) in self.own[place..][..dim].iter_mut().enumerate() {
                    let apart = self.points[place + index] - self.answers[place + index];
                    *own = weight * share * (*own + 2.0 * settings.stay * apart);
                }
            }
        }
        correction.pull_back(&self.points, &self.cotangent, delta);
        for (delta, own) in delta.iter_mut().zip(&self.own) {
            *delta += own;
        }
        total * f64::from(share)
    }

    /// Losses of all heads, and their gradients with respect to the answers in `cotangent`.
    fn evaluate(&mut self, settings: &Unsupervised) {
        let (dim, heads, stay) = (self.dim, self.heads, settings.stay);
        let (mut y, mut gradient) = ([0.0; MOST], [0.0; MOST]);
        let (y, gradient) = (&mut y[..dim], &mut gradient[..dim]);
        for (row, problem) in self.problems.iter().enumerate() {
            let scale = match settings.scaled {
                true => 1.0 / scale(problem),
                false => 1.0,
            };
            for head in 0..heads {
                let place = (row * heads + head) * dim;
                let (point, answer) = (&self.points[place..][..dim], &self.answers[place..][..dim]);
                widen(answer, y);
                problem.gradient(y, gradient);
                let mut loss = (scale * problem.value(y)) as f32;
                let cotangent = &mut self.cotangent[place..][..dim];
                for index in 0..dim {
                    let apart = point[index] - answer[index];
                    loss += stay * apart * apart;
                    cotangent[index] = (scale * gradient[index]) as f32 - 2.0 * stay * apart;
                }
                self.losses[row * heads + head] = loss;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, Effort, StudySet};

    /// Halves the points, and charges for their squares.
    struct Halving;

    impl Correction for Halving {
        fn correct(&mut self, points: &[f32], answers: &mut [f32]) {
            for (answer, point) in answers.iter_mut().zip(points) {
                *answer = 0.5 * point;
            }
        }

        fn pull_back(&mut self, _points: &[f32], cotangent: &[f32], gradient: &mut [f32]) {
            for (gradient, cotangent) in gradient.iter_mut().zip(cotangent) {
                *gradient = 0.5 * cotangent;
            }
        }

        fn penalise(&mut self, points: &[f32], losses: &mut [f32], gradient: &mut [f32]) {
            for (row, loss) in losses.iter_mut().enumerate() {
                *loss += points[2 * row..][..2]
                    .iter()
                    .map(|point| point * point)
                    .sum::<f32>();
            }
            for (gradient, point) in gradient.iter_mut().zip(points) {
                *gradient = 2.0 * point;
            }
        }
    }

    /// The derivative of the loss with respect to each output, and by differences.
    fn derivatives(settings: &Unsupervised, objective: Objective) -> Vec<(f64, f64)> {
        let context = Context::in_memory(Effort::quick());
        let task = Task {
            set: StudySet::open("star-shaped").unwrap(),
            objective,
            seed: 1,
            context: &context,
        };
        let mut random = ChaCha8Rng::seed_from_u64(4);
        let net = settings.start(&task, &mut random).unwrap();
        let mut batch = Batch::new(settings, &task, &net, &mut random);
        let mut features = vec![0.0; settings.rows * net.inputs()];
        batch.draw(&net, &mut features, &mut random);
        let count = settings.rows * settings.heads * 2;
        let outputs: Vec<f32> = (0..count).map(|i| (i as f32 * 0.7).sin()).collect();
        let mut loss = |outputs: &[f32]| {
            let mut delta = vec![0.0; count];
            batch.propose(outputs);
            // So warm that the weights, which count as constants, hardly change.
            let loss = batch.differentiate(settings, 1e6, &mut Halving, &mut delta);
            (loss, delta)
        };
        let (_, delta) = loss(&outputs);
        let mut moved = |index: usize, step: f32| {
            let mut outputs = outputs.clone();
            outputs[index] += step;
            loss(&outputs).0
        };
        let pairs = delta.iter().enumerate().map(|(index, slope)| {
            let difference = (moved(index, 0.01) - moved(index, -0.01)) / 0.02;
            (f64::from(*slope), difference)
        });
        pairs.collect()
    }

    #[test]
    fn gradients_agree_with_differences() {
        let ours = Unsupervised::default();
        let plain = Unsupervised {
            stay: 0.3,
            ..Unsupervised::plain()
        };
        for settings in [ours, plain] {
            let settings = Unsupervised {
                rows: 3,
                ..settings
            };
            for objective in Objective::ALL {
                for (slope, difference) in derivatives(&settings, objective) {
                    assert!(
                        (slope - difference).abs() < 3e-4 * (1.0 + slope.abs()),
                        "{objective}: {slope} {difference}"
                    );
                }
            }
        }
    }
}
