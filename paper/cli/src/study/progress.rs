//! The progress of a study.

use std::sync::Mutex;

use fab_study::plan::{Pending, Plan};
use fabproj::Event;
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

    /// Says what is to be done.
    pub fn announce(&self, plan: &Plan, pending: &Pending<'_>, threads: usize) {
        let runs = plan.runs.len() + plan.searches.len() + plan.scale.len();
        self.bar.say(&format!(
            "{runs} runs, {} of them finished before; {} projectors to train first; about {}",
            pending.kept,
            pending.projectors(),
            whole_seconds(pending.seconds(threads))
        ));
        self.bar.advance(0.0);
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

    /// Shows an event.
    pub fn show(&self, event: &Event) {
        match event {
            Event::Progress { unit, step: 0, .. } => {
                self.show_running(|running| running.push((*unit).to_owned()))
            }
            Event::Progress { unit, done, .. } => {
                self.show_running(|running| running.retain(|other| other != unit));
                self.bar.advance(*done);
            }
            Event::Warning { message } => self.bar.say(&format!("warning: {message}")),
            _ => {}
        }
    }
}
