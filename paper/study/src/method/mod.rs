//! Every method of the study: what it is, how it is trained, how it answers.
//!
//! A [`Method`] is trained once for a set, an objective and a seed; the [`Solver`] that comes out
//! answers problems one by one, and is what the clock sees. To add a method, write it in a file of its
//! own with the reference in its doc comment, and give it an entry in the catalogue.

mod augmented_lagrangian;
mod catalogue;
mod exact;
mod fab;
mod fsnet;
mod guarded;
pub(crate) mod homeomorphic;
mod interior_point;
mod lookup;
mod ours;
mod penalty;
mod penalty_net;
mod polish;
mod projected_gradient;
mod repaired;
mod score;
mod settle;
mod violation_descent;

use std::sync::Arc;

use serde_json::Value;

pub use self::augmented_lagrangian::AugmentedLagrangian;
pub use self::catalogue::{Entry, Group, catalogue, find};
pub use self::exact::Exact;
pub use self::fab::Fab;
pub use self::fsnet::{FsNet, Seeker, Style};
pub use self::guarded::Guarded;
pub use self::homeomorphic::{Bisection, Homeomorphic, Mapping, MappingConfig};
pub use self::interior_point::InteriorPoint;
pub use self::lookup::Lookup;
pub use self::ours::{BestHead, NoNetwork, Ours, choose};
pub use self::penalty::Penalty;
pub use self::penalty_net::PenaltyNet;
pub use self::polish::Polish;
pub use self::projected_gradient::{ITERATIONS, ProjectedGradient, Samples, descend};
pub use self::repaired::{NoRepair, Repair, RepairedNet};
pub use self::violation_descent::ViolationDescent;
use crate::problem::{Objective, Problem};
use crate::{Context, ProjectorRecipe, StudyError, StudySet};

/// What a method is trained for, and what it may use.
pub struct Task<'a> {
    /// The set.
    pub set: Arc<StudySet>,
    /// The kind of problems.
    pub objective: Objective,
    /// The seed of all that is random in training and answering.
    pub seed: u64,
    /// What all tasks share: projectors, training targets, the stop flag.
    pub context: &'a Context<'a>,
}

/// A way to answer optimization problems over a set.
pub trait Method: Send + Sync {
    /// All settings that the result depends on, for the key of a run.
    fn settings(&self) -> Value;

    /// The projector that the method answers with, if it has one; it is trained beforehand, once for
    /// all objectives.
    fn projector(&self) -> Option<ProjectorRecipe> {
        None
    }

    /// About how many seconds of a core a training and the answers take, for the time left.
    fn seconds(&self, _dim: usize) -> f64 {
        0.7
    }

    /// Trains whatever is trained.
    ///
    /// # Errors
    /// [`StudyError`] when a training fails or is stopped.
    fn train(&self, task: &Task<'_>) -> Result<Trained, StudyError>;
}

/// A method, ready to answer.
pub struct Trained {
    /// What answers.
    pub solver: Box<dyn Solver>,
    /// The training loss along the way: (step, loss). Empty for methods that do not train.
    pub curve: Vec<(u64, f64)>,
}

impl Trained {
    /// Without a curve.
    pub fn new(solver: impl Solver + 'static) -> Self {
        Self {
            solver: Box::new(solver),
            curve: Vec::new(),
        }
    }
}

/// Answers problems of the kind that it was trained for.
pub trait Solver: Send {
    /// Writes an answer; whether it has passed the set's test (false where it was not tested). All that a
    /// user would wait for happens here, and is timed: from the problem's numbers to the point.
    fn answer(&mut self, problem: &Problem, y: &mut [f32]) -> bool;
}
