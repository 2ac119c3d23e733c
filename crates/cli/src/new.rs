//! `fabproj new`: a commented set file to start from.

use std::path::PathBuf;

use anyhow::{Context, Result};
use fabproj::support::write_atomically;
use serde_json::json;

use crate::failure::wrong_usage;
use crate::options::Common;
use crate::{output, show};

/// The file: a ring around an obstacle that moves, with everything that most sets need.
const TEMPLATE: &str = include_str!("new.toml");

#[derive(clap::Args)]
#[command(after_help = "Example:\n  fabproj new my-set.toml\n  fabproj train my-set.toml --quick")]
pub struct Arguments {
    /// The set file to write (.toml)
    file: PathBuf,

    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<()> {
    let (file, name) = (&arguments.file, arguments.file.display());
    if file.extension().is_none_or(|ending| ending != "toml") {
        return Err(wrong_usage(format!(
            "{name}: the name of a set file must end in .toml"
        )));
    }
    output::check(file, arguments.force, &[])?;
    write_atomically(file, TEMPLATE.as_bytes()).with_context(|| format!("cannot write {name}"))?;
    if common.json {
        return show::print_json(&json!({ "written": name.to_string() }));
    }
    common.note(format_args!(
        "{name} written; edit it, then:\n  fabproj train {name} --quick"
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_file_describes_a_set() {
        let set = fabproj::set::from_toml(super::TEMPLATE).expect("a set file");
        assert_eq!((set.dim(), set.x_dim()), (2, 1));
        assert!(set.contains(&[1.5, 0.0], &[-2.0]));
        assert!(!set.contains(&[1.5, 0.0], &[1.5]));
        assert_eq!(set.constraints(), ["ring", "obstacle"]);
    }
}
