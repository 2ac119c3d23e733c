//! Evaluates policies here and in the original Python package, and compares reward and cost.
//!
//! Physics is another version of MuJoCo and the robot is chaotic, so episodes differ from the first second
//! on; means over the same layouts must agree within their standard errors.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::mujoco;
use crate::python::{Environment, Packages};
use crate::shell::{self, command};

/// The original package. It needs Python 3.10.
const PACKAGES: Packages = Packages::exactly(
    "rl-parity",
    "paper/saferl/python/requirements.txt",
    (3, 10),
    "to run safety-gymnasium 1.0.0",
);

/// Means that are farther apart than this many standard errors fail.
const STANDARD_ERRORS: f64 = 3.0;

#[derive(clap::Args)]
pub struct Arguments {
    /// Policy files of `fab-paper rl train`, or `random`
    #[arg(value_name = "POLICY", required = true)]
    policies: Vec<PathBuf>,

    /// The task of random actions
    #[arg(long, value_name = "TASK")]
    task: Option<String>,

    /// The guard between the policies and their task
    #[arg(long, value_name = "FILE")]
    guard: Option<PathBuf>,

    /// The guard's threshold
    #[arg(long, value_name = "P", default_value_t = 0.8)]
    threshold: f64,

    /// The policies were trained without the guard's hints
    #[arg(long)]
    no_hints: bool,

    /// Episodes of each evaluation; the package takes three seconds for one
    #[arg(long, value_name = "N", default_value_t = 20)]
    episodes: usize,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let python = Environment::prepare(&PACKAGES)?;
    mujoco::prepare()?;
    let build = [
        "build",
        "--release",
        "-p",
        "fab-paper",
        "--features",
        "mujoco",
    ];
    let program = shell::executable(&build, "fab-paper")?;
    println!("| policy | reward here | in Python | cost here | in Python | standard errors |");
    println!("|---|---|---|---|---|---|");
    let mut agree = true;
    for policy in &arguments.policies {
        let mut here = command(&program);
        here.args(["rl", "eval"]);
        let here = arguments.evaluate(here.arg(policy).arg("--json"))?;
        let mut there = python.script("paper/saferl/python/evaluate.py");
        let there = arguments.evaluate(there.arg(policy))?;
        let episodes = [&here["evaluation"]["episodes"], &there];
        let [reward, cost] = ["reward", "cost"].map(|name| episodes.map(|e| Mean::of(e, name)));
        let apart = [&reward, &cost].map(|[here, there]| here.standard_errors_to(there));
        agree &= apart.iter().all(|apart| *apart <= STANDARD_ERRORS);
        let name = policy.file_stem().map(|name| name.to_string_lossy());
        println!(
            "| {} | {} | {} | {} | {} | {:.1}, {:.1} |",
            name.unwrap_or_default(),
            reward[0].text(),
            reward[1].text(),
            cost[0].text(),
            cost[1].text(),
            apart[0],
            apart[1]
        );
    }
    if !agree {
        eprintln!("means are more than {STANDARD_ERRORS} standard errors apart");
    }
    Ok(ExitCode::from(u8::from(!agree)))
}

impl Arguments {
    /// The JSON that an evaluation prints.
    fn evaluate(&self, command: &mut Command) -> Result<Value> {
        command.args(["--episodes", &self.episodes.to_string()]);
        if let Some(task) = &self.task {
            command.args(["--task", task]);
        }
        if let Some(guard) = &self.guard {
            command.arg("--guard").arg(guard);
            command.args(["--threshold", &self.threshold.to_string()]);
            if self.no_hints {
                command.arg("--no-hints");
            }
        }
        let text = shell::output(command)?;
        serde_json::from_str(&text).context("the evaluation's output")
    }
}

/// A mean with its standard error.
struct Mean {
    mean: f64,
    error: f64,
}

impl Mean {
    fn of(episodes: &Value, name: &str) -> Self {
        let episodes = episodes.as_array().map_or(&[][..], Vec::as_slice);
        let values = episodes.iter().filter_map(|episode| episode[name].as_f64());
        let values: Vec<f64> = values.collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self {
            mean,
            error: (squares / (count - 1.0) / count).sqrt(),
        }
    }

    fn standard_errors_to(&self, other: &Self) -> f64 {
        let gap = (self.mean - other.mean).abs();
        // Two policies that never cost agree exactly.
        if gap == 0.0 {
            0.0
        } else {
            gap / self.error.hypot(other.error)
        }
    }

    fn text(&self) -> String {
        format!("{:.2} ± {:.2}", self.mean, self.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn means_are_compared_by_their_standard_errors() {
        let low = Mean::of(&json!([{ "cost": 1.0 }, { "cost": 3.0 }]), "cost");
        let high = Mean::of(&json!([{ "cost": 4.0 }, { "cost": 6.0 }]), "cost");
        assert_eq!((low.mean, low.error), (2.0, 1.0));
        assert!((low.standard_errors_to(&high) - 3.0 / 2f64.sqrt()).abs() < 1e-12);
        let zero = Mean::of(&json!([{ "cost": 0.0 }, { "cost": 0.0 }]), "cost");
        assert_eq!(zero.standard_errors_to(&zero), 0.0);
        assert!(zero.standard_errors_to(&low) > 1.0);
    }
}
