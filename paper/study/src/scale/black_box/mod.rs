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
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(super) use self::sampled::{Budget, Sampled};
use self::search::Search;
use super::instance::Instance;

/// Membership tests of the search that the best known answer begins with.
const TESTS: usize = 8_000;
/// Its starts, and drawn starts of the local searches that follow.
const STARTS: usize = 4;
const DRAWN: usize = 16;

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
    /// The least objective that is known at an x, found with more than membership tests.
    optimum: Box<BestOf>,
}

impl Known {
    /// How often the membership test was asked so far.
    pub(super) fn tests(&self) -> u64 {
        self.tests.load(Ordering::Relaxed)
    }

    /// The least objective that is known at x.
    pub(super) fn best(&self, x: &[f64]) -> Option<f64> {
        (self.optimum)(x)
    }
}

/// The best of a search by tests, of local searches with the constraints' gradients that begin at its end and at
/// drawn points.
fn best_by_gradients(smooth: &Problem, black_box: &Problem, x: &[f64]) -> Option<f64> {
    let mut search = Search::new(black_box, x, TESTS);
    search.restart(TESTS / STARTS);
    let (tested, start) = search.best()?;
    let mut random = ChaCha8Rng::seed_from_u64(x[0].to_bits());
    let bounds = black_box.bounds().unwrap_or(&[]);
    let mut draw = |(low, high): &(f64, f64)| random.random_range(*low..*high);
    let drawn: Vec<Vec<f64>> = (0..DRAWN)
        .map(|_| bounds.iter().map(&mut draw).collect())
        .collect();
    let starts = std::iter::once(start).chain(drawn);
    let found = starts.filter_map(|start| Some(smooth.local_optimum(x, &start)?.1));
    Some(found.fold(tested, f64::min))
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
