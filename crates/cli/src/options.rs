//! Options that every sub-command has.

use clap::Args;
use clap::builder::RangedU64ValueParser;

use crate::failure::wrong_usage;

/// More threads than this, or than four for each core, only wait for each other.
const MOST_THREADS: usize = 64;

/// A count from one to `most`.
pub fn count_up_to(most: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=most)
}

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
        // The pool reads it too, without a limit.
        let variable = || std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok();
        let Some(threads) = self.threads.or_else(variable) else {
            return Ok(());
        };
        if self.threads == Some(0) {
            return Err(wrong_usage("--threads 0: choose at least 1"));
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let most = MOST_THREADS.max(4 * cores);
        if threads > most {
            return Err(wrong_usage(format!(
                "{threads} threads: choose at most {most}; this machine has {cores} cores"
            )));
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
