//! `fabproj completions` and `fabproj man`: what a shell and its users can read.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;

use crate::options::Common;
use crate::show;

#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  fabproj completions bash > ~/.local/share/bash-completion/completions/fabproj"
)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(clap::Args)]
#[command(after_help = "Example:\n  fabproj man ~/.local/share/man/man1\n  man fabproj-train")]
pub struct Man {
    /// The folder to write to, created if missing
    folder: PathBuf,
}

pub fn completions(arguments: &Completions, command: &mut Command) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, command, "fabproj", &mut script);
    show::print(String::from_utf8_lossy(&script).trim_end())
}

pub fn man(arguments: &Man, command: Command, common: &Common) -> Result<()> {
    let folder = &arguments.folder;
    let failed = || format!("cannot write to {}", folder.display());
    std::fs::create_dir_all(folder).with_context(failed)?;
    clap_mangen::generate_to(command, folder).with_context(failed)?;
    common.note(format_args!("manual pages written to {}", folder.display()));
    Ok(())
}
