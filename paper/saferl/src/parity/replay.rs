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

/// Restarts every step from the recorded state before it and compares what it gives.
///
/// Whole episodes cannot be compared: the robot's yaw control is chaotic, and a difference in the last
/// bit grows to millimetres within a hundred steps.
pub(super) fn replay(recording: &Recording, sleep: bool) -> Result<Comparison> {
    let mut environment = SafetyGym::with_sleep(recording.task, sleep);
    let mut comparison = Comparison::new(&recording.path, recording.task, sleep);
    let mut observation = vec![0.0; environment.observation_dim()];
    check_shapes(recording, &environment)?;
    let failed = |step, source| ParityError::Environment {
        path: recording.path.clone(),
        step,
        source,
    };
    environment
        .reset(recording.seed, &mut observation)
        .and_then(|()| compare_reset(recording, &environment, &observation, &mut comparison))
        .map_err(|source| failed(0, source))?;
    for step in 0..recording.steps() {
        environment
            .restart(&recording.state_before(step))
            .and_then(|()| environment.step(recording.actions.row(step), &mut observation))
            .and_then(|outcome| {
                compare_random(recording, &environment, step, &mut comparison)?;
                let activity = activity(recording, environment.touched()?, step);
                compare_outcome(recording, &environment, step, &outcome, &mut comparison);
                let positions = environment.physical_state()?.positions;
                let mut note = |quantity, deviation| {
                    comparison.note(activity, quantity, deviation);
                };
                let recorded = recording.observations.row(step);
                note(
                    Quantity::Positions,
                    largest(&positions, recording.positions.row(step)),
                );
                note(
                    Quantity::Sensors,
                    largest(&observation[..SENSORS], &recorded[..SENSORS]),
                );
                note(
                    Quantity::Lidars,
                    largest(&observation[SENSORS..], &recorded[SENSORS..]),
                );
                note(
                    Quantity::Reward,
                    (outcome.reward - recording.rewards.values[step]).abs(),
                );
                comparison.count_step(activity);
                Ok(())
            })
            .map_err(|source| failed(step, source))?;
    }
    Ok(comparison)
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

/// Layout, first goal and random stream must be equal to the last bit.
fn compare_reset(
    recording: &Recording,
    environment: &SafetyGym,
    observation: &[f64],
    comparison: &mut Comparison,
) -> std::result::Result<(), EnvironmentError> {
    let layout = environment.layout()?;
    let objects = layout.objects();
    let names = objects.iter().map(|object| object.name());
    comparison.exact.layouts += usize::from(!names.eq(recording.names.iter().cloned()));
    for (index, object) in objects.iter().enumerate().take(recording.names.len()) {
        // The recorded goal is the one of the first draw; the one in force is compared below.
        let place = object.kind == Kind::Goal || object.xy == recording.places.row(index);
        let same = place && object.rotation == recording.rotations.values[index];
        comparison.exact.layouts += usize::from(!same);
    }
    comparison.exact.goals += usize::from(layout.goal().xy != recording.first_goal);
    comparison.exact.random += usize::from(environment.random()?.peek() != recording.first_random);
    let recorded = &recording.first_observation.values;
    comparison.note(
        Activity::Quiet,
        Quantity::Sensors,
        largest(&observation[..SENSORS], &recorded[..SENSORS]),
    );
    comparison.note(
        Activity::Quiet,
        Quantity::Lidars,
        largest(&observation[SENSORS..], &recorded[SENSORS..]),
    );
    Ok(())
}

/// Goal and random stream after a step must be equal to the last bit.
fn compare_random(
    recording: &Recording,
    environment: &SafetyGym,
    step: usize,
    comparison: &mut Comparison,
) -> std::result::Result<(), EnvironmentError> {
    let goal = environment.layout()?.goal().xy;
    comparison.exact.goals += usize::from(goal != recording.goal_after(step));
    let next = environment.random()?.peek();
    comparison.exact.random += usize::from(next != recording.randoms.values[step]);
    Ok(())
}

/// Costs and events must be equal.
fn compare_outcome(
    recording: &Recording,
    environment: &SafetyGym,
    step: usize,
    outcome: &Step,
    comparison: &mut Comparison,
) {
    let differs = |flag: bool, recorded: f64| usize::from(flag != (recorded != 0.0));
    comparison.flips.cost += usize::from(outcome.cost != recording.costs.values[step]);
    let kinds = environment
        .costs()
        .iter()
        .zip(recording.cost_kinds.row(step));
    for (flips, (cost, recorded)) in comparison.flips.kinds.iter_mut().zip(kinds) {
        flips.1 += usize::from(cost != recorded);
    }
    comparison.flips.goal_reached +=
        differs(outcome.goal_reached, recording.goals_reached.values[step]);
    comparison.flips.terminated += differs(outcome.terminated, recording.terminated.values[step]);
}

/// A step is quiet when nothing is touched and nothing but the robot moves.
fn activity(recording: &Recording, touched: bool, step: usize) -> Activity {
    let before = recording.state_before(step).velocities;
    let after = recording.velocities.row(step);
    let at_rest = |velocities: &[f64]| {
        let mut free = velocities[AGENT_VELOCITIES..].iter();
        free.all(|velocity| velocity.abs() < REST)
    };
    if touched || !at_rest(&before) || !at_rest(after) {
        Activity::Active
    } else {
        Activity::Quiet
    }
}

/// The largest difference; NaN if any is NaN.
fn largest(a: &[f64], b: &[f64]) -> f64 {
    let differences = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, |largest, difference| {
        if difference > largest || difference.is_nan() {
            difference
        } else {
            largest
        }
    })
}
