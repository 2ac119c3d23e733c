//! The paper's training of solver networks: toward points that projected gradient found.

use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::learner::Learner;
use super::{Correction, Features, SolverNet};
use crate::method::{Samples, Task, descend};
use crate::problem::{Objective, Problem};
use crate::{StudyError, StudySet};

/// Steps, which the released code calls epochs.
const STEPS: usize = 500;
/// Problems per step.
const ROWS: usize = 32;
/// Iterations of projected gradient for one target.
const ITERATIONS: usize = 50;

/// Problems for all steps with their targets, shared by all networks for a set and an objective.
pub struct Targets {
    features: Vec<f32>,
    points: Vec<f32>,
}

impl Targets {
    /// Draws the problems and runs projected gradient on each.
    ///
    /// # Errors
    /// When the set cannot be sampled.
    pub fn make(set: &Arc<StudySet>, objective: Objective, seed: u64) -> Result<Self, StudyError> {
        let samples = Samples::new(set)?;
        let dim = set.dim();
        let count = Features::Paper.count(objective, dim);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(11);
        let mut targets = Self {
            features: vec![0.0; STEPS * ROWS * count],
            points: vec![0.0; STEPS * ROWS * dim],
        };
        let (mut y, mut base) = (vec![0.0; dim], vec![0.0; dim]);
        let mut problem = Problem::draw(objective, dim, &mut random);
        let rows = targets.features.chunks_exact_mut(count);
        for (features, point) in rows.zip(targets.points.chunks_exact_mut(dim)) {
            problem.redraw(&mut random);
            Features::Paper.write(&problem, features, &mut base);
            descend(&problem, &samples, ITERATIONS, &mut random, &mut y);
            for (point, y) in point.iter_mut().zip(&y) {
                *point = *y as f32;
            }
        }
        Ok(targets)
    }
}

/// Settings of the paper's training; the defaults are the released ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Supervised {
    /// Hidden layers. Default 128, 128, 128.
    pub hidden: Vec<usize>,
    /// Learning rate of Adam. Default 0.001.
    pub rate: f32,
}

impl Default for Supervised {
    fn default() -> Self {
        Self {
            hidden: vec![128; 3],
            rate: 1e-3,
        }
    }
}

impl Supervised {
    /// Trains a network so that its corrected outputs come near the targets; 500 steps of 32 problems.
    ///
    /// # Errors
    /// [`StudyError`] when the targets cannot be made, the numbers grow beyond all bounds, or the
    /// study stops.
    pub fn train(
        &self,
        task: &Task<'_>,
        correction: &mut dyn Correction,
    ) -> Result<(SolverNet, Vec<(u64, f64)>), StudyError> {
        let targets = task.context.targets(&task.set, task.objective, task.seed)?;
        let dim = task.set.dim();
        let mut random = ChaCha8Rng::seed_from_u64(task.seed);
        random.set_stream(12);
        let objective = task.objective;
        let hidden = &self.hidden;
        let net = SolverNet::new(Features::Paper, objective, dim, hidden, 1, &mut random)?;
        let features = targets.features.chunks_exact(ROWS * net.inputs());
        let batches = features.zip(targets.points.chunks_exact(ROWS * dim));
        let mut learner = Learner::new(net, STEPS as u64, ROWS);
        let mut answers = vec![0.0; ROWS * dim];
        let mut cotangent = answers.clone();
        for (features, points) in batches {
            learner.step(
                task,
                features,
                (self.rate, f32::INFINITY),
                |outputs, delta| {
                    correction.correct(outputs, &mut answers);
                    let mut loss = 0.0;
                    for ((cotangent, answer), point) in
                        cotangent.iter_mut().zip(&answers).zip(points)
                    {
                        let error = answer - point;
                        loss += f64::from(error * error);
                        *cotangent = 2.0 * error / (ROWS * dim) as f32;
                    }
                    correction.pull_back(outputs, &cotangent, delta);
                    loss / (ROWS * dim) as f64
                },
            )?;
        }
        Ok(learner.finish())
    }
}
