//! The progress of a training.

use fab_saferl::train::{EpochRecord, Event, Observer};
use fabproj_cli::bar::Bar;

/// Shows how far a training is, its latest figures and the time left.
pub struct Progress {
    bar: Bar,
    name: String,
}

impl Progress {
    pub fn new(name: String, quiet: bool) -> Self {
        let bar = Bar::new(quiet);
        Self { bar, name }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish();
    }
}

impl Observer for Progress {
    fn observe(&self, event: &Event<'_>) {
        match event {
            Event::Resumed { epoch } => {
                let name = &self.name;
                self.bar
                    .say(&format!("{name}: continues with epoch {epoch}"));
            }
            Event::Epoch { record, done } => {
                self.bar.show(format!("{}: {}", self.name, line(record)));
                self.bar.advance(*done);
            }
            _ => {}
        }
    }
}

fn line(record: &EpochRecord) -> String {
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.2}"));
    let seconds = record.rollout_seconds + record.update_seconds;
    format!(
        "step {} · reward {} · cost {} · {:.1} s per epoch",
        record.steps,
        number(record.reward),
        number(record.cost),
        seconds
    )
}
