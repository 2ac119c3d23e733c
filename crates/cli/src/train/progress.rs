//! The progress of a training.

use fabproj::Event;

use crate::bar::Bar;
use crate::show;

/// Losses that fit into a line.
const SHOWN_LOSSES: usize = 4;

/// Shows how far a training is, its losses and the time left.
pub struct Progress(Bar);

impl Progress {
    pub fn new(quiet: bool) -> Self {
        Self(Bar::new(quiet))
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.0.finish();
    }

    /// Shows an event.
    pub fn show(&self, event: &Event) {
        match event {
            Event::Stage { name } => self.0.show((*name).to_owned()),
            Event::Progress {
                unit,
                step,
                steps,
                done,
                losses,
            } => {
                self.0.advance(*done);
                let losses = losses.iter().take(SHOWN_LOSSES);
                let losses = losses
                    .map(|(name, value)| format!(" · {name} {}", show::number(f64::from(*value))));
                self.0.show(format!(
                    "{unit} {step}/{steps}{}",
                    losses.collect::<String>()
                ));
            }
            Event::Warning { message } => self.0.say(&format!("warning: {message}")),
            _ => {}
        }
    }
}
