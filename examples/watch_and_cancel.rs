//! A training that is watched, stopped and resumed.

use std::sync::atomic::{AtomicBool, Ordering};

use fabproj::set::built_in;
use fabproj::{Checkpoints, Event, Session, Settings, TrainError, train_with};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (set, settings) = (built_in("star-shaped")?, Settings::quick());
    // In memory, or `Checkpoints::folder("star.checkpoint")?`.
    let kept = Checkpoints::memory();
    let stop = AtomicBool::new(false);
    let session = Session::new().checkpoints(&kept).stop(&stop);
    // Stops once a tenth is done.
    let session = session.observe(|event| match event {
        Event::Stage { name } => println!("{name}"),
        Event::Progress { done, .. } => stop.store(*done > 0.1, Ordering::Relaxed),
        _ => {}
    });
    let stopped = train_with(&set, &settings, &session);
    assert!(matches!(stopped, Err(TrainError::Stopped)));

    // The same training goes on, to the same bits as in one go.
    let resumed = train_with(&set, &settings, &Session::new().checkpoints(&kept))?;
    assert_eq!(resumed, train_with(&set, &settings, &Session::new())?);
    Ok(())
}
