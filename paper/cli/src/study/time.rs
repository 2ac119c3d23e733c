//! `fab-paper study time`: the times of finished runs, on a machine that does nothing else.

use std::process::ExitCode;

use anyhow::Result;
use fab_study::plan::time_again;
use fab_study::store::Store;
use fab_study::{Context, StudyError};
use fabproj_cli::interrupt::{self, stop_soon};
use fabproj_cli::options::Common;
use fabproj_cli::show;

use super::progress::Progress;
use super::run::Chosen;

#[derive(clap::Args)]
#[command(
    after_help = "For a store that was filled beside other work. Methods are trained again, one after the other, with \
                  the projectors of the store; of each record only the times change. One seed is enough: tables \
                  show the times of such runs alone, where there are any. After Ctrl-C the same command goes on.\n\n\
                  Example:\n  fab-paper study time --tables main,fair,parts --seeds 101"
)]
pub struct Arguments {
    #[command(flatten)]
    chosen: Chosen,
}

/// What is said after a stop: each time is kept as soon as it is taken.
const STOPPED: &str = "stopped; the times taken are kept, the same command goes on";

pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    let chosen = &arguments.chosen;
    let plan = chosen.plan(common)?;
    let store = Store::open(&chosen.store)?;
    let progress = Progress::new(common.quiet);
    let context = Context::in_memory(chosen.effort())
        .with_protocol(chosen.protocol())
        .with_store(&store)
        .with_observer(|event| progress.show(event))
        .with_stop(stop_soon(|| STOPPED.to_owned())?);
    let outcome = time_again(&plan, &context, &store);
    progress.finish();
    match outcome {
        Ok(found) => {
            show::print(format!(
                "{} runs timed, {} timed before, {} not in the store",
                found.timed, found.kept, found.missing
            ))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(StudyError::Stopped) => {
            interrupt::say_farewell();
            Ok(ExitCode::from(interrupt::code()))
        }
        Err(error) => Err(error.into()),
    }
}
