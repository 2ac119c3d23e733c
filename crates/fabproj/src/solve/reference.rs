//! Optima that answers are compared with, and the gaps to them.

use fabproj_core::{Functions, Projector, SolveOutcome, Solver};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use super::affine::apply;
use super::label::{self, Hessian};
use super::problem::Problem;
use super::reduced::Reduced;
use super::settings::{Measured, SolveError, Tool};

/// Searches by membership tests at each x, and tests of each.
const SEARCHES: usize = 12;
const TESTS: usize = 1_500;
/// Times that such a search goes back to long steps.
const ROUNDS: usize = 3;
/// Random starts beside the solver's own, where the objective may have several minima.
const STARTS: usize = 6;

/// What finds the optima that answers are compared with.
pub(super) struct Reference<'a> {
    problem: &'a Problem,
    reduced: Reduced<'a>,
    /// Of a learned solver: for starts that are likely to be in the set.
    projector: Option<Projector>,
    random_starts: usize,
}

/// Outcomes and optima, one after the other.
pub(super) struct Gaps {
    found: Vec<(SolveOutcome, f64, Option<f64>)>,
    typical: f64,
}

impl<'a> Reference<'a> {
    pub(super) fn of<F: Functions>(
        problem: &'a Problem,
        solver: &Solver<F>,
    ) -> Result<Self, SolveError> {
        let proposer = solver.weights().proposer.as_ref();
        let projector = proposer.map(|one| Projector::new(&one.projector));
        Ok(Self {
            problem,
            reduced: Reduced::of(problem)?,
            random_starts: if proposer.is_some() { STARTS } else { 0 },
            projector: projector.transpose()?,
        })
    }

    /// With random starts beside those of the solver.
    pub(super) fn with_random_starts(self) -> Self {
        Self {
            random_starts: STARTS,
            ..self
        }
    }

    /// What it does, for the certificate.
    pub(super) fn name(&self) -> String {
        match (self.problem.asked(), self.random_starts) {
            (Some(_), _) => format!(
                "best of {} searches by membership tests, {TESTS} tests each, from the answer and from random \
                 feasible points: no proof of optimality",
                SEARCHES + 1
            ),
            (None, 1..) => format!(
                "sequential quadratic programming in f64, best of {} starts",
                STARTS + 2
            ),
            (None, 0) => "sequential quadratic programming in f64, two starts".to_owned(),
        }
    }

    /// Answers at all x, with optima.
    pub(super) fn gaps<F: Functions + Sync>(
        &self,
        solver: &Solver<F>,
        x: &[Vec<f64>],
        seed: u64,
    ) -> Gaps {
        let zeros = vec![0.0; self.reduced.rows()];
        // The Hessian at one optimum starts all searches, which compute their own where it serves them badly.
        let hessian = x.iter().take(8).find_map(|x| {
            self.problem.asked().is_none().then_some(())?;
            let start = apply(&solver.weights().start, x);
            let found = label::solve(&self.reduced, x, &start, &zeros, None).ok()?;
            Some(self.reduced.hessian(&found.y, x, &found.multipliers))
        });
        let one = |(index, x): (usize, &Vec<f64>)| {
            let Ok((y, answer)) = solver.solve(x) else {
                return (SolveOutcome::NotFinite, f64::NAN, None);
            };
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(1_000 + index as u64);
            let start = answer
                .outcome
                .is_verified()
                .then_some((&y, answer.objective));
            let best = match self.problem.asked() {
                Some(_) => self.by_tests(x, start, &mut random),
                None => {
                    let starts = [y.clone(), apply(&solver.weights().start, x)];
                    self.by_slopes(x, &starts, hessian.as_ref(), &mut random)
                }
            };
            (answer.outcome, answer.objective, best)
        };
        let found: Vec<_> = x.par_iter().enumerate().map(one).collect();
        let optima: Vec<f64> = found.iter().filter_map(|one| one.2).collect();
        let typical = optima.iter().map(|value| value.abs()).sum::<f64>() / optima.len() as f64;
        Gaps { found, typical }
    }

    /// The best local optimum of several starts.
    fn by_slopes(
        &self,
        x: &[f64],
        starts: &[Vec<f64>],
        hessian: Option<&Hessian>,
        random: &mut ChaCha8Rng,
    ) -> Option<f64> {
        let zeros = vec![0.0; self.reduced.rows()];
        let drawn: Vec<Vec<f64>> = (0..self.random_starts)
            .map(|_| self.random_point(x, random))
            .collect();
        let optima = starts.iter().chain(&drawn).filter_map(|start| {
            let found = label::solve(&self.reduced, x, start, &zeros, hessian).ok()?;
            Some(found.objective)
        });
        optima.fold(None, |best, new| {
            Some(best.map_or(new, |b: f64| b.min(new)))
        })
    }

    /// The best of several searches that only ask whether points are in the set.
    fn by_tests(
        &self,
        x: &[f64],
        answer: Option<(&Vec<f64>, f64)>,
        random: &mut ChaCha8Rng,
    ) -> Option<f64> {
        let mut best = answer.map(|(_, objective)| objective);
        let own = answer.map(|(y, _)| y.clone());
        let drawn = (0..SEARCHES)
            .map(|_| self.random_point(x, random))
            .collect::<Vec<_>>();
        for start in own.into_iter().chain(drawn) {
            if let Some((_, objective)) = search(&self.reduced, x, &start, TESTS, random) {
                best = Some(best.map_or(objective, |best: f64| best.min(objective)));
            }
        }
        best
    }

    /// A random point of the bounds, brought to the set where there is a projector.
    fn random_point(&self, x: &[f64], random: &mut ChaCha8Rng) -> Vec<f64> {
        let bounds = self.reduced.bounds.iter();
        let drawn: Vec<f64> = bounds
            .map(|(low, high)| low + (high - low) * random.random::<f64>())
            .collect();
        let projected = self.projector.as_ref();
        let projected = projected.and_then(|projector| projector.project(&drawn, x).ok());
        projected.map_or_else(|| self.reduced.nearest(&drawn, x), |(y, _)| y)
    }
}

impl Gaps {
    /// Number of x with an optimum.
    pub(super) fn optima(&self) -> usize {
        self.found.iter().filter(|one| one.2.is_some()).count()
    }

    pub(super) fn outcomes(&self) -> impl Iterator<Item = SolveOutcome> {
        self.found.iter().map(|one| one.0)
    }

    /// Relative gaps of verified answers, the smallest first.
    pub(super) fn sorted(&self) -> Vec<f64> {
        let verified = self.found.iter().filter(|one| one.0.is_verified());
        let mut gaps: Vec<f64> = verified
            .filter_map(|(_, objective, best)| {
                Some(relative_gap(*objective, (*best)?, self.typical))
            })
            .collect();
        gaps.sort_by(f64::total_cmp);
        gaps
    }

    pub(super) fn measured(&self, tool: Tool, tests: usize) -> Measured {
        let gaps = self.sorted();
        let count = |wanted: fn(SolveOutcome) -> bool| {
            self.outcomes().filter(|outcome| wanted(*outcome)).count()
        };
        Measured {
            tool,
            tests,
            steps: 0,
            margin: 0.0,
            tested: self.found.len(),
            pulled: count(|outcome| outcome == SolveOutcome::Pulled),
            failed: count(|outcome| !outcome.is_verified()),
            mean_gap: gaps.iter().sum::<f64>() / gaps.len().max(1) as f64,
            worst_gap: gaps.last().copied().unwrap_or(f64::INFINITY),
        }
    }
}

/// (f − f*) / |f*|, with a hundredth of the typical |f*| as the least divisor.
pub(super) fn relative_gap(objective: f64, optimum: f64, typical: f64) -> f64 {
    (objective - optimum) / optimum.abs().max(0.01 * typical).max(f64::MIN_POSITIVE)
}

/// The best point found by so many tests of random steps from a feasible point: a step that is feasible and
/// better is taken, and the next ones are longer.
pub(super) fn search(
    reduced: &Reduced<'_>,
    x: &[f64],
    start: &[f64],
    tests: usize,
    random: &mut ChaCha8Rng,
) -> Option<(Vec<f64>, f64)> {
    let mut point = reduced.point(start.to_vec(), x);
    let (mut y, mut best) = (point.y.clone(), point.objective);
    if point.violation() > 0.0 {
        return None;
    }
    let widths = reduced.bounds.iter().map(|(low, high)| high - low);
    let longest = 0.2 * widths.fold(0.0, f64::max).min(1e6).max(1e-6);
    let scale = 1.0 / (reduced.free() as f64).sqrt();
    let mut stride = longest;
    let mut way: Option<Vec<f64>> = None;
    for test in 1..tests {
        if test % (tests / ROUNDS).max(1) == 0 {
            stride = stride.max(0.1 * longest);
        }
        // A way that was good is gone again.
        let repeated = way.is_some();
        let direction = way.take().unwrap_or_else(|| {
            let draw = |_| scale * random.sample::<f64, _>(StandardNormal);
            (0..reduced.free()).map(draw).collect()
        });
        point.y.copy_from_slice(&y);
        let moved: Vec<f64> = direction.iter().map(|value| stride * value).collect();
        reduced.add(&mut point.y, &moved);
        reduced.evaluate(&mut point, x);
        if point.violation() <= 0.0 && point.objective < best {
            best = point.objective;
            y.copy_from_slice(&point.y);
            stride = (1.5 * stride).min(longest);
            way = Some(direction);
        } else if !repeated {
            stride *= 0.92;
        }
    }
    Some((y, best))
}
