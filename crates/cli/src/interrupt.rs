//! Ctrl-C and termination.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Result, anyhow};
use fabproj::support::remove_temporaries;

/// The exit code of a program that Ctrl-C has ended; termination gives 143.
const STOPPED: u8 = 130;

/// How long a command may take to save its state, before it is ended without.
const GRACE: Duration = Duration::from_millis(300);

static STOP: AtomicBool = AtomicBool::new(false);
static CODE: AtomicU8 = AtomicU8::new(STOPPED);
/// Whether the command asks the stop flag, so that it may end by itself.
static ASKS: AtomicBool = AtomicBool::new(false);
/// What to say at the end of a command that is not waited for.
static FAREWELL: Mutex<Option<Farewell>> = Mutex::new(None);

type Farewell = Box<dyn Fn() -> String + Send>;

/// Listens for signals. They end the command at once, and no temporary file is left.
///
/// # Errors
/// Where signals cannot be heard.
pub fn listen() -> Result<()> {
    static LISTENING: OnceLock<Option<String>> = OnceLock::new();
    match LISTENING.get_or_init(|| register().err()) {
        None => Ok(()),
        Some(error) => Err(anyhow!("cannot listen for Ctrl-C: {error}")),
    }
}

#[cfg(unix)]
fn register() -> Result<(), String> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(|error| error.to_string())?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            received(128 + signal as u8);
        }
    });
    Ok(())
}

#[cfg(not(unix))]
fn register() -> Result<(), String> {
    ctrlc::set_handler(|| received(STOPPED)).map_err(|error| error.to_string())
}

/// The first signal sets the stop flag of a command that asks it; any other ends the command.
fn received(code: u8) {
    CODE.store(code, Ordering::Relaxed);
    let first = !STOP.swap(true, Ordering::Relaxed);
    if !first || !ASKS.load(Ordering::Relaxed) {
        leave();
    }
    if farewell().is_some() {
        std::thread::spawn(|| {
            std::thread::sleep(GRACE);
            leave();
        });
    }
}

/// Locked as long as it is said, so that the process does not end meanwhile.
fn farewell() -> std::sync::MutexGuard<'static, Option<Farewell>> {
    FAREWELL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the process: files are written as a whole or not at all, so that nothing is half done.
fn leave() -> ! {
    remove_temporaries();
    say_farewell();
    std::process::exit(code().into());
}

/// Says the farewell of [`stop_soon`], once.
pub fn say_farewell() {
    let mut farewell = farewell();
    if let Some(say) = farewell.take() {
        eprintln!("{}", say());
    }
}

/// The exit code after a stop.
pub fn code() -> u8 {
    CODE.load(Ordering::Relaxed)
}

/// Asks for a clean stop at the first signal, and ends at once at the second.
///
/// # Errors
/// As for [`listen`].
pub fn stop_on_interrupt() -> Result<&'static AtomicBool> {
    ASKS.store(true, Ordering::Relaxed);
    listen()?;
    Ok(&STOP)
}

/// As [`stop_on_interrupt`], for a command whose state on the disk is good at any time: if it does not stop in
/// time, it is ended with a farewell.
///
/// # Errors
/// As for [`listen`].
pub fn stop_soon(say: impl Fn() -> String + Send + 'static) -> Result<&'static AtomicBool> {
    *farewell() = Some(Box::new(say));
    stop_on_interrupt()
}
