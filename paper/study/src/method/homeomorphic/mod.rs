//! Homeomorphic Projection: bisection in the coordinates of an invertible network.
//!
//! "Low Complexity Homeomorphic Projection to Ensure Neural-Network Solution Feasibility for Optimization
//! over (Non-)Convex Set", Liang, Chen and Low, ICML 2023. An invertible network Ψ is trained, without
//! labels, to map the unit ball onto the set. An infeasible prediction ŷ is pulled along the image of the
//! segment from 0 to Ψ⁻¹(ŷ), to the last feasible point that bisection finds. All answers are feasible if
//! Ψ(0) is. A set that is no deformed ball (with a hole, in pieces) is covered in part at best.
//!
//! The paper's adapter for its sets is not public, so this is a reconstruction: the released network and
//! loss of the experiment in the plane; bisection by halves with the exact membership test, as a later
//! release of the same authors has it; and [`PenaltyNet`] for predictions. Points of the ball are drawn
//! afresh instead of from 1024 low-discrepancy ones.

mod autoregressive;
mod coupling;
mod layer;
mod mapping;
mod training;

use std::sync::Arc;

use serde_json::{Value, json};

pub use self::mapping::Mapping;
pub(crate) use self::mapping::{Weights, ball};
pub use self::training::MappingConfig;
use super::penalty_net::PenaltyNet;
use super::repaired::{Repair, RepairedNet};
use super::{Method, Task, Trained};
use crate::problem::MOST;
use crate::{StudyError, StudySet};

/// Halvings at most.
const HALVINGS: usize = 30;
/// The bisection ends when the interval is shorter than this.
const ENOUGH: f32 = 1e-4;

/// A network and bisection.
#[derive(Clone, Debug, PartialEq)]
pub struct Homeomorphic {
    /// The network that predicts.
    pub predictor: PenaltyNet,
    /// The invertible network.
    pub mapping: MappingConfig,
}

impl Method for Homeomorphic {
    fn settings(&self) -> Value {
        json!({ "predictor": self.predictor.description(), "mapping": self.mapping })
    }

    fn seconds(&self, dim: usize) -> f64 {
        // The mapping is shared by the three objectives.
        self.predictor.seconds(dim) + self.mapping.steps as f64 * 2e-4
    }

    fn train(&self, task: &Task<'_>) -> Result<Trained, StudyError> {
        let mapping = task.context.mapping(&self.mapping, task)?;
        let (net, curve) = self.predictor.network(task)?;
        let bisection = Bisection::new(Mapping::clone(&mapping), Arc::clone(&task.set));
        let solver = RepairedNet::new(
            net,
            bisection,
            Arc::clone(&task.set),
            self.predictor.training.polish,
        );
        Ok(Trained {
            solver: Box::new(solver),
            curve,
        })
    }
}

/// Pulls infeasible points toward Ψ(0).
pub struct Bisection {
    mapping: Mapping,
    set: Arc<StudySet>,
    target: Vec<f32>,
    trial: Vec<f32>,
}

impl Bisection {
    /// With a trained mapping.
    pub fn new(mut mapping: Mapping, set: Arc<StudySet>) -> Self {
        let zero = vec![0.0; set.dim()];
        // Takes its memory now: the first point that needs repair may come late.
        mapping.forward(&zero);
        Self {
            mapping,
            target: zero.clone(),
            trial: zero,
            set,
        }
    }

    /// Writes Ψ(share·target); whether it is feasible.
    fn image(&mut self, share: f32, image: &mut [f32]) -> bool {
        for (trial, target) in self.trial.iter_mut().zip(&self.target) {
            *trial = share * target;
        }
        image.copy_from_slice(self.mapping.forward(&self.trial));
        self.set.contains(image)
    }
}

impl Repair for Bisection {
    fn repair(&mut self, point: &mut [f32]) {
        if self.set.contains(point) {
            return;
        }
        self.target.copy_from_slice(point);
        self.mapping.invert(&mut self.target);
        let mut image = [0.0; MOST];
        let image = &mut image[..point.len()];
        // Without a feasible point on the way, the answer is Ψ(0).
        self.image(0.0, point);
        bisect(HALVINGS, ENOUGH, |share| {
            let feasible = self.image(share, image);
            if feasible {
                point.copy_from_slice(image);
            }
            feasible
        });
    }
}

/// Asks whether shares of the way from 0 are feasible, each halfway between the last that was and the last that
/// was not, which are 0 and 1 at first. Ends when they are nearer than `enough`.
pub(crate) fn bisect(halvings: usize, enough: f32, mut feasible: impl FnMut(f32) -> bool) {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..halvings {
        let middle = 0.5 * (low + high);
        if feasible(middle) {
            low = middle;
        } else {
            high = middle;
        }
        if high - low < enough {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, Effort, Objective};

    #[test]
    fn bisection_ends_in_the_set_and_near_its_boundary() {
        let context = Context::in_memory(Effort::quick());
        let set = StudySet::open("star-shaped").unwrap();
        let task = Task {
            set: Arc::clone(&set),
            objective: Objective::Linear,
            seed: 1,
            context: &context,
        };
        let config = MappingConfig {
            steps: 200,
            rows: 64,
            ..MappingConfig::default()
        };
        let mapping = Mapping::train(&config, &task).unwrap();
        let mut bisection = Bisection::new(mapping, Arc::clone(&set));
        for angle in 0..60 {
            let (sin, cos) = (angle as f32 * 0.1).sin_cos();
            let mut point = [2.5 * cos, 2.5 * sin];
            bisection.repair(&mut point);
            assert!(set.contains(&point), "{angle}: {point:?}");
            assert!(point[0].hypot(point[1]) > 0.5, "{angle}: {point:?}");
        }
        let mut inside = [0.4, 0.2];
        bisection.repair(&mut inside);
        assert_eq!(inside, [0.4, 0.2]);
    }
}
