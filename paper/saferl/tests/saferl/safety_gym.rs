//! The Safety Gym tasks at the public border.

use fab_saferl::VectorEnvironment;
use fab_saferl::env::{Environment, EnvironmentError, Restore, Step};
use fab_saferl::safety_gym::{SafetyGym, TIME_LIMIT, Task};

/// A task after its reset, with its observation.
fn started(task: Task, seed: u32) -> (SafetyGym, Vec<f64>) {
    let mut environment = SafetyGym::new(task);
    let mut observation = vec![0.0; environment.observation_dim()];
    environment.reset(seed, &mut observation).unwrap();
    (environment, observation)
}

/// Full speed ahead, turning left and right: touches objects.
fn action(step: usize) -> [f64; 2] {
    [0.05, (step as f64 * 0.11).sin()]
}

/// Rewards, costs and observations of some steps, as bits.
fn trace(environment: &mut SafetyGym, steps: std::ops::Range<usize>) -> Vec<u64> {
    let mut observation = vec![0.0; environment.observation_dim()];
    let mut bits = Vec::new();
    for index in steps {
        let step = environment.step(&action(index), &mut observation).unwrap();
        bits.extend([step.reward, step.cost].map(f64::to_bits));
        bits.extend(observation.iter().map(|value| value.to_bits()));
    }
    bits
}

#[test]
fn dimensions_and_bounds() {
    for (task, dim) in [
        (Task::Goal1, 60),
        (Task::Goal2, 60),
        (Task::Push1, 76),
        (Task::Push2, 76),
    ] {
        let (environment, observation) = started(task, 0);
        assert_eq!(environment.observation_dim(), dim);
        assert_eq!(environment.action_dim(), 2);
        assert_eq!(environment.cost_kinds().len(), environment.costs().len());
        let lidars = &observation[12..];
        assert!(lidars.iter().all(|value| (0.0..=1.0).contains(value)));
        assert!((observation[2] - 9.81).abs() < 1e-6, "{}", observation[2]);
    }
}

#[test]
fn an_episode_ends_after_its_time() {
    let (mut environment, mut observation) = started(Task::Push1, 1);
    let mut last = Step::default();
    for index in 0..TIME_LIMIT {
        assert!(!last.ended());
        last = environment.step(&action(index), &mut observation).unwrap();
    }
    assert!(last.truncated && !last.terminated);
    let error = environment.step(&action(0), &mut observation).unwrap_err();
    assert!(matches!(error, EnvironmentError::NotRunning), "{error}");
}

#[test]
fn a_seed_gives_the_same_bits() {
    for task in Task::ALL {
        let traces = [3, 3, 4].map(|seed| trace(&mut started(task, seed).0, 0..60));
        assert_eq!(traces[0], traces[1], "{task}");
        assert_ne!(traces[0], traces[2], "{task}");
    }
}

#[test]
fn a_restored_state_continues_with_the_same_bits() {
    for task in Task::ALL {
        let (mut environment, _) = started(task, 6);
        for pause in [0, 7, 150] {
            environment
                .reset(6, &mut vec![0.0; environment.observation_dim()])
                .unwrap();
            trace(&mut environment, 0..pause);
            let state = environment.state();
            let expected = trace(&mut environment, pause..pause + 120);
            // The same environment, another episode's, and one that never started.
            environment.restore(&state).unwrap();
            assert_eq!(
                trace(&mut environment, pause..pause + 120),
                expected,
                "{task} {pause}"
            );
            let (mut other, _) = started(task, 9);
            other.restore(&state).unwrap();
            assert_eq!(
                trace(&mut other, pause..pause + 120),
                expected,
                "{task} {pause}"
            );
            let mut fresh = SafetyGym::new(task);
            fresh.restore(&state).unwrap();
            assert_eq!(
                trace(&mut fresh, pause..pause + 120),
                expected,
                "{task} {pause}"
            );
        }
    }
}

#[test]
fn a_restored_state_gives_its_observation_and_scene() {
    let (mut environment, mut observation) = started(Task::Goal2, 2);
    for index in 0..30 {
        environment.step(&action(index), &mut observation).unwrap();
    }
    let (state, scene) = (environment.state(), environment.scene().unwrap());
    trace(&mut environment, 0..20);
    assert_ne!(environment.scene().unwrap(), scene);
    environment.restore(&state).unwrap();
    let mut seen = vec![0.0; observation.len()];
    environment.observe(&mut seen).unwrap();
    assert_eq!(seen, observation);
    assert_eq!(environment.scene().unwrap(), scene);
}

#[test]
fn the_scene_agrees_with_the_layout_and_the_sensors() {
    let (mut environment, mut observation) = started(Task::Push2, 5);
    let scene = environment.scene().unwrap();
    let layout = environment.layout().unwrap();
    assert_eq!(scene.agent.xy, layout.agent().xy);
    assert_eq!(scene.goal.centre, layout.goal().xy);
    assert_eq!((scene.hazards.len(), scene.pillars.len()), (4, 4));
    assert!(scene.push_box.is_some() && scene.vases.is_empty());
    for index in 0..40 {
        environment.step(&action(index), &mut observation).unwrap();
    }
    let scene = environment.scene().unwrap();
    let (sin, cos) = scene.agent.yaw.sin_cos();
    let [vx, vy] = scene.velocity;
    // The velocimeter shows the velocity in the robot's own frame.
    assert!((cos * vx + sin * vy - observation[3]).abs() < 1e-12);
    assert!((cos * vy - sin * vx - observation[4]).abs() < 1e-12);
    assert!((scene.yaw_rate - observation[8]).abs() < 1e-12);
}

#[test]
fn misuse_is_an_error_and_changes_nothing() {
    let mut environment = SafetyGym::new(Task::Goal1);
    let mut observation = vec![0.0; 60];
    let error = environment.step(&[0.0; 2], &mut observation).unwrap_err();
    assert!(matches!(error, EnvironmentError::NotRunning), "{error}");
    assert!(environment.scene().is_err());
    environment.reset(0, &mut observation).unwrap();
    let before = environment.physical_state().unwrap();
    let error = environment.step(&[0.0; 3], &mut observation).unwrap_err();
    assert_eq!(
        error.to_string(),
        "an action of this task has 2 components, found 3"
    );
    let error = environment
        .step(&[0.0, f64::NAN], &mut observation)
        .unwrap_err();
    assert!(error.to_string().contains("action[1] is NaN"), "{error}");
    let error = environment
        .step(&[0.0; 2], &mut observation[..59])
        .unwrap_err();
    assert!(matches!(
        error,
        EnvironmentError::ObservationLength {
            expected: 60,
            found: 59
        }
    ));
    assert_eq!(environment.physical_state().unwrap(), before);
    let other = started(Task::Push1, 0).0.state();
    let error = environment.restore(&other).unwrap_err();
    assert!(
        error.to_string().contains("it is of Push1, not of Goal1"),
        "{error}"
    );
}

#[test]
fn a_diverged_simulation_is_an_error() {
    for bad in [f64::NAN, f64::INFINITY, 1e12] {
        for task in [Task::Goal2, Task::Push2] {
            let (mut environment, mut observation) = started(task, 8);
            let mut state = environment.physical_state().unwrap();
            let last = state.velocities.len() - 1;
            state.velocities[last] = bad;
            environment.restart(&state).unwrap();
            let error = environment.step(&[0.0; 2], &mut observation).unwrap_err();
            let EnvironmentError::Diverged { seed, step, .. } = error else {
                panic!("{task} {bad}: {error}");
            };
            assert_eq!((seed, step), (8, 1));
            // The next episode is sound again.
            environment.reset(8, &mut observation).unwrap();
            environment.step(&[0.0; 2], &mut observation).unwrap();
        }
    }
    let left = std::path::Path::new("MUJOCO_LOG.TXT");
    assert!(!left.exists(), "MuJoCo wrote a log file");
}

#[test]
fn actions_beyond_the_bounds_are_clipped() {
    let (mut bounded, mut first) = started(Task::Goal1, 0);
    let (mut beyond, mut second) = started(Task::Goal1, 0);
    bounded.step(&[1.0, -1.0], &mut first).unwrap();
    beyond.step(&[7.0, -1e300], &mut second).unwrap();
    assert_eq!(first, second);
}

#[test]
fn rollouts_are_the_same_bits_on_any_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let environments = (0..4).map(|_| SafetyGym::new(Task::Push2)).collect();
            let mut copies = VectorEnvironment::new(environments, 11).unwrap();
            let traces = copies.map(|index, slot| {
                let mut bits = Vec::new();
                for step in 0..80 {
                    let reward = slot.step(&action(step + index))?.reward;
                    bits.push(reward.to_bits());
                    bits.extend(slot.observation().iter().map(|value| value.to_bits()));
                }
                Ok(bits)
            });
            traces.unwrap()
        })
    };
    let alone = run(1);
    assert_eq!(alone, run(3));
    assert_ne!(alone[0], alone[1]);
}
