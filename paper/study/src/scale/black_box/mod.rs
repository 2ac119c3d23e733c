//! Families whose constraints are known by a membership test only, and what answers them without a projector.

mod arm;
mod levels;
mod sampled;
mod search;
mod stability;
mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fabproj::set::FnSet;
use fabproj::solve::{FnFunctions, Problem};

pub(super) use self::sampled::{Budget, Sampled};
use self::search::Search;
use super::instance::Instance;

/// Starts of the long search that finds the best known answer, and membership tests of each.
const STARTS: usize = 12;
const TESTS: usize = 4_000;

/// A family that is known by a membership test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Joint angles of an arm that touches no post.
    Arm,
    /// Set-points of units that are off or above a minimum, enough for a demand.
    Levels,
    /// Gains that damp a chain of masses, decided by simulation.
    Stability,
}

impl Kind {
    pub(super) fn instance(self, name: &str, number: u64) -> Instance {
        match self {
            Self::Arm => arm::instance(name),
            Self::Levels => levels::instance(name, number),
            Self::Stability => stability::instance(name),
        }
    }
}

type BestOf = dyn Fn(&[f64]) -> Option<f64> + Send + Sync;

/// What an instance of such a family knows beside the problem.
pub(super) struct Known {
    /// How often the membership test was asked.
    tests: Arc<AtomicU64>,
    /// The optimum, where it can be had otherwise than by a search.
    optimum: Option<Box<BestOf>>,
}

impl Known {
    /// How often the membership test was asked so far.
    pub(super) fn tests(&self) -> u64 {
        self.tests.load(Ordering::Relaxed)
    }

    /// The best answer's objective that is known: the optimum, or a long search's.
    pub(super) fn best(&self, problem: &Problem, x: &[f64]) -> Option<f64> {
        if let Some(optimum) = &self.optimum {
            return optimum(x);
        }
        let mut search = Search::new(problem, x, STARTS * TESTS);
        search.restart(TESTS);
        search.best().map(|best| best.0)
    }
}

/// A problem of a counted membership test and an objective.
fn problem(
    name: &str,
    bounds: Vec<(f64, f64)>,
    x_bounds: Vec<(f64, f64)>,
    contains: impl Fn(&[f64], &[f64]) -> bool + Send + Sync + 'static,
    objective: FnFunctions,
) -> (Problem, Arc<AtomicU64>) {
    let tests = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&tests);
    let counted = move |y: &[f64], x: &[f64]| {
        counter.fetch_add(1, Ordering::Relaxed);
        contains(y, x)
    };
    let set = FnSet::new(name, bounds, counted).with_x(x_bounds);
    (Problem::from_set(set, objective), tests)
}
