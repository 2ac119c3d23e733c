//! `fabproj completions` and `fabproj man`: what a shell and its users can read.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use fabproj::support::write_atomically;

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
pub struct Manual {
    /// The folder to write to, created if missing
    folder: PathBuf,
}

pub fn completions(arguments: &Completions, command: &mut Command) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, command, "fabproj", &mut script);
    show::print(String::from_utf8_lossy(&script).trim_end())
}

pub fn man(arguments: &Manual, command: Command, common: &Common) -> Result<()> {
    let folder = &arguments.folder;
    let failed = |path: &Path| format!("cannot write {}", path.display());
    std::fs::create_dir_all(folder).with_context(|| failed(folder))?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let commands = command.get_subcommands().chain([&command]);
    for page in commands.map(|command| Man::new(command.clone())) {
        let (path, mut text) = (folder.join(page.get_filename()), Vec::new());
        page.render(&mut text)?;
        write_atomically(&path, &text).with_context(|| failed(&path))?;
    }
    common.note(format_args!("manual pages written to {}", folder.display()));
    Ok(())
}
