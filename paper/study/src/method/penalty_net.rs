//! Penalty NN: a solver network that pays for violations while it is trained, and is trusted afterwards.
//!
//! The paper's baseline of that name: f + 10·v, 500 steps of 32 problems. Every ‖∇f‖ below 10 makes the
//! penalty exact, so what is infeasible at the end is so because the training is short. With our budget
//! it has our features, loss, steps and heads, and a *margin*: it pays for points that are nearer to the
//! boundary than that, because an exact penalty leaves half of the answers just outside.

use std::sync::Arc;

use fabproj::set::{Set, built_in};
use serde_json::{Value, json};

use super::repaired::{NoRepair, RepairedNet};
use super::{Method, Task, Trained};
use crate::problem::{MOST, widen};
use crate::solver_net::{Correction, SolverNet, Unsupervised};
use crate::{StudyError, StudySet};

/// A network trained with a penalty.
#[derive(Clone, Debug, PartialEq)]
pub struct PenaltyNet {
    /// How the network is trained.
    pub training: Unsupervised,
    /// Weight of the violation.
    pub weight: f64,
    /// Points nearer than this to the boundary pay as well.
    pub margin: f64,
}

impl PenaltyNet {
    /// All that the network depends on.
    pub(super) fn description(&self) -> Value {
        json!({ "training": self.training, "weight": self.weight, "margin": self.margin })
    }

    /// The network alone, for the methods that repair its points.
    pub(super) fn network(
        &self,
        task: &Task<'_>,
    ) -> Result<(SolverNet, Vec<(u64, f64)>), StudyError> {
        let mut penalty = Penalised::new(&task.set, self.weight, self.margin)?;
        self.training.train(task, &mut penalty)
    }
}

impl Method for PenaltyNet {
    fn settings(&self) -> Value {
        self.description()
    }

    fn seconds(&self, dim: usize) -> f64 {
        // With a margin the violation is looked for around each point.
        let probes = if self.margin > 0.0 { 1 + 8 * dim } else { 1 };
        self.training.seconds(0.05 * probes as f64)
    }

    fn train(&self, task: &Task<'_>) -> Result<Trained, StudyError> {
        let (net, curve) = self.network(task)?;
        let solver = RepairedNet::new(net, NoRepair, Arc::clone(&task.set), self.training.polish);
        Ok(Trained {
            solver: Box::new(solver),
            curve,
        })
    }
}

/// The points are the answers, and pay for their violations.
struct Penalised {
    set: Arc<dyn Set>,
    weight: f64,
}

impl Penalised {
    fn new(set: &StudySet, weight: f64, margin: f64) -> Result<Self, StudyError> {
        let inner = built_in(set.name())?;
        let set: Arc<dyn Set> = match margin > 0.0 {
            true => inner.shrink(margin)?,
            false => inner,
        };
        Ok(Self { set, weight })
    }
}

impl Correction for Penalised {
    fn correct(&mut self, points: &[f32], answers: &mut [f32]) {
        answers.copy_from_slice(points);
    }

    fn pull_back(&mut self, _points: &[f32], cotangent: &[f32], gradient: &mut [f32]) {
        gradient.copy_from_slice(cotangent);
    }

    fn penalise(&mut self, points: &[f32], losses: &mut [f32], gradient: &mut [f32]) {
        let dim = self.set.dim();
        let (mut y, mut slope) = ([0.0; MOST], [0.0; MOST]);
        let (y, slope) = (&mut y[..dim], &mut slope[..dim]);
        let rows = points.chunks_exact(dim).zip(gradient.chunks_exact_mut(dim));
        for ((point, gradient), loss) in rows.zip(losses) {
            widen(point, y);
            // Every set of the study knows its violation.
            let violation = self.set.violation(y, &[], slope).unwrap_or(f64::NAN);
            *loss += (self.weight * violation) as f32;
            for (gradient, slope) in gradient.iter_mut().zip(&*slope) {
                *gradient = (self.weight * slope) as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violations_cost_what_they_weigh_and_a_margin_costs_before_the_boundary() {
        let set = StudySet::open("concentric-circles").unwrap();
        // Outside, inside near the rim, in the middle.
        let points = [2.5, 0.0, 1.99, 0.0, 1.5, 0.0];
        let price = |margin: f64| {
            let mut penalty = Penalised::new(&set, 10.0, margin).unwrap();
            let (mut losses, mut gradient) = ([1.0; 3], [f32::NAN; 6]);
            penalty.penalise(&points, &mut losses, &mut gradient);
            (losses, gradient)
        };
        let (losses, gradient) = price(0.0);
        assert_eq!(losses, [6.0, 1.0, 1.0]);
        assert_eq!(gradient, [10.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let (losses, gradient) = price(0.1);
        assert!(losses[0] > 6.5 && losses[1] > 1.5 && losses[2] == 1.0);
        assert!(gradient[2] > 9.0 && gradient[4] == 0.0);
    }
}
