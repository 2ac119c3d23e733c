//! Deviations, and whether they are small enough.

use std::path::{Path, PathBuf};

use crate::safety_gym::Task;

/// Whether anything was touched, or moved apart from the robot, in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activity {
    /// Nothing touched anything but the floor, and movable bodies were at rest.
    Quiet,
    /// Something was touched, or a vase or the box moved.
    Active,
}

/// What is compared by its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// Generalised positions: metres, radians, quaternions.
    Positions,
    /// Accelerometer, velocimeter, gyroscope, magnetometer.
    Sensors,
    /// Lidar readings.
    Lidars,
    /// The reward.
    Reward,
}

impl Activity {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Quiet, Self::Active];

    /// A word for tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Active => "active",
        }
    }
}

impl Quantity {
    /// All quantities.
    pub const ALL: [Self; 4] = [Self::Positions, Self::Sensors, Self::Lidars, Self::Reward];

    /// A word for tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Positions => "positions",
            Self::Sensors => "sensors",
            Self::Lidars => "lidars",
            Self::Reward => "reward",
        }
    }
}

/// How large a deviation may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Of all steps.
    pub largest: f64,
    /// Of 95 % of the steps.
    pub most: f64,
}

/// The tolerance for one step of MuJoCo 3.17 from a state of MuJoCo 2.3.3.
///
/// Quiet steps agree up to rounding, which the robot's yaw control multiplies by up to 5.3 in each of
/// the ten physical steps; the accelerometer shows it. With `sleep`, bodies slower than 1e-5 m/s stop, which moves them
/// by up to 2e-8 m per physical step. In active steps the two versions solve contacts differently,
/// and the accelerometer shows single impacts.
pub fn tolerance(activity: Activity, quantity: Quantity, sleep: bool) -> Tolerance {
    let (largest, most) = match (activity, quantity) {
        (Activity::Quiet, Quantity::Sensors) => (1e-8, 1e-9),
        (Activity::Quiet, _) if sleep => (1e-7, 1e-9),
        (Activity::Quiet, _) => (1e-9, 1e-9),
        (Activity::Active, Quantity::Positions) => (5e-3, 2e-3),
        (Activity::Active, Quantity::Sensors) => (60.0, 6.0),
        (Activity::Active, Quantity::Lidars) => (2e-2, 6e-3),
        (Activity::Active, Quantity::Reward) => (3e-3, 6e-4),
    };
    Tolerance { largest, most }
}

/// Differences of what must be equal to the last bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exact {
    /// Objects placed elsewhere.
    pub layouts: usize,
    /// Goals drawn elsewhere.
    pub goals: usize,
    /// Steps after which the random stream is elsewhere.
    pub random: usize,
}

/// Steps in which an indicator differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flips {
    /// The cost.
    pub cost: usize,
    /// The cost of each kind, with the kind's name.
    pub kinds: Vec<(&'static str, usize)>,
    /// Whether the goal was reached.
    pub goal_reached: usize,
    /// Whether the episode ended.
    pub terminated: usize,
}

/// A recording, or all recordings of a task, beside this crate's simulator.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The recording's file, or the folder.
    pub path: PathBuf,
    /// The task.
    pub task: Task,
    /// Whether bodies at rest slept.
    pub sleep: bool,
    /// Differences of layouts, goals and random numbers.
    pub exact: Exact,
    /// Differences of costs and events.
    pub flips: Flips,
    steps: [usize; 2],
    deviations: [[Vec<f64>; 4]; 2],
}

impl Comparison {
    pub(super) fn new(path: &Path, task: Task, sleep: bool) -> Self {
        Self {
            path: path.to_owned(),
            task,
            sleep,
            exact: Exact::default(),
            flips: Flips {
                cost: 0,
                kinds: task.cost_kinds().iter().map(|kind| (*kind, 0)).collect(),
                goal_reached: 0,
                terminated: 0,
            },
            steps: [0; 2],
            deviations: Default::default(),
        }
    }

    pub(super) fn note(&mut self, activity: Activity, quantity: Quantity, deviation: f64) {
        self.deviations[activity as usize][quantity as usize].push(deviation);
    }

    pub(super) fn count_step(&mut self, activity: Activity) {
        self.steps[activity as usize] += 1;
    }

    /// Number of steps.
    pub fn steps(&self, activity: Activity) -> usize {
        self.steps[activity as usize]
    }

    /// The largest deviation; NaN if any is NaN.
    pub fn largest(&self, activity: Activity, quantity: Quantity) -> f64 {
        self.quantile(activity, quantity, 1.0)
    }

    /// The deviation that a share of the steps does not exceed.
    pub fn quantile(&self, activity: Activity, quantity: Quantity, share: f64) -> f64 {
        let mut sorted = self.deviations[activity as usize][quantity as usize].clone();
        // NaN comes last, so the largest is NaN if any is.
        sorted.sort_by(f64::total_cmp);
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
    }

    /// Adds the counts and deviations of another recording of the same task.
    fn add(&mut self, other: &Self) {
        self.exact.layouts += other.exact.layouts;
        self.exact.goals += other.exact.goals;
        self.exact.random += other.exact.random;
        self.flips.cost += other.flips.cost;
        self.flips.goal_reached += other.flips.goal_reached;
        self.flips.terminated += other.flips.terminated;
        for (kind, more) in self.flips.kinds.iter_mut().zip(&other.flips.kinds) {
            kind.1 += more.1;
        }
        for activity in Activity::ALL {
            let index = activity as usize;
            self.steps[index] += other.steps[index];
            let all = self.deviations[index].iter_mut();
            for (all, more) in all.zip(&other.deviations[index]) {
                all.extend(more);
            }
        }
    }

    /// What is outside the tolerances, one sentence each.
    pub fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        let flips = &self.flips;
        let counts = [
            ("objects placed elsewhere", self.exact.layouts),
            ("goals drawn elsewhere", self.exact.goals),
            ("random numbers differ", self.exact.random),
            ("costs differ", flips.cost),
            ("goals reached differ", flips.goal_reached),
            ("episode ends differ", flips.terminated),
        ];
        let kinds = flips.kinds.iter().map(|(kind, count)| (*kind, *count));
        let kinds = kinds.map(|(kind, count)| (format!("costs of kind {kind} differ"), count));
        let counts = counts.map(|(what, count)| (what.to_owned(), count));
        for (what, count) in counts.into_iter().chain(kinds) {
            if count > 0 {
                failures.push(format!("{}: {what}: {count}", self.task));
            }
        }
        for activity in Activity::ALL {
            for quantity in Quantity::ALL {
                failures.extend(self.exceeds(activity, quantity));
            }
        }
        failures
    }

    fn exceeds(&self, activity: Activity, quantity: Quantity) -> Option<String> {
        let tolerance = tolerance(activity, quantity, self.sleep);
        let largest = self.largest(activity, quantity);
        let most = self.quantile(activity, quantity, 0.95);
        // NaN compares false, so a NaN deviation fails.
        if largest <= tolerance.largest && most <= tolerance.most {
            return None;
        }
        Some(format!(
            "{}: {} of {} steps deviate by up to {largest:.1e} (95 %: {most:.1e}), allowed are {:.0e} \
             (95 %: {:.0e})",
            self.task,
            quantity.name(),
            activity.name(),
            tolerance.largest,
            tolerance.most,
        ))
    }
}

/// All recordings of a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// One entry per recording, by file name.
    pub recordings: Vec<Comparison>,
}

impl Report {
    /// One entry per task: the recordings together, on which the tolerances are checked.
    pub fn tasks(&self) -> Vec<Comparison> {
        let mut tasks: Vec<Comparison> = Vec::new();
        for recording in &self.recordings {
            match tasks.iter_mut().find(|all| all.task == recording.task) {
                Some(all) => all.add(recording),
                None => {
                    let folder = recording.path.parent().unwrap_or(Path::new(""));
                    let mut all = Comparison::new(folder, recording.task, recording.sleep);
                    all.add(recording);
                    tasks.push(all);
                }
            }
        }
        tasks
    }

    /// What is outside the tolerances. Empty if the simulator agrees with the recordings.
    pub fn failures(&self) -> Vec<String> {
        let tasks = self.tasks();
        tasks.iter().flat_map(Comparison::failures).collect()
    }
}
