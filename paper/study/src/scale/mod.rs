//! Table `scale`: problems at the sizes that the field works with.
//!
//! A run trains one [method](ScaleMethod) for one instance of a [family](FAMILIES) and lets it answer x that
//! no training has seen. Instance 0 is that of the paper which the family comes from.

mod family;
mod linear;
mod net;
mod random_state;
mod reference;

use std::sync::Arc;
use std::time::Instant;

use fabproj::solve::{Functions, SolveSettings, Solver, SolverWorkspace, train};
use fabproj::support::near_names;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use self::family::{FAMILIES, Family, FamilyEntry};
use self::net::{Net, NetSettings};
use self::reference::{Clarabel, best_known};
use crate::store::to_value;
use crate::{Context, StudyError};

/// The version of this table's code. Part of every key: raise it when results would change.
const VERSION: u32 = 1;
/// |A y − x| up to here is rounding.
const ROUNDING: f64 = 1e-9;
/// The tolerance that papers use.
const TOLERANCE: f64 = 1e-6;
/// x at which the solver that a user would call is timed.
const TIMED: usize = 7;
/// Times that each x is answered; the fastest counts.
const REPEATS: usize = 5;

/// What answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleMethod {
    /// Our solver.
    Solver,
    /// clarabel with its own tolerance, 1e-8; convex families only.
    Clarabel,
    /// A plain network with the ray map.
    RayNet,
    /// DC3: completion and correction.
    Dc3,
}

impl ScaleMethod {
    /// All methods.
    pub const ALL: [Self; 4] = [Self::Solver, Self::Clarabel, Self::RayNet, Self::Dc3];

    /// Its name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Solver => "solver",
            Self::Clarabel => "clarabel",
            Self::RayNet => "ray-net",
            Self::Dc3 => "dc3",
        }
    }

    /// Its name in tables.
    pub fn label(self) -> &'static str {
        match self {
            Self::Solver => "fabproj solver",
            Self::Clarabel => "clarabel",
            Self::RayNet => "network with ray map",
            Self::Dc3 => "DC3",
        }
    }

    /// The method with this name.
    ///
    /// # Errors
    /// [`StudyError::Unknown`], with the names most like it.
    pub fn find(name: &str) -> Result<Self, StudyError> {
        let found = Self::ALL.into_iter().find(|method| method.name() == name);
        found.ok_or_else(|| StudyError::Unknown {
            what: "method",
            name: name.to_owned(),
            near: near_names(name, Self::ALL.map(Self::name)),
        })
    }
}

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
    /// Share of answers with c ≤ 0 in every row without tolerance, and |A y − x| ≤ 1e-9.
    pub feasible: f64,
    /// Share of answers with both up to 1e-6.
    pub nearly_feasible: f64,
    /// Mean of (f − f*) / |f*| over answers that are feasible up to 1e-6; none if there is no such answer.
    pub mean_gap: Option<f64>,
    /// The largest of them.
    pub worst_gap: Option<f64>,
    /// The median time of an answer, microseconds.
    pub p50_us: f64,
    /// The time that 99 of 100 answers take at most, microseconds.
    pub p99_us: f64,
    /// The median time of clarabel, or of a local search where it cannot solve the problem, beside this run.
    pub peer_us: f64,
    /// Seconds of the training.
    pub training_seconds: f64,
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
        self.method != ScaleMethod::Clarabel || self.family.instance_of([4, 2, 2], 0).is_convex()
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
            ScaleMethod::Solver => to_value(&SolveSettings::default()),
            ScaleMethod::Clarabel => json!({ "tolerance": 1e-8 }),
            ScaleMethod::RayNet => to_value(&NetSettings::ray(steps)),
            ScaleMethod::Dc3 => to_value(&NetSettings::dc3(steps)),
        };
        ScaleKey {
            version: VERSION,
            family: self.family.name.to_owned(),
            method: self.method,
            settings,
            seed: self.seed,
            problems: context.protocol().problems,
        }
    }

    /// Steps of a peer's network. A step through cones takes twenty times as long as others.
    fn network_steps(&self, context: &Context<'_>) -> u64 {
        let steps = context.effort().solver_steps;
        match self.family.has_cones() {
            true => steps / 2,
            false => 2 * steps,
        }
    }

    /// About how many seconds of a core it takes.
    pub(crate) fn seconds(&self, context: &Context<'_>) -> f64 {
        match self.method {
            ScaleMethod::Solver => 20.0,
            ScaleMethod::Clarabel => 0.05 * context.protocol().problems as f64,
            _ if self.family.has_cones() => 0.03 * self.network_steps(context) as f64,
            _ => 0.002 * self.network_steps(context) as f64,
        }
    }

    /// Trains and measures.
    ///
    /// # Errors
    /// [`StudyError`] when a training fails or is stopped.
    pub fn result(&self, context: &Context<'_>) -> Result<ScaleRecord, StudyError> {
        let family = self.family.instance(self.seed);
        let start = Instant::now();
        let mut answers = Answers::train(self, &family, context)?;
        let training_seconds = start.elapsed().as_secs_f64();
        let problems = context.protocol().problems;
        let x: Vec<&[f64]> = family.test_x().take(problems).collect();
        let mut y = vec![vec![0.0; family.dim()]; x.len()];
        let (times, peer_us) = context.timed(|| {
            let peer_us = peer_time(self, &family, &x);
            (answers.time(&x, &mut y), peer_us)
        });
        let optima = context.optima(self, || optima(self, &family, &x))?;
        let measured = Measured::of(&family, &x, &y, &optima);
        Ok(ScaleRecord {
            key: self.key(context),
            feasible: measured.feasible as f64 / x.len() as f64,
            nearly_feasible: measured.nearly_feasible as f64 / x.len() as f64,
            mean_gap: measured.mean_gap(),
            worst_gap: measured.gaps.iter().copied().max_by(f64::total_cmp),
            p50_us: times[times.len() / 2],
            p99_us: times[(99 * times.len()) / 100],
            peer_us,
            training_seconds,
            without_reference: optima.iter().filter(|one| one.is_none()).count(),
            machine: crate::machine::describe(),
        })
    }
}

/// A trained method.
enum Answers<'a> {
    Solver(
        Solver<Arc<dyn Functions + Send + Sync>>,
        Box<SolverWorkspace>,
    ),
    Clarabel(Clarabel<'a>),
    Net(Box<Net<'a>>),
}

impl<'a> Answers<'a> {
    fn train(
        run: &ScaleRun,
        family: &'a Family,
        context: &Context<'_>,
    ) -> Result<Self, StudyError> {
        let steps = run.network_steps(context);
        let net = |settings: NetSettings| {
            let net = Net::train(family, &settings, run.seed, context)?;
            Ok(Self::Net(Box::new(net)))
        };
        match run.method {
            ScaleMethod::Solver => {
                let problem = family.problem(run.family.name);
                let mut settings = SolveSettings::default();
                settings.seed = run.seed;
                let solver = train(&problem, &settings)?.solver(&problem)?;
                let workspace = Box::new(solver.workspace());
                Ok(Self::Solver(solver, workspace))
            }
            ScaleMethod::Clarabel => Ok(Self::Clarabel(Clarabel::new(family))),
            ScaleMethod::RayNet => net(NetSettings::ray(steps)),
            ScaleMethod::Dc3 => net(NetSettings::dc3(steps)),
        }
    }

    fn answer(&mut self, x: &[f64], y: &mut [f64]) {
        match self {
            Self::Solver(solver, workspace) => {
                let done = solver.solve_into(x, y, workspace);
                // Lengths fit by construction.
                debug_assert!(done.is_ok());
            }
            Self::Clarabel(clarabel) => {
                clarabel.solve(x, 1e-8, y);
            }
            Self::Net(net) => net.answer(x, y),
        }
    }

    /// Answers every x; the times in microseconds, sorted.
    fn time(&mut self, x: &[&[f64]], y: &mut [Vec<f64>]) -> Vec<f64> {
        let repeats = match self {
            Self::Clarabel(_) => 1,
            _ => REPEATS,
        };
        let mut times = vec![f64::INFINITY; x.len()];
        for _ in 0..repeats {
            for ((x, y), time) in x.iter().zip(&mut *y).zip(&mut times) {
                let start = Instant::now();
                self.answer(x, y);
                *time = time.min(1e6 * start.elapsed().as_secs_f64());
            }
        }
        times.sort_by(f64::total_cmp);
        times
    }
}

/// The median time of what a user would call otherwise.
fn peer_time(run: &ScaleRun, family: &Family, x: &[&[f64]]) -> f64 {
    let problem = family.problem(run.family.name);
    let mut clarabel = family.is_convex().then(|| Clarabel::new(family));
    let mut y = vec![0.0; family.dim()];
    let mut times: Vec<f64> = Vec::new();
    for x in x.iter().take(TIMED) {
        let start = Instant::now();
        match &mut clarabel {
            Some(clarabel) => {
                clarabel.solve(x, 1e-8, &mut y);
            }
            None => {
                fabproj::solve::local_optimum(&problem, x, &y);
            }
        }
        times.push(1e6 * start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// f* at every x: clarabel's where the family is convex, else the best of several local searches.
fn optima(run: &ScaleRun, family: &Family, x: &[&[f64]]) -> Vec<Option<f64>> {
    let mut y = vec![0.0; family.dim()];
    if family.is_convex() {
        let mut clarabel = Clarabel::new(family);
        let one = |x: &&[f64]| clarabel.solve(x, 1e-10, &mut y);
        return x.iter().map(one).collect();
    }
    let problem = family.problem(run.family.name);
    x.iter().map(|x| best_known(&problem, x, &[&y])).collect()
}

/// Counts and gaps of answers.
struct Measured {
    feasible: usize,
    nearly_feasible: usize,
    gaps: Vec<f64>,
}

impl Measured {
    fn of(family: &Family, x: &[&[f64]], y: &[Vec<f64>], optima: &[Option<f64>]) -> Self {
        let mut measured = Self {
            feasible: 0,
            nearly_feasible: 0,
            gaps: Vec::new(),
        };
        let mut constraints = vec![0.0; family.rows()];
        for ((x, y), optimum) in x.iter().zip(y).zip(optima) {
            let (outside, off) = family.violation(y, x);
            measured.feasible += usize::from(outside <= 0.0 && off <= ROUNDING);
            if outside > TOLERANCE || off > TOLERANCE {
                continue;
            }
            measured.nearly_feasible += 1;
            let memory = &mut vec![0.0; family.memory()];
            let value = family.values(y, x, &mut constraints, memory);
            if let Some(optimum) = optimum {
                measured.gaps.push((value - optimum) / optimum.abs());
            }
        }
        measured
    }

    fn mean_gap(&self) -> Option<f64> {
        let count = self.gaps.len();
        (count > 0).then(|| self.gaps.iter().sum::<f64>() / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_and_slopes_of_all_families_agree_with_differences() {
        for entry in FAMILIES {
            let family = entry.instance_of([10, 4, 5], 0);
            let x: Vec<f64> = family.test_x().next().unwrap().to_vec();
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
        for entry in FAMILIES {
            let family = entry.instance_of([20, 8, 10], 0);
            let problem = family.problem(entry.name);
            let solver = train(&problem, &SolveSettings::default())
                .unwrap()
                .solver(&problem)
                .unwrap();
            let x: Vec<&[f64]> = family.test_x().take(20).collect();
            let run = ScaleRun {
                family: FamilyEntry::find(entry.name).unwrap(),
                method: ScaleMethod::Solver,
                seed: 0,
            };
            let y: Vec<Vec<f64>> = x.iter().map(|x| solver.solve(x).unwrap().0).collect();
            // Of several optima, an answer is that of its own basin.
            let nearest = |(x, y): (&&[f64], &Vec<f64>)| {
                let found = fabproj::solve::local_optimum(&problem, x, y)?;
                Some(found.1)
            };
            let optima = match family.is_convex() {
                true => optima(&run, &family, &x),
                false => x.iter().zip(&y).map(nearest).collect(),
            };
            let measured = Measured::of(&family, &x, &y, &optima);
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
