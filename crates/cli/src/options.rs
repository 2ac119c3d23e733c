//! Options that every sub-command has.

use clap::Args;

use crate::failure::wrong_usage;

/// Options that every sub-command has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Print one JSON value instead of tables
    #[arg(long, global = true)]
    pub json: bool,

    /// Seed of all random numbers; the same seed gives the same result
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Threads to use; all cores by default
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<usize>,

    /// Print results only
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

impl Common {
    /// Sets what holds for the whole process.
    pub fn apply(&self) -> anyhow::Result<()> {
        let Some(threads) = self.threads else {
            return Ok(());
        };
        if threads == 0 {
            return Err(wrong_usage("--threads 0: choose at least 1"));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        Ok(pool.build_global()?)
    }

    /// Prints a note to standard error, unless quiet.
    pub fn note(&self, message: impl std::fmt::Display) {
        if !self.quiet {
            eprintln!("{message}");
        }
    }
}
