//! `fab-paper rl report`: the tables and figures of a store.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use fab_saferl::report;
use fab_saferl::store::Store;
use fabproj_cli::failure::wrong_usage;
use fabproj_cli::options::Common;
use fabproj_cli::show;

#[derive(clap::Args)]
#[command(after_help = "The page is one file that needs no network.\n\n\
                  Example:\n  fab-paper rl report -o report")]
pub struct Arguments {
    /// The folder of results
    #[arg(long, value_name = "FOLDER", default_value = "rl")]
    store: PathBuf,

    /// The folder to write to; created if missing
    #[arg(short, long, value_name = "FOLDER", default_value = "rl-report")]
    output: PathBuf,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<ExitCode> {
    if !arguments.store.is_dir() {
        return Err(wrong_usage(format!(
            "no store at {}: `fab-paper rl train` makes one, --store names another",
            arguments.store.display()
        )));
    }
    let files = report::write(&Store::open(&arguments.store), &arguments.output)?;
    if common.json {
        show::print_json(&files)?;
    } else {
        for file in files {
            show::print(file.display())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
