//! Compares answers of the worked example of optimal power flow with PYPOWER: its power flow, and its optima.

use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::metadata::Workspace;
use crate::python::{Environment, POWER_FLOW};
use crate::shell::{cargo, step};

/// Networks whose case files are in the tree.
const CASES: [&str; 3] = ["case30", "case57", "case118"];

#[derive(clap::Args)]
pub struct Arguments {
    /// Cases; all by default
    #[arg(value_name = "CASE", default_values = CASES)]
    cases: Vec<String>,

    /// Loads vary by this part of their nominal values
    #[arg(long, value_name = "PART", default_value_t = 0.1)]
    range: f64,

    /// Loads that are answered
    #[arg(long, value_name = "N", default_value_t = 50)]
    answers: usize,

    /// Of them, loads at which PYPOWER finds the optimum; it takes seconds for one
    #[arg(long, value_name = "N", default_value_t = 5)]
    optima: usize,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let python = Environment::prepare(&POWER_FLOW)?;
    let folder = Workspace::read()?.target_directory.join("power-flow");
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    for case in &arguments.cases {
        let table = folder.join(format!("{case}.csv"));
        let example = [
            "run",
            "--release",
            "--example",
            "optimal_power_flow",
            "--",
            case,
        ];
        let numbers = [arguments.range.to_string(), arguments.answers.to_string()];
        step(case, cargo(&example).args(numbers).arg(&table))?;
        let mut check = python.script("bench/power_flow.py");
        check.arg(format!("examples/power-flow/cases/{case}.json"));
        check.arg(&table).arg(arguments.optima.to_string());
        step("PYPOWER", &mut check)?;
    }
    Ok(ExitCode::SUCCESS)
}
