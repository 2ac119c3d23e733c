//! `fab-paper study answers`: every answer to every problem, one line each.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use fab_study::plan::Run;
use fab_study::protocol::{Answer, Protocol};
use fab_study::store::Store;
use fab_study::{Context, StudyError};
use fabproj::support::write_atomically;
use fabproj_cli::interrupt::{self, stop_soon};
use fabproj_cli::options::Common;
use fabproj_cli::{output, show};

use super::run::Chosen;

#[derive(clap::Args)]
#[command(
    after_help = "Methods are trained again, with the projectors of the store; the answers are those behind the \
                  tables, the times are new. `optimum` is f*, `reference` the paper's f(y_PGD); `violation` is empty \
                  for feasible answers.\n\n\
                  Example:\n  fab-paper study answers --sets star-shaped --methods fabproj --csv answers.csv"
)]
pub struct Arguments {
    #[command(flatten)]
    chosen: Chosen,

    /// The file to write; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    csv: PathBuf,

    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    let chosen = &arguments.chosen;
    let to_file = arguments.csv.as_os_str() != "-";
    if to_file {
        output::check(&arguments.csv, arguments.force, &[])?;
    }
    let plan = chosen.plan(common)?;
    let store = Store::open(&chosen.store)?;
    let context = Context::in_memory(chosen.effort())
        .with_protocol(chosen.protocol())
        .with_store(&store)
        .with_stop(stop_soon(|| "stopped; nothing was written".to_owned())?);
    let mut text = String::from(
        "set,method,guarded,objective,seed,draw,problem,feasible,value,optimum,gap,reference,violation,\
         microseconds,y\n",
    );
    for run in &plan.runs {
        common.note(run.name());
        let given = match run.answers(&context) {
            Err(StudyError::Stopped) => return Ok(ExitCode::from(interrupt::code())),
            given => given?,
        };
        write_answers(&mut text, run, false, &given.answers, chosen.protocol());
        if let Some(guarded) = &given.guarded {
            write_answers(&mut text, run, true, guarded, chosen.protocol());
        }
    }
    if to_file {
        let file = arguments.csv.display();
        write_atomically(&arguments.csv, text.as_bytes())
            .with_context(|| format!("cannot write {file}"))?;
    } else {
        show::print(text.trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write_answers(
    text: &mut String,
    run: &Run,
    guarded: bool,
    answers: &[Answer],
    protocol: Protocol,
) {
    let (set, method) = (run.set.name(), &run.entry.name);
    for (index, answer) in answers.iter().enumerate() {
        let (draw, problem) = (index / protocol.problems, index % protocol.problems);
        let Answer {
            value,
            best,
            reference,
            violation,
            microseconds,
            y,
        } = answer;
        let violation = violation.map_or_else(String::new, |violation| violation.to_string());
        let y: Vec<String> = y.iter().map(f32::to_string).collect();
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "{set},{method},{guarded},{},{},{draw},{problem},{},{value},{best},{},{reference},{violation},\
             {microseconds:.3},{}",
            run.objective,
            run.seed,
            violation.is_empty(),
            value - best,
            y.join(" ")
        );
    }
}
