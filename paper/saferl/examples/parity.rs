//! Prints how the Safety Gym tasks compare with a folder of recordings.
//!
//! `cargo run --release -p fab-saferl --features mujoco --example parity -- FOLDER [--no-sleep]`

use std::path::Path;
use std::process::ExitCode;

use fab_saferl::parity::{Activity, ParityError, Quantity, replay_folder};

fn main() -> Result<ExitCode, ParityError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sleep = !arguments.iter().any(|argument| argument == "--no-sleep");
    let folder = arguments.first().map_or("", String::as_str);
    let report = replay_folder(Path::new(folder), sleep)?;
    for task in report.tasks() {
        for activity in Activity::ALL {
            print!(
                "{} {} {:5}",
                task.task,
                activity.name(),
                task.steps(activity)
            );
            for quantity in Quantity::ALL {
                let largest = task.largest(activity, quantity);
                let most = task.quantile(activity, quantity, 0.95);
                print!("  {} {largest:.1e} ({most:.1e})", quantity.name());
            }
            println!();
        }
        println!("  {:?} {:?}", task.exact, task.flips);
    }
    let failures = report.failures();
    failures.iter().for_each(|failure| println!("{failure}"));
    Ok(ExitCode::from(u8::from(!failures.is_empty())))
}
