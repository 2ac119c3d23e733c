//! Evaluation: episodes with fixed seeds, a deterministic policy, everything that a report shows.

use std::time::Instant;

use fabproj_nn::Tape;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::env::Environment;
use crate::error::{Result, check_setting};
use crate::filter::{ActionFilter, Guarded};
use crate::normaliser::Normaliser;
use crate::policy::Policy;
use crate::rollout::check_dimensions;
use crate::task::{Disc, Task, TopView};

/// What acts in an evaluation.
#[derive(Clone, Debug)]
pub enum Controller {
    /// The mean of a policy.
    Policy(Box<Policy>),
    /// Samples of a policy.
    Sampled(Box<Policy>),
    /// Action 0.
    Zero,
    /// Uniform actions within the task's bounds.
    Random,
}

impl Controller {
    /// A baseline by its name, `zero` or `random`.
    pub fn baseline(name: &str) -> Option<Self> {
        match name {
            "zero" => Some(Self::Zero),
            "random" => Some(Self::Random),
            _ => None,
        }
    }

    fn check(&self, task: &Guarded) -> Result<()> {
        match self {
            Self::Policy(policy) | Self::Sampled(policy) => {
                let actor = &policy.actor;
                check_dimensions(actor.observation_dim(), actor.action_dim(), task)
            }
            Self::Zero | Self::Random => Ok(()),
        }
    }

    /// The policy's normalisation of observations.
    fn normaliser(&self) -> Option<&Normaliser> {
        match self {
            Self::Policy(policy) | Self::Sampled(policy) => Some(&policy.normaliser),
            Self::Zero | Self::Random => None,
        }
    }

    /// Writes the action for an observation.
    pub(crate) fn act(
        &self,
        observation: &[f64],
        task: &Guarded,
        (tape, random): (&mut Tape, &mut ChaCha8Rng),
        action: &mut [f64],
    ) {
        match self {
            Self::Policy(policy) => policy.act(observation, tape, action),
            Self::Sampled(policy) => {
                policy.act(observation, tape, action);
                for (slot, std) in action.iter_mut().zip(policy.actor.std()) {
                    let noise: f64 = random.sample(StandardNormal);
                    *slot += f64::from(std) * noise;
                }
            }
            Self::Zero => action.fill(0.0),
            Self::Random => {
                for (slot, (low, high)) in action.iter_mut().zip(task.action_bounds()) {
                    *slot = random.random_range(*low..=*high);
                }
            }
        }
    }
}

/// Settings of an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvaluationSettings {
    /// Number of episodes. Default 50.
    pub episodes: usize,
    /// Seed of the first episode; the next ones follow. Default 1,000,000.
    pub first_seed: u32,
}

impl Default for EvaluationSettings {
    fn default() -> Self {
        Self {
            episodes: 50,
            first_seed: 1_000_000,
        }
    }
}

/// Episodes of one policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Names of the kinds of cost.
    pub cost_kinds: Vec<String>,
    /// The episodes, in the order of their seeds.
    pub episodes: Vec<EpisodeResult>,
}

/// One episode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EpisodeResult {
    /// Its seed.
    pub seed: u32,
    /// Its steps.
    pub steps: usize,
    /// Sum of rewards.
    pub reward: f64,
    /// Sum of costs.
    pub cost: f64,
    /// Sums of costs by kind.
    pub costs: Vec<f64>,
    /// Goals reached.
    pub goals: usize,
    /// Length of the agent's path.
    pub distance: f64,
    /// Steps in which the filter intervened.
    pub corrected: usize,
    /// Sum over these steps of the distance between wanted and executed action.
    pub correction: f64,
    /// Wall-clock seconds, simulation included.
    pub seconds: f64,
}

/// Figures of an evaluation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of episodes.
    pub episodes: usize,
    /// Reward of an episode.
    pub reward: Distribution,
    /// Cost of an episode.
    pub cost: Distribution,
    /// Mean cost of an episode by kind.
    pub cost_by_kind: Vec<(String, f64)>,
    /// Mean number of goals.
    pub goals: f64,
    /// Mean length of the agent's path.
    pub distance: f64,
    /// Share of the steps in which the filter intervened.
    pub corrected_share: f64,
    /// Mean distance between wanted and executed action in these steps.
    pub correction: f64,
    /// Share of the episodes without any cost.
    pub zero_cost_share: f64,
    /// Mean wall-clock seconds of an episode.
    pub seconds: f64,
}

/// Moments and quantiles of a quantity over episodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Mean.
    pub mean: f64,
    /// Unbiased standard deviation.
    pub std: f64,
    /// Smallest value.
    pub min: f64,
    /// Quantile 0.1.
    pub p10: f64,
    /// Median.
    pub median: f64,
    /// Quantile 0.9.
    pub p90: f64,
    /// Largest value.
    pub max: f64,
}

impl Distribution {
    /// The distribution of some values; all zero for none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        if values.is_empty() {
            return Self::default();
        }
        values.sort_by(f64::total_cmp);
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self {
            mean,
            std: (squares / (count - 1.0).max(1.0)).sqrt(),
            min: values[0],
            p10: quantile(&values, 0.1),
            median: quantile(&values, 0.5),
            p90: quantile(&values, 0.9),
            max: values[values.len() - 1],
        }
    }
}

/// Linear interpolation between sorted values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

impl Evaluation {
    /// The figures that a report shows.
    pub fn summary(&self) -> Summary {
        let episodes = &self.episodes;
        let count = episodes.len().max(1) as f64;
        let mean = |measure: &dyn Fn(&EpisodeResult) -> f64| {
            episodes.iter().map(measure).sum::<f64>() / count
        };
        let steps = episodes.iter().map(|e| e.steps).sum::<usize>().max(1);
        let corrected: usize = episodes.iter().map(|e| e.corrected).sum();
        let correction: f64 = episodes.iter().map(|e| e.correction).sum();
        let kinds = self.cost_kinds.iter().enumerate();
        Summary {
            episodes: episodes.len(),
            reward: Distribution::of(episodes.iter().map(|e| e.reward)),
            cost: Distribution::of(episodes.iter().map(|e| e.cost)),
            cost_by_kind: kinds
                .map(|(index, kind)| (kind.clone(), mean(&|e| e.costs[index])))
                .collect(),
            goals: mean(&|e| e.goals as f64),
            distance: mean(&|e| e.distance),
            corrected_share: corrected as f64 / steps as f64,
            correction: correction / corrected.max(1) as f64,
            zero_cost_share: mean(&|e| f64::from(u8::from(e.cost == 0.0))),
            seconds: mean(&|e| e.seconds),
        }
    }
}

/// Runs episodes with consecutive seeds, on all threads. Results other than times do not depend on
/// the threads.
///
/// ```
/// use fab_saferl::evaluate::{Controller, EvaluationSettings, evaluate};
/// use fab_saferl::task::open;
///
/// let settings = EvaluationSettings { episodes: 3, ..EvaluationSettings::default() };
/// let make = || open("double-integrator");
/// let evaluation = evaluate(&make, &Controller::Zero, None, &settings)?;
/// assert_eq!(evaluation.summary().cost.mean, 0.0);
/// # Ok::<(), fab_saferl::RlError>(())
/// ```
///
/// # Errors
/// If the policy does not fit the task, or the task fails.
pub fn evaluate(
    make: &dyn Fn() -> Result<Box<dyn Task>>,
    controller: &Controller,
    filter: Option<&dyn ActionFilter>,
    settings: &EvaluationSettings,
) -> Result<Evaluation> {
    let count = settings.episodes;
    check_setting(count >= 1, "episodes", "at least 1", count)?;
    let guarded = || Ok(Guarded::new(make()?, filter.map(|filter| filter.boxed())));
    let tasks: Result<Vec<Guarded>> = (0..count).map(|_| guarded()).collect();
    let tasks = tasks?;
    controller.check(&tasks[0])?;
    let kinds = tasks[0].cost_kinds().iter();
    let cost_kinds = kinds.map(|kind| (*kind).to_owned()).collect();
    let episodes: Result<Vec<EpisodeResult>> = tasks
        .into_par_iter()
        .enumerate()
        .map(|(index, mut task)| {
            let seed = settings.first_seed.wrapping_add(index as u32);
            run_episode(&mut task, controller, seed, &mut |_, _| {})
        })
        .collect();
    Ok(Evaluation {
        cost_kinds,
        episodes: episodes?,
    })
}

/// One step as an evaluation sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct TracePoint {
    /// Where the agent is after the step.
    pub position: [f64; 2],
    /// Cost of the step.
    pub cost: f64,
    /// The goal before the step.
    pub goal: Disc,
    /// Where the executed action pushes, relative to the largest action.
    pub direction: [f64; 2],
    /// The filter intervened.
    pub corrected: bool,
}

/// An episode for a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The task at the start.
    pub start: TopView,
    /// Where the agent starts.
    pub origin: [f64; 2],
    /// The task after the last step.
    pub end: TopView,
    /// All steps.
    pub points: Vec<TracePoint>,
    /// The episode's totals.
    pub result: EpisodeResult,
}

/// Runs one episode and keeps every step.
///
/// # Errors
/// As for [`evaluate`].
pub fn trace(mut task: Guarded, controller: &Controller, seed: u32) -> Result<Trace> {
    controller.check(&task)?;
    // The episode resets the task again, with the same result.
    let mut observation = vec![0.0; task.observation_dim()];
    task.reset(seed, &mut observation)?;
    let (start, origin) = (task.top_view(), task.position());
    let (mut points, mut goal) = (Vec::new(), start.goal);
    let result = run_episode(&mut task, controller, seed, &mut |task, cost| {
        let position = task.position();
        points.push(TracePoint {
            position,
            cost,
            goal,
            direction: task.executed_direction(),
            corrected: task.correction().intervened,
        });
        goal = task.top_view().goal;
    })?;
    Ok(Trace {
        start,
        origin,
        end: task.top_view(),
        points,
        result,
    })
}

/// Runs one episode; `watch` sees the task and the cost after every step.
fn run_episode(
    task: &mut Guarded,
    controller: &Controller,
    seed: u32,
    watch: &mut dyn FnMut(&Guarded, f64),
) -> Result<EpisodeResult> {
    let started = Instant::now();
    let (mut tape, mut random) = (Tape::new(), ChaCha8Rng::seed_from_u64(seed.into()));
    let mut observation = vec![0.0; task.observation_dim()];
    let mut action = vec![0.0; task.action_dim()];
    if let Some(normaliser) = controller.normaliser() {
        task.set_normaliser(normaliser);
    }
    task.reset(seed, &mut observation)?;
    let mut result = EpisodeResult {
        seed,
        costs: vec![0.0; task.cost_kinds().len()],
        ..EpisodeResult::default()
    };
    let mut position = task.position();
    loop {
        controller.act(&observation, task, (&mut tape, &mut random), &mut action);
        let step = task.step(&action, &mut observation)?;
        let correction = task.correction();
        result.steps += 1;
        result.reward += step.reward;
        result.cost += step.cost;
        result.goals += usize::from(step.goal_reached);
        let costs = result.costs.iter_mut().zip(task.costs());
        costs.for_each(|(sum, cost)| *sum += cost);
        result.corrected += usize::from(correction.intervened);
        result.correction += correction.distance;
        let next = task.position();
        result.distance += (next[0] - position[0]).hypot(next[1] - position[1]);
        position = next;
        watch(task, step.cost);
        if step.ended() {
            result.seconds = started.elapsed().as_secs_f64();
            return Ok(result);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Agent;
    use crate::policy::PolicyRecord;
    use crate::task::open;

    fn policy(inputs: usize) -> Controller {
        let agent = Agent::new(inputs, 2, &[8], 1).unwrap();
        Controller::Policy(Box::new(Policy {
            actor: agent.actor,
            normaliser: agent.normaliser,
            record: PolicyRecord::default(),
        }))
    }

    fn run(controller: &Controller, episodes: usize) -> Result<Evaluation> {
        let settings = EvaluationSettings {
            episodes,
            ..EvaluationSettings::default()
        };
        evaluate(&|| open("double-integrator"), controller, None, &settings)
    }

    fn without_times(mut evaluation: Evaluation) -> Evaluation {
        evaluation.episodes.iter_mut().for_each(|e| e.seconds = 0.0);
        evaluation
    }

    #[test]
    fn baselines_behave_as_their_names_say() {
        let zero = run(&Controller::Zero, 4).unwrap().summary();
        assert_eq!((zero.cost.mean, zero.distance, zero.goals), (0.0, 0.0, 0.0));
        assert_eq!(zero.zero_cost_share, 1.0);
        let random = run(&Controller::Random, 4).unwrap();
        assert!(random.summary().distance > 0.5);
        assert_eq!(random.episodes[0].steps, 200);
    }

    #[test]
    fn the_same_seeds_give_the_same_episodes() {
        for controller in [policy(14), Controller::Random] {
            let first = without_times(run(&controller, 3).unwrap());
            assert_eq!(first, without_times(run(&controller, 3).unwrap()));
            assert_ne!(first.episodes[0], first.episodes[1]);
        }
    }

    #[test]
    fn a_policy_of_other_dimensions_is_refused() {
        let error = run(&policy(60), 2).unwrap_err().to_string();
        assert!(
            error.contains("60 inputs") && error.contains("14"),
            "{error}"
        );
    }

    #[test]
    fn a_trace_has_the_totals_of_its_episode() {
        let task = Guarded::plain(open("double-integrator").unwrap());
        let trace = trace(task, &Controller::Random, 5).unwrap();
        assert_eq!(trace.points.len(), 200);
        let cost: f64 = trace.points.iter().map(|point| point.cost).sum();
        assert_eq!(cost, trace.result.cost);
        assert_eq!(trace.start.obstacles, trace.end.obstacles);
    }

    #[test]
    fn distributions_have_their_quantiles() {
        let found = Distribution::of([4.0, 0.0, 1.0, 3.0, 2.0]);
        assert_eq!(
            (found.mean, found.median, found.min, found.max),
            (2.0, 2.0, 0.0, 4.0)
        );
        assert!((found.std - 2.5f64.sqrt()).abs() < 1e-12);
        assert!((found.p10 - 0.4).abs() < 1e-12 && (found.p90 - 3.6).abs() < 1e-12);
        assert_eq!(Distribution::of([]), Distribution::default());
    }
}
