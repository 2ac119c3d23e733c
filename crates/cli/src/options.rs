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

    /// Seed of all that is random; the same seed gives the same result
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Threads to use; all cores by default
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<usize>,

    /// Say nothing that is not a result
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
            return Err(wrong_usage("--threads 0: at least one thread is needed"));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        Ok(pool.build_global()?)
    }

    /// Prints a note for a person to standard error.
    pub fn note(&self, message: impl std::fmt::Display) {
        if !self.quiet {
            eprintln!("{message}");
        }
    }
}
