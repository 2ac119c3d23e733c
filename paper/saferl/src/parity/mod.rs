//! The Safety Gym tasks beside recordings of the original Python package.
//!
//! A recording is an episode that safety-gymnasium 1.0.0 ran on MuJoCo 2.3.3, in a file named
//! `Task_seedNN_policy.npz`. [`replay_folder`] restarts every step of every recording of a folder from
//! the recorded state before it and compares the result.
//!
//! ```no_run
//! use fab_saferl::parity::replay_folder;
//!
//! let report = replay_folder("recordings".as_ref(), true)?;
//! for failure in report.failures() {
//!     println!("{failure}");
//! }
//! # Ok::<(), fab_saferl::parity::ParityError>(())
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

mod error;
mod npy;
mod recording;
mod replay;
mod report;

pub use self::error::{ParityError, Result};
pub use self::report::{
    Activity, Comparison, Exact, Flips, Quantity, Report, Tolerance, tolerance,
};

/// Replays every recording of a folder, with or without sleeping bodies.
pub fn replay_folder(folder: &Path, sleep: bool) -> Result<Report> {
    let files = recordings(folder)?;
    let replayed = files.par_iter().map(|path| {
        let recording = recording::Recording::read(path)?;
        replay::replay(&recording, sleep)
    });
    let recordings: Result<Vec<Comparison>> = replayed.collect();
    Ok(Report {
        recordings: recordings?,
    })
}

/// The `.npz` files of a folder, by name.
fn recordings(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |source| ParityError::Read {
        path: folder.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "npz") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        let folder = folder.to_owned();
        return Err(ParityError::NoRecordings { folder });
    }
    Ok(files)
}
