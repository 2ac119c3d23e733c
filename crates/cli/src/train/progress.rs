//! The progress bar of a training.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use fabproj::train::{Event, Observer};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::show;

/// Steps of the bar.
const LENGTH: u64 = 1000;
/// Losses that fit into a line.
const SHOWN_LOSSES: usize = 4;

/// Shows on a terminal how far a training is, its losses and the time left; silent elsewhere.
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    /// The share done when this process began: more than nothing after a resumed stop.
    first: Mutex<Option<f64>>,
    warnings: bool,
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
            first: Mutex::new(None),
            warnings: !quiet,
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Moves the bar, never back: charts that train side by side are not equally far.
    fn advance(&self, done: f64) {
        let position = (done.clamp(0.0, 1.0) * LENGTH as f64) as u64;
        if position < self.bar.position() {
            return;
        }
        self.bar.set_position(position);
        if let Some(seconds) = self.left(done) {
            self.bar.set_prefix(left(seconds));
        }
    }

    /// Time left if the rest goes on as it went since this process began.
    fn left(&self, done: f64) -> Option<f64> {
        let mut first = self.first.lock().ok()?;
        let first = *first.get_or_insert(done);
        let share = done - first;
        (share > 0.01).then(|| self.started.elapsed().as_secs_f64() * (1.0 - done) / share)
    }
}

fn left(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match seconds / 60 {
        0 => format!("{seconds} s left"),
        minutes => format!("{minutes} min {} s left", seconds % 60),
    }
}

impl Observer for Progress {
    fn observe(&self, event: &Event) {
        match event {
            Event::Stage { name } => self.bar.set_message((*name).to_owned()),
            Event::Progress {
                unit,
                step,
                steps,
                done,
                losses,
            } => {
                self.advance(*done);
                let losses = losses.iter().take(SHOWN_LOSSES);
                let losses = losses
                    .map(|(name, value)| format!(" · {name} {}", show::number(f64::from(*value))));
                self.bar.set_message(format!(
                    "{unit} {step}/{steps}{}",
                    losses.collect::<String>()
                ));
            }
            Event::Warning { message } if self.warnings => {
                self.bar.suspend(|| eprintln!("warning: {message}"));
            }
            _ => {}
        }
    }
}
