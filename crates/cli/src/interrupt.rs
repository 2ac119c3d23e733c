//! Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

/// The exit code of a program that Ctrl-C has ended.
pub const STOPPED: u8 = 130;

/// Asks for a clean stop at the first Ctrl-C (or termination), and ends at once at the second.
pub fn stop_on_interrupt() -> Result<&'static AtomicBool> {
    static STOP: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(STOPPED.into());
        }
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(&STOP)
}
