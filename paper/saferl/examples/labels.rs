//! Compares the labels of the simple model with the real simulator.
//!
//! `cargo run --release -p fab-saferl --features mujoco --example labels -- TASK STATES [MARGIN]`

use std::error::Error;

use fab_saferl::env::{Environment, Restore};
use fab_saferl::filter::{ActionFilter, Situation};
use fab_saferl::look_ahead::LookAheadSettings;
use fab_saferl::safety_gym::{SafetyGym, Task as Name};
use fab_saferl::shield::Shield;
use fab_saferl::steering::Rule;
use fab_saferl::task::Task;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Steps between compared states.
const EVERY: usize = 11;

/// Actions per state.
const ACTIONS: usize = 4;

/// Hazard or contact cost of the last step; moving vases are not part of the model.
fn costs(task: &SafetyGym) -> bool {
    task.costs()[..2].iter().any(|cost| *cost > 0.0)
}

/// Cost steps of an action in the simulator: held, then the best of nine manoeuvres.
fn simulate(
    task: &mut SafetyGym,
    action: [f64; 2],
    settings: &LookAheadSettings,
) -> Result<u32, Box<dyn Error>> {
    let start = task.state();
    let mut best = u32::MAX;
    for manoeuvre in 0..9 {
        let mut observation: Vec<f64> = vec![0.0; task.observation_dim()];
        task.restore(&start)?;
        let mut cost = 0;
        for step in 0..settings.horizon {
            let throttle = match manoeuvre / 3 {
                0 => (-observation[3]).clamp(-0.05, 0.05),
                1 => 0.05,
                _ => -0.05,
            };
            let turn = [0.0, 1.0, -1.0][manoeuvre % 3];
            let command = if step < settings.hold {
                action
            } else {
                [throttle, turn]
            };
            if task.step(&command, &mut observation)?.ended() {
                break;
            }
            cost += u32::from(costs(task));
            if cost >= best {
                break;
            }
        }
        best = best.min(cost);
        if best == 0 {
            break;
        }
    }
    task.restore(&start)?;
    Ok(best)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name: Name = arguments.first().map_or("goal2", String::as_str).parse()?;
    let states: usize = arguments.get(1).map_or(Ok(2000), |text| text.parse())?;
    let label = LookAheadSettings {
        margin: arguments.get(2).map_or(Ok(0.01), |text| text.parse())?,
        ..LookAheadSettings::default()
    };
    let mut task = SafetyGym::new(name);
    let mut observation = vec![0.0; task.observation_dim()];
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut shield = Shield::new(label.clone(), Rule::Steer);
    // Rows: unsafe, safe in the simulator; columns: in the model.
    let (mut table, mut seed, mut compared, mut action) = ([[0u32; 2]; 2], 50_000, 0, [0.05, 0.0]);
    let mut yaw = [(0.0, 0.0, 0u32); 5];
    task.reset(seed, &mut observation)?;
    for step in 0usize.. {
        if compared == states {
            break;
        }
        if random.random_bool(0.04) {
            action = [
                0.05 * random.random_range(-0.5..1.0),
                random.random_range(-1.0..1.0),
            ];
        }
        let moving = task.cost_kinds().contains(&"vases_velocity") && task.costs()[2] > 0.0;
        if step % EVERY == 0 && !costs(&task) && !moving {
            for _ in 0..ACTIONS {
                let tried = [
                    0.05 * random.random_range(-1.0..1.0),
                    random.random_range(-1.0..1.0),
                ];
                let model = task.outlooks(&[tried], &label)?[0].is_safe();
                let truth = simulate(&mut task, tried, &label)? == 0;
                table[usize::from(truth)][usize::from(model)] += 1;
            }
            compared += 1;
        }
        let mut executed = action;
        let situation = Situation {
            observation: &observation.clone(),
            task: &task,
        };
        shield.filter(situation, &action, &mut executed)?;
        let before = task.scene()?.agent.yaw;
        let ended = task.step(&executed, &mut observation)?.ended();
        let turned = (task.scene()?.agent.yaw - before + 9.424_777_960_769_38)
            .rem_euclid(std::f64::consts::TAU)
            - std::f64::consts::PI;
        let class = &mut yaw[((executed[1].abs() * 5.0) as usize).min(4)];
        class.0 += executed[1].abs();
        class.1 += turned * executed[1].signum() / 0.02;
        class.2 += 1;
        if ended {
            seed += 1;
            task.reset(seed, &mut observation)?;
        }
    }
    let [[right_unsafe, false_safe], [false_unsafe, right_safe]] = table;
    let total = f64::from(right_unsafe + false_safe + false_unsafe + right_safe);
    println!("{states} states, {total} actions, margin {}", label.margin);
    println!(
        "agreement {:.2} %, unsafe in the simulator {:.2} %",
        100.0 * f64::from(right_unsafe + right_safe) / total,
        100.0 * f64::from(right_unsafe + false_safe) / total
    );
    println!(
        "false safe {:.2} % of what the model calls safe, false unsafe {:.2} % of what it calls unsafe",
        100.0 * f64::from(false_safe) / f64::from(false_safe + right_safe).max(1.0),
        100.0 * f64::from(false_unsafe) / f64::from(false_unsafe + right_unsafe).max(1.0)
    );
    for (command, rate, count) in yaw {
        let count = f64::from(count.max(1));
        println!(
            "turn {:.2}: yaw rate {:.3} rad/s",
            command / count,
            rate / count
        );
    }
    Ok(())
}
