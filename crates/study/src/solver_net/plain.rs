//! Training of solver networks as the paper trains its baselines: the objective, plain Adam.

use fabproj::nn::{Adam, AdamConfig, Tape};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::{Correction, Features, SolverNet, Unsupervised};
use crate::StudyError;
use crate::method::Task;
use crate::problem::Problem;

/// Steps between two points of the training curve.
const CURVE: u64 = 25;

/// Settings of the training; the defaults are those of the paper's baselines.
///
/// The loss is the mean over problems of f(answer) + stay·‖point − answer‖², and what the
/// [`Correction`] adds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Plain {
    /// Hidden layers. Default 128, 128, 128.
    pub hidden: Vec<usize>,
    /// Steps. Default 500.
    pub steps: u64,
    /// Fresh problems per step. Default 32.
    pub rows: usize,
    /// Learning rate of Adam. Default 0.001.
    pub rate: f32,
    /// Weight of the squared distance between point and answer. Default 0.
    pub stay: f32,
}

impl Default for Plain {
    fn default() -> Self {
        Self {
            hidden: vec![128; 3],
            steps: 500,
            rows: 32,
            rate: 1e-3,
            stay: 0.0,
        }
    }
}

/// How the solver network of a baseline is trained.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Training {
    /// As the paper trains its baselines.
    Plain(Plain),
    /// As we train ours.
    Ours(Unsupervised),
}

impl Training {
    /// Trains a network.
    ///
    /// # Errors
    /// [`StudyError`] when the numbers grow beyond all bounds or the study stops.
    pub fn train(
        &self,
        task: &Task<'_>,
        correction: &mut dyn Correction,
    ) -> Result<(SolverNet, Vec<(u64, f64)>), StudyError> {
        match self {
            Self::Plain(plain) => plain.train(task, correction),
            Self::Ours(ours) => ours.train(task, correction),
        }
    }

    /// Problems that a step's correction sees at once.
    pub fn rows(&self) -> usize {
        match self {
            Self::Plain(plain) => plain.rows,
            Self::Ours(ours) => ours.rows,
        }
    }
}

impl Plain {
    /// Trains a network.
    ///
    /// # Errors
    /// [`StudyError`] when the numbers grow beyond all bounds or the study stops.
    pub fn train(
        &self,
        task: &Task<'_>,
        correction: &mut dyn Correction,
    ) -> Result<(SolverNet, Vec<(u64, f64)>), StudyError> {
        let (objective, dim) = (task.objective, task.set.dim());
        let mut random = ChaCha8Rng::seed_from_u64(task.seed);
        random.set_stream(31 + objective as u64);
        let hidden = &self.hidden;
        let mut net = SolverNet::new(Features::Paper, objective, dim, hidden, 1, &mut random)?;
        let length = net.network().parameters().len();
        let mut adam = Adam::new(AdamConfig::default(), length);
        let (mut tape, mut gradient) = (Tape::new(), vec![0.0; length]);
        let mut features = vec![0.0; self.rows * net.inputs()];
        let mut problem = vec![Problem::draw(objective, dim, &mut random); self.rows];
        let (mut base, mut step_work) = (vec![0.0; dim], Step::new(self.rows, dim));
        let mut curve = Vec::new();
        for step in 0..self.steps {
            task.shop.check_stop()?;
            let rows = features.chunks_exact_mut(net.inputs());
            for (problem, features) in problem.iter_mut().zip(rows) {
                problem.redraw(&mut random);
                net.prepare(problem, features, &mut base);
            }
            let points = net.network().forward(&features, self.rows, &mut tape);
            let loss = step_work.differentiate(&problem, points, self.stay, correction);
            if !loss.is_finite() {
                let what = "a solver network".to_owned();
                return Err(StudyError::Diverged { what, step });
            }
            if step.is_multiple_of(CURVE) {
                curve.push((step, loss));
            }
            gradient.fill(0.0);
            net.network()
                .backward(&mut tape, &step_work.delta, Some(&mut gradient), None);
            adam.update(net.network_mut().parameters_mut(), &gradient, self.rate);
        }
        Ok((net, curve))
    }
}

/// What a step computes from the network's points.
struct Step {
    answers: Vec<f32>,
    cotangent: Vec<f32>,
    own: Vec<f32>,
    delta: Vec<f32>,
    losses: Vec<f32>,
}

impl Step {
    fn new(rows: usize, dim: usize) -> Self {
        let points = vec![0.0; rows * dim];
        Self {
            answers: points.clone(),
            cotangent: points.clone(),
            own: points.clone(),
            delta: points,
            losses: vec![0.0; rows],
        }
    }

    /// The mean loss; its gradient with respect to the points is in `delta` afterwards.
    fn differentiate(
        &mut self,
        problems: &[Problem],
        points: &[f32],
        stay: f32,
        correction: &mut dyn Correction,
    ) -> f64 {
        let dim = points.len() / problems.len();
        let share = 1.0 / problems.len() as f32;
        correction.correct(points, &mut self.answers);
        let (mut y, mut gradient) = ([0.0; 16], [0.0; 16]);
        let (y, gradient) = (&mut y[..dim], &mut gradient[..dim]);
        for (row, problem) in problems.iter().enumerate() {
            let place = row * dim..(row + 1) * dim;
            for (y, answer) in y.iter_mut().zip(&self.answers[place.clone()]) {
                *y = f64::from(*answer);
            }
            problem.gradient(y, gradient);
            let mut loss = problem.value(y) as f32;
            for (index, slope) in place.zip(&*gradient) {
                let apart = points[index] - self.answers[index];
                loss += stay * apart * apart;
                self.cotangent[index] = share * (*slope as f32 - 2.0 * stay * apart);
            }
            self.losses[row] = loss;
        }
        correction.penalise(points, &mut self.losses, &mut self.own);
        correction.pull_back(points, &self.cotangent, &mut self.delta);
        for (index, delta) in self.delta.iter_mut().enumerate() {
            let apart = points[index] - self.answers[index];
            *delta += share * (self.own[index] + 2.0 * stay * apart);
        }
        let total: f64 = self.losses.iter().copied().map(f64::from).sum();
        total * f64::from(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Objective;

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
            for (point, loss) in points.chunks_exact(2).zip(losses) {
                *loss += point.iter().map(|value| value * value).sum::<f32>();
            }
            for (gradient, point) in gradient.iter_mut().zip(points) {
                *gradient = 2.0 * point;
            }
        }
    }

    #[test]
    fn gradients_agree_with_differences() {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        for objective in Objective::ALL {
            let problems: Vec<_> = (0..3)
                .map(|_| Problem::draw(objective, 2, &mut random))
                .collect();
            let points: Vec<f32> = (0..6).map(|i| (i as f32 * 0.7).sin()).collect();
            let mut step = Step::new(3, 2);
            step.differentiate(&problems, &points, 0.3, &mut Halving);
            let delta = step.delta.clone();
            for index in 0..points.len() {
                let mut loss = |sign: f32| {
                    let mut moved = points.clone();
                    moved[index] += sign * 0.01;
                    step.differentiate(&problems, &moved, 0.3, &mut Halving)
                };
                let difference = (loss(1.0) - loss(-1.0)) / 0.02;
                let found = f64::from(delta[index]);
                assert!(
                    (found - difference).abs() < 1e-3 * (1.0 + found.abs()),
                    "{objective} {index}: {found} {difference}"
                );
            }
        }
    }
}
