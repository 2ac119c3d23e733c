//! Replays one recording step by step.

use super::error::{ParityError, Result};
use super::recording::Recording;
use super::report::{Activity, Comparison, Quantity};
use crate::env::{Environment, EnvironmentError, Step};
use crate::safety_gym::{Kind, SafetyGym};

/// Velocities of the robot, which come first.
const AGENT_VELOCITIES: usize = 3;

/// Sensors, which come first in an observation.
const SENSORS: usize = 12;

/// Movable bodies with all velocities below this are at rest. They settle after a reset at up to
/// 6.5e-5.
const REST: f64 = 1e-4;

type Outcome = std::result::Result<(), EnvironmentError>;

/// Restarts every step from the recorded state before it and compares what it gives.
///
/// Whole episodes cannot be compared: the robot's yaw control is chaotic, and a difference in the last
/// bit grows to millimetres within a hundred steps.
pub(super) fn replay(recording: &Recording, sleep: bool) -> Result<Comparison> {
    let environment = SafetyGym::with_sleep(recording.task, sleep);
    check_shapes(recording, &environment)?;
    let mut replay = Replay {
        recording,
        observation: vec![0.0; environment.observation_dim()],
        environment,
        comparison: Comparison::new(&recording.path, recording.task, sleep),
    };
    let failed = |step, source| ParityError::Environment {
        path: recording.path.clone(),
        step,
        source,
    };
    replay.reset().map_err(|source| failed(0, source))?;
    for step in 0..recording.steps() {
        replay.step(step).map_err(|source| failed(step, source))?;
    }
    Ok(replay.comparison)
}

/// A recording of another task, under this task's name, is refused before it is replayed.
fn check_shapes(recording: &Recording, environment: &SafetyGym) -> Result<()> {
    let kinds = environment.cost_kinds().iter();
    let kinds: Vec<String> = kinds.map(|kind| format!("cost_{kind}")).collect();
    let problem = if recording.first_observation.values.len() != environment.observation_dim() {
        "an observation of this task has another length"
    } else if recording.cost_names != kinds {
        "this task has other kinds of cost"
    } else {
        return Ok(());
    };
    Err(ParityError::Format {
        path: recording.path.clone(),
        problem: problem.to_owned(),
    })
}

struct Replay<'a> {
    recording: &'a Recording,
    environment: SafetyGym,
    observation: Vec<f64>,
    comparison: Comparison,
}

impl Replay<'_> {
    /// Resets and compares. Layout, first goal and random stream must be equal to the last bit.
    fn reset(&mut self) -> Outcome {
        let recording = self.recording;
        self.environment
            .reset(recording.seed, &mut self.observation)?;
        let layout = self.environment.layout()?;
        let exact = &mut self.comparison.exact;
        let names = layout.objects().iter().map(|object| object.name());
        exact.layouts += usize::from(!names.eq(recording.names.iter().cloned()));
        let count = recording.names.len();
        for (index, object) in layout.objects().iter().enumerate().take(count) {
            // The recorded goal is the one of the first draw; the one in force is compared below.
            let place = object.kind == Kind::Goal || object.xy == recording.places.row(index);
            let same = place && object.rotation == recording.rotations.values[index];
            exact.layouts += usize::from(!same);
        }
        exact.goals += usize::from(layout.goal().xy != recording.first_goal);
        let next = self.environment.random()?.peek();
        exact.random += usize::from(next != recording.first_random);
        let positions = self.environment.physical_state()?.positions;
        let deviation = largest(&positions, &recording.first_positions.values);
        self.comparison
            .note(Activity::Quiet, Quantity::Positions, deviation);
        self.compare_observation(Activity::Quiet, &recording.first_observation.values);
        Ok(())
    }

    /// Takes one step from the recorded state before it, and compares.
    fn step(&mut self, step: usize) -> Outcome {
        let recording = self.recording;
        let state = recording.state_before(step);
        self.environment.restart(&state)?;
        let action = recording.actions.row(step);
        let outcome = self.environment.step(action, &mut self.observation)?;
        self.compare_random(step)?;
        self.compare_events(step, &outcome);
        let velocities = [&state.velocities, recording.velocities.row(step)];
        let activity = activity(self.environment.touched()?, velocities);
        let positions = self.environment.physical_state()?.positions;
        let deviation = largest(&positions, recording.positions.row(step));
        let comparison = &mut self.comparison;
        comparison.count_step(activity);
        comparison.note(activity, Quantity::Positions, deviation);
        let deviation = (outcome.reward - recording.rewards.values[step]).abs();
        comparison.note(activity, Quantity::Reward, deviation);
        self.compare_observation(activity, recording.observations.row(step));
        Ok(())
    }

    /// Goal and random stream must be equal to the last bit.
    fn compare_random(&mut self, step: usize) -> Outcome {
        let exact = &mut self.comparison.exact;
        let goal = self.environment.layout()?.goal().xy;
        exact.goals += usize::from(goal != self.recording.goal_after(step));
        let next = self.environment.random()?.peek();
        exact.random += usize::from(next != self.recording.randoms.values[step]);
        Ok(())
    }

    /// Costs and events must be equal.
    fn compare_events(&mut self, step: usize, outcome: &Step) {
        let recording = self.recording;
        let flips = &mut self.comparison.flips;
        let differs = |flag: bool, recorded: f64| usize::from(flag != (recorded != 0.0));
        flips.cost += usize::from(outcome.cost != recording.costs.values[step]);
        let costs = self.environment.costs().iter();
        let kinds = costs.zip(recording.cost_kinds.row(step));
        for (flips, (cost, recorded)) in flips.kinds.iter_mut().zip(kinds) {
            flips.1 += usize::from(cost != recorded);
        }
        flips.goal_reached += differs(outcome.goal_reached, recording.goals_reached.values[step]);
        flips.terminated += differs(outcome.terminated, recording.terminated.values[step]);
    }

    fn compare_observation(&mut self, activity: Activity, recorded: &[f64]) {
        let (sensors, lidars) = self.observation.split_at(SENSORS);
        let (recorded_sensors, recorded_lidars) = recorded.split_at(SENSORS);
        let deviations = [
            (Quantity::Sensors, largest(sensors, recorded_sensors)),
            (Quantity::Lidars, largest(lidars, recorded_lidars)),
        ];
        for (quantity, deviation) in deviations {
            self.comparison.note(activity, quantity, deviation);
        }
    }
}

/// A step is quiet when nothing is touched and nothing but the robot moves before or after it.
fn activity(touched: bool, velocities: [&[f64]; 2]) -> Activity {
    let at_rest = |velocities: &[f64]| {
        let mut free = velocities[AGENT_VELOCITIES..].iter();
        free.all(|velocity| velocity.abs() < REST)
    };
    if touched || !velocities.into_iter().all(at_rest) {
        Activity::Active
    } else {
        Activity::Quiet
    }
}

/// The largest difference; NaN if any is NaN.
fn largest(a: &[f64], b: &[f64]) -> f64 {
    let differences = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    let nan_or_larger = |largest: f64, difference: f64| {
        if largest >= difference || largest.is_nan() {
            largest
        } else {
            difference
        }
    };
    differences.fold(0.0, nan_or_larger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_with_a_moving_body_is_active() {
        let (rest, moving) = ([9.0, 9.0, 9.0, 1e-5], [0.0, 0.0, 0.0, -2e-4]);
        assert_eq!(activity(false, [&rest, &rest]), Activity::Quiet);
        assert_eq!(activity(false, [&rest, &moving]), Activity::Active);
        assert_eq!(activity(false, [&moving, &rest]), Activity::Active);
        assert_eq!(activity(true, [&rest, &rest]), Activity::Active);
    }

    #[test]
    fn nan_is_the_largest_difference() {
        assert_eq!(largest(&[1.0, 5.0], &[2.0, 2.0]), 3.0);
        assert!(largest(&[f64::NAN, 5.0], &[0.0; 2]).is_nan());
        assert!(largest(&[5.0, f64::NAN, 6.0], &[0.0; 3]).is_nan());
    }
}
