//! The progress of a study.

use std::sync::Mutex;

use fab_study::plan::{Event, Observer};

use fabproj_cli::bar::{Bar, whole_seconds};

/// Shows how far a study is, what it does and the time left.
pub struct Progress {
    bar: Bar,
    running: Mutex<Vec<String>>,
}

impl Progress {
    pub fn new(quiet: bool) -> Self {
        Self {
            bar: Bar::new(quiet),
            running: Mutex::new(Vec::new()),
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish();
    }

    fn show_running(&self, change: impl FnOnce(&mut Vec<String>)) {
        if let Ok(mut running) = self.running.lock() {
            change(&mut running);
            self.bar.show(running.join(" · "));
        }
    }
}

impl Observer for Progress {
    fn observe(&self, event: &Event<'_>) {
        match event {
            Event::Planned {
                runs,
                kept,
                projectors,
                seconds,
            } => {
                self.bar.say(&format!(
                    "{runs} runs, {kept} of them finished before; {projectors} projectors to train first; \
                     about {}",
                    whole_seconds(*seconds)
                ));
                self.bar.advance(0.0);
            }
            Event::Started { name } => {
                self.show_running(|running| running.push((*name).to_owned()))
            }
            Event::Finished { name, done } => {
                self.show_running(|running| running.retain(|other| other != name));
                self.bar.advance(*done);
            }
            Event::Warning { message } => self.bar.say(&format!("warning: {message}")),
            _ => {}
        }
    }
}
