//! Sleeping bodies make the tasks faster and do not change their statistics.

use fab_saferl::env::Environment;
use fab_saferl::safety_gym::{SafetyGym, Scene, Task};
use rayon::prelude::*;

/// Reward, cost and cost by kind of one episode.
type Totals = Vec<f64>;

/// Drives at the goal, or at the box, whatever is in the way.
fn action(scene: &Scene) -> [f64; 2] {
    let target = scene
        .push_box
        .map_or(scene.goal.centre, |push_box| push_box.xy);
    let [dx, dy] = [target[0] - scene.agent.xy[0], target[1] - scene.agent.xy[1]];
    let (sin, cos) = scene.agent.yaw.sin_cos();
    let turn = (cos * dy - sin * dx).atan2(cos * dx + sin * dy);
    [0.05 * turn.cos(), turn.clamp(-1.0, 1.0)]
}

fn episode(task: Task, sleep: bool, seed: u32, steps: usize) -> Totals {
    let mut environment = SafetyGym::with_sleep(task, sleep);
    let mut observation = vec![0.0; environment.observation_dim()];
    environment.reset(seed, &mut observation).unwrap();
    let mut totals = vec![0.0; 2 + environment.cost_kinds().len()];
    for _ in 0..steps {
        let action = action(&environment.scene().unwrap());
        let step = environment.step(&action, &mut observation).unwrap();
        totals[0] += step.reward;
        totals[1] += step.cost;
        for (total, cost) in totals[2..].iter_mut().zip(environment.costs()) {
            *total += cost;
        }
    }
    totals
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}

/// Runs the same layouts with and without sleep and checks that the differences are noise.
fn compare(task: Task, episodes: u32, steps: usize) {
    let run = |sleep| -> Vec<Totals> {
        let seeds = (0..episodes).into_par_iter();
        seeds
            .map(|seed| episode(task, sleep, 500 + seed, steps))
            .collect()
    };
    let (with, without) = (run(true), run(false));
    let names = ["reward", "cost"];
    let names = names.iter().chain(task.cost_kinds());
    for (index, name) in names.enumerate() {
        let column = |rows: &[Totals]| rows.iter().map(|row| row[index]).collect::<Vec<_>>();
        let (with, without) = (column(&with), column(&without));
        let pairs = with.iter().zip(&without);
        let differences: Vec<f64> = pairs.map(|(with, without)| with - without).collect();
        let (difference, error) = mean_and_error(&differences);
        let ((with, with_error), (without, without_error)) =
            (mean_and_error(&with), mean_and_error(&without));
        println!(
            "{task} {name}: {with:.2} ± {with_error:.2} with sleep, {without:.2} ± {without_error:.2} \
             without, difference {difference:.2} ± {error:.2}"
        );
        assert!(
            difference.abs() <= 3.5 * error + 1e-9,
            "{task} {name}: {difference} ± {error}"
        );
    }
}

#[test]
fn sleep_does_not_change_the_statistics() {
    compare(Task::Goal2, 16, 150);
    compare(Task::Push2, 16, 200);
}

/// Until something is touched, sleep changes nothing that the robot does, to the last bit.
#[test]
fn the_robot_alone_moves_with_the_same_bits() {
    for task in Task::ALL {
        let mut compared = 0;
        for seed in 0..4 {
            let mut pair = [true, false].map(|sleep| SafetyGym::with_sleep(task, sleep));
            let mut observation = vec![0.0; pair[0].observation_dim()];
            for environment in &mut pair {
                environment.reset(seed, &mut observation).unwrap();
            }
            for _ in 0..60 {
                let action = action(&pair[0].scene().unwrap());
                for environment in &mut pair {
                    environment.step(&action, &mut observation).unwrap();
                }
                if pair
                    .iter()
                    .any(|environment| environment.touched().unwrap())
                {
                    break;
                }
                let agents = pair.each_ref().map(|environment| {
                    let scene = environment.scene().unwrap();
                    (scene.agent, scene.velocity, scene.yaw_rate)
                });
                assert_eq!(agents[0], agents[1], "{task}, seed {seed}");
                compared += 1;
            }
        }
        assert!(compared > 60, "{task}: {compared}");
    }
}
