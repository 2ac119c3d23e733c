//! The double integrator does what its documentation says.

use fab_saferl::env::{Environment, EnvironmentError, Restore};
use fab_saferl::{DoubleIntegrator, DoubleIntegratorSettings};

fn started(settings: DoubleIntegratorSettings, seed: u32) -> (DoubleIntegrator, Vec<f64>) {
    let mut task = DoubleIntegrator::new(settings).unwrap();
    let mut observation = vec![0.0; task.observation_dim()];
    task.reset(seed, &mut observation).unwrap();
    (task, observation)
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

/// Accelerates towards a point, with a damping that lets it arrive.
fn towards(task: &DoubleIntegrator, target: [f64; 2]) -> [f64; 2] {
    [0, 1].map(|axis| 2.0 * (target[axis] - task.position()[axis]) - 2.0 * task.velocity()[axis])
}

#[test]
fn the_mass_moves_as_the_formula_says() {
    let (mut task, mut observation) = started(DoubleIntegratorSettings::default(), 1);
    for _ in 0..5 {
        task.step(&[0.5, -2.0], &mut observation).unwrap();
    }
    // x = a t² / 2, with the second component clipped to -1.
    let (time, [x, y]) = (0.5_f64, task.position());
    assert!((x - 0.5 * 0.5 * time * time).abs() < 1e-12, "{x}");
    assert!((y + 0.5 * time * time).abs() < 1e-12, "{y}");
    assert_eq!(observation[..2], task.velocity());
    assert_eq!(observation[observation.len() - 2..], task.position());
}

#[test]
fn walls_stop_the_mass() {
    let (mut task, mut observation) = started(DoubleIntegratorSettings::default(), 2);
    for _ in 0..60 {
        task.step(&[1.0, 0.0], &mut observation).unwrap();
    }
    assert_eq!(task.position()[0], 2.0);
    assert_eq!(task.velocity()[0], 0.0);
}

#[test]
fn objects_leave_room() {
    for seed in 0..50 {
        let (task, observation) = started(DoubleIntegratorSettings::default(), seed);
        let mut discs = vec![(task.position(), 0.0), (task.goal(), 0.25)];
        discs.extend(task.obstacles().iter().map(|centre| (*centre, 0.35)));
        for (index, (a, first)) in discs.iter().enumerate() {
            for (b, second) in &discs[..index] {
                assert!(distance(*a, *b) > first + second, "seed {seed}");
            }
        }
        let nearest = task
            .obstacles()
            .iter()
            .map(|centre| distance(*centre, task.position()));
        let nearest = nearest.fold(f64::INFINITY, f64::min);
        assert_eq!(observation[4].hypot(observation[5]), nearest);
    }
}

#[test]
fn goals_pay_and_obstacles_cost() {
    let (mut task, mut observation) = started(DoubleIntegratorSettings::default(), 3);
    let (start, goal) = (distance(task.position(), task.goal()), task.goal());
    let mut sum = 0.0;
    let reached = (0..200).any(|_| {
        let step = task.step(&towards(&task, goal), &mut observation).unwrap();
        sum += step.reward;
        step.goal_reached
    });
    assert!(reached);
    assert_ne!(task.goal(), goal);
    // The distance gained, and 1 for the goal.
    assert!(
        sum > 1.0 + start - 0.25 - 1e-9 && sum < 1.0 + start,
        "{sum}"
    );

    let (mut task, mut observation) = started(DoubleIntegratorSettings::default(), 3);
    let obstacle = task.obstacles()[0];
    for _ in 0..100 {
        let step = task
            .step(&towards(&task, obstacle), &mut observation)
            .unwrap();
        let mut centres = task.obstacles().iter();
        let inside = centres.any(|centre| distance(*centre, task.position()) < 0.35);
        assert_eq!(step.cost, f64::from(u8::from(inside)));
        assert_eq!(task.costs(), [step.cost]);
    }
    assert!(distance(task.position(), obstacle) < 0.35);
}

#[test]
fn a_restored_state_continues_with_the_same_bits() {
    let (mut task, mut observation) = started(DoubleIntegratorSettings::default(), 4);
    let mut run = |task: &mut DoubleIntegrator| {
        let steps = (0..100).map(|_| {
            let action = towards(task, task.goal());
            task.step(&action, &mut observation).unwrap().reward
        });
        steps.collect::<Vec<_>>()
    };
    let state = task.state();
    let first = run(&mut task);
    task.restore(&state).unwrap();
    assert_eq!(run(&mut task), first);
    let (mut other, _) = started(DoubleIntegratorSettings::default(), 99);
    other.restore(&state).unwrap();
    assert_eq!(run(&mut other), first);
}

#[test]
fn misuse_is_an_error() {
    let mut task = DoubleIntegrator::default();
    let mut observation = vec![0.0; task.observation_dim()];
    let error = task.step(&[0.0; 2], &mut observation).unwrap_err();
    assert!(matches!(error, EnvironmentError::NotRunning), "{error}");
    task.reset(0, &mut observation).unwrap();
    let error = task.step(&[0.0], &mut observation).unwrap_err();
    assert!(matches!(
        error,
        EnvironmentError::ActionLength {
            expected: 2,
            found: 1
        }
    ));
    let error = task
        .step(&[0.0, f64::INFINITY], &mut observation)
        .unwrap_err();
    assert!(matches!(
        error,
        EnvironmentError::ActionNotFinite { index: 1, .. }
    ));
    for _ in 0..200 {
        task.step(&[0.0; 2], &mut observation).unwrap();
    }
    let error = task.step(&[0.0; 2], &mut observation).unwrap_err();
    assert!(matches!(error, EnvironmentError::NotRunning), "{error}");
}

#[test]
fn bad_settings_are_named() {
    let settings = DoubleIntegratorSettings {
        time_step: f64::NAN,
        ..DoubleIntegratorSettings::default()
    };
    let error = DoubleIntegrator::new(settings).unwrap_err();
    assert!(error.to_string().contains("`time_step`"), "{error}");
    let crowded = DoubleIntegratorSettings {
        obstacles: 50,
        ..DoubleIntegratorSettings::default()
    };
    let mut task = DoubleIntegrator::new(crowded).unwrap();
    let mut observation = vec![0.0; task.observation_dim()];
    let error = task.reset(0, &mut observation).unwrap_err();
    assert!(matches!(error, EnvironmentError::Layout { .. }), "{error}");
}
