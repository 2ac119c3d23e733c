//! Optima that answers are compared with, and the gaps to them.

use fabproj_core::{Answer, Functions, Projector, SolveOutcome, Solver};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::affine::apply;
use super::choose::{Measured, relative_gap};
use super::known::search_by_tests;
use super::label::{self, Hessian};
use super::pilot::Starts;
use super::problem::Problem;
use super::reduced::Reduced;
use super::settings::Tool;
use crate::set::SetError;
use crate::train::{Session, TrainError};

/// x at which the optimum is searched from a drawn point as well, where one basin is expected.
const DRAWN: usize = 16;
/// Drawn starts at every x, where several basins are expected.
const STARTS: usize = 8;
/// Membership tests of a local search.
const TESTS: usize = 1_000;

/// What finds the optima that answers are compared with.
pub(super) struct Reference<'a> {
    problem: &'a Problem,
    reduced: Reduced<'a>,
    seed: u64,
    /// Drawn starts at every x, where several basins are expected; none elsewhere.
    starts: usize,
    /// Membership tests from each start.
    tests: usize,
    /// Brings drawn starts to the set.
    projector: Option<Projector>,
}

/// Answers and optima, one after the other.
pub(super) struct Gaps {
    answers: Vec<Answer>,
    optima: Vec<Option<f64>>,
    typical: f64,
}

impl<'a> Reference<'a> {
    /// For a problem whose steps lead to the optimum.
    pub(super) fn one_basin(problem: &'a Problem, seed: u64) -> Result<Self, SetError> {
        Ok(Self {
            problem,
            reduced: Reduced::of(problem)?,
            seed,
            starts: 0,
            tests: 0,
            projector: None,
        })
    }

    /// With so many drawn starts at every x.
    pub(super) fn with_starts(self, starts: usize) -> Self {
        Self { starts, ..self }
    }

    /// The reference for a solver's tool.
    pub(super) fn of<F: Functions>(
        problem: &'a Problem,
        solver: &Solver<F>,
        seed: u64,
    ) -> Result<Self, SetError> {
        let plain = Self::one_basin(problem, seed)?;
        let Some(proposer) = &solver.weights().proposer else {
            return Ok(plain);
        };
        Ok(Self {
            // A solver's weights are valid.
            projector: Projector::new(&proposer.projector).ok(),
            tests: TESTS,
            ..plain.with_starts(STARTS)
        })
    }

    /// What it does, for records.
    pub(super) fn name(&self, samples: usize) -> String {
        let (starts, tests) = (self.starts, self.tests);
        if starts == 0 {
            return format!(
                "sequential quadratic programming in f64, two starts, a drawn one more at {} x",
                DRAWN.min(samples)
            );
        }
        let steps = match self.problem.black_box() {
            Some(_) => "",
            None => " and sequential quadratic programming",
        };
        format!(
            "multi-start local search: the best of {starts} drawn starts and the answer, {tests} membership \
             tests{steps} from each"
        )
    }

    /// Answers of solvers at all x, each with the best objective that is known there.
    pub(super) fn gaps<F: Functions + Sync>(
        &self,
        solvers: &[&Solver<F>],
        x: &[Vec<f64>],
        session: &Session,
    ) -> Result<Vec<Gaps>, TrainError> {
        let start = &solvers[0].weights().start;
        let zeros = vec![0.0; self.reduced.rows()];
        // The Hessian at one optimum starts all searches, which compute their own where it serves them badly.
        let hessian = x.iter().take(8).find_map(|x| {
            self.problem.black_box().is_none().then_some(())?;
            let found = label::solve(&self.reduced, x, &apply(start, x), &zeros, None).ok()?;
            Some(self.reduced.hessian(&found.y, x, &found.multipliers))
        });
        let mut drawn = Starts::new(&self.reduced, self.seed);
        let count = match self.starts {
            0 => DRAWN.min(x.len()),
            starts => starts * x.len(),
        };
        let drawn: Vec<Vec<f64>> = (0..count).map(|_| drawn.next()).collect();
        let one = |(index, x): (usize, &Vec<f64>)| {
            if session.stopped() {
                return (vec![Answer::default(); solvers.len()], None);
            }
            let solved = solvers.iter().map(|solver| solver.solve(x));
            // The lengths are those of the problem.
            let solved = solved.map(|one| one.unwrap_or_default());
            let (answers, found): (Vec<_>, Vec<_>) = solved.map(|(y, one)| (one, y)).unzip();
            let mut starts: Vec<Vec<f64>> = found.into_iter().filter(|y| !y.is_empty()).collect();
            if self.starts > 0 {
                let own = &drawn[self.starts * index..][..self.starts];
                starts.extend(own.iter().map(|start| self.brought(start, x)));
            } else {
                starts.push(apply(start, x));
                starts.extend(drawn.get(index).cloned());
            }
            let best = self.best(x, index, &starts, hessian.as_ref(), session);
            let verified = answers.iter().filter(|one| one.outcome.is_verified());
            let verified = verified
                .map(|one| one.objective)
                .filter(|_| self.starts > 0);
            let best = verified.chain(best).reduce(f64::min);
            (answers, best)
        };
        let all: Vec<_> = x.par_iter().enumerate().map(one).collect();
        if session.stopped() {
            return Err(TrainError::Stopped);
        }
        let optima: Vec<Option<f64>> = all.iter().map(|one| one.1).collect();
        let known = || optima.iter().flatten();
        let typical = known().map(|value| value.abs()).sum::<f64>() / known().count() as f64;
        let gaps = (0..solvers.len()).map(|solver| Gaps {
            answers: all.iter().map(|(answers, _)| answers[solver]).collect(),
            optima: optima.clone(),
            typical,
        });
        Ok(gaps.collect())
    }

    /// The lowest objective that searches from all starts find.
    fn best(
        &self,
        x: &[f64],
        index: usize,
        starts: &[Vec<f64>],
        hessian: Option<&Hessian>,
        session: &Session,
    ) -> Option<f64> {
        let zeros = vec![0.0; self.reduced.rows()];
        let smooth = self.problem.black_box().is_none();
        let starts = || starts.iter().take_while(|_| !session.stopped());
        let by_steps = starts().filter(|_| smooth).filter_map(|start| {
            let found = label::solve(&self.reduced, x, start, &zeros, hessian).ok()?;
            Some(found.objective)
        });
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(1_000 + index as u64);
        let by_tests = starts().filter(|_| self.tests > 0);
        let by_tests = by_tests.filter_map(|start| {
            Some(search_by_tests(&self.reduced, x, start, self.tests, &mut random)?.1)
        });
        by_steps.chain(by_tests).reduce(f64::min)
    }

    /// A start on the equations, or in the set as far as the projector knows.
    fn brought(&self, start: &[f64], x: &[f64]) -> Vec<f64> {
        let projected = self.projector.as_ref();
        let projected = projected.and_then(|projector| projector.project(start, x).ok());
        projected.map_or_else(|| self.reduced.nearest(start, x), |(y, _)| y)
    }
}

impl Gaps {
    /// Number of x with an optimum.
    pub(super) fn optima(&self) -> usize {
        self.optima.iter().flatten().count()
    }

    /// Number of answers of a kind.
    pub(super) fn count(&self, is: impl Fn(&Answer) -> bool) -> usize {
        self.answers.iter().filter(|one| is(one)).count()
    }

    /// Relative gaps of verified answers, the smallest first.
    pub(super) fn sorted(&self) -> Vec<f64> {
        let pairs = self.answers.iter().zip(&self.optima);
        let verified = pairs.filter(|(answer, _)| answer.outcome.is_verified());
        let gap = |(answer, best): (&Answer, &Option<f64>)| {
            Some(relative_gap(answer.objective, (*best)?, self.typical))
        };
        let mut gaps: Vec<f64> = verified.filter_map(gap).collect();
        gaps.sort_by(f64::total_cmp);
        gaps
    }

    /// The figures of a tool.
    pub(super) fn measured(&self, tool: Tool) -> Measured {
        let gaps = self.sorted();
        Measured {
            tool,
            tests: 0,
            steps: 0,
            margin: 0.0,
            near: None,
            tested: self.answers.len(),
            searched: self.count(|one| one.searched),
            pulled: self.count(|one| one.outcome == SolveOutcome::Pulled),
            failed: self.count(|one| !one.outcome.is_verified()),
            mean_gap: gaps.iter().sum::<f64>() / gaps.len().max(1) as f64,
            worst_gap: gaps.last().copied().unwrap_or(0.0),
        }
    }
}
