//! `fab-paper study report`: the tables and figures of a store.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use fab_study::report;
use fab_study::store::Store;

use fabproj_cli::failure::wrong_usage;
use fabproj_cli::options::Common;
use fabproj_cli::show;

#[derive(clap::Args)]
#[command(
    after_help = "study.html is one file that needs no network. If a store holds results of several efforts or \
                  numbers of problems, each table shows the largest group that belongs together.\n\n\
                  Example:\n  fab-paper study report -o report"
)]
pub struct Arguments {
    /// The folder of results
    #[arg(long, value_name = "FOLDER", default_value = "study")]
    store: PathBuf,

    /// The folder to write to; created if missing
    #[arg(short, long, value_name = "FOLDER", default_value = "study-report")]
    output: PathBuf,

    /// Figures of `cargo xtask bench --only answer --json FILE` to show beside ours
    #[arg(long, value_name = "FILE")]
    speed: Option<PathBuf>,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    if !arguments.store.is_dir() {
        return Err(wrong_usage(format!(
            "no store at {}: `fab-paper study run` makes one, --store names another",
            arguments.store.display()
        )));
    }
    let store = Store::open(&arguments.store)?;
    let files = report::write(&store, arguments.speed.as_deref(), &arguments.output)?;
    if common.json {
        show::print_json(&files)?;
    } else {
        for file in files {
            show::print(file.display())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
