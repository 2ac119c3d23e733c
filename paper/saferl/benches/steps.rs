//! Steps per second on one core, by processor time, with and without sleeping bodies.
//!
//! `cargo bench -p fab-saferl --features mujoco --bench steps [-- TASK...]`

use fab_saferl::env::{Environment, EnvironmentError};
use fab_saferl::safety_gym::{SafetyGym, TIME_LIMIT, Task};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::time::{ClockId, clock_gettime};

/// Episodes per row, each of 1000 steps.
const EPISODES: u32 = 20;

/// How actions are chosen: uniformly at random, or full speed ahead with random turns, which touches more.
const POLICIES: [&str; 2] = ["random", "driving"];

fn main() -> Result<(), EnvironmentError> {
    let arguments = std::env::args().skip(1);
    let mut tasks: Vec<Task> = arguments.filter_map(|name| name.parse().ok()).collect();
    if tasks.is_empty() {
        tasks = vec![Task::Goal2, Task::Push2];
    }
    println!("task   policy   sleep  steps/s  reset ms  cost per episode");
    for task in tasks {
        for policy in POLICIES {
            for sleep in [true, false] {
                row(task, policy, sleep)?;
            }
        }
    }
    Ok(())
}

fn row(task: Task, policy: &str, sleep: bool) -> Result<(), EnvironmentError> {
    let mut environment = SafetyGym::with_sleep(task, sleep);
    let mut observation = vec![0.0; environment.observation_dim()];
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let (mut resets, mut steps, mut cost) = (0.0, 0.0, 0.0);
    let episodes = if sleep { EPISODES } else { EPISODES / 5 };
    for seed in 0..episodes {
        let start = seconds();
        environment.reset(seed, &mut observation)?;
        let begun = seconds();
        resets += begun - start;
        for _ in 0..TIME_LIMIT {
            let mut action = [0; 2].map(|_| random.random_range(-1.0..1.0));
            if policy == "driving" {
                action[0] = 0.05;
            }
            cost += environment.step(&action, &mut observation)?.cost;
        }
        steps += seconds() - begun;
    }
    let count = f64::from(episodes);
    println!(
        "{:6} {policy:8} {:5} {:8.0} {:9.2} {:8.1}",
        task.name(),
        if sleep { "on" } else { "off" },
        count * TIME_LIMIT as f64 / steps,
        1e3 * resets / count,
        cost / count,
    );
    Ok(())
}

/// Processor time of this thread.
fn seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}
