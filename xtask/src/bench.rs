//! Compares our speed with that of PyTorch and ONNX Runtime, in one run in which all take turns.
//!
//! Each side is a process that waits for requests (`worker`). Repetitions of both sides follow each other within
//! a fraction of a second, so that other load on the machine disturbs both sides of a ratio alike.

mod compare;
mod report;
mod requirements;
mod statistics;
mod worker;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::metadata::Workspace;
use crate::python::{self, Environment};
use crate::shell::{executable, step};
use requirements::{GROUPS, Group};
use worker::Worker;

#[derive(clap::Args)]
#[command(after_help = "Example: cargo xtask bench --quick --only phase-one --json bench.json")]
pub struct Arguments {
    /// Fewer and shorter repetitions: about a minute in all
    #[arg(long)]
    quick: bool,

    /// Measure these groups only
    #[arg(long, value_name = "GROUP", value_parser = group_names())]
    only: Vec<String>,

    /// Measure processor time instead of wall time, for busy machines
    #[arg(long)]
    cpu_time: bool,

    /// Also write the results as JSON; `-` prints JSON instead of the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn group_names() -> Vec<&'static str> {
    GROUPS.iter().map(|group| group.name).collect()
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let chosen = |group: &&Group| {
        arguments.only.is_empty() || arguments.only.iter().any(|name| name == group.name)
    };
    let (rounds, milliseconds) = if arguments.quick {
        (7, "10")
    } else {
        (31, "40")
    };
    let python = Environment::prepare(&python::BENCH)?;
    let build = [
        "build",
        "--release",
        "--package",
        "fab-study",
        "--bench",
        "worker",
    ];
    let executable = executable(&build, "worker").context("building our worker")?;
    let model = Workspace::read()?
        .target_directory
        .join("bench.safetensors");
    step(
        "model to compare with",
        Command::new(&executable).arg("--write").arg(&model),
    )?;
    step(
        "check of the peers",
        python.script("bench/check_peers.py").arg(&model),
    )?;
    if !arguments.cpu_time {
        report::warn_if_busy();
    }
    let mut options = vec!["--milliseconds", milliseconds];
    options.extend(arguments.cpu_time.then_some("--cpu-time"));
    let mut ours = Worker::start("ours", Command::new(executable).args(&options))?;
    let mut theirs = python.script("bench/worker.py");
    let mut theirs = Worker::start("peers", theirs.args(&options).arg("--model").arg(model))?;
    compare::agree(&mut ours, &mut theirs)?;
    let mut rows = Vec::new();
    for group in GROUPS.iter().filter(chosen) {
        eprintln!("── {}: {rounds} rounds", group.name);
        rows.extend(compare::measure(group, rounds, &mut ours, &mut theirs)?);
    }
    publish(arguments, &rows)?;
    let missed = rows.iter().filter(|row| row.met == Some(false)).count();
    if missed > 0 {
        eprintln!("{missed} requirements missed");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn publish(arguments: &Arguments, rows: &[compare::Row]) -> Result<()> {
    let json = arguments.json.as_deref();
    let to_standard_output = json.is_some_and(|path| path.as_os_str() == "-");
    if !to_standard_output {
        println!("{}", report::table(rows));
    }
    let Some(path) = json else { return Ok(()) };
    let text = serde_json::to_string_pretty(&report::json(rows, arguments.cpu_time))? + "\n";
    if to_standard_output {
        print!("{text}");
        return Ok(());
    }
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}
