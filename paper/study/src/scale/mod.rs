//! Table `scale`: problems at the sizes that the field works with.
//!
//! A run trains one [method](ScaleMethod) for one instance of a [family](FAMILIES) and lets it answer x that
//! no training has seen. Instance 0 is that of the paper which the family comes from.

mod admm;
mod answers;
mod black_box;
mod catalogue;
mod completion;
mod correct;
mod family;
// The worked example of power flow, which has more than the study needs.
#[path = "../../../../examples/power-flow/grid.rs"]
#[allow(dead_code)]
mod grid;
mod homeomorphic;
mod instance;
mod linear;
mod map;
mod measured;
mod method;
mod net;
#[path = "../../../../crates/fabproj/tests/library/instances/random_state.rs"]
mod random_state;
mod ray;
mod reference;
mod repair;
mod seek;

use std::time::Instant;

use fabproj::solve::SolveSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::answers::Answers;
use self::black_box::Budget;
pub use self::catalogue::{FAMILIES, FamilyEntry};
use self::homeomorphic::HomeomorphicSettings;
pub use self::instance::Instance;
use self::measured::{Measured, feasible_of_fresh, optima, peer_time};
pub use self::method::ScaleMethod;
use self::net::NetSettings;
use crate::store::to_value;
use crate::{Context, StudyError};

/// The version of this table's code. Part of every key: raise it when results would change.
const VERSION: u32 = 3;
/// x drawn beside the tested ones, on which feasibility alone is counted; of fewer than 1000 problems, as many
/// times fewer.
const FRESH: usize = 10_000;

/// Everything that the result of a run depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleKey {
    /// Version of the table's code.
    pub version: u32,
    /// The family's name.
    pub family: String,
    /// What answers.
    pub method: ScaleMethod,
    /// Its settings.
    pub settings: Value,
    /// Number of the instance, and seed of the training.
    pub seed: u64,
    /// Number of x.
    pub problems: usize,
}

/// A finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleRecord {
    /// What it depends on.
    pub key: ScaleKey,
    /// Share of answers with c ≤ 0 in every row without tolerance, and |A y − x| ≤ 1e-9, where any is known.
    pub feasible: f64,
    /// Share of answers with both up to 1e-6.
    pub nearly_feasible: f64,
    /// Mean of (f − f*) / |f*| over answers that are feasible up to 1e-6; none if there is no such answer.
    pub mean_gap: Option<f64>,
    /// The median of them.
    pub median_gap: Option<f64>,
    /// What 99 of 100 of them do not exceed.
    pub p99_gap: Option<f64>,
    /// The largest of them.
    pub worst_gap: Option<f64>,
    /// x drawn beside the tested ones that have a feasible point as far as a search can tell.
    pub fresh: usize,
    /// Answers to them with c ≤ 0 in every row without tolerance, and |A y − x| ≤ 1e-9.
    pub fresh_feasible: usize,
    /// The median time of an answer, microseconds.
    pub p50_us: f64,
    /// The time that 99 of 100 answers take at most, microseconds.
    pub p99_us: f64,
    /// Time of an answer where all x are handed over at once, one thread, microseconds.
    pub batch_us: Option<f64>,
    /// The median time of clarabel, or of a local search where it cannot solve the problem, beside this run; none
    /// for a set with a membership test only.
    pub peer_us: Option<f64>,
    /// Seconds of the training.
    pub training_seconds: f64,
    /// Membership tests of the training, where a set is known by them only.
    pub training_tests: Option<u64>,
    /// Membership tests of an answer, on average.
    pub answer_tests: Option<f64>,
    /// x at which no optimum is known.
    pub without_reference: usize,
    /// Where the times were measured.
    pub machine: String,
}

/// One training of one method for one instance, and its answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleRun {
    /// The family.
    pub family: &'static FamilyEntry,
    /// What answers.
    pub method: ScaleMethod,
    /// Number of the instance, and seed of the training.
    pub seed: u64,
}

impl ScaleRun {
    /// Whether the method can solve the family at all.
    pub fn is_possible(&self) -> bool {
        self.family.suits(self.method)
    }

    /// A name for messages.
    pub fn name(&self) -> String {
        let (family, method) = (self.family.name, self.method.name());
        format!("{family}, {method}, instance {}", self.seed)
    }

    /// What the run's result is kept under.
    pub fn key(&self, context: &Context<'_>) -> ScaleKey {
        let steps = self.network_steps(context);
        let settings = match self.method {
            ScaleMethod::Solver => self.key_settings(),
            ScaleMethod::Clarabel => json!({ "tolerance": 1e-8 }),
            ScaleMethod::Admm => json!({ "tolerance": admm::TOLERANCE }),
            ScaleMethod::RayNet => to_value(&NetSettings::ray(steps)),
            ScaleMethod::Dc3 => to_value(&NetSettings::dc3(steps, self.family.is_network())),
            ScaleMethod::FsNet => to_value(&NetSettings::fsnet(steps, self.family.is_network())),
            ScaleMethod::Homeomorphic => to_value(&HomeomorphicSettings::new(steps)),
            // They get what our solver takes.
            _ => self.key_settings(),
        };
        ScaleKey {
            version: VERSION,
            family: self.family.name.to_owned(),
            method: self.method,
            settings,
            seed: self.seed,
            problems: self.problems(context),
        }
    }

    /// The default, but for fewer optima where one takes long.
    fn solve_settings(&self) -> SolveSettings {
        let mut settings = SolveSettings::default();
        settings.seed = self.seed;
        settings.labels = self.family.labels();
        settings
    }

    /// The solver's settings. What is newer than the oldest runs and not set is left out: their keys stay.
    fn key_settings(&self) -> Value {
        let mut settings = to_value(&self.solve_settings());
        if let Some(settings) = settings.as_object_mut()
            && settings["known"].is_null()
        {
            settings.remove("known");
        }
        settings
    }

    /// Tested x: fewer where a reference takes long.
    fn problems(&self, context: &Context<'_>) -> usize {
        context.protocol().problems.min(self.family.most_problems())
    }

    /// Steps of a peer's network. A step through cones or a power flow takes twenty times as long as others.
    fn network_steps(&self, context: &Context<'_>) -> u64 {
        let steps = context.effort().solver_steps;
        let seeks = self.method == ScaleMethod::FsNet;
        match self.family.is_slow() {
            true if seeks => steps / 10,
            true => steps / 2,
            false if seeks => steps,
            false => 2 * steps,
        }
    }

    /// The membership tests that our solver takes for the same instance: of its finished run, or of one made now.
    fn budget(&self, context: &Context<'_>) -> Result<Budget, StudyError> {
        let ours = Self {
            method: ScaleMethod::Solver,
            ..*self
        };
        let record = context.finished(&ours)?;
        Ok(Budget {
            training: record.training_tests.unwrap_or(0),
            answer: record.answer_tests.unwrap_or(0.0).round() as u64,
            answers: record.key.problems as u64,
        })
    }

    /// About how many seconds of a core it takes.
    pub(crate) fn seconds(&self, context: &Context<'_>) -> f64 {
        let steps = self.network_steps(context) as f64;
        match self.method {
            ScaleMethod::Solver if self.family.is_black_box() => 200.0,
            ScaleMethod::Solver => 20.0,
            _ if self.family.is_black_box() => 100.0,
            ScaleMethod::Clarabel | ScaleMethod::Admm => 0.05 * self.problems(context) as f64,
            _ if self.family.is_slow() => 0.03 * steps,
            _ => 0.002 * steps,
        }
    }

    /// Trains and measures.
    ///
    /// # Errors
    /// [`StudyError`] when a training fails or is stopped.
    pub fn result(&self, context: &Context<'_>) -> Result<ScaleRecord, StudyError> {
        let instance = self.family.instance(self.seed);
        let start = Instant::now();
        let mut answers = Answers::train(self, &instance, context)?;
        let training_seconds = start.elapsed().as_secs_f64();
        let training_tests = instance.tests();
        let x: Vec<&[f64]> = instance.test_x().take(self.problems(context)).collect();
        let mut y = vec![vec![0.0; instance.dim()]; x.len()];
        for (x, y) in x.iter().zip(&mut y) {
            answers.answer(x, y);
        }
        let answer_tests = (instance.tests() - training_tests) as f64 / x.len() as f64;
        let (times, batch_us, peer_us) = context.timed(|| {
            let peer_us = peer_time(&instance, &x);
            let times = answers.time(&x, &mut y);
            (times, answers.batch_time(&x, &mut y), peer_us)
        });
        let optima = context.optima(self, || optima(&instance, &x))?;
        let measured = Measured::of(&instance, &x, &y, &optima);
        let count = match answers.is_slow() {
            true => 0,
            false => FRESH.min(FRESH * context.protocol().problems / 1_000),
        };
        let fresh = feasible_of_fresh(&instance, &mut answers, count, 2_000 + self.seed);
        let share = |count: usize| count as f64 / measured.solvable.max(1) as f64;
        Ok(ScaleRecord {
            key: self.key(context),
            feasible: share(measured.feasible),
            nearly_feasible: share(measured.nearly_feasible),
            mean_gap: measured.mean_gap(),
            median_gap: measured.quantile(0.5),
            p99_gap: measured.quantile(0.99),
            worst_gap: measured.quantile(1.0),
            fresh: fresh.0,
            fresh_feasible: fresh.1,
            p50_us: times[times.len() / 2],
            p99_us: times[(99 * times.len()) / 100],
            batch_us,
            peer_us,
            training_seconds,
            training_tests: instance.is_black_box().then_some(training_tests),
            answer_tests: instance.is_black_box().then_some(answer_tests),
            without_reference: optima.iter().filter(|one| one.is_none()).count(),
            machine: crate::machine::describe(),
        })
    }
}

#[cfg(test)]
mod tests {
    use fabproj::solve::train;

    use super::*;

    #[test]
    fn gradients_and_slopes_of_all_families_agree_with_differences() {
        for entry in FAMILIES.iter().filter(|entry| entry.is_white_box()) {
            let instance = entry.instance_of([10, 4, 5], 0);
            let family = instance.functions();
            let x: Vec<f64> = instance.test_x().next().unwrap().to_vec();
            let y: Vec<f64> = (0..10).map(|i| (1.7 * f64::from(i)).sin()).collect();
            let weights: Vec<f64> = (0..5).map(|i| 0.3 + f64::from(i)).collect();
            let direction: Vec<f64> = (0..10).map(|i| (0.9 * f64::from(i)).cos()).collect();
            let mut memory = vec![0.0; family.memory()];
            let mut at = |share: f64| {
                let y: Vec<f64> = y
                    .iter()
                    .zip(&direction)
                    .map(|(y, d)| y + share * d)
                    .collect();
                let mut constraints = vec![0.0; 5];
                let objective = family.values(&y, &x, &mut constraints, &mut memory);
                (objective, constraints)
            };
            let (above, below) = (at(1e-6), at(-1e-6));
            at(0.0);
            let (mut gradient, mut slopes) = (vec![0.0; 10], vec![0.0; 5]);
            family.gradient(&y, &x, &weights, &mut gradient, &mut memory);
            family.slopes(&y, &x, &direction, &mut slopes, &mut memory);
            let mut expected = (above.0 - below.0) / 2e-6;
            for i in 0..5 {
                let slope = (above.1[i] - below.1[i]) / 2e-6;
                assert!((slope - slopes[i]).abs() < 1e-6, "{}", entry.name);
                expected += weights[i] * slope;
            }
            let found = linear::dot(&gradient, &direction);
            assert!((found - expected).abs() < 1e-5, "{}", entry.name);
        }
    }

    #[test]
    fn answers_are_feasible_and_as_good_as_a_search() {
        for entry in FAMILIES.iter().filter(|entry| entry.is_white_box()) {
            let instance = entry.instance_of([20, 8, 10], 0);
            let problem = instance.problem();
            let solver = train(problem, &SolveSettings::default())
                .unwrap()
                .solver(problem)
                .unwrap();
            let x: Vec<&[f64]> = instance.test_x().take(20).collect();
            let y: Vec<Vec<f64>> = x.iter().map(|x| solver.solve(x).unwrap().0).collect();
            // Of several optima, an answer is that of its own basin.
            let nearest = |(x, y): (&&[f64], &Vec<f64>)| {
                let found = problem.local_optimum(x, y)?;
                Some(found.1)
            };
            let optima = match instance.is_convex() {
                true => optima(&instance, &x),
                false => x.iter().zip(&y).map(nearest).collect(),
            };
            let measured = Measured::of(&instance, &x, &y, &optima);
            assert_eq!(measured.feasible, 20, "{}", entry.name);
            assert_eq!(measured.gaps.len(), 20, "{}", entry.name);
            let worst = measured
                .gaps
                .iter()
                .fold(0.0_f64, |most, gap| most.max(*gap));
            assert!(worst < 1e-4, "{}: {worst}", entry.name);
            assert!(
                measured.gaps.iter().all(|gap| *gap > -1e-7),
                "{}",
                entry.name
            );
        }
    }
}
