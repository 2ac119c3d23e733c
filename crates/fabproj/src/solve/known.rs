//! Answers that a learned solver starts from as well: the best known at drawn x.

use fabproj_core::{Functions, KnownAnswers, Projector, Solver, SolverWeights};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use super::pilot::Starts;
use super::problem::Problem;
use super::reduced::Reduced;
use super::settings::SolveSettings;
use crate::train::{Event, Session, TrainError};

/// Starts of the search at each x beside the solver's own answer. They find basins that the network does not know:
/// without them the mean gap of the study's `dispatch-levels` is 7.2 %, with them 4.5 %, for five times as many tests.
/// (This and the next were ranked by a trial build, not by the study's command.)
const DRAWN: usize = 4;
/// Membership tests from each start. With twice as many the mean gap of `dispatch-levels` is 4.3 instead of 4.5 %.
const TESTS: usize = 500;
/// How many of the nearest an answer starts from. Each may take a test of those that improve the answer. With 16, 32
/// and 64 mean gaps are 4.9, 5.4 and 5.0 % (`stability`), 4.7, 4.4 and 4.3 % (`dispatch-levels`), 0.21, 0.16 and
/// 0.10 % (`arm`).
const NEAREST: usize = 32;
/// x between two looks at the progress.
const BATCH: usize = 256;
/// Times that a search goes back to long steps.
const ROUNDS: usize = 3;

/// Searches at drawn x from the solver's answer and from drawn points. It takes about a tenth of the whole training,
/// and begins anew where that is resumed.
pub(super) fn collect(
    problem: &Problem,
    (weights, projector): (&SolverWeights, Projector),
    settings: &SolveSettings,
    session: &Session,
) -> Result<KnownAnswers, TrainError> {
    let count = match problem.x_dim() {
        0 => settings.known_answers().min(1),
        _ => settings.known_answers(),
    };
    session.emit(&Event::Stage {
        name: "answers to start from",
    });
    let seed = settings.seed ^ 0x0A25;
    let x = problem.distribution().draw(problem.x_dim(), count, seed);
    let finder = Finder {
        solver: Solver::new(weights.clone(), &**problem.functions())?,
        projector,
        reduced: Reduced::of(problem)?,
    };
    let mut starts = Starts::new(&finder.reduced, seed);
    let mut known = KnownAnswers::default();
    for (batch, x) in x.chunks(BATCH).enumerate() {
        let drawn: Vec<Vec<f64>> = (0..DRAWN * x.len()).map(|_| starts.next()).collect();
        let places = x.par_iter().zip(drawn.par_chunks(DRAWN)).enumerate();
        let found = places.map(|(place, (x, drawn))| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream((batch * BATCH + place) as u64);
            finder.best(x, drawn, &mut random, session)
        });
        let found: Vec<_> = found.collect();
        if session.stopped() {
            return Err(TrainError::Stopped);
        }
        for (x, y) in x.iter().zip(found) {
            let Some(y) = y else { continue };
            known.x.extend(x);
            known.y.extend(y);
            known.nearest = NEAREST.min(known.nearest + 1);
        }
        let step = (batch * BATCH + x.len()) as u64;
        session.emit(&Event::Progress {
            unit: "known",
            step,
            steps: count as u64,
            done: step as f64 / count as f64,
            losses: &[],
        });
    }
    Ok(known)
}

/// What finds good answers.
struct Finder<'a> {
    solver: Solver<&'a (dyn Functions + Send + Sync)>,
    projector: Projector,
    reduced: Reduced<'a>,
}

impl Finder<'_> {
    /// The best of searches from the solver's answer and from drawn points that the projector brings to the set.
    fn best(
        &self,
        x: &[f64],
        drawn: &[Vec<f64>],
        random: &mut ChaCha8Rng,
        session: &Session,
    ) -> Option<Vec<f64>> {
        // The lengths are those of the problem.
        let own = self.solver.solve(x).ok().map(|(y, _)| y);
        let drawn = drawn
            .iter()
            .filter_map(|start| Some(self.projector.project(start, x).ok()?.0));
        let starts = own.into_iter().chain(drawn);
        let found = starts
            .take_while(|_| !session.stopped())
            .filter_map(|start| search_by_tests(&self.reduced, x, &start, TESTS, random));
        Some(found.min_by(|a, b| a.1.total_cmp(&b.1))?.0)
    }
}

/// The best point and its objective by random steps from a feasible point: a step to a better feasible point is
/// taken, and tried again with a longer one.
pub(super) fn search_by_tests(
    reduced: &Reduced<'_>,
    x: &[f64],
    start: &[f64],
    tests: usize,
    random: &mut ChaCha8Rng,
) -> Option<(Vec<f64>, f64)> {
    let mut point = reduced.point(start.to_vec(), x);
    if point.violation() > 0.0 {
        return None;
    }
    let (mut y, mut best) = (point.y.clone(), point.objective);
    let widths = reduced.bounds.iter().map(|(low, high)| high - low);
    let longest = 0.2 * widths.fold(0.0, f64::max).clamp(1e-6, 1e6);
    let scale = 1.0 / (reduced.free() as f64).sqrt();
    let (mut stride, mut again) = (longest, None);
    for test in 1..tests {
        if test.is_multiple_of((tests / ROUNDS).max(1)) {
            stride = stride.max(0.1 * longest);
        }
        let repeated = again.is_some();
        let direction: Vec<f64> = again.take().unwrap_or_else(|| {
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
            again = Some(direction);
        } else if !repeated {
            stride *= 0.92;
        }
    }
    Some((y, best))
}
