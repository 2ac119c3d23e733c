//! The problems that every method answers, and how its answers are measured.

use std::sync::Arc;
use std::time::Instant;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::method::{ITERATIONS, Samples, Solver, descend};
use crate::problem::{Objective, Problem, widen};
use crate::{StudyError, StudySet};

/// Answers that are given before the clock counts.
const WARM_UP: usize = 50;

/// How many problems each method answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protocol {
    /// Independent draws of problems; the paper calls them seeds.
    pub draws: u64,
    /// Problems of each draw.
    pub problems: usize,
}

impl Protocol {
    /// The paper's: 5 draws of 300 problems.
    pub const RELEASED: Self = Self {
        draws: 5,
        problems: 300,
    };
}

/// Problems with the values that answers are compared to. The same for all methods.
pub struct Evaluation {
    problems: Vec<Problem>,
    /// f*: the smallest value on the set.
    best: Vec<f64>,
    /// The value at the paper's "ground truth", 100 iterations of projected gradient.
    reference: Vec<f64>,
}

/// A mean with the spread of what it is a mean of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// The mean.
    pub mean: f64,
    /// The standard deviation over problems.
    pub deviation: f64,
    /// The largest.
    pub most: f64,
}

impl Moments {
    fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self::default();
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
        Self {
            mean,
            deviation: variance.sqrt(),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// Figures of a method's answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answers {
    /// Number of problems.
    pub count: usize,
    /// Answers that are in the set, decided in f64 without tolerance.
    pub feasible: usize,
    /// f(y) − f* over the feasible answers.
    pub true_gap: Moments,
    /// |f(y) − f(y_PGD)| over all answers, as the released code does it.
    pub paper_gap: Moments,
    /// The set's violation of the infeasible answers.
    pub violation: Moments,
    /// Microseconds per answer: the median.
    pub p50_us: f64,
    /// Microseconds per answer: 99 of 100 are faster.
    pub p99_us: f64,
    /// Microseconds per answer: the mean.
    pub mean_us: f64,
    /// Their standard deviation. Zero in records of earlier builds.
    #[serde(default)]
    pub deviation_us: f64,
    /// [`QUANTILES`] of f(y) − f* over the feasible answers. Empty without any, and in records of earlier builds.
    #[serde(default)]
    pub gap_quantiles: Vec<f64>,
}

/// The shares at which gaps are kept.
pub const QUANTILES: [f64; 9] = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0];

impl Answers {
    /// Share of feasible answers.
    pub fn feasible_share(&self) -> f64 {
        self.feasible as f64 / self.count.max(1) as f64
    }

    /// Takes over the times of other answers, and nothing else.
    pub(crate) fn take_times(&mut self, other: &Self) {
        self.p50_us = other.p50_us;
        self.p99_us = other.p99_us;
        self.mean_us = other.mean_us;
        self.deviation_us = other.deviation_us;
    }
}

impl Evaluation {
    /// Draws the problems and solves them, exactly and by the paper's "ground truth".
    ///
    /// # Errors
    /// When the set cannot be sampled.
    pub fn prepare(
        set: &Arc<StudySet>,
        objective: Objective,
        protocol: &Protocol,
    ) -> Result<Self, StudyError> {
        let samples = Samples::new(set)?;
        let mut evaluation = Self {
            problems: Vec::new(),
            best: Vec::new(),
            reference: Vec::new(),
        };
        let mut y = vec![0.0; set.dim()];
        for draw in 0..protocol.draws {
            let mut random = ChaCha8Rng::seed_from_u64(draw);
            random.set_stream(1 + objective as u64);
            for _ in 0..protocol.problems {
                let problem = Problem::draw(objective, set.dim(), &mut random);
                descend(&problem, &samples, ITERATIONS, &mut random, &mut y);
                evaluation.reference.push(problem.value(&y));
                evaluation.best.push(set.best_value(&problem));
                evaluation.problems.push(problem);
            }
        }
        Ok(evaluation)
    }

    /// The problems, draw by draw.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The mean paper gap of an exact solver: below it, a smaller paper gap is a worse answer.
    pub fn floor(&self) -> f64 {
        let gaps = self.reference.iter().zip(&self.best);
        gaps.map(|(reference, best)| (reference - best).abs())
            .sum::<f64>()
            / self.best.len().max(1) as f64
    }

    /// Lets a solver answer all problems, and measures the answers.
    pub fn evaluate(&self, set: &StudySet, solver: &mut dyn Solver) -> Answers {
        Answers::of(&self.ask(set, solver))
    }

    /// Lets a solver answer all problems, after a warm-up.
    pub fn ask(&self, set: &StudySet, solver: &mut dyn Solver) -> Vec<Answer> {
        let dim = set.dim();
        let (mut y, mut wide, mut gradient) = (vec![0.0_f32; dim], vec![0.0; dim], vec![0.0; dim]);
        for problem in self.problems.iter().cycle().take(WARM_UP) {
            solver.answer(problem, &mut y);
        }
        let mut answers = Vec::new();
        let known = self.best.iter().zip(&self.reference);
        for (problem, (best, reference)) in self.problems.iter().zip(known) {
            // A caller has just written the problem's numbers: the time to fetch them from main memory does
            // not count.
            let asked = problem.clone();
            let start = Instant::now();
            solver.answer(&asked, &mut y);
            let microseconds = start.elapsed().as_secs_f64() * 1e6;
            widen(&y, &mut wide);
            let violation = match set.set().contains(&wide, &[]) {
                true => None,
                false => set
                    .set()
                    .violation(&wide, &[], &mut gradient)
                    .or(Some(f64::NAN)),
            };
            answers.push(Answer {
                value: problem.value(&wide),
                best: *best,
                reference: *reference,
                violation,
                microseconds,
                y: y.clone(),
            });
        }
        answers
    }
}

/// The answer to one problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The point.
    pub y: Vec<f32>,
    /// f(y).
    pub value: f64,
    /// f*.
    pub best: f64,
    /// f(y_PGD).
    pub reference: f64,
    /// The set's violation; none for a feasible point.
    pub violation: Option<f64>,
    /// How long it took.
    pub microseconds: f64,
}

impl Answers {
    /// The figures of some answers.
    pub fn of(answers: &[Answer]) -> Self {
        let feasible = answers.iter().filter(|answer| answer.violation.is_none());
        let true_gaps: Vec<f64> = feasible.map(|answer| answer.value - answer.best).collect();
        let paper_gaps = answers
            .iter()
            .map(|answer| (answer.value - answer.reference).abs());
        let violations = answers.iter().filter_map(|answer| answer.violation);
        let mut times: Vec<f64> = answers.iter().map(|answer| answer.microseconds).collect();
        times.sort_unstable_by(f64::total_cmp);
        let time = Moments::of(&times);
        Self {
            count: answers.len(),
            feasible: true_gaps.len(),
            true_gap: Moments::of(&true_gaps),
            paper_gap: Moments::of(&paper_gaps.collect::<Vec<_>>()),
            violation: Moments::of(&violations.collect::<Vec<_>>()),
            p50_us: quantile(&times, 0.5),
            p99_us: quantile(&times, 0.99),
            mean_us: time.mean,
            deviation_us: time.deviation,
            gap_quantiles: quantiles(true_gaps),
        }
    }
}

/// The kept quantiles of some gaps; none of none.
fn quantiles(mut gaps: Vec<f64>) -> Vec<f64> {
    gaps.sort_unstable_by(f64::total_cmp);
    let shares = QUANTILES.iter().filter(|_| !gaps.is_empty());
    shares.map(|share| quantile(&gaps, *share)).collect()
}

/// A quantile of sorted values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = (share * sorted.len() as f64) as usize;
    let place = place.min(sorted.len().saturating_sub(1));
    sorted.get(place).copied().unwrap_or(f64::NAN)
}
