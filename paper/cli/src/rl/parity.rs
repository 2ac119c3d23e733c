//! `fab-paper rl parity`: the simulator beside recordings of the original Python package.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use fabproj_cli::options::Common;

#[derive(clap::Args)]
#[command(
    after_help = "A recording is an episode of safety-gymnasium 1.0.0 in a file `Task_seedNN_policy.npz`. Every step is \
                  restarted from the recorded state and compared. Exit code 1: a deviation is larger than its \
                  tolerance, or a cost differs.\n\n\
                  Example:\n  fab-paper rl parity paper/saferl/tests/fixtures"
)]
pub struct Arguments {
    /// The folder of recordings
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,

    /// Simulate bodies at rest too: slower, with tighter tolerances
    #[arg(long)]
    no_sleep: bool,
}

#[cfg(not(feature = "mujoco"))]
pub fn run(arguments: &Arguments, _common: &Common) -> Result<ExitCode> {
    let _ = (&arguments.folder, arguments.no_sleep);
    let name = "parity".to_owned();
    Err(fab_saferl::RlError::NoSimulator { name }.into())
}

#[cfg(feature = "mujoco")]
pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    use fab_saferl::parity::replay_folder;
    use fabproj_cli::show;

    let report = replay_folder(&arguments.folder, !arguments.no_sleep)?;
    let (tasks, failures) = (report.tasks(), report.failures());
    if common.json {
        let tasks: Vec<_> = tasks.iter().map(output::json).collect();
        let recordings = report.recordings.len();
        show::print_json(
            &serde_json::json!({ "recordings": recordings, "tasks": tasks, "failures": failures }),
        )?;
    } else {
        show::print(output::table(&tasks))?;
        for task in &tasks {
            show::print(output::events(task))?;
        }
    }
    if failures.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    anyhow::bail!(
        "the simulator deviates from the recordings:\n{}",
        failures.join("\n")
    )
}

#[cfg(feature = "mujoco")]
mod output {
    use fab_saferl::parity::{Activity, Comparison, Quantity};
    use fabproj_cli::show;
    use serde_json::{Value, json};

    /// Largest deviations, with those of 95 % of the steps.
    pub fn table(tasks: &[Comparison]) -> String {
        let mut header = vec!["task", "steps"];
        header.extend(Quantity::ALL.map(Quantity::name));
        let row = |task: &Comparison, activity: Activity| {
            let mut cells = vec![
                format!("{}, {}", task.task, activity.name()),
                show::count(task.steps(activity)),
            ];
            cells.extend(Quantity::ALL.map(|quantity| {
                let largest = task.largest(activity, quantity);
                let most = task.quantile(activity, quantity, 0.95);
                format!("{largest:.0e} ({most:.0e})")
            }));
            cells
        };
        let rows = tasks.iter();
        let rows: Vec<Vec<String>> = rows
            .flat_map(|task| Activity::ALL.map(|activity| row(task, activity)))
            .collect();
        show::table(&header, &rows, true)
    }

    /// What must be equal.
    pub fn events(task: &Comparison) -> String {
        let (flips, exact) = (&task.flips, &task.exact);
        let kinds = flips.kinds.iter();
        let kinds: Vec<String> = kinds
            .map(|(kind, count)| format!("{kind} {count}"))
            .collect();
        format!(
            "{}: cost flips {} ({}), goals reached {}, ends {}; layouts {}, goals {}, random stream {}",
            task.task,
            flips.cost,
            kinds.join(", "),
            flips.goal_reached,
            flips.terminated,
            exact.layouts,
            exact.goals,
            exact.random
        )
    }

    pub fn json(task: &Comparison) -> Value {
        let deviations = Activity::ALL.iter().flat_map(|activity| {
            Quantity::ALL.map(|quantity| {
                json!({
                    "activity": activity.name(),
                    "quantity": quantity.name(),
                    "steps": task.steps(*activity),
                    "largest": task.largest(*activity, quantity),
                    "most": task.quantile(*activity, quantity, 0.95),
                })
            })
        });
        json!({
            "task": task.task.name(),
            "cost_flips": task.flips.cost,
            "deviations": deviations.collect::<Vec<_>>(),
            "summary": events(task),
        })
    }
}
