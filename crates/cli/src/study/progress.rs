//! The progress bar of a study.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use fabproj_study::plan::{Event, Observer};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::show;

/// Steps of the bar.
const LENGTH: u64 = 1000;

/// Shows on a terminal how far a study is, what it does and the time left.
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    running: Mutex<Vec<String>>,
    quiet: bool,
}

impl Progress {
    pub fn new(quiet: bool) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(LENGTH), target);
        let template = "{bar:40.cyan/238} {percent:>3} %  {prefix}\n{wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━━─"));
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self {
            bar,
            started: Instant::now(),
            running: Mutex::new(Vec::new()),
            quiet,
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn show_running(&self, change: impl FnOnce(&mut Vec<String>)) {
        if let Ok(mut running) = self.running.lock() {
            change(&mut running);
            self.bar.set_message(running.join(" · "));
        }
    }

    fn say(&self, message: &str) {
        if !self.quiet {
            self.bar.suspend(|| eprintln!("{message}"));
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
            } => self.say(&format!(
                "{runs} runs, {kept} of them finished before; {projectors} projectors to train first"
            )),
            Event::Started { name } => self.show_running(|running| running.push((*name).to_owned())),
            Event::Finished { name, done } => {
                self.show_running(|running| running.retain(|other| other != name));
                self.bar.set_position((done * LENGTH as f64) as u64);
                let left = self.started.elapsed().as_secs_f64() * (1.0 - done) / done.max(1e-3);
                self.bar.set_prefix(format!("{} left", show::time(left)));
            }
            Event::Warning { message } => self.say(&format!("warning: {message}")),
            _ => {}
        }
    }
}
